"""A drive whose file system is exported by NFS, and files on such a file system: this machine is its own server."""

from cases import STORE, command, long
from cases.jobs import JobCase
from cases.prepare import BOTH

EXPORTED, MOUNTED = "/srv", "/mnt"
OPTIONS = "rw,fsid=0,insecure,no_root_squash,no_subtree_check"


class Nfs(JobCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab.load("nfs")
        cls.device = f"/dev/{cls.enterClassContext(cls.lab.spare())}n1"

    def setUp(self):
        self.say(
            f"mkdir -p {EXPORTED} /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs; touch /var/lib/nfs/etab /var/lib/nfs/rmtab /etc/exports; "
            f"ifconfig lo up; mke2fs {self.device} >/dev/null && mount -t ext4 {self.device} {EXPORTED}"
        )
        self.addCleanup(self.say, f"umount {EXPORTED}; dd if=/dev/urandom of={self.device} bs=1M count=1 2>/dev/null")
        self.addCleanup(self.say, f"umount {MOUNTED}; rpc.nfsd 0; exportfs -ua; killall rpc.mountd; umount /proc/fs/nfsd")
        self.say(
            "mount -t nfsd nfsd /proc/fs/nfsd; rpc.mountd -N 2 -N 3 3>&- >/dev/null 2>&1; "
            f"exportfs -i -o {OPTIONS} '*:{EXPORTED}' && rpc.nfsd -N 3 -V 4.2 -p 2049 2 3>&- && "
            # Else it waits for clients of before, which a server that has just begun cannot know not to be there.
            "echo Y >/proc/fs/nfsd/v4_end_grace; "
            f"mount -t nfs4 -o addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2 127.0.0.1:/ {MOUNTED}"
        )

    def served(self):
        """What the server has: names and content."""
        return self.say(f"cd {EXPORTED} && find . -type f -exec md5sum {{}} + | sort")

    @long  # Mounted drives are in the case guard.
    def test_the_drive_below_is_in_use(self):
        before = self.served()
        small = f"--bs=64k --size=1m --direct=1 --filename={self.device}"
        ways = (
            f"{command('run')} --name=w --rw=randwrite {small}",
            f"{command('run')} --name=w --rw=randtrim {small}",
            f"iodyno prepare --store {STORE} {self.device} --purge format",
        )
        for words in ways:
            with self.subTest(words=words):
                result = self.lab.run(f"{words} {BOTH}", 90)
                self.assertEqual((result.status, result.stdout), (2, ""), result.stderr)
                self.assertIn(f"mounted at {EXPORTED}", result.stderr)
        self.assertEqual(self.served(), before)

    def test_a_file_that_another_host_made_needs_its_path(self):
        self.say(f"head -c 1048576 /dev/urandom >{EXPORTED}/theirs")
        before = self.served()
        job = f"--name=w --rw=randwrite --bs=4k --size=64k --filename={MOUNTED}/theirs"
        self.refused(job, f"--allow-write {MOUNTED}/theirs")
        self.assertEqual(self.served(), before)
        self.played(f"--allow-write {MOUNTED}/theirs {job}")
        self.assertNotEqual(self.served(), before)

    @long  # crates/target/src/scratch_tests.rs has scratch files.
    def test_nothing_is_left_in_a_folder_that_was_measured(self):
        before = self.served()
        result = self.lab.run(f"iodyno check --store {STORE} --time 1 {MOUNTED}", 120)
        self.no_panic(result)
        self.assertNotIn(result.status, (2, 3), result.stderr)
        self.assertEqual(self.served(), before)
