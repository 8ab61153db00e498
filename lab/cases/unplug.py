"""A drive is taken out while it is being measured. Last: it does not come back."""

from cases import command, findings, severities
from cases.jobs import JobCase, named


class Unplug(JobCase):
    def test_drive_vanishes_during_a_job(self):
        job = f"--name=t --rw=randread --bs=4k --iodepth=4 --direct=1 --ioengine=io_uring --continue_on_error=all --filename=/dev/{self.lab.namespace('B')}"
        begun = self.lab.begin(command(f"run {job}"), 60)
        # The blocks that are sampled first are 4096 reads.
        self.lab.wait_for_reads("B", 5500)
        self.lab.unplug("B")
        result = self.lab.finish(begun)
        self.no_panic(result)
        self.assertEqual(result.status, 3, result.stderr)
        found = named(self.document("run", result)[1], "t")
        self.assertGreater(found["read"]["ios"], 1000)
        self.assertGreater(found["read"]["errors"], 0)
        self.assertRegex(found["failure"], "the device is gone|every I/O failed")

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
