"""`iodyno explain` names what limits a drive whose limit was planted."""

import contextlib

import topology
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE
STREAM, SMALL, DEEP = "rw=read bs=256k iodepth=32", "rw=randread bs=4k iodepth=1", "rw=randread bs=4k iodepth=64"


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
        self.assertIn("without block layer (io_uring_cmd) each I/O takes", " ".join(of["notes"]))


class WhoMakesThemWait(ExplainCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab.load("schedulers")

    @contextlib.contextmanager
    def scheduled(self, drive, scheduler, **settings):
        """A drive with this I/O scheduler, and with settings of its queue (`iosched_slice_idle` is one of the scheduler's)."""
        queue = f"/sys/block/{self.lab.namespace(drive)}/queue"
        was = self.say(f"cat {queue}/nr_requests").strip()
        write = "; ".join(f"echo {value} >{queue}/{name.replace('iosched_', 'iosched/')}" for name, value in settings.items())
        self.say(f"set -e; echo {scheduler} >{queue}/scheduler; {write or ':'}")
        try:
            yield
        finally:
            self.say(f"echo none >{queue}/scheduler; echo {was} >{queue}/nr_requests")

    def before_the_device(self, of):
        """How it stands with what is before the device: by what the kernel's tracepoints saw."""
        return next((suspect for suspect in of["suspects"] if suspect["limiter"] == "before-device"), None)

    def test_a_slow_drive_behind_a_scheduler(self):
        with self.scheduled("A", "bfq"):
            of = self.explained("A", DEEP)
        self.limited("a slow drive behind a scheduler (bfq)", of, "drive")
        self.assertEqual(self.before_the_device(of)["standing"], "cleared", of["suspects"])

    def test_a_scheduler_whose_queue_is_too_short_for_a_late_drive(self):
        # Of 64 reads 8 are in the drive, for 20 ms each, and it would take all of them.
        with self.lab.slow_to_answer("A", 20_000_000), self.scheduled("A", "mq-deadline", nr_requests=4):
            of = self.explained("A", DEEP)
        self.assertEqual(self.before_the_device(of)["standing"], "open", of["suspects"])
        self.assertEqual(of["outcome"], "undecided", of["sentence"])
        self.assertIn("before-device", of["between"])
        self.assertIn("nr_requests", self.before_the_device(of)["why"])
