"""`iodyno explain` names what limits a drive whose limit was planted."""

import topology
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE
STREAM, SMALL = "rw=read bs=256k iodepth=32", "rw=randread bs=4k iodepth=1"


class ExplainCase(Scenario):
    """A test that asks what limits drives."""

    def explained(self, drives, workload):
        """What limits a workload on drives: the one measurement that was explained."""
        return super().explained([self.lab.namespace(drive) for drive in drives], workload)

    def tried(self, of):
        """The experiments that were made and could be held against the question."""
        return {contrast["measurement"] for contrast in of["contrasts"]}


class Explained(ExplainCase):
    def test_a_drive_at_its_claim(self):
        of = self.explained("A", STREAM)
        self.limited("nothing: the drive at its claim", of, "drive")

    def test_a_capped_drive(self):
        with self.lab.throttled("A", 1 / 4):
            of = self.explained("A", STREAM)
        self.limited("one drive capped", of, "drive")

    def test_two_drives_share_something(self):
        with self.lab.sharing("A", "B"):
            of = self.explained("AB", STREAM)
        self.limited("two drives share a limit", of, "shared")

    def test_one_at_a_time_on_a_drive_that_answers_late(self):
        with self.lab.slow_to_answer("A", 20_000_000):
            of = self.explained("A", SMALL)
        self.limited("late answers, one at a time", of, "depth")
        # What the kernel takes of each of them is told, too; without poll queues polling is not.
        self.assertIn("passthrough", self.tried(of))
        self.assertNotIn("polling", self.tried(of))
        self.assertIn("past the block layer (io_uring_cmd) each I/O takes", " ".join(of["notes"]))
