"""md and LVM on top of drives: what stands on them is known, and a stripe is as fast as its members."""

import json

import topology
from cases import DATASHEET, STORE, measurement
from cases.prepare import lvm
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE
# {} stands for the drives.
STRIPE = "MDADM_NO_UDEV=1 mdadm --create /dev/md0 --level=0 --raid-devices=2 --chunk=256 --force --run {}"
END_STRIPE = "mdadm --stop /dev/md0 && mdadm --zero-superblock {}"
GROUP = " && ".join(lvm(words) for words in ("pvcreate -ff -y {}", "vgcreate vg0 {}", "lvcreate -y -Zn -Wn -i2 -I 256k -L 512M -n lv vg0"))


class Layers(Scenario):
    @classmethod
    def setUpClass(cls):
        cls.lab.load("layers")

    def stacked(self, make, device, unmake, fault, beside="", expected=()):
        """Bytes per second of reads in sequence of what was made of two drives; other targets may be measured `beside` it."""
        members = " ".join(f"/dev/{self.lab.namespace(drive)}" for drive in "AB")
        self.say(make.replace("{}", members))
        try:
            result = self.lab.run(f"iodyno check --json --store {STORE} --datasheet {DATASHEET} --time 2 {device} {beside}", 180)
            document = self.documented("check", result)
            found = measurement(document, "seq-read", device.removeprefix("/dev/"))
            self.keep(f"{device.split('/')[-1]}.json", json.dumps(document))
            self.named(fault, document, set(expected), *("B" if expected else ""))
            return found["read"]["bandwidth"]["value"]
        finally:
            self.say(unmake.replace("{}", members))

    def test_a_stripe_of_md(self):
        rate = self.stacked(STRIPE, "/dev/md0", END_STRIPE, "md stripe of two drives, which is no fault")
        self.assertAlmostEqual(rate / topology.HEALTHY.bandwidth, 2, delta=0.4)

    def test_a_stripe_of_lvm(self):
        rate = self.stacked(GROUP, "/dev/dm-0", lvm("vgchange -an vg0"), "LVM stripe of two drives, which is no fault")
        self.assertAlmostEqual(rate / topology.HEALTHY.bandwidth, 2, delta=0.4)

    def test_a_stripe_is_as_slow_as_its_slowest_member(self):
        with self.lab.throttled("B", 1 / 4):
            drives = " ".join(f"/dev/{self.lab.namespace(drive)}" for drive in "ABCD")
            slow = {"unlike-peers", "below-claim"}
            rate = self.stacked(STRIPE, "/dev/md0", END_STRIPE, "md stripe with a slow member", drives, slow)
        self.assertAlmostEqual(rate / topology.HEALTHY.bandwidth, 1 / 2, delta=0.15)
