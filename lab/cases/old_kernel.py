"""A kernel of years ago: nothing is found where nothing is wrong, and what it does not tell is unknown."""

import topology
from cases import command
from cases.scenario import Scenario, above_info

MACHINE = topology.OLD_MACHINE


class OldKernel(Scenario):
    def test_nothing_is_found(self):
        self.needs_registers()
        self.assertRegex(self.say("uname -r"), r"^5\.")
        words = command("check --time 2")
        document = self.documented(words, self.lab.run(words, 600))
        self.assertEqual([(f["rule"], f["severity"], f["what"]) for f in above_info(document)], [])
        self.assertEqual({of["workload"]["ioengine"] for of in document["measurements"]}, {"io_uring"})

    def test_without_io_uring(self):
        job = f"--name=r --rw=randread --bs=4k --direct=1 --runtime=1 --time_based --filename=/dev/{self.lab.namespace('A')}"
        words = command(f"run {job} --ioengine=auto")
        document = self.documented(words, self.lab.run(f"without_io_uring 38 {words}", 120))
        (of,) = document["measurements"]
        self.assertEqual(of["workload"]["ioengine"], "libaio")
        self.assertIn("io_uring", of["conditions"]["engine_reason"])
