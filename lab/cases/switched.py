"""Two drives share the uplink of a switch that carries what one of them can."""

import topology
from cases.scenario import Scenario

MACHINE = topology.SWITCHED


class Switched(Scenario):
    def test_two_drives_below_one_uplink(self):
        self.needs_registers()
        document = self.unhurried("ABC", [self.lab.controller(drive) for drive in "ABC"])
        self.named("switch oversubscribed 2:1", document, {"link-oversubscribed"})
        # What the two lose by it is told there, once, and from what was measured.
        (uplink,) = (f for f in document["findings"] if f["rule"] == "link-oversubscribed")
        measured = {e["what"]: e["value"] for e in uplink["evidence"] if e["what"].startswith("measured")}
        self.assertEqual(set(measured), {"measured (seq-read)", "measured (rand-read)"}, uplink)
        for what, value in measured.items():
            self.assertRegex(value, r"sum of each alone: (4[5-9]|5[0-5]) %$", what)
