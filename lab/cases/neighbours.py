"""What `iodyno explain` says of reads that a neighbour's writes slow down: A and B share an uplink and all that they can do."""

from cases.explained import ExplainCase

# Enough I/Os a second for narrow intervals at rates as low as the lab's.
READS = "rw=read bs=64k iodepth=32"


class Neighbours(ExplainCase):
    def test_a_neighbour_that_may_be_written(self):
        # Below what either could do alone, so that neither's claim is what limits.
        with self.lab.throttled("A", 0.8):
            of = self.explained("A", f"{READS} --allow-write LABB0001 --discard-data LABB0001")
        self.limited("reads beside a neighbour's writes, at one uplink", of, "shared")
        self.assertIn("neighbour-writes", self.tried(of))
        self.assertIn("no more than for one alone", of["sentence"])

    def test_one_that_may_not_is_named(self):
        writes = self.lab.writes("B")
        with self.lab.throttled("A", 0.8):
            of = self.explained("A", READS)
        self.assertEqual(self.lab.writes("B"), writes)
        self.assertNotIn("neighbour-writes", self.tried(of))
        self.assertIn(f"{self.lab.namespace('B')} shares the uplink", " ".join(of["notes"]))

    def test_a_word_for_what_is_no_neighbour_is_refused(self):
        writes = self.lab.writes("F")
        command = f"iodyno explain /dev/{self.lab.namespace('A')} {READS} --allow-write LABF0001"
        result = self.lab.run(command)
        self.assertEqual(result.status, 2, result.stderr)
        self.assertEqual(self.lab.writes("F"), writes)
