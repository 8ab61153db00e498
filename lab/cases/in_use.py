"""What is in use stays as it is: each use of a drive against each way of writing it, byte by byte, on the spare drive.

SECURITY.md has the matrix. What it looks like on one way more closely is in guard, prepare and layouts.
"""

import contextlib

import topology
from cases import STORE, command
from cases.exports import MOUNTED
from cases.jobs import JobCase
from cases.layouts import PLAN, PLAN_PATH
from cases.prepare import ALLOWED, BOTH, DEVICE, STALE, USES

# The drive's second namespace.
SECOND = "SECOND"
MIB = 1 << 20
# A process that has the drive open until it is killed.
HOLD = f"(exec sleep 1000 4<>{DEVICE} >/dev/null 2>&1 3>&-) & echo $! >/tmp/holder; until [ $(cat /proc/$!/comm) = sleep ]; do usleep 10000; done"
LET_GO = "kill $(cat /tmp/holder)"
ELSEWHERE = (
    f"mke2fs {DEVICE} >/dev/null; rm -f /tmp/mounted; "
    f"(exec unshare -m sh -c 'mount -o ro -t ext4 {DEVICE} /mnt && touch /tmp/mounted && exec sleep 1000' >/dev/null 2>&1 3>&-) & "
    "echo $! >/tmp/holder; until [ -e /tmp/mounted ]; do usleep 10000; done"
)
BCACHE = (
    f"make-bcache --block 4k -B {DEVICE} >/dev/null && echo {DEVICE} >/sys/fs/bcache/register; "
    "for i in $(seq 100); do [ -e /sys/block/bcache0/bcache ] && exit 0; usleep 50000; done; exit 1"
)
STOP_BCACHE = "echo 1 >/sys/block/bcache0/bcache/stop; for i in $(seq 100); do [ -e /sys/block/bcache0 ] || exit 0; usleep 50000; done; exit 1"
KEY = "head -c 32 /dev/urandom >/tmp/key"
CRYPT = "cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --key-file /tmp/key"

# As USES of prepare: how it comes to be, how it ends, what is said of it.
MORE_USES = {
    "mounted in another mount namespace": (ELSEWHERE, LET_GO, ""),
    "dm-crypt open": (f"{KEY}; {CRYPT} {DEVICE} lab", "cryptsetup close lab", "dm-"),
    "dm-linear over a part": (f"dmsetup create lab --table '0 8192 linear {DEVICE} 0'", "dmsetup remove --retry lab", "dm-"),
    "second device of a btrfs": (f"mkfs.btrfs -q -f --mixed -d single -m single {SECOND} {DEVICE} && mount -o ro -t btrfs {SECOND} /mnt", "umount /mnt", ""),
    "bcache backing": (BCACHE, STOP_BCACHE, "bcache0"),
    "open for writing": (HOLD, LET_GO, "sleep"),
}
UBERBLOCK = r"\014\261\272\000\000\000\000\000"
MORE_STALE = {
    "dm-crypt closed": (f"{KEY}; {CRYPT} {DEVICE} lab && mke2fs /dev/mapper/lab >/dev/null && cryptsetup close lab", ""),
    "bcache stopped": (f"make-bcache --block 4k -B {DEVICE} >/dev/null", "bcache"),
    # There is no zpool without its module; the first of the ring of its label's uberblocks is what says that it is one.
    "ZFS label": (f"dd if=/dev/zero of={DEVICE} bs=1M count=1 2>/dev/null; printf '{UBERBLOCK}' | dd of={DEVICE} bs=1k seek=128 conv=notrunc 2>/dev/null", "ZFS pool member"),
    "text without a signature": (f"yes 'account;owner;balance' | dd of={DEVICE} bs=1M count=1 iflag=fullblock 2>/dev/null", "unknown data"),
}


class InUse(JobCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for modules in ("layers", "layouts", "bcache", "targets"):
            cls.lab.load(modules)
        # With their modules loaded, what they export has to be readable, too.
        cls.lab.run(MOUNTED)
        cls.controller = cls.enterClassContext(cls.lab.spare())
        cls.device = f"/dev/{cls.controller}n1"
        cls.second = f"/dev/{cls.controller}n2"

    def ways(self):
        """{way of writing: its command}; what is allowed is added to it."""
        device, store = self.device, f"--store {STORE}"
        generic = device.replace("/dev/nvme", "/dev/ng")
        small = "--bs=64k --size=1m --direct=1"
        self.file(PLAN_PATH, PLAN.format(time="200ms"))
        return {
            "run": f"{command('run')} --name=w --rw=randwrite {small} --filename={device}",
            "trim": f"{command('run')} --name=w --rw=randtrim {small} --filename={device}",
            "passthrough": f"{command('run')} --name=w --rw=randwrite {small} --ioengine=io_uring_cmd --cmd_type=nvme --filename={generic}",
            "fill": f"iodyno prepare {store} {device} --fill 1x --anew",
            "discard": f"iodyno prepare {store} {device} --purge discard --anew",
            "format": f"iodyno prepare {store} {device} --purge format --anew",
            "layouts": f"iodyno layouts {store} --plan {PLAN_PATH} --range 8m --layout raw {device}",
        }

    def do(self, text):
        self.say(text.replace(DEVICE, self.device).replace(SECOND, self.second))

    def clean(self):
        """Nothing is left of signatures, and both namespaces hold noise."""
        self.say(
            f"for d in {self.device} {self.second}; do dd if=/dev/urandom of=$d bs=1M count={topology.SPARE_BYTES // MIB} conv=fsync 2>/dev/null; "
            "blockdev --rereadpt $d; done"
        )

    def content(self):
        self.say("sync")
        return [self.lab.spare_checksum(nsid) for nsid in topology.SPARE_NAMESPACES]

    def refused_each_way(self, permission, said, ways=None):
        """Each way is refused, and writes nothing."""
        for way, words in (ways or self.ways()).items():
            before = self.content()
            with self.subTest(way=way):
                result = self.lab.run(f"{words} {permission}", 90)
                self.no_panic(result)
                written = [now != was for now, was in zip(self.content(), before, strict=True)]
                self.assertEqual(written, [False, False], f"{way} wrote it\n{result.stderr}")
                self.assertEqual((result.status, result.stdout), (2, ""), f"{way}\n{result.stderr}")
                for word in said:
                    self.assertIn(word, result.stderr, way)

    @contextlib.contextmanager
    def used(self, begin, end):
        self.do(begin)
        try:
            yield
        finally:
            self.do(end)
            self.clean()

    def test_each_way_writes_a_drive_that_nobody_uses(self):
        """Without this a refusal may have another reason."""
        for way, words in self.ways().items():
            with self.subTest(way=way):
                self.clean()
                first, second = self.content()
                result = self.lab.run(f"{words} {BOTH}", 120)
                self.assertIn(result.status, (0, 1), f"{way}\n{result.stderr}\n{result.stdout[:500]}")
                now = self.content()
                self.assertNotEqual(now[0], first, f"{way} wrote nothing")
                self.assertEqual(now[1], second, f"{way} wrote the other namespace")

    def test_what_is_in_use_is_refused_each_way(self):
        for use, (begin, end, said) in {**USES, **MORE_USES}.items():
            with self.subTest(use=use), self.used(begin, end):
                self.refused_each_way(BOTH, ["in use", said])

    def test_what_holds_data_is_refused_each_way(self):
        for use, (begin, said) in {**STALE, **MORE_STALE}.items():
            with self.subTest(use=use):
                self.do(begin)
                try:
                    self.refused_each_way(ALLOWED, ["--discard-data", said])
                finally:
                    self.clean()

    def test_one_iodyno_at_a_time(self):
        written = f"$(awk '{{print $5}}' /sys/block/{self.controller}n1/stat)"
        long = f"{command('run')} --name=w --rw=randwrite --bs=4k --size=64k --direct=1 --rate_iops=20 --time_based --runtime=300 --filename={self.device} {BOTH}"
        self.say(f"goal=$(({written} + 10)); ({long} >/tmp/first 2>&1 3>&-) & echo $! >/tmp/holder; until [ {written} -ge $goal ] || ! kill -0 $!; do usleep 50000; done; kill -0 $!")
        try:
            for way, words in self.ways().items():
                with self.subTest(way=way):
                    result = self.lab.run(f"{words} {BOTH}", 90)
                    self.assertEqual((result.status, result.stdout), (2, ""), f"{way}\n{result.stderr}")
                    self.assertIn("iodyno", result.stderr)
        finally:
            self.say("kill -TERM $(pidof iodyno); until ! pidof iodyno; do usleep 50000; done")
            self.clean()

    def test_a_link_that_is_swapped_leads_to_no_other_drive(self):
        """The second namespace is not named: whatever the link is when, it is not written."""
        swapped = (
            f"(while [ ! -e /tmp/stop ]; do for to in {self.device} {self.second}; do ln -sfn $to /tmp/next && mv /tmp/next /tmp/link; usleep 20000; done; done "
            ">/dev/null 2>&1 3>&-) & echo $! >/tmp/holder"
        )
        self.say(f"rm -f /tmp/stop; ln -sfn {self.device} /tmp/link; {swapped}")
        _, before = self.content()
        statuses = []
        try:
            for _ in range(8):
                job = "--name=w --rw=write --bs=64k --size=1m --direct=1 --filename=/tmp/link"
                result = self.lab.run(f"{command('run')} {job} --allow-write LABH0001:1 --discard-data LABH0001:1", 90)
                self.no_panic(result)
                statuses.append(result.status)
                self.assertEqual(self.content()[1], before, result.stderr)
        finally:
            self.say("touch /tmp/stop")
        self.assertIn(2, statuses, "the link never led to the other one")
