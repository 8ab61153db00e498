"""`iodyno prepare` on a spare drive: what is in use or holds data stays as it is to the last byte; what is free is emptied and filled."""

import base64
import contextlib
import json
import sqlite3
import tempfile
import zlib

import topology
from cases import STORE, exports, long
from cases.jobs import JobCase

SERIAL = topology.SPARE_SERIAL
ALLOWED, DISCARD = f"--allow-write {SERIAL}", f"--discard-data {SERIAL}"
BOTH = f"{ALLOWED} {DISCARD}"
OWN_STORE = "/tmp/prepare.sqlite"
# More than a file system writes while it rests, to which `resume` shuts an eye.
FOREIGN_BYTES = 5 << 28
# The guest has no udev that LVM could wait for.
LVM_CONFIG = "devices { obtain_device_list_from_udev=0 use_devicesfile=0 } activation { udev_sync=0 udev_rules=0 verify_udev_operations=0 }"


def lvm(words):
    return f"LVM_SYSTEM_DIR=/tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1 lvm {words} --config '{LVM_CONFIG}'"


DEVICE = "DEVICE"
MAKE_ARRAY = f"MDADM_NO_UDEV=1 mdadm --create /dev/md0 --level=1 --raid-devices=2 --assume-clean --force --run {DEVICE} missing && mdadm --readonly /dev/md0"
MAKE_GROUP = " && ".join(lvm(words) for words in (f"pvcreate -ff -y {DEVICE}", f"vgcreate vg0 {DEVICE}", "lvcreate -y -Zn -Wn -L 8M -n lv vg0"))
DEACTIVATE = lvm("vgchange -an vg0")
PARTITION = f"printf 'o\\nn\\np\\n1\\n\\n\\nw\\n' | fdisk {DEVICE} >/dev/null; for i in $(seq 100); do [ -b {DEVICE}p1 ] && break; usleep 50000; done"

# What uses a drive (nvme-cli, mount and the like would not all see it): how it comes to be, how it ends, what is said.
USES = {
    "mounted": (f"mke2fs {DEVICE} >/dev/null && mount -o ro -t ext4 {DEVICE} /mnt", "umount /mnt", "mounted at /mnt"),
    "partition mounted": (f"{PARTITION}; mke2fs {DEVICE}p1 >/dev/null && mount -o ro -t ext4 {DEVICE}p1 /mnt", "umount /mnt", "mounted at /mnt"),
    "md running": (MAKE_ARRAY, "mdadm --stop /dev/md0", "md0"),
    "LVM active": (MAKE_GROUP, DEACTIVATE, "dm-"),
    "swap": (f"mkswap {DEVICE} >/dev/null && swapon {DEVICE}", f"swapoff {DEVICE}", "swap"),
    "loop": (f"losetup /dev/loop0 {DEVICE}", "losetup -d /dev/loop0", "backs loop0"),
    "held open": (f"(exec sleep 100 <{DEVICE} >/dev/null 2>&1 3>&-) & usleep 200000", "killall sleep", "sleep"),
    "passthrough device held open": (f"at={DEVICE}; (exec sleep 100 </dev/ng${{at#/dev/nvme}} >/dev/null 2>&1 3>&-) & usleep 200000", "killall sleep", "n1: open by sleep"),
    "controller held open": (f"at={DEVICE}; (exec sleep 100 <${{at%n1}} >/dev/null 2>&1 3>&-) & usleep 200000", "killall sleep", "open by sleep"),
    "exported": (exports.nvmet(DEVICE), exports.END_NVMET, "exported by nvmet as lab/1"),
}
# What nobody uses and would be lost.
STALE = {
    "md stopped": (f"{MAKE_ARRAY} && mdadm --stop /dev/md0", "md array member"),
    "LVM inactive": (f"{MAKE_GROUP} && {DEACTIVATE}", "LVM physical volume"),
    "file system": (f"mke2fs {DEVICE} >/dev/null", "ext2, ext3 or ext4"),
}


class Prepare(JobCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab.load("layers")
        cls.lab.load("targets")
        cls.lab.run(exports.MOUNTED)
        cls.controller = cls.enterClassContext(cls.lab.spare())
        cls.device = f"/dev/{cls.controller}n1"

    def prepared(self, words, timeout_s=60):
        """The Result of `iodyno prepare`."""
        store = "" if "--store" in words else f"--store {STORE}"
        result = self.lab.run(f"iodyno prepare {store} {words}", timeout_s)
        self.no_panic(result)
        return result

    def refused_prepare(self, words, *said):
        """What is said where nothing is prepared, and nothing was written."""
        result = self.prepared(words)
        self.assertEqual((result.status, result.stdout), (2, ""), f"{words}\n{result.stderr}")
        for word in said:
            self.assertIn(word, result.stderr, words)

    @contextlib.contextmanager
    def untouched(self, *nsids):
        self.say("sync")
        before = [self.lab.spare_checksum(nsid) for nsid in nsids]
        yield
        self.say("sync")
        self.assertEqual([self.lab.spare_checksum(nsid) for nsid in nsids], before, "the drive was written")

    def states(self):
        """What the store holds of the states of the first namespace, oldest first."""
        with tempfile.NamedTemporaryFile() as copy:
            copy.write(base64.b64decode(self.say(f"base64 {OWN_STORE}")))
            copy.flush()
            with contextlib.closing(sqlite3.connect(copy.name)) as store:
                rows = store.execute("SELECT body FROM drive_state WHERE serial = ? AND nsid = 1 ORDER BY at_ns", (SERIAL,))
                return [json.loads(body) for (body,) in rows]

    def make(self, how):
        self.say(how.replace(DEVICE, self.device))

    def clean(self):
        """Nothing is left of the signatures in the drive's first and last blocks."""
        last = (topology.SPARE_BYTES >> 20) - 1
        self.say(
            f"for at in 0 {last}; do dd if=/dev/zero of={self.device} bs=1M seek=$at count=1 conv=fsync 2>/dev/null; done; "
            f"blockdev --rereadpt {self.device}"
        )

    def test_what_is_in_use_is_left_alone_whatever_is_allowed(self):
        # A format is what the kernel itself lets through.
        how = "--purge format --fill 1x"
        for name, (begin, end, said) in USES.items():
            with self.subTest(name):
                self.make(begin)
                try:
                    with self.untouched(*topology.SPARE_NAMESPACES):
                        self.refused_prepare(f"{self.device} {how} {BOTH}", "is in use", said, "no option overrides it")
                finally:
                    self.make(end)
                    self.clean()

    def test_what_nobody_uses_has_to_be_given_up(self):
        for name, (begin, said) in STALE.items():
            with self.subTest(name):
                self.make(begin)
                try:
                    with self.untouched(*topology.SPARE_NAMESPACES):
                        for how in ("--purge format --fill 1x", "--fill 1x"):
                            self.refused_prepare(f"{self.device} {how} {ALLOWED}", "holds unused data", said, "--discard-data")
                finally:
                    self.clean()

    def test_a_second_namespace_is_passed_commands_by_others(self):
        self.needs_registers()
        self.say(f"(exec sleep 100 </dev/ng{self.controller.removeprefix('nvme')}n2 >/dev/null 2>&1 3>&-) & usleep 200000")
        try:
            with self.lab.formats_reach_all(), self.untouched(*topology.SPARE_NAMESPACES):
                self.refused_prepare(f"{self.device} --purge format {BOTH}", "purges its whole drive", "n2: open by sleep")
        finally:
            self.say("killall sleep")

    def test_a_second_namespace_in_use_is_seen(self):
        self.needs_registers()
        second = f"/dev/{self.controller}n2"
        self.say(f"mke2fs {second} >/dev/null && mount -o ro -t ext4 {second} /mnt")
        try:
            with self.lab.formats_reach_all(), self.untouched(*topology.SPARE_NAMESPACES):
                self.refused_prepare(f"{self.device} --purge format {BOTH}", "purges its whole drive", "mounted at /mnt")
                shown = self.prepared(f"{self.device} --purge format --dry-run").stdout
                self.assertIn(f"{self.controller}n1 and, with it, {self.controller}n2", shown)
            # A format that reaches the first one alone is none of the second one's business.
            with self.untouched(2):
                self.assertEqual(self.prepared(f"{self.device} --purge format {ALLOWED}:1").status, 0)
        finally:
            self.say("umount /mnt")
        with self.lab.formats_reach_all(), self.untouched(*topology.SPARE_NAMESPACES):
            # It is used by nobody, but was not named.
            self.refused_prepare(f"{self.device} --purge format {ALLOWED}:1", "purges its whole drive", "writing not allowed")
            self.refused_prepare(f"{self.device} --purge format {ALLOWED}", "purges its whole drive", "ext2, ext3 or ext4")
        self.say(f"dd if=/dev/zero of={second} bs=1M count=1 conv=fsync 2>/dev/null")

    def test_the_write_cache_is_switched_and_switched_back(self):
        def cache():
            return int(self.say(f"nvme get-feature /dev/{self.controller} -f 6").rsplit(":", 1)[1], 16)

        self.assertEqual(cache(), 1)
        sweep = f"iodyno sweep --store {OWN_STORE} --json --target {self.device} --write-cache off --set rw=randread --set bs=4k --set direct=1"
        result = self.lab.run(f"{sweep} --grid iodepth=1 --max-time 1s", 120)
        _, document = self.document("sweep", result)
        switched = {"path": f"/dev/{self.controller} feature 06h (volatile write cache)", "before": "on", "value": "off"}
        self.assertEqual([of["conditions"]["settings"] for of in document["measurements"]], [[switched]], result.stderr)
        drives = {drive["name"]: drive["write_cache_on"] for drive in document["drives"]}
        self.assertIs(drives[self.controller], False)
        self.assertEqual(cache(), 1)
        with self.subTest("killed"):
            waits = f"for i in $(seq 300); do nvme get-feature /dev/{self.controller} -f 6 | grep -q 00000000 && break; usleep 50000; done"
            self.say(f"({sweep} --grid iodepth=1 --max-time 60s >/dev/null 2>&1 3>&-) & {waits}; killall -9 iodyno; wait", 120)
            self.assertEqual(cache(), 0)
            said = self.say(f"iodyno clean-up --store {OWN_STORE}")
            self.assertIn(f"volatile write cache of {self.controller}", said)
            self.assertEqual(cache(), 1)

    def test_what_a_drive_cannot_do_is_said(self):
        with self.untouched(*topology.SPARE_NAMESPACES):
            for method in ("sanitize-block", "sanitize-crypto", "format-crypto"):
                self.refused_prepare(f"{self.device} --purge {method} {BOTH}", f"does not offer {method}", "--purge format")
            self.refused_prepare(f"{self.device} --purge format {ALLOWED} --allow-write LABG0001", "LABG0001")

    def test_a_free_drive_is_emptied_and_filled(self):
        size = topology.SPARE_BYTES
        self.assertEqual(self.prepared(f"{self.device} --purge format {ALLOWED}:1").status, 0)
        self.assertEqual(self.lab.spare_blocks(1), bytes(size))
        words = f"--store {OWN_STORE} {self.device} --purge format --fill 2x {ALLOWED}:1"
        with self.untouched(2):
            result = self.prepared(f"--json {words}")
        self.assertEqual(result.status, 0, result.stderr)
        self.assertIn("purged (format)", result.stderr)
        self.keep("prepare.txt", result.stderr)
        (fill,) = json.loads(result.stdout)["measurements"]
        self.assertEqual((fill["name"], fill["write"]["bytes"]), ("fill", 2 * size))
        self.say("sync")
        blocks = self.lab.spare_blocks(1)
        self.assertEqual([at for at in range(0, size, 4096) if not any(blocks[at : at + 4096])], [])
        # Random but for the offset in every 512 bytes, by which it is known again.
        self.assertGreater(len(zlib.compress(blocks[: 4 << 20], 1)), 0.97 * (4 << 20))
        self.assertEqual(len({blocks[at : at + 4096] for at in range(0, size, 4096)}), size // 4096)
        begun, done = self.states()
        self.assertEqual((begun["state"], begun["fill"], done["state"]), ("begun", None, "done"))
        self.assertEqual((done["purge"], done["fill"]["written_bytes"], done["capacity_bytes"]), ("format", 2 * size, size))
        counted = done["host_written_bytes"] - begun["host_written_bytes"]
        self.assertAlmostEqual(counted, 2 * size, delta=1 << 20)
        # A later run knows.
        self.assertIn("the rate of its last fill", self.prepared(f"{words} --dry-run").stdout)

    def stopped(self, words):
        """The document of a preparation that gets a SIGINT within its fill."""
        writes = f"$(awk '{{print $5}}' /sys/block/{self.controller}n1/stat)"
        result = self.lab.run(
            f"goal=$(({writes} + 400)); iodyno prepare --json {words} & pid=$!; "
            f"until [ {writes} -ge $goal ] || ! kill -0 $pid; do usleep 20000; done; kill -INT $pid; wait $pid"
        )
        self.no_panic(result)
        self.assertEqual(result.status, 3, result.stderr)
        return json.loads(result.stdout)

    def test_a_fill_that_is_stopped_says_how_far_it_was(self):
        document = self.stopped(f"--store {STORE} {self.device} --fill 100x {ALLOWED}")
        (fill,) = document["measurements"]
        self.assertEqual((document["state"], fill["end"]), ("interrupted", "interrupted"))
        self.assertLess(fill["write"]["bytes"], 100 * topology.SPARE_BYTES)

    @long  # crates/campaign/tests/resume.rs has what counts as foreign.
    def test_a_fill_does_not_go_on_over_what_others_wrote(self):
        """Whether that happened, the drive's own count of written bytes says; --anew begins again."""
        store = "/tmp/foreign.sqlite"
        words = f"--store {store} {self.device} --fill 100x {ALLOWED}"
        run = self.stopped(words)["id"]
        self.refused_prepare(words, f"iodyno resume {run}", "--anew")
        passes = FOREIGN_BYTES // topology.SPARE_BYTES
        self.say(f"for n in $(seq {passes}); do dd if=/dev/zero of={self.device} bs=1M count={topology.SPARE_BYTES >> 20} conv=fsync 2>/dev/null; done", 120)
        with self.untouched(1):
            result = self.lab.run(f"iodyno resume --store {store} {ALLOWED}")
        self.no_panic(result)
        self.assertEqual(result.status, 2, result.stderr)
        self.assertIn("were written since the run stopped", result.stderr)
        self.assertIn("its preparation has to be repeated", result.stderr)
        self.keep("foreign-writes.txt", result.stderr)
        document = self.stopped(f"--anew {words}")
        self.assertNotEqual(document["id"], run)
        self.assertEqual([(of["name"], of["end"]) for of in document["measurements"]], [("fill", "interrupted")])
