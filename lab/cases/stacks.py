"""Layouts of three drives: as asked for while they stand, and cut off in many ways."""

import random

import results
import topology
from cases import FREE
from cases.layouts import LayoutCase
from cases.study import seed

MACHINE = topology.HEALTHY_MACHINE
DRIVES = "ABC"
# Programs that change something; each call is a moment at which iodyno may be killed.
PROGRAMS = "blkdiscard cryptsetup lvcreate mdadm mkfs.ext4 mkfs.xfs mount pvcreate pvremove umount vgcreate vgremove wipefs"
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

    def setUp(self):
        # A power cut gives the drives their rates and other names. A throttle counts what is discarded, too.
        for drive in DRIVES:
            self.enterContext(self.lab.throttled(drive, FREE))
        self.lab.load("layouts")
        self.devices = [f"/dev/{self.lab.namespace(drive)}" for drive in DRIVES]
        serials = [self.lab.topology.named(drive).serial for drive in DRIVES]
        # What a kill left, clean-up does not empty.
        self.words = [f"{serial} --discard-data {serial}" for serial in serials]
        self.say("rm -rf /tmp/first; mkdir /tmp/first")

    def in_front(self, program, script):
        """Puts a script in front of a program."""
        path = self.file(f"/tmp/first/{program}", script)
        self.say(f"chmod +x {path}")

    def members(self):
        return {device.removeprefix("/dev/") for device in self.devices}

    def test_each_stands_as_asked(self):
        found = self.measured("raw", "lvm-stripe:64k", "md0", "md5", "md0+crypt+ext4", "lvm-stripe+xfs")
        self.assertEqual({len(results) for results in found.values()}, {7})
        # What has no redundancy cannot be degraded.
        for layout, level, degraded in (("md0:512k", "raid0", None), ("md5:512k", "raid5", 0)):
            (array,) = (block for block in self.stood(found, layout) if block["kind"] == f"md {level}")
            self.assertEqual(set(array["stands_on"]), self.members())
            self.assertEqual((array["array"]["chunk_bytes"], array["array"]["degraded"]), (512 << 10, degraded))
            # It had come to rest before it was measured.
            self.assertIn(array["array"]["sync_action"], (None, "idle"))
        (volume,) = (block for block in self.stood(found, "lvm-stripe:64k") if block["kind"].startswith("LVM"))
        (segment,) = volume["table"]
        self.assertEqual((segment["target"], segment["chunk_bytes"], len(segment["places"])), ("striped", 64 << 10, 3))
        # A file system knows the stripes that it is on.
        for layout, kind, unit_bytes in (("md0:512k+crypt+ext4", "ext4", 512 << 10), ("lvm-stripe:64k+xfs", "xfs", 64 << 10)):
            (on,) = (block["file_system"] for block in self.stood(found, layout) if block["file_system"])
            self.assertEqual((on["kind"], on["stripe_unit_bytes"], on["stripe_width_bytes"]), (kind, unit_bytes, 3 * unit_bytes))
        self.assert_clean()

    def test_a_file_system_that_cannot_be_made(self):
        """The others are measured all the same."""
        self.in_front("mkfs.xfs", "#!/bin/sh\necho no space on the moon >&2; exit 1")
        result = self.lab.run(f"{FIRST} {self.command('lvm-stripe+xfs', 'md0+xfs', 'ext4')}", 300)
        self.no_panic(result)
        self.assertEqual(result.status, 3, result.stderr)
        self.assertEqual(result.stderr.count("mkfs.xfs -q"), 2, result.stderr)
        self.assertIn("no space on the moon", result.stderr)
        layouts = {r["layout"] for one in self.document("layouts", result)[1]["workloads"] for r in one["results"]}
        self.assertEqual(layouts, {"raw", "3 raw at once", "ext4"})
        self.assert_clean()

    def test_kills(self):
        """kill -9 of iodyno before or after each of the programs that it calls; what is left is for clean-up."""
        for program in PROGRAMS.split():
            self.in_front(program, WRAPPER)
        for layout in ("md0+crypt+ext4", "lvm-stripe+xfs"):
            command = self.command(layout)
            self.say("echo 0 >/tmp/calls")
            self.say(f"{FIRST} {command}", 120)
            calls = int(self.say("cat /tmp/calls"))
            self.assertGreater(calls, 10)
            for call in range(calls):
                when = self.random.choice(("BEFORE", "AFTER"))
                with self.subTest(f"{layout}: {when.lower()} call {call} of {calls}"):
                    self.say("echo 0 >/tmp/calls")
                    result = self.lab.run(f"{FIRST} {when}={call} {command}", 120)
                    self.assertEqual(result.status, 137, result.stderr)
                    self.cleaned()
                    self.assert_clean()
            results.counts.append(f"{calls} times kill -9 while {layout} was built, measured or taken down, LAB_SEED={self.seed}: clean-up left nothing")

    def test_a_drive_is_taken_out_while_it_is_measured(self):
        for layout in ("lvm-stripe+ext4", "md0+ext4"):
            with self.subTest(layout):
                self.setUp()
                out = f"/sys/bus/pci/devices/{self.lab.address('C')}/remove"
                self.in_front("mount", f'#!/bin/sh\n/bin/mount "$@"; (usleep 300000; echo 1 >{out}) >/dev/null 2>&1 3>&- &')
                try:
                    result = self.lab.run(f"{FIRST} {self.command(layout, time='3s')}", 120)
                    self.no_panic(result)
                    self.assertEqual(result.status, 3, result.stderr)
                    self.keep(f"taken-out-{layout}.txt", result.stderr)
                    self.cleaned()
                    self.devices = self.devices[:2]
                    self.assert_clean()
                finally:
                    self.lab.cut_power()
