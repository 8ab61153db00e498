"""`iodyno explain` names what limits a drive whose limit was planted."""

import topology
from cases import STORE
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE
STREAM, SMALL = "rw=read bs=256k iodepth=32", "rw=randread bs=4k iodepth=1"


class ExplainCase(Scenario):
    """A test that asks what limits drives."""

    def explained(self, drives, workload):
        """What limits a workload on drives: the one measurement that was explained."""
        targets = " ".join(f"/dev/{self.lab.namespace(drive)}" for drive in drives)
        words = f"explain --json --store {STORE} --datasheet /root/datasheet.toml {targets} {workload}"
        result = self.lab.run(f"iodyno {words}", 180)
        self.no_panic(result)
        (of,) = self.document(words, result)[1]["explained"]
        self.keep(f"explain-{drives}.txt", of["sentence"])
        return of

    def tried(self, of):
        """The experiments that were made and could be held against the question."""
        return {contrast["measurement"] for contrast in of["contrasts"]}


class Explained(ExplainCase):
    def test_a_drive_at_its_claim(self):
        of = self.explained("A", STREAM)
        self.assertEqual((of["outcome"], of["limiter"]), ("named", "drive"), of["sentence"])

    def test_a_capped_drive(self):
        with self.lab.throttled("A", 1 / 4):
            of = self.explained("A", STREAM)
        self.assertEqual((of["outcome"], of["limiter"]), ("named", "drive"), of["sentence"])

    def test_two_drives_share_something(self):
        with self.lab.sharing("A", "B"):
            of = self.explained("AB", STREAM)
        self.assertEqual((of["outcome"], of["limiter"]), ("named", "shared"), of["sentence"])

    def test_one_at_a_time_on_a_drive_that_answers_late(self):
        with self.lab.slow_to_answer("A", 20_000_000):
            of = self.explained("A", SMALL)
        self.assertEqual((of["outcome"], of["limiter"]), ("named", "depth"), of["sentence"])
        # What the kernel takes of each of them is told, too; without poll queues polling is not.
        self.assertIn("passthrough", self.tried(of))
        self.assertNotIn("polling", self.tried(of))
        self.assertIn("past the block layer (io_uring_cmd) each I/O takes", " ".join(of["notes"]))
