"""The laboratory itself: what was planted is there, as other programs see it."""

import json
import re

import topology
from cases import Case

BLOCK = 256 << 10
# Reads that were slow are tried so often.
TRIES = 5


class Planted(Case):
    def test_drives(self):
        drives = json.loads(self.say("nvme list -o json"))["Devices"]
        found = {d["SerialNumber"]: d for d in drives}
        self.assertEqual(sorted(found), [d.serial for d in topology.DRIVES])
        for drive in topology.DRIVES:
            self.assertEqual(found[drive.serial]["PhysicalSize"], topology.SIZE_BYTES)

    def test_identities(self):
        self.needs_registers()
        for drive in topology.DRIVES:
            identity = json.loads(self.say(f"nvme id-ctrl -o json /dev/{self.lab.controller(drive.name)}"))
            self.assertEqual((identity["mn"].strip(), identity["fr"].strip()), (topology.MODEL, drive.firmware))

    def test_links(self):
        self.needs_registers()
        for drive in topology.DRIVES:
            text = self.say(f"lspci -n -vv -s {self.lab.address(drive.name)}")
            able = re.search(r"LnkCap:.*Speed (\S+)GT/s, Width x(\d+)", text).groups()
            now = re.search(r"LnkSta:\s*Speed (\S+)GT/s\S*( \(\w+\))?, Width x(\d+)", text).group(1, 3)
            self.assertEqual((able, now), (("16", "4"), ("8", "2") if drive.name == "C" else ("16", "4")), drive.name)

    def test_two_drives_behind_one_uplink(self):
        above = {name: self.say(f"readlink -f /sys/bus/pci/devices/{self.lab.address(name)}").split("/")[4] for name in "ABCDEFG"}
        self.assertEqual(above["A"], above["B"])
        self.assertEqual(len(set(above.values())), 6)

    def test_usage(self):
        self.needs_registers()
        for drive in topology.DRIVES:
            used = json.loads(self.say(f"nvme id-ns -o json /dev/{self.lab.namespace(drive.name)}"))["nuse"]
            self.assertEqual(used, topology.SIZE_BLOCKS if drive.written else 0)

    def test_partly_written(self):
        self.needs_registers()
        name = self.lab.namespace("E")

        def first_byte(megabyte):
            return self.say(f"dd if=/dev/{name} bs=1M skip={megabyte} count=1 iflag=direct 2>/dev/null | head -c1 | xxd -p").strip()

        with self.lab.partly_written("E", 1 / 4):
            self.assertEqual((first_byte(0), first_byte(230), first_byte(300)), ("5a", "5a", "00"))
            used = json.loads(self.say(f"nvme id-ns -o json /dev/{name}"))["nuse"]
            self.assertAlmostEqual(used / topology.SIZE_BLOCKS, 1 / 4, delta=0.01)
        self.assertEqual((first_byte(0), first_byte(230)), ("00", "00"))

    def test_poll_queues(self):
        polls = f"cat /sys/block/{self.lab.namespace('F')}/queue/io_poll"
        with self.lab.poll_queues("F"):
            self.assertEqual(self.say(polls).strip(), "1")
        self.assertEqual(self.say(polls).strip(), "0")

    def test_io_uring_can_be_absent(self):
        self.assertEqual(self.lab.run("without_io_uring 38 sh -c 'exit 7'").status, 7)

    def test_written_drives_hold_different_data(self):
        def digest(name):
            return self.say(f"dd if=/dev/{name} bs=1M skip=500 count=1 iflag=direct 2>/dev/null | md5sum")

        self.assertEqual(len({digest(self.lab.namespace(d.name)) for d in topology.DRIVES}), len(topology.DRIVES))

    def test_what_is_written_can_be_read(self):
        name = self.lab.namespace("F")
        self.say("dd if=/dev/urandom of=/tmp/block bs=4096 count=16 2>/dev/null")
        self.say(f"dd if=/tmp/block of=/dev/{name} bs=4096 seek=1000 oflag=direct 2>/dev/null")
        self.say(f"dd if=/dev/{name} bs=4096 skip=1000 count=16 iflag=direct 2>/dev/null | cmp - /tmp/block")

    def _bandwidth(self, *drives, blocks=100):
        """What direct reads of one or several drives at once give together, over what a healthy drive gives."""
        reads = "".join(f"dd if=/dev/{self.lab.namespace(d)} of=/dev/null bs={BLOCK} count={blocks} iflag=direct & " for d in drives)
        clock = "cut -d' ' -f1 /proc/uptime"
        start, end = (float(x) for x in self.say(f"{clock}; {{ {reads} wait; }} 2>/dev/null; {clock}").split())
        return len(drives) * blocks * BLOCK / (end - start) / topology.HEALTHY.bandwidth

    def _assert_bandwidth(self, low, high, *drives, blocks=100):
        """It lies between: a busy machine slows some reads, and makes none faster, so that one of a few tries does."""
        tries = []
        while len(tries) < TRIES and not (tries and tries[-1] > low):
            tries.append(self._bandwidth(*drives, blocks=blocks))
        self.assertTrue(low < tries[-1] < high, f"drives {drives}: {tries}, {low} to {high} were expected")

    def test_rates(self):
        self._assert_bandwidth(0.85, 1.2, "F")
        self._assert_bandwidth(0.19, 0.31, "D", blocks=60)
        self._assert_bandwidth(1.25, 2, "E")
        self._assert_bandwidth(0.85, 1.2, "A")
        self._assert_bandwidth(0.85, 1.2, "A", "B")
        self._assert_bandwidth(1.7, 2.4, "F", "G")

    def test_faults_are_planted_and_undone(self):
        name = self.lab.controller("G")

        def smart(key):
            return json.loads(self.say(f"nvme smart-log -o json /dev/{name}"))[key]

        with self.lab.critical_warning("G", 0x8):
            self.assertEqual(smart("critical_warning"), 0x8)
        self.assertEqual(smart("critical_warning"), 0)
        read = f"dd if=/dev/{name}n1 of=/dev/null bs=4096 skip=256 count=1 iflag=direct"
        with self.lab.unreadable("G", 2048, 8):
            self.assertNotEqual(self.lab.run(read).status, 0)
        self.say(read)
        with self.lab.throttled("G", 1 / 4):
            self._assert_bandwidth(0.19, 0.31, "G", blocks=60)
        self._assert_bandwidth(0.85, 1.2, "G")
        with self.lab.without_driver("G"):
            self.assertNotIn(name, self.say("ls /dev"))
        self.assertIn(f"{name}n1", self.say("ls /dev"))
        if self.lab.registers_set:
            with self.lab.temperature("G", 365):
                self.assertEqual(smart("temperature"), 365)
            self.assertLess(smart("temperature"), 340)
            port = self.say(f"readlink -f /sys/bus/pci/devices/{self.lab.address('G')}").split("/")[-2]
            with self.lab.target_generation("G", 3):
                self.assertIn("Target Link Speed: 8GT/s", self.say(f"lspci -n -vv -s {port}"))
            self.assertIn("Target Link Speed: 16GT/s", self.say(f"lspci -n -vv -s {port}"))
