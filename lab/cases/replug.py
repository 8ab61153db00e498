"""A drive is taken out, and another one gets its slot and its name: nothing that was said of the first holds for the second.

Last of all: its machine does not get the drives back.
"""

import topology
from cases import command
from cases.jobs import JobCase
from cases.layouts import PLAN, PLAN_PATH

MACHINE = topology.SMALL_MACHINE
STORE = "/tmp/replug.sqlite"


class Replug(JobCase):
    @classmethod
    def setUpClass(cls):
        for drive in "AB":
            cls.enterClassContext(cls.lab.throttled(drive, 20))

    def new_writes(self, drive):
        """How many writes the drive that was put in has served."""
        return self.lab.served(f"{drive}-new")["wr_operations"]

    def refused_on_the_new_one(self, words, drive):
        result = self.lab.run(words, 90)
        self.no_panic(result)
        self.assertEqual(self.new_writes(drive), 0, result.stderr)
        self.assertEqual(result.status, 2, result.stderr)
        return result.stderr

    def test_between_a_plan_and_its_start(self):
        """A sweep that was stopped goes on after the drive's name went to another one."""
        name, both = self.lab.namespace("A"), "--allow-write LABA0001 --discard-data LABA0001"
        self.file(PLAN_PATH, PLAN.format(time="30s"))
        writes = f"$(awk '{{print $5}}' /sys/block/{name}/stat)"
        sweep = f"iodyno sweep --store {STORE} {PLAN_PATH} --target /dev/{name} --set size=8m --set rw=randwrite {both}"
        result = self.lab.run(
            f"goal=$(({writes} + 1)); {sweep} & pid=$!; until [ {writes} -ge $goal ] || ! kill -0 $pid; do usleep 20000; done; kill -INT $pid; wait $pid", 120
        )
        self.assertEqual(result.status, 3, result.stderr)
        self.lab.replug("A", "OTHER001")
        self.assertEqual(self.lab.wait_for_drive("OTHER001"), name, "the name went to no other drive")
        self.refused_on_the_new_one(f"iodyno resume --store {STORE} {both}", "A")
        said = self.refused_on_the_new_one(f"{command('run')} --name=w --rw=randwrite --bs=4k --size=64k --filename=/dev/{name} {both}", "A")
        self.assertIn("OTHER001", said)

    def test_while_it_is_written(self):
        name, both = self.lab.namespace("B"), "--allow-write LABB0001 --discard-data LABB0001"
        job = f"--name=w --rw=randwrite --bs=4k --size=64m --direct=1 --time_based --runtime=60 --continue_on_error=all --filename=/dev/{name}"
        before = self.lab.writes("B")
        begun = self.lab.begin(f"{command('run')} {job} {both}", 120)
        self.lab.machine.wait_for(lambda: self.lab.writes("B") > before + 200, "drive B was not written", 60)
        self.lab.replug("B", "OTHER002")
        result = self.lab.finish(begun)
        self.no_panic(result)
        self.assertEqual(result.status, 3, result.stderr)
        self.lab.wait_for_drive("OTHER002")
        self.assertEqual(self.new_writes("B"), 0)
