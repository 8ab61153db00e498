"""Volumes behind a RAID card: the card is told of, its drives are said to be hidden, and what two volumes share is not the drives'."""

import topology
from cases import STORE, findings
from cases.scenario import Scenario

MACHINE = topology.RAID_CARD


class RaidCard(Scenario):
    @classmethod
    def setUpClass(cls):
        cls.lab.load("raid")
        there = "ls -d /sys/bus/scsi/devices/0:2:*/block/sd* | wc -l"
        volumes = len(topology.RAID_CARD.volumes)
        cls.lab.machine.wait_for(lambda: cls.lab.run(there).stdout.strip() == str(volumes), "the card's volumes did not come", 60)

    def volumes(self, names="BCD"):
        """The block devices of the card's volumes."""
        places = [ord(name) - ord("B") for name in names]
        return [self.say(f"ls /sys/bus/scsi/devices/0:2:{place}:0/block").strip() for place in places]

    def card(self):
        """The card's PCI address."""
        return self.say("basename $(dirname /sys/bus/pci/drivers/megaraid_sas/*/host*)").strip()

    def test_planted(self):
        self.assertEqual(self.say("cat /sys/class/scsi_host/host0/proc_name"), "megaraid_sas\n")
        self.assertIn("RAID bus controller", self.say(f"lspci -s {self.card()}"))
        self.assertEqual(self.say(f"cat /sys/bus/pci/devices/{self.lab.address('A')}/iommu_group/type"), "DMA\n")

    def test_the_tree_shows_the_card_with_its_volumes(self):
        text = self.say("COLUMNS=120 iodyno list --tree")
        self.keep("raid-tree.txt", text)
        lines = [" ".join(line.split()) for line in text.splitlines()]
        (at,) = [at for at, line in enumerate(lines) if f"card {self.card()} " in line]
        self.assertRegex(lines[at], "RAID, megaraid_sas, hides the drives behind its 3 disks$")
        self.assertEqual([line.split()[2] for line in lines[at + 1 : at + 4]], sorted(self.volumes()))

    def test_the_list_is_of_drives_that_are_seen(self):
        status, listed = self.iodyno("list")
        self.assertEqual((status, [drive["serial"] for drive in listed["drives"]]), (0, ["LABA0001"]))
        text = self.say("COLUMNS=120 iodyno list")
        self.keep("raid-list.txt", text)
        self.assertIn(f"at {self.card()}, megaraid_sas", text)

    def test_a_limit_that_volumes_share(self):
        """Alone each has its rate; two of three together have that of one."""
        document = self.unhurried("BCD", [f"/dev/{name}" for name in self.volumes()])
        self.keep("raid.txt", self.say(f"COLUMNS=100 iodyno show last --store {STORE} || true"))
        self.named("a limit behind a RAID card that two volumes share", document, {"all-at-once|shared-limit", "behind-raid-card"})
        blamed = {rule for volume in self.volumes() for rule in ("below-claim", "unlike-peers") if findings(document, volume, rule)}
        self.assertEqual(blamed, set(), "the drives are as fast as they should be")

    def test_explained(self):
        of = self.explained(self.volumes("BC"), "rw=read bs=256k iodepth=32")
        self.limited("a limit behind a RAID card that two volumes share", of, "shared")

    def test_strict_iommu(self):
        _, document = self.iodyno("check --no-load")
        self.fires("iommu-strict", document, self.lab.controller("A"))

    def test_reads_across_the_blocks_of_a_volume(self):
        (volume,) = self.volumes("D")
        _, document = self.iodyno(f"run --name=across --rw=randread --bs=1536 --size=96k --direct=1 --filename=/dev/{volume}")
        self.fires("unaligned-io", document, "across")
