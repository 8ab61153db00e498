"""One thing is wrong on a healthy machine: `iodyno check` names it, and nothing else."""

import topology
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE


class Limits(Scenario):
    def test_two_drives_share_something_that_is_no_link(self):
        """Alone each has its rate, together they have that of one."""
        document = self.unhurried("ABC", [self.lab.controller(drive) for drive in "ABC"], self.lab.sharing("A", "B"))
        self.named("two drives share a limit", document, {"all-at-once|shared-limit"})

    def test_one_drive_is_capped(self):
        with self.lab.throttled("C", 1 / 4):
            document = self.checked()
        self.named("one drive capped", document, {"unlike-peers", "below-claim"}, "C")

    def test_every_answer_takes_long(self):
        """20 ms for each I/O: at depth the rates are as they were."""
        with self.lab.slow_to_answer("C", 20_000_000):
            document = self.checked("--time 3")
        self.named("20 ms for each I/O", document, {"unlike-peers"}, "C")

    def test_unreadable_blocks(self):
        with self.lab.unreadable("C", 2048, 64):
            document = self.checked(f"--time 2 {self.lab.controller('C')}")
        self.named("unreadable blocks", document, {"io-errors|measurement-failed"}, "C")

    def test_degraded_link(self):
        self.needs_registers()
        with self.lab.trained("C", topology.GEN3_X2):
            document = self.checked("--no-load")
        self.named("degraded link", document, {"link-degraded"}, "C")

    def test_critical_warning_raised_while_it_is_measured(self):
        begun = self.lab.begin(self.checking(self.lab.controller("C")), 120)
        self.lab.wait_for_reads("C", 4096 + 50)
        with self.lab.critical_warning("C", 0x04):
            document = self.documented("check", self.lab.finish(begun))
        self.named("critical warning raised while it is measured", document, {"health-critical"}, "C")

    def test_temperature_above_its_warning_level(self):
        self.needs_registers()
        with self.lab.temperature("C", 365):
            document = self.checked("--no-load")
        self.named("temperature above its warning level", document, {"temperature"}, "C")

    def test_function_without_driver(self):
        with self.lab.without_driver("C"):
            document = self.checked("--no-load")
        self.named("function without driver", document, {"drive-dead"}, "C")

    def test_drive_unplugged_while_it_is_measured(self):
        begun = self.lab.begin(self.checking(self.lab.controller("D")), 120)
        self.lab.wait_for_reads("D", 4096 + 50)
        self.lab.unplug("D")
        try:
            document = self.documented("check", self.lab.finish(begun))
            self.named("unplugged while it is measured", document, {"drive-missing", "io-errors|measurement-failed"}, "D")
        finally:
            self.lab.cut_power()
