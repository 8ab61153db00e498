"""What the cases of `iodyno sweep` and `iodyno resume` share: a study that goes on in the background while it is cut off."""

import os
import random
import re

from cases import Case

GRID = {"rw": "randread,read", "bs": "4k,16k,64k"}


def seed():
    """Where cuts and kills fall: LAB_SEED, or another place each time."""
    return int(os.environ.get("LAB_SEED", random.SystemRandom().randrange(1 << 32)))


class StudyCase(Case):
    """A test with studies of one drive, in a store of its own."""

    store = None

    @classmethod
    def setUpClass(cls):
        cls.seed = seed()
        cls.random = random.Random(cls.seed)
        print(f"LAB_SEED={cls.seed}", flush=True)

    def sweep(self, name, grid=GRID, point="400ms"):
        """The command of a study of drive F."""
        grid = " ".join(f"--grid {option}={values}" for option, values in grid.items())
        target = f"/dev/{self.lab.namespace('F')}"
        return f"iodyno sweep --store {self.store} --run-name {name} --target {target} --set direct=1 {grid} --max-time {point}"

    def in_background(self, command):
        """Starts a command whose standard error goes to the console, where it can be read from outside.

        Through a pipe: to a terminal, which the console is, nothing but progress is told.
        """
        self.seen = len(self.lab.machine.console_text())
        self.say(f"({command} 2>&1 >/dev/null | cat >/dev/ttyS0) 3>&- &")

    def told(self):
        """Titles of the points that were told to be done since `in_background`."""
        text = self.lab.machine.console_text()[self.seen :]
        return re.findall(r"^(rw=.*) nvme\w+: .* IOPS.*\n", text, re.M)

    def wait_until_told(self, points):
        self.lab.machine.wait_for(lambda: len(self.told()) >= points, f"{points} points were not measured", 60)

    def points(self, name):
        """[(title, how it ended, IOPS, when)] of what the store has of a study."""
        _, document = self.document("show", self.lab.run(f"iodyno show {name} --json --store {self.store}"))
        return [(m["name"], m["end"], m["read"]["iops"]["value"], m["started"]) for m in document["measurements"]]

    def resumed(self, name):
        result = self.lab.run(f"iodyno resume {name} --store {self.store}", 120)
        self.no_panic(result)
        self.assertEqual(result.status, 0, result.stderr)
        return result

    def assert_whole(self, name, whole):
        """Every title of the uninterrupted study once, and no other; ended by itself."""
        found = [title for title, end, *_ in self.points(name) if end not in ("interrupted", "failed")]
        self.assertEqual(sorted(found), sorted(whole))

    def assert_kept(self, told, before, after):
        """What was told to be done is in the store, and what was in it stays as it is."""
        done = [title for title, end, *_ in before if end not in ("interrupted", "failed")]
        self.assertLessEqual(set(told), set(done), "a point that was told to be done is not in the store")
        self.assertEqual(after[: len(before)], before)
