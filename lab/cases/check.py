"""`iodyno check` under load: every planted slowness is found, and the healthy drives pass."""

import topology
from cases import FREE, Case, command, findings, measurement, severities

# One second for each measurement keeps the whole within the laboratory's time; its throttles are steady.
CHECK = "check --time 1"
ALL_TIMEOUT_S = 240
ONE_TIMEOUT_S = 90
STEPS = ("seq-read", "rand-read", "latency")
RATES = (("seq-read", "bandwidth"), ("rand-read", "iops"))


class Check(Case):
    kept = None
    tried = False

    def all(self):
        """(exit status, document) of one check of all drives, made once."""
        if Check.kept is None:
            self.assertFalse(Check.tried, "the check of all drives gave no document")
            Check.tried = True
            result = self.lab.run(command(CHECK), ALL_TIMEOUT_S)
            self.keep("check.json", result.stdout)
            self.keep("check.err", result.stderr)
            self.no_panic(result)
            Check.kept = self.document(CHECK, result)
            self.keep("check.txt", self.lab.run("COLUMNS=100 " + command("show last").replace("--json", "")).stdout)
        return Check.kept

    def one(self, name, step):
        """A measurement of one drive alone out of the check of all."""
        return measurement(self.all()[1], step, self.lab.namespace(name))

    def rate(self, name, step, metric):
        return self.one(name, step)["read"][metric]["value"]

    def written(self, found):
        return [share["state"] for share in found["conditions"]["written"]]

    def subject(self, name):
        """The verdict on a drive, and on its namespace where that is named apart."""
        names = (self.lab.controller(name), self.lab.namespace(name))
        return {s["verdict"] for s in self.all()[1]["subjects"] if s["name"] in names}

    def test_verdict(self):
        status, document = self.all()
        self.assertEqual((status, document["exit_status"], document["verdict"]), (1, 1, "FAIL"))
        self.assertEqual((document["schema"], document["state"]), ("iodyno.run/2", "done"))

    def test_healthy_drives_keep_their_claim(self):
        self.needs_registers()
        for name in "FG":
            for step, metric in RATES:
                claimed = {"bandwidth": topology.HEALTHY.bandwidth, "iops": topology.HEALTHY.iops}[metric]
                found = self.one(name, step)
                self.assertEqual(found["claim"]["value"], claimed)
                self.assertGreater(found["read"][metric]["value"], 0.9 * claimed)
                self.assertLess(found["read"][metric]["value"], 1.25 * claimed)
                verdicts = {v["metric"]: v for v in found["verdicts"]}
                self.assertEqual(verdicts[metric]["verdict"], "PASS", verdicts[metric])
            self.assertNotIn("FAIL", self.subject(name), findings(self.all()[1], self.lab.controller(name)))

    def test_healthy_drives_are_valid_and_written(self):
        for name in "FG":
            for step in STEPS:
                found = self.one(name, step)
                self.assertNotEqual(found["validity"], "INVALID", found["reasons"])
                self.assertEqual(self.written(found), ["written"])
                self.assertEqual(found["read"]["errors"], 0)

    def test_nobody_is_called_saturated(self):
        for name in "ABCDFG":
            for step in STEPS:
                rules = {reason["rule"] for reason in self.one(name, step)["reasons"]}
                self.assertFalse({r for r in rules if "saturat" in r or "other-io" in r}, self.one(name, step)["reasons"])

    def test_slow_drive(self):
        self.needs_registers()
        for step, metric in RATES:
            ratio = self.rate("D", step, metric) / self.rate("F", step, metric)
            self.assertAlmostEqual(ratio, 1 / 4, delta=0.08)
        self.assertEqual(self.subject("D"), {"FAIL"})
        slow = findings(self.all()[1], self.lab.controller("D"))
        self.assertTrue(any("peer" in f["rule"] and f["severity"] == "FAIL" for f in slow), slow)

    def test_degraded_link(self):
        self.needs_registers()
        self.assertEqual(self.subject("C"), {"FAIL"})

    def test_never_written_drive(self):
        self.needs_registers()
        found = self.one("E", "rand-read")
        self.assertEqual((found["validity"], self.written(found)), ("INVALID", ["unwritten"]), found["reasons"])
        self.assertNotIn("FAIL", self.subject("E"))
        for rule in ("blocks-not-written", "above-claim"):
            self.fires(rule, self.all()[1], self.lab.namespace("E"))

    def test_partly_written_drive(self):
        self.needs_registers()
        with self.lab.partly_written("E", 1 / 4), self.lab.throttled("E", FREE):
            _, document = self.iodyno(f"{CHECK} {self.lab.controller('E')}", ONE_TIMEOUT_S)
        found = measurement(document, "rand-read", self.lab.namespace("E"))
        self.assertEqual(self.written(found), ["partly"])
        self.assertEqual(found["validity"], "QUALIFIED", found["reasons"])
        ranges = found["conditions"]["ranges"]
        self.assertTrue(ranges)
        for stretch in ranges:
            self.assertLess(stretch["offset_bytes"] + stretch["length_bytes"], 0.3 * topology.SIZE_BYTES)

    def test_shared_uplink(self):
        self.needs_registers()
        document = self.all()[1]
        at_once = [m for m in document["measurements"] if m["name"] == "seq-read" and len(m["targets"]) > 1]
        self.assertEqual(len(at_once), 1)
        self.assertEqual(len(at_once[0]["targets"]), len(topology.DRIVES))
        parts = {part["target"]: part["read"]["bandwidth"]["value"] for part in at_once[0]["parts"]}
        together = sum(parts[self.lab.namespace(d)] for d in "AB")
        alone = sum(self.rate(d, "seq-read", "bandwidth") for d in "AB")
        self.assertAlmostEqual(together / alone, 1 / 2, delta=0.15)
        uplink = [f for f in document["findings"] if "shared" in f["rule"] or "oversubscribed" in f["rule"]]
        self.assertIn("WARN", severities(uplink), document["findings"])

    def test_shown_again(self):
        _, document = self.all()
        status, again = self.iodyno(f"show {document['id']}")
        self.assertEqual(status, 1)
        for key in ("measurements", "findings", "subjects", "verdict"):
            self.assertEqual(again[key], document[key])

    def test_drive_slower_than_in_the_baseline(self):
        name = self.lab.controller("G")
        with self.lab.throttled("G", 1 / 2):
            status, document = self.iodyno(f"{CHECK} --baseline {self.all()[1]['id']} {name}", ONE_TIMEOUT_S)
        self.assertEqual(status, 1)
        slow = findings(document, name)
        self.assertTrue(any("baseline" in f["rule"] and f["severity"] == "FAIL" for f in slow), slow)
        self.fires("unlike-baseline", document, name)

    def test_unreadable_blocks(self):
        with self.lab.unreadable("G", 2048, 64), self.lab.throttled("G", FREE):
            result = self.lab.run(command(f"{CHECK} {self.lab.controller('G')}"), ONE_TIMEOUT_S)
        self.no_panic(result)
        _, document = self.document(CHECK, result)
        found = measurement(document, "seq-read", self.lab.namespace("G"))
        self.assertTrue(found["failure"] or found["read"]["errors"] > 0, found)
        self.assertNotEqual((result.status, document["verdict"]), (0, "PASS"))

    def test_interrupted(self):
        # timeout stands for the user's Ctrl-C.
        begun = self.lab.begin(f"timeout -s INT 5 {command(CHECK + ' ' + self.lab.controller('G'))}", ONE_TIMEOUT_S)
        result = self.lab.finish(begun)
        self.no_panic(result)
        self.assertEqual(result.status, 3, result.stderr)
