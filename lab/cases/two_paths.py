"""One namespace or volume that is two devices, and one that other hosts share: what is in use through one path is not written through the other."""

import topology
from cases import command
from cases.guard import FOLDER
from cases.jobs import SMALL, JobCase

MACHINE = topology.TWO_PATHS
TARGET = "/sys/kernel/config/target"
LUN, LUN_BYTES = "/tmp/lun", 16 << 20
INITIATORS = ("naa.5001405000000001", "naa.5001405000000002")


class NvmePaths(JobCase):
    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(cls.lab.throttled("C", 20))

    def paths(self):
        """The devices of drive C, one for each controller."""
        return self.say("grep -l LABC0001 /sys/block/nvme*/device/serial | cut -d/ -f4").split()

    def test_planted(self):
        self.assertEqual(len(self.paths()), 2)

    def test_what_is_mounted_through_the_other_path_is_in_use(self):
        one, other = self.paths()
        self.say(f"mke2fs /dev/{one} 4096 && mount -o ro -t ext4 /dev/{one} /mnt")
        try:
            writes = self.lab.writes("C")
            for way in (f"--rw=randwrite {SMALL}", f"--rw=randwrite {SMALL} --ioengine=io_uring_cmd --cmd_type=nvme"):
                device = other.replace("nvme", "ng") if "cmd" in way else other
                with self.subTest(way=way):
                    result = self.job(f"--allow-write LABC0001 --discard-data LABC0001 --name=w {way} --filename=/dev/{device}")
                    self.assertEqual(self.lab.writes("C"), writes, "written through the other path")
                    self.assertEqual((result.status, result.stdout), (2, ""), result.stderr)
                    self.assertIn("mounted at /mnt", result.stderr)
            with self.subTest(way="format"):
                result = self.lab.run(f"iodyno prepare --store /tmp/paths.sqlite /dev/{other} --purge format --allow-write LABC0001 --discard-data LABC0001")
                self.assertEqual((result.status, result.stdout), (2, ""), result.stderr)
                self.assertIn("mounted at /mnt", result.stderr)
        finally:
            self.say("umount /mnt")


class ScsiPaths(JobCase):
    """A volume of the kernel's SCSI target with two initiators: two devices here, as with a SAN without dm-multipath."""

    @classmethod
    def setUpClass(cls):
        cls.lab.load("volumes")

    def setUp(self):
        core = f"{TARGET}/core/fileio_0/lun"
        self.say(
            "grep -q configfs /proc/mounts || mount -t configfs config /sys/kernel/config; mkdir -p /var/target/pr; "
            f"head -c {LUN_BYTES} /dev/urandom >{LUN}; mkdir -p {core} && echo fd_dev_name={LUN},fd_dev_size={LUN_BYTES} >{core}/control && "
            f"echo 1 >{core}/enable && echo lab0001 >{core}/wwn/vpd_unit_serial"
        )
        self.addCleanup(self.say, f"rmdir {core} {TARGET}/core/fileio_0")
        for initiator in INITIATORS:
            port = f"{TARGET}/loopback/{initiator}/tpgt_1"
            self.say(f"mkdir -p {port} && echo {initiator[:-2]}11 >{port}/nexus && mkdir {port}/lun/lun_0 && ln -s {core} {port}/lun/lun_0/lun")
            self.addCleanup(
                self.say,
                f"rm {port}/lun/lun_0/lun; rmdir {port}/lun/lun_0; echo NULL >{port}/nexus; rmdir {port} {TARGET}/loopback/{initiator}; "
                f"for i in $(seq 200); do ls /sys/block/sd* >/dev/null 2>&1 || break; [ $i ] && usleep 20000; done",
            )
        self.say("for i in $(seq 200); do [ -b /dev/sda -a -b /dev/sdb ] && exit 0; usleep 50000; done; exit 1")

    def content(self):
        return self.say(f"sync; md5sum {LUN}")

    def test_a_volume_that_is_two_devices_has_no_name_of_its_own(self):
        before = self.content()
        wwid = self.say("cat /sys/block/sda/device/wwid").strip()
        self.assertEqual(self.say("cat /sys/block/sdb/device/wwid").strip(), wwid)
        for word in (f"'{wwid}'", "sdb", f"sdb:{LUN_BYTES}"):
            with self.subTest(word=word):
                result = self.job(f"--allow-write {word} --discard-data {word} --name=w --rw=randwrite --bs=4k --size=64k --filename=/dev/sdb")
                self.assertEqual(self.content(), before, result.stderr)
                self.assertEqual((result.status, result.stdout), (2, ""), result.stderr)

    def test_what_is_mounted_through_the_other_device_is_in_use(self):
        """A link by the volume's identity, as udev makes one, leads to one of both."""
        self.say(f"mke2fs -q /dev/sda >/dev/null && mount -o ro -t ext4 /dev/sda /mnt; mkdir -p {FOLDER} && ln -s ../../sdb {FOLDER}/scsi-lab")
        try:
            before = self.content()
            word = f"{FOLDER}/scsi-lab"
            result = self.job(f"--allow-write {word} --discard-data {word} --name=w --rw=randwrite --bs=4k --size=64k --direct=1 --filename={word}")
            self.assertEqual(self.content(), before, f"written through the other path\n{result.stderr}")
            self.assertEqual((result.status, result.stdout), (2, ""), result.stderr)
        finally:
            self.say(f"umount /mnt; rm -r {FOLDER}")

    def test_what_another_host_has_reserved_keeps_its_data(self):
        """Nothing here tells of the reservation: the volume refuses the writes, and iodyno says that they failed."""
        self.say(
            "sg_persist --out --register --param-sark=0x1 /dev/sda && sg_persist --out --reserve --param-rk=0x1 --prout-type=1 /dev/sda && "
            "echo 1 >/sys/block/sda/device/delete"
        )
        before = self.content()
        wwid = self.say("cat /sys/block/sdb/device/wwid").strip()
        words = f"--allow-write '{wwid}' --discard-data '{wwid}'"
        result = self.lab.run(f"{command('run')} --name=w --rw=randwrite --bs=4k --size=64k --direct=1 --filename=/dev/sdb {words}", 90)
        self.no_panic(result)
        self.assertEqual(self.content(), before, result.stderr)
        self.assertEqual(result.status, 3, result.stderr)
        self.keep("reserved.txt", result.stderr)
