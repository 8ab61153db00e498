"""A drive that answers late: at depth its rates are as they were, one at a time it is slow."""

import topology
from cases.scenario import Scenario

MACHINE = topology.HEALTHY_MACHINE
LATENCY_NS = 20_000_000


class Answers(Scenario):
    def test_every_answer_takes_long(self):
        with self.lab.slow_to_answer("C", LATENCY_NS):
            document = self.checked()
        self.named("20 ms for each I/O", document, {"unlike-peers"}, "C")
