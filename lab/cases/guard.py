"""The guard of `iodyno run` on NVMe drives: nothing is written that was not named, and nothing that is in use."""

import contextlib

from cases import FREE, STORE, long
from cases.jobs import SMALL, JobCase

WRITE = f"--name=w --rw=randwrite {SMALL}"
FOLDER = "/dev/disk/by-id"


class WriteCase(JobCase):
    """A test that must not write to a drive."""

    @contextlib.contextmanager
    def untouched(self, drive):
        """QEMU counts what is written to a drive: nothing is. What it does not count, trims, shows in what is there."""
        before, held = self.lab.writes(drive), self.held(drive)
        yield
        self.assertEqual(self.lab.writes(drive), before, f"drive {drive} was written")
        self.assertEqual(self.held(drive), held, f"drive {drive} was trimmed")

    def held(self, drive):
        return [self.bytes_of(self.lab.namespace(drive), offset, 64 << 10) for offset in (0, 16 << 20)]

    def of(self, drive):
        return f"--filename=/dev/{self.lab.namespace(drive)}"


class Guard(WriteCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Whether it holds data is looked for in thousands of blocks.
        cls.enterClassContext(cls.lab.throttled("E", FREE))

    def test_only_the_drive_that_was_named_is_written(self):
        device = self.of("F")
        with self.untouched("F"):
            self.refused(f"{WRITE} {device}", "writing not allowed", "--allow-write LABF0001")
            self.refused(f"--allow-write LABG0001 {WRITE} {device}", "--allow-write LABF0001")
            self.refused(f"--allow-write LABF0001:2 {WRITE} {device}", "--allow-write LABF0001")
            typed = self.lab.namespace("F")
            self.refused(f"--allow-write {typed} {WRITE} {device}", "change at boot", "--allow-write LABF0001")
            self.refused(f"--name=t --rw=randtrim {SMALL} {device}", "--allow-write LABF0001")
            both = f"--allow-write LABF0001 --discard-data LABF0001 --allow-write LABG0001 {WRITE} {device}"
            self.refused(both, "LABG0001", "no job writes it")
            self.refused(f"--allow-write LABF0001 --readonly {WRITE} {device}", "readonly")

    def test_every_name_that_stays_the_same_names_it(self):
        name = self.lab.namespace("F")
        wwid = self.say(f"cat /sys/class/block/{name}/wwid").strip()
        link = "nvme-IODYNO_LAB_1GB_LABF0001"
        self.say(f"mkdir -p {FOLDER}; ln -s ../../{name} {FOLDER}/{link}")
        try:
            for word in ("LABF0001:1", wwid, f"{FOLDER}/{link}"):
                before = self.lab.writes("F")
                self.played(f"--allow-write {word} --discard-data {word} {WRITE} {self.of('F')}")
                self.assertGreaterEqual(self.lab.writes("F") - before, 16, word)
        finally:
            self.say(f"rm -r {FOLDER}")

    def test_what_is_used_or_holds_data_is_left_alone(self):
        name = self.lab.namespace("E")
        device, allowed = self.of("E"), "--allow-write LABE0001"
        discard = "--discard-data LABE0001"
        # A little file system at its beginning. Mounted for reading only it writes nothing of its own.
        self.say(f"mke2fs /dev/{name} 4096 && mount -o ro -t ext4 /dev/{name} /mnt")
        try:
            with self.untouched("E"):
                self.refused(f"{allowed} {discard} {WRITE} {device}", "mounted at /mnt", "no option overrides it")
        finally:
            self.say("umount /mnt")
        with self.untouched("E"):
            self.refused(f"{WRITE} {device}", "ext", f"{allowed} {discard}")
            self.refused(f"{allowed} {WRITE} {device}", "ext", discard)
        self.played(f"{allowed} {discard} --name=t --rw=trim --bs=1m --size=16m --direct=1 {device}")
        zeros = self.say("head -c 65536 /dev/zero | md5sum").split()[0]
        self.assertEqual(self.held("E")[0], zeros)
        # Its super block is gone with it: now its serial number is enough.
        self.played(f"{allowed} {WRITE} {device}")

    @contextlib.contextmanager
    def mapped(self, name, count, target):
        """A mapping of sectors to a target of the device mapper, named by its UUID LAB-name: its node."""
        self.say(f"dmsetup create {name} --uuid LAB-{name} --table '0 {count} {target}'")
        try:
            yield f"/dev/dm-{self.say(f'dmsetup info -c --noheadings -o minor {name}').strip()}"
        finally:
            self.say(f"dmsetup remove --retry {name}")

    @long  # crates/target/src/extents_tests.rs has mappings over the same sectors.
    def test_a_mapping_over_sectors_that_are_mounted_is_left_alone(self):
        drive = f"/dev/{self.lab.namespace('E')}"
        written = "--name=w --rw=write --bs=4k --size=64k --direct=1"
        with contextlib.ExitStack() as stack:
            stack.callback(self.say, f"blkdiscard {drive}")
            lower = stack.enter_context(self.mapped("lower", 65536, f"linear {drive} 0"))
            self.say(f"mke2fs {lower} 4096 && mount -o ro -t ext4 {lower} /mnt")
            stack.callback(self.say, "umount /mnt")
            both = "--allow-write LAB-{0} --discard-data LAB-{0} --filename={1}"
            with self.mapped("same", 2048, f"linear {drive} 0") as same, self.untouched("E"):
                self.refused(f"{written} {both.format('same', same)}", "mounted at /mnt", "no option overrides it")
                # A mapping of a mapping of the same sectors.
                with self.mapped("upper", 512, f"linear {same} 1024") as upper:
                    self.refused(f"{written} {both.format('upper', upper)}", "mounted at /mnt", "no option overrides it")
            # With nothing mounted it is still a mapping that somebody set up over these sectors.
            with self.mapped("idle", 2048, f"linear {drive} 65536"), self.mapped("over", 2048, f"linear {drive} 67583") as over, self.untouched("E"):
                self.refused(f"{written} {both.format('over', over)}", "dm-", "no option overrides it")
            with self.mapped("beside", 2048, f"linear {drive} 65536") as beside:
                self.played(f"{written} --allow-write LAB-beside --filename={beside}")

    @long  # crates/target/src/extents_tests.rs has pools.
    def test_a_thin_pool_is_not_filled(self):
        self.lab.load("thin")
        drive, mib = f"/dev/{self.lab.namespace('E')}", 2048
        with contextlib.ExitStack() as stack:
            stack.callback(self.say, f"blkdiscard {drive}")
            meta = stack.enter_context(self.mapped("meta", 4 * mib, f"linear {drive} 0"))
            data = stack.enter_context(self.mapped("data", 64 * mib, f"linear {drive} {4 * mib}"))
            pool = stack.enter_context(self.mapped("pool", 64 * mib, f"thin-pool {meta} {data} 128 0"))
            for number in range(3):
                self.say(f"dmsetup message pool 0 'create_thin {number}'")
            other, large, small = (
                stack.enter_context(self.mapped(f"thin{number}", size * mib, f"thin {pool} {number}"))
                for number, size in enumerate([48, 48, 16]))  # fmt: skip
            self.say(f"dd if=/dev/urandom of={other} bs=1M count=20 oflag=direct")
            written = "--name=w --rw=write --bs=1m --size=1m --direct=1 --allow-write LAB-{} --filename={}"
            self.refused(written.format("thin1", large), "may take 48 MiB of its thin pool pool, which has 44 MiB left", "extend the pool")
            self.assertIn(" 320/1024 ", self.say("dmsetup status pool"))
            self.played(f"{written.format('thin2', small)} --size=16m")
            # It has nothing to read.
            self.assertIn("is (nearly) empty", self.lab.run(f"iodyno check --store {STORE} --time 0.2 {large}", 120).stdout)
            # What it has already it takes from nobody.
            self.played(f"{written.format('thin2', small)} --size=16m")
            # A file system that has more to give than its pool: a file is measured by what it takes of both.
            self.say(f"mke2fs -F {large} && mount -t ext4 {large} /mnt")
            stack.callback(self.say, "umount /mnt")
            file = "--name=f --rw=write --bs=1m --direct=1 --filename=/mnt/f --size="
            self.refused(f"{file}32m", "/mnt/f may take 32 MiB of its thin pool", "extend the pool")
            self.played(f"{file}8m")

    @long  # crates/target/src/noise_tests.rs has data of an unknown kind.
    def test_a_closed_encrypted_volume_is_data(self):
        self.lab.load("layouts")
        drive, allowed = f"/dev/{self.lab.namespace('E')}", "--allow-write LABE0001"
        plain = "cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 --key-file=-"
        self.say(f"blkdiscard {drive}; printf secret | {plain} {drive} closed && mke2fs /dev/mapper/closed 4096 && cryptsetup close closed")
        try:
            with self.untouched("E"):
                said = self.refused(f"{allowed} {WRITE} {self.of('E')}", "unknown data", "--discard-data LABE0001")
                self.keep("closed.txt", said)
            self.played(f"{allowed} --discard-data LABE0001 {WRITE} {self.of('E')}")
        finally:
            self.say(f"blkdiscard {drive}")
        # What iodyno itself wrote is known again by the stamps in it.
        self.played(f"{allowed} {WRITE} {self.of('E')}")
        self.played(f"{allowed} {WRITE} {self.of('E')}")
