"""A zoned namespace: named as one, written as its zones are, and by nothing else."""

import re

import topology
from cases import Case

MACHINE = topology.ZONED
ZONES = topology.ZONED.size_bytes // topology.ZONE_BYTES
ALLOWED = "--allow-write LABA0001"


class Zoned(Case):
    def states(self):
        """How many zones are in each state, `{"EMPTY": 8}`."""
        report = self.say(f"nvme zns report-zones /dev/{self.lab.namespace('A')}")
        # By name, or as the number of Zone State.
        names = {"0x1": "EMPTY", "0x10": "EMPTY", "0xe": "FULL", "0xe0": "FULL"}
        states = [names.get(state, state) for state in re.findall(r"State: *(\S+)", report)]
        return {state: states.count(state) for state in states}

    def test_it_is_named_as_zoned(self):
        name = self.lab.namespace("A")
        _, document = self.iodyno("check --no-load")
        self.fires("zoned", document, name)
        self.fires("few-queues", document, self.lab.controller("A"))
        self.assertNotIn(self.lab.controller("B"), str([f for f in document["findings"] if f["rule"] in ("zoned", "few-queues")]))
        (block,) = [block for block in document["host"]["blocks"] if block["name"] == name]
        self.assertEqual((block["zoned"], block["zone_bytes"]), ("host-managed", topology.ZONE_BYTES))
        self.assertIn("zoned", self.say("iodyno list"))

    def test_random_writes_are_refused_with_the_reason(self):
        before = self.states()
        for job in ("--rw=randwrite", "--rw=randrw", "--rw=write --iodepth=8"):
            with self.subTest(job=job):
                name = self.lab.namespace("A")
                result = self.lab.run(f"iodyno run --name=t {job} --bs=4k --direct=1 --ioengine=io_uring --number_ios=64 --filename=/dev/{name} {ALLOWED}")
                self.assertEqual((result.status, result.stdout), (2, ""), result.stderr)
                self.assertIn(f"{name} is zoned", result.stderr)
        self.assertEqual(self.states(), before)

    def test_it_is_emptied_and_filled_zone_by_zone(self):
        name = self.lab.namespace("A")
        told = self.say(f"iodyno prepare {name} --fill 1x {ALLOWED} --dry-run")
        self.assertIn(f"Resets all zones of {name}", told)
        # Twice: full zones are emptied, too.
        for _ in range(2):
            result = self.lab.run(f"iodyno prepare {name} --fill 1x {ALLOWED} --discard-data LABA0001", 300)
            self.assertEqual(result.status, 0, result.stdout + result.stderr)
            self.assertEqual(self.states(), {"FULL": ZONES}, result.stdout)
        result = self.lab.run(f"iodyno prepare {name} --fill 2x {ALLOWED}")
        self.assertIn("--fill 1x", result.stderr)
        self.assertEqual(self.states(), {"FULL": ZONES})

    def test_nothing_is_reset_without_a_word(self):
        self.lab.run(f"iodyno prepare {self.lab.namespace('A')} --fill 1x {ALLOWED} --discard-data LABA0001", 300)
        result = self.lab.run(f"iodyno prepare {self.lab.namespace('A')} --fill 1x")
        self.assertNotEqual(result.status, 0)
        self.assertIn("--allow-write", result.stderr)
        self.assertEqual(self.states(), {"FULL": ZONES})
