"""Two drives share the uplink of a switch that carries what one of them can."""

import topology
from cases.scenario import Scenario

MACHINE = topology.SWITCHED


class Switched(Scenario):
    def test_two_drives_below_one_uplink(self):
        self.needs_registers()
        document = self.unhurried("ABC", [self.lab.controller(drive) for drive in "ABC"])
        self.named("switch oversubscribed 2:1", document, {"link-oversubscribed", "all-at-once|shared-limit"})
