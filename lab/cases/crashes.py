"""Studies that are killed and lose their power at random moments, many times."""

import time

import results
from cases import FREE
from cases.power import PowerCase

KILLS, CUTS = 10, 5
GRID = {"rw": "randread,read", "bs": "4k,8k,16k,32k,64k", "iodepth": "1,2,4,8"}


class Crashes(PowerCase):
    def whole(self, study, grid):
        """Titles of the points of the same study, uninterrupted."""
        with self.lab.throttled("F", FREE):
            self.say(self.sweep(f"{study}-whole", grid), 120)
        return [title for title, *_ in self.points(f"{study}-whole")]

    def test_power_cuts(self):
        self.cut("cuts", GRID, CUTS)
        results.counts.append(f"{CUTS} power cuts of one study of 40 points, LAB_SEED={self.seed}: nothing measured was lost, none twice")

    def test_kills(self):
        """kill -9 at ten moments of one study, from before its first point is done on."""
        self.store = "/tmp/crashes.sqlite"
        whole = self.whole("kills", GRID)
        self.assertEqual(len(whole), 40)
        with self.lab.throttled("F", FREE):
            command, before, told = self.sweep("kills", GRID), [], []
            for kill in range(KILLS):
                self.in_background(f"sh -c 'echo $$ >/tmp/pid; exec {command}'")
                # The points that are left are shared among the kills that are left.
                share = (len(whole) - len(before)) // (KILLS - kill + 1)
                self.wait_until_told(self.random.randint(0 if before else 1, share))
                time.sleep(self.random.uniform(0, 0.6))
                self.say("kill -9 $(cat /tmp/pid); while kill -0 $(cat /tmp/pid) 2>/dev/null; do usleep 20000; done")
                told += self.told()
                after = self.points("kills")
                self.assert_kept(told, after, after)
                self.assertEqual(after[: len(before)], before, "what was measured stays")
                self.assertLess(len(after), len(whole), "it was over before all kills")
                before, command = after, f"iodyno resume kills --store {self.store}"
            self.resumed("kills")
        self.assert_kept(told, before, self.points("kills"))
        self.assert_whole("kills", whole)
        results.counts.append(f"{KILLS} times kill -9 in one study of 40 points, LAB_SEED={self.seed}: nothing measured was lost, none twice")
