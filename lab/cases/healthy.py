"""Nothing is found on a machine on which nothing is wrong, however often it is booted."""

import os

import results
import topology
from cases.scenario import Scenario, above_info

MACHINE = topology.HEALTHY_MACHINE
BOOTS = int(os.environ.get("LAB_BOOTS", "20"))
# A drive's first 4096 reads tell which of its blocks were written. Most of them are not held back, and the rest
# leaves the time to be so again before it is measured: that takes a quarter off the time of all boots.
UNHELD_READS, FASTER = 3000, 4


class Healthy(Scenario):
    def quickly_checked(self):
        """The document of one check of all drives, one after the other."""
        begun = self.lab.begin(self.checking("--time 1"), 300)
        for drive in sorted((drive.name for drive in MACHINE.drives), key=self.lab.controller):
            with self.lab.throttled(drive, FASTER):
                self.lab.wait_for_reads(drive, UNHELD_READS)
        return self.documented("check", self.lab.finish(begun))

    def test_nothing_is_found(self):
        self.needs_registers()
        for boot in range(BOOTS):
            with self.subTest(boot=boot):
                if boot:
                    self.lab.cut_power()
                document = self.quickly_checked()
                found = [(f["rule"], f["severity"], f["what"]) for f in above_info(document)]
                results.boots.append([rule for rule, *_ in found])
                self.assertEqual(found, [])
