"""Rates that change while they are measured: the change is told instead of an average, and steady is what comes after it."""

import json
import re

import topology
from cases import measurement
from cases.scenario import Scenario, evidence

MACHINE = topology.HEALTHY_MACHINE
STORE = "/tmp/cliff.sqlite"
# "from 52.4 MB/s to 26.2 MB/s after 4.1 s and 210 MB moved"
LEVELS = re.compile(r"from ([\d.]+) MB/s to ([\d.]+) MB/s after ([\d.]+) s")


class Cliff(Scenario):
    def levels(self, document, step, drive):
        """(MB/s before, MB/s after, seconds) of a step on a drive."""
        told = [line for line in evidence(document, "rate-cliff", self.lab.controller(drive)).splitlines() if line.startswith(step)]
        self.assertEqual(len(told), 1, document["findings"])
        return (float(figure) for figure in LEVELS.search(told[0]).groups())

    def assert_doubtful(self, document, step, drive):
        found = measurement(document, step, self.lab.namespace(drive))
        self.assertIn("rate-cliff", {reason["rule"] for reason in found["reasons"]})
        self.assertEqual(found["validity"], "QUALIFIED")

    def test_a_burst_and_then_the_cliff(self):
        """Twice the rate for about four seconds of ten."""
        with self.lab.bursting("B", 2, 2):
            document = self.checked(f"--time 10 {self.lab.controller('B')}")
        self.assert_doubtful(document, "seq-read", "B")
        before, after, seconds = self.levels(document, "seq-read", "B")
        self.assertTrue(1.4 < before / after < 2.6, (before, after))
        self.assertTrue(2 < seconds < 8, seconds)
        self.named("burst, then the cliff", document, {"rate-cliff"}, "B")

    def test_slowed_while_it_is_measured(self):
        # 4096 blocks are sampled first; sequential reads are of 256 KiB, some 100 a second.
        begun = self.lab.begin(self.checking(f"--time 10 {self.lab.controller('B')}"), 120)
        self.lab.wait_for_reads("B", 4096 + 400)
        with self.lab.throttled("B", 1 / 4):
            document = self.documented("check", self.lab.finish(begun))
        self.assert_doubtful(document, "seq-read", "B")
        before, after, _ = self.levels(document, "seq-read", "B")
        # What the drive had in its queue is counted against it at the slower rate.
        self.assertGreater(before / after, 2.5)
        # How far below its claim the mean is depends on when it was cut.
        self.named("speed cut while it is measured", document, {"rate-cliff|below-claim"}, "B")

    def test_steady_is_what_comes_after_the_cliff(self):
        """Rounds of some two seconds, twice as fast until a cache of 120 MB is full."""
        plan = (
            f"iodyno sweep snia-throughput --scale 0.02 --store {STORE} --json --target /dev/{self.lab.namespace('C')} "
            "--set bs=128k --set size=256m --allow-write LABC0001 --discard-data LABC0001"
        )
        full = self.lab.written_bytes("C") + 120_000_000
        with self.lab.throttled("C", 2):
            begun = self.lab.begin(plan, 300)
            self.lab.machine.wait_for(lambda: self.lab.written_bytes("C") >= full, "the cache was not filled", 100)
        result = self.lab.finish(begun)
        self.no_panic(result)
        self.assertEqual(result.status, 0, result.stderr)
        self.keep("rounds.json", result.stdout)
        document = json.loads(result.stdout)
        rate = {m["round"]: m["write"]["bandwidth"]["value"] for m in document["measurements"] if m["name"] == "0/100"}
        self.assertGreater(rate[1], 1.4 * topology.HEALTHY.bandwidth)
        cliff = min(n for n in rate if rate[n] < 0.85 * rate[1])
        self.assertGreater(cliff, 1, rate)
        (rounds,) = document["rounds"]
        self.assertGreaterEqual(rounds["window"][0], cliff, rate)
        self.assertLess(rounds["tracked"][0]["window"]["average"], 0.85 * rate[1])
