"""md and LVM on top of drives: what stands on them is known, and a stripe is as fast as its members."""

import contextlib
import json

import topology
from cases import DATASHEET, STORE
from cases.prepare import lvm
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE
# {} stands for the drives.
STRIPE = "MDADM_NO_UDEV=1 mdadm --create /dev/md0 --level=0 --raid-devices=2 --chunk=256 --force --run {}"
END_STRIPE = "mdadm --stop /dev/md0 && mdadm --zero-superblock {}"
# Taken for in step: nobody reads what it holds.
PARITY = "MDADM_NO_UDEV=1 mdadm --create /dev/md0 --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none --run {}"
GROUP = " && ".join(lvm(words) for words in ("pvcreate -ff -y {}", "vgcreate vg0 {}", "lvcreate -y -Zn -Wn -i2 -I 256k -L 512M -n lv vg0"))
END_GROUP = " && ".join(lvm(words) for words in ("vgchange -an vg0", "vgremove -f -y vg0", "pvremove -y {}"))


class Layers(Scenario):
    @classmethod
    def setUpClass(cls):
        for modules in ("layers", "layouts"):
            cls.lab.load(modules)

    @contextlib.contextmanager
    def made(self, make, unmake, drives="AB"):
        """A device made of drives."""
        members = " ".join(f"/dev/{self.lab.namespace(drive)}" for drive in drives)
        self.say(make.replace("{}", members))
        try:
            yield
        finally:
            self.say(unmake.replace("{}", members))

    def measured(self, device):
        """The document of a check of a device, and its bytes per second of reads in sequence."""
        result = self.lab.run(f"iodyno check --json --store {STORE} --datasheet {DATASHEET} --time 2 {device}", 120)
        document = self.documented("check", result)
        self.keep(f"{device.split('/')[-1]}.json", json.dumps(document))
        (found,) = [m for m in document["measurements"] if m["name"] == "seq-read"]
        return document, found["read"]["bandwidth"]["value"]

    def test_a_stripe_of_md(self):
        with self.made(STRIPE, END_STRIPE):
            document, rate = self.measured("/dev/md0")
        self.named("md stripe of two drives, which is no fault", document, set())
        self.assertAlmostEqual(rate / topology.HEALTHY.bandwidth, 2, delta=0.4)

    def test_a_stripe_of_lvm(self):
        with self.made(GROUP, END_GROUP):
            document, rate = self.measured("/dev/dm-0")
        self.named("LVM stripe of two drives, which is no fault", document, set())
        self.assertAlmostEqual(rate / topology.HEALTHY.bandwidth, 2, delta=0.4)

    def test_parity(self):
        """Small writes say what they cost, and an array that lacks a member says so."""
        job = "--name=small --rw=randwrite --bs=4k --iodepth=8 --direct=1 --number_ios=200 --filename=/dev/md0"
        with self.made(PARITY, END_STRIPE, "ABC"):
            word = f"md0:{self.say('blockdev --getsize64 /dev/md0').strip()}"
            allowed = f"--allow-write {word} --discard-data {word}"
            _, document = self.iodyno(f"run {job} {allowed}", 120)
            self.fires("parity-small-writes", document, "4 I/Os of the members for each write")
            self.fires("stripe-cache", document, "md0")
            member = f"/dev/{self.lab.namespace('C')}"
            self.say(f"mdadm /dev/md0 --fail {member}")
            _, document = self.iodyno(f"run {job.replace('write', 'read')} --readonly", 120)
            self.fires("array-degraded", document, "lacks 1 member")

    def test_an_application_whose_bound_is_missed(self):
        """Each I/O takes 20 ms, and etcd's log is to be flushed in 10 ms."""
        device = f"/dev/{self.lab.namespace('C')}"
        self.say(f"mkfs.ext4 -q -E nodiscard -b 4096 {device} 800M && mount -t ext4 {device} /mnt")
        try:
            with self.lab.slow_to_answer("C", 20_000_000):
                result = self.lab.run(f"iodyno fit --json --store {STORE} etcd /mnt", 300)
        finally:
            self.say(f"umount /mnt; wipefs -qa {device}")
        self.fires("application-bound", self.documented("fit", result), "etcd")

    def test_two_stacks_compare_by_what_they_are_made_of(self):
        members = " ".join(f"/dev/{self.lab.namespace(drive)}" for drive in "AB")
        for chunk, options in (("256", "noatime"), ("64", "relatime,commit=7")):
            self.say(STRIPE.replace("{}", members).replace("chunk=256", f"chunk={chunk}"))
            try:
                # 64 MiB of it: what is not made is not waited for.
                self.say(f"mkfs.ext4 -q -E nodiscard -b 4096 /dev/md0 64M && mount -t ext4 -o {options} /dev/md0 /mnt")
                try:
                    words = f"file-layout --target /mnt --set size=256k --run-name on-{chunk}"
                    document = self.documented("sweep", self.lab.run(f"iodyno sweep --json --store {STORE} {words}", 120))
                finally:
                    self.say("umount /mnt")
            finally:
                self.say(END_STRIPE.replace("{}", members))
            (array,) = (block for block in document["host"]["blocks"] if block["kind"] == "md raid0")
            self.assertEqual((array["array"]["chunk_bytes"], array["array"]["raid_disks"]), (int(chunk) << 10, 2))
            made = array["file_system"]
            self.assertEqual((made["kind"], made["block_bytes"]), ("ext4", 4096))
            self.assertIn(options.split(",")[-1], made["mount_options"])
        shown = self.lab.run(f"iodyno show -v on-64 --store {STORE}")
        self.no_panic(shown)
        self.assertIn("chunk 64 KiB", " ".join(shown.stdout.split()))
        _, compared = self.iodyno("compare on-256 on-64")
        differing = {one["what"]: one["values"] for one in compared["differing"]}
        self.assertEqual(differing["chunk"], [["256 KiB"], ["64 KiB"]])
        self.assertIn("mount options", differing)
        self.assertNotIn("layers", differing)

    def test_a_stripe_is_as_slow_as_its_slowest_member(self):
        with self.lab.throttled("B", 1 / 4), self.made(STRIPE, END_STRIPE):
            stripe, rate = self.measured("/dev/md0")
            document = self.checked()
        # Of its members only the data sheet is known there.
        self.fires("layer-below-members", stripe, "md0")
        self.assertAlmostEqual(rate / topology.HEALTHY.bandwidth, 1 / 2, delta=0.15)
        self.named("md stripe with a slow member", document, {"unlike-peers", "below-claim"}, "B")
