"""A study outlives a power cut of the machine: what was measured is there, and what was not is measured then."""

import re
import time

from cases import FREE
from cases.study import GRID, StudyCase


class PowerCase(StudyCase):
    """A test that cuts the power."""

    store = "/mnt/iodyno.sqlite"

    def cut(self, study, grid, cuts):
        """A study that loses its power so many times, and goes on each time."""
        with self.lab.disk():
            whole = self.whole(study, grid)
            self.say("echo 1 > /mnt/flushed; sync")
            command = self.sweep(study, grid)
            for number in range(cuts):
                with self.lab.throttled("F", FREE):
                    self.in_background(command)
                    self.wait_until_told(self.random.randint(1, 3))
                    # Somewhere within a point, or between two.
                    time.sleep(self.random.uniform(0, 0.6))
                    told = self.told()
                    # A new name each time: ext4 writes what replaces a file as soon as it is closed (auto_da_alloc).
                    self.say(f"echo 1 > /mnt/not-flushed-{number}")
                    name = self.lab.namespace("F")
                    self.lab.cut_power()
                    # Names are given as drives answer. Under another one the study would not find its drive.
                    while self.lab.namespace("F") != name:
                        self.lab.cut_power()
                self.lab.load("disk")
                self.say("mount -t ext4 /dev/vda /mnt")
                self.assertEqual(self.say("cat /mnt/flushed /mnt/not-flushed-* 2>/dev/null || true"), "1\n")
                before = self.points(study)
                self.assert_kept(told, before, before)
                self.assertLess(len(before), len(whole), "it was over before the power went")
                command = f"iodyno resume {study} --store {self.store}"
            with self.lab.throttled("F", FREE):
                self.resumed(study)
            self.assert_kept([], before, self.points(study))
            self.assert_whole(study, whole)


class Power(PowerCase):
    def test_a_power_cut_costs_one_point(self):
        self.cut("cut", GRID, 1)

    def whole(self, study, grid):
        """Titles of all points, as they are announced: measuring all of them once more is for the long cases."""
        announced = self.say(f"{self.sweep(study, grid)} --dry-run")
        return re.findall(r"^ +\d+  (rw=.*)  /dev/", announced, re.M)
