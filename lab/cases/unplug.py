"""A drive is taken out while it is being measured. Last: it does not come back."""

from cases import Case, command, findings, severities


class Unplug(Case):
    def test_drive_vanishes_during_a_check(self):
        name, serial = self.lab.controller("G"), "LABG0001"
        _, before = self.iodyno("check --no-load")
        begun = self.lab.begin(command(f"check --time 5 {name}"), 60)
        self.lab.wait_for_reads("G", 200)
        self.lab.unplug("G")
        result = self.lab.finish(begun)
        self.no_panic(result)
        self.assertEqual(result.status, 3, result.stderr)
        _, document = self.document("check", result)
        self.assertIn("FAIL", severities(document["findings"]) | {document["verdict"]})

        _, listed = self.iodyno("list")
        self.assertNotIn(serial, [d["serial"] for d in listed["drives"]])
        status, after = self.iodyno(f"check --no-load --baseline {before['id']}")
        self.assertEqual(status, 1)
        self.assertTrue(any(serial in str(f) for f in after["findings"] if f["severity"] == "FAIL"), after["findings"])
        self.assertNotIn("FAIL", severities(findings(after, self.lab.controller("F"))))
