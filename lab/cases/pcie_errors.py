"""PCIe errors that are counted while a drive is measured."""

import topology
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE
# Bits of the Correctable Error Status register.
RECEIVER_ERROR, BAD_TLP = 0x01, 0x40


class PcieErrors(Scenario):
    def counted(self, drive):
        """{kind: count} of a drive's correctable errors."""
        text = self.say(f"cat /sys/bus/pci/devices/{self.lab.address(drive)}/aer_dev_correctable")
        return {kind: int(count) for kind, count in (line.split() for line in text.splitlines())}

    def test_injected_errors_are_counted(self):
        self.needs_registers()
        before = self.counted("D")["BadTLP"]
        self.lab.pcie_errors("D", BAD_TLP)
        self.lab.machine.wait_for(lambda: self.counted("D")["BadTLP"] > before, "the error was not counted", 20)

    def test_errors_while_it_is_measured(self):
        self.needs_registers()
        begun = self.lab.run(f"({self.checking(self.lab.controller('C'))} >/tmp/out 2>/tmp/err 3>&-; echo $? >/tmp/status) &")
        self.assertEqual(begun.status, 0)
        self.lab.wait_for_reads("C", 4096 + 50)
        for kind in (RECEIVER_ERROR, RECEIVER_ERROR, BAD_TLP):
            self.lab.pcie_errors("C", kind)
        result = self.lab.run("until [ -s /tmp/status ]; do usleep 50000; done; cat /tmp/out; cat /tmp/err >&2; exit $(cat /tmp/status)", 120)
        self.named("PCIe errors while it is measured", self.documented("check", result), {"pcie-errors"}, "C")
