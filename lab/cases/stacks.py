"""Layouts of two to four drives: as asked for while they stand, and cut off in many ways; drives are given back empty."""

import random

import results
import topology
from cases.layouts import LIMIT_S, PLAN, PLAN_PATH, LayoutCase
from cases.study import seed

MACHINE = topology.SMALL_MACHINE
# A throttle counts what is discarded, too: nothing here stands on the rates.
FREE = 1000
KIB = 1 << 10
# Programs that change something; each call is a moment at which iodyno may be killed.
PROGRAMS = "blkdiscard cryptsetup dmsetup lvcreate mdadm mkfs.ext4 mkfs.xfs mount umount vgcreate wipefs"
# In front of PATH: counts the calls in a file, and ends its caller before or after the one that is asked for.
WRAPPER = """#!/bin/sh
n=$(cat /tmp/calls); echo $((n + 1)) >/tmp/calls
[ "$n" = "$BEFORE" ] && kill -9 $PPID && exit 1
/bin/$(basename $0) "$@"; status=$?
[ "$n" = "$AFTER" ] && kill -9 $PPID
exit $status"""
FIRST = "PATH=/tmp/first:$PATH"


class Stacks(LayoutCase):
    @classmethod
    def setUpClass(cls):
        cls.seed = seed()
        cls.random = random.Random(cls.seed)
        print(f"LAB_SEED={cls.seed}", flush=True)

    def on(self, drives):
        """Builds on these from now on. A power cut gives the drives their rates and other names."""
        self.drives = drives
        for drive in drives:
            self.enterContext(self.lab.throttled(drive, FREE))
        self.lab.load("layouts")
        self.devices = [f"/dev/{self.lab.namespace(drive)}" for drive in drives]
        self.words = [self.lab.topology.named(drive).serial for drive in drives]
        self.say("rm -rf /tmp/first; mkdir /tmp/first; echo 1000000 | tee /proc/sys/dev/raid/speed_limit_min >/proc/sys/dev/raid/speed_limit_max")

    @property
    def named(self):
        """The drives of a new machine are full of random data; one that was given back empty needs no further word."""
        full = [word for drive, word in zip(self.drives, self.words) if not self.lab.is_empty(drive)]
        return " ".join([super().named, *(f"--discard-data {word}" for word in full)])

    def assert_clean(self):
        super().assert_clean()
        for drive in self.drives[: len(self.devices)]:
            self.assertTrue(self.lab.is_empty(drive), f"drive {drive} is not empty")

    def in_front(self, program, script):
        """Puts a script in front of a program."""
        path = self.file(f"/tmp/first/{program}", script)
        self.say(f"chmod +x {path}")

    def standing(self, found, layout, kind):
        """The one block of a kind that stood while a layout was measured."""
        blocks = [block for block in self.stood(found, layout) if block["kind"].startswith(kind)]
        self.assertEqual(len(blocks), 1, f"{kind} of {layout}: {blocks}")
        return blocks[0]

    def test_each_stands_as_asked(self):
        self.on("ABCD")
        # What nobody touched yet.
        self.assertFalse(self.lab.is_empty("D"))
        arrays = {"md0:512k": "raid0", "md1": "raid1", "md5:512k": "raid5", "md6:512k": "raid6", "md10:512k": "raid10"}
        # Each with the stripe unit and width that it should know, KiB.
        file_systems = {
            **{"ext4": None, "xfs": None, "btrfs": None, "md5:64k+lvm+ext4": (64, 192)},
            **{"md0:512k+crypt+ext4": (512, 2048), "lvm-stripe:64k+xfs": (64, 256)},
        }
        # An emulated drive on a busy machine may take a second for an I/O.
        found = self.measured(*arrays, "lvm", "lvm-stripe:64k", "crypt", *file_systems, time="2s")
        self.assert_clean()
        self.assertEqual({len(results) for results in found.values()}, {2 + len(arrays) + 3 + len(file_systems)})
        members = {device.removeprefix("/dev/") for device in self.devices}
        for layout, level in arrays.items():
            array = self.standing(found, layout, f"md {level}")
            self.assertEqual(set(array["stands_on"]), members)
            # What has no redundancy cannot be degraded, and a mirror has no chunks.
            self.assertEqual(array["array"]["degraded"], None if level == "raid0" else 0, layout)
            self.assertEqual(array["array"]["chunk_bytes"] or 0, 0 if level == "raid1" else 512 * KIB, layout)
            # It had come to rest before it was measured.
            self.assertIn(array["array"]["sync_action"], (None, "idle"))
        (striped,) = self.standing(found, "lvm-stripe:64k", "LVM")["table"]
        self.assertEqual((striped["target"], striped["chunk_bytes"], len(striped["places"])), ("striped", 64 * KIB, 4))
        linear = self.standing(found, "lvm", "LVM")["table"]
        self.assertEqual([segment["target"] for segment in linear], ["linear"] * 4)
        for layout, stripe in file_systems.items():
            (on,) = (block["file_system"] for block in self.stood(found, layout) if block.get("file_system"))
            self.assertEqual(on["kind"], layout.rpartition("+")[2])
            if stripe:
                unit, width = stripe
                self.assertEqual((on["stripe_unit_bytes"], on["stripe_width_bytes"]), (unit * KIB, width * KIB), layout)
        (writes,) = (results for workload, results in found.items() if "randwrite" in workload)
        self.assert_written_as_often_as_it_should(writes)

    def assert_written_as_often_as_it_should(self, results):
        """Bytes written to the drives for each byte of the workload: copies and parity, and a few for bitmaps."""
        once = ("raw", "md0:512k", "lvm-stripe:64k", "crypt")
        for layout, times in {**dict.fromkeys(once, 1), "md1": 4, "md10:512k": 2, "md5:512k": 2, "md6:512k": 3}.items():
            amplified = results[layout]["write_amplification"]
            self.assertGreater(amplified, 0.98 * times, layout)
            self.assertLess(amplified, 1.3 * times, layout)

    def test_what_does_not_fit_is_told(self):
        """A partition that begins where they began once, and a stripe unit that is not the array's."""
        self.on("AB")
        first = self.devices[0]
        self.say(f"printf 'o\\nn\\np\\n1\\n63\\n\\nw\\n' | fdisk -u {first} >/dev/null; for i in $(seq 100); do [ -b {first}p1 ] && exit 0; usleep 50000; done; exit 1")
        try:
            script = self.say(f"iodyno layouts --dry-run --plan {self.file(PLAN_PATH, PLAN.format(time='200ms'))} --layout 'md0+xfs:su=64k' {first}p1 {self.devices[1]}")
        finally:
            self.say(f"blkdiscard {first}; blockdev --rereadpt {first}")
        self.keep("script.txt", script)
        self.assertIn(f"# offset of {first}p1: 32256 does not fit, 1m would. ", script)
        self.assertIn("# xfs su: 64k does not fit, 512k would. ", script)
        self.assertIn("# xfs sw: 2 fits. ", script)

    def test_a_file_system_that_cannot_be_made(self):
        """The others are measured all the same."""
        self.on("AB")
        self.in_front("mkfs.xfs", "#!/bin/sh\necho no space on the moon >&2; exit 1")
        result = self.lab.run(f"{FIRST} {self.command('lvm-stripe+xfs', 'md0+xfs', 'ext4')}", LIMIT_S)
        self.no_panic(result)
        self.assertEqual(result.status, 3, result.stderr)
        self.assertEqual(result.stderr.count("mkfs.xfs -q"), 2, result.stderr)
        self.assertIn("no space on the moon", result.stderr)
        layouts = {r["layout"] for one in self.document("layouts", result)[1]["workloads"] for r in one["results"]}
        self.assertEqual(layouts, {"raw", "2 raw at once", "ext4"})
        self.assert_clean()

    def killed(self, layout):
        """kill -9 of iodyno before or after each of the programs that it calls; what is left is for clean-up."""
        self.on("AB")
        for program in PROGRAMS.split():
            self.in_front(program, WRAPPER)
        self.say("echo 0 >/tmp/calls")
        self.say(f"{FIRST} {self.command(layout)}", LIMIT_S)
        calls = int(self.say("cat /tmp/calls"))
        self.assertGreater(calls, 10)
        for call in range(calls):
            when = self.random.choice(("BEFORE", "AFTER"))
            with self.subTest(f"{layout}: {when.lower()} call {call} of {calls}"):
                self.say("echo 0 >/tmp/calls")
                # Without --discard-data: nothing is left of the kill before.
                result = self.lab.run(f"{FIRST} {when}={call} {self.command(layout)}", LIMIT_S)
                self.assertEqual(result.status, 137, result.stderr)
                self.cleaned()
                self.assert_clean()
        results.counts.append(f"{calls} times kill -9 while {layout} was built, measured or taken down, LAB_SEED={self.seed}: clean-up left nothing")

    def test_kills_on_an_array(self):
        self.killed("md0+crypt+ext4")

    def test_kills_on_a_volume(self):
        self.killed("lvm-stripe+xfs")

    def test_a_drive_is_taken_out_while_it_is_measured(self):
        for layout in ("lvm-stripe+ext4", "md0+ext4"):
            with self.subTest(layout):
                self.on("ABC")
                gone = self.devices.pop()
                out = f"/sys/bus/pci/devices/{self.lab.address('C')}/remove"
                self.in_front("mount", f'#!/bin/sh\n/bin/mount "$@"; (usleep 300000; echo 1 >{out}) >/dev/null 2>&1 3>&- &')
                try:
                    command = self.command(layout, named=f"{self.named} {gone} --allow-write {self.lab.topology.named('C').serial}", time="3s")
                    result = self.lab.run(f"{FIRST} {command}", LIMIT_S)
                    self.no_panic(result)
                    self.assertEqual(result.status, 3, result.stderr)
                    self.keep(f"taken-out-{layout}.txt", result.stderr)
                    self.assertIn("already gone", result.stderr)
                    self.assert_clean()
                finally:
                    self.lab.cut_power()
                    # What the drive says of itself came back with it.
                    self.on("C")
                    self.say(f"blkdiscard {self.devices[0]}")
