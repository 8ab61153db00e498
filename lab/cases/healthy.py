"""Nothing is found on a machine on which nothing is wrong, however often it is booted."""

import os

import results
import topology
from cases.scenario import Scenario, above_info

MACHINE = topology.HEALTHY_MACHINE
BOOTS = int(os.environ.get("LAB_BOOTS", "20"))


class Healthy(Scenario):
    def test_nothing_is_found(self):
        self.needs_registers()
        for boot in range(BOOTS):
            with self.subTest(boot=boot):
                if boot:
                    self.lab.cut_power()
                document = self.checked("--time 1")
                found = [(f["rule"], f["severity"], f["what"]) for f in above_info(document)]
                results.boots.append([rule for rule, *_ in found])
                self.assertEqual(found, [])
