"""Commands that README and docs print for drives (blocks of `sh,lab`) begin as printed; each is ended by Ctrl-C after some seconds."""

import re
from pathlib import Path

import topology
from cases import Case

MACHINE = topology.SMALL_MACHINE
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md"))]
SECONDS = 10
# Passed, FAIL, ended by Ctrl-C (130: within a purge), not judged; 2 is what must not be: usage, or a refusal.
BEGUN = {0, 1, 3, 4, 130}
BENCH_FIO = "[benchfio]\ntarget=/dev/nvme0n1\ntype=device\nmode=randread\nblock_size=4k\niodepth=1\nnumjobs=1\nruntime=2\noutput=/tmp/out\n"


def commands():
    """(page, command) of all blocks that need drives."""
    for page in PAGES:
        for block in re.findall(r"^```sh,lab\n(.*?)^```$", page.read_text(), re.S | re.M):
            for line in block.replace("\\\n", " ").splitlines():
                line = line.split(" #")[0].strip().removeprefix("sudo ")
                if line:
                    yield page.relative_to(ROOT), line


class Documented(Case):
    def serial(self, drive):
        return self.say(f"cat /sys/block/{drive}n1/device/serial").strip()

    def test_commands_for_drives_begin(self):
        for modules in ("layouts", "layers"):
            self.lab.load(modules)
        serials = [self.serial(f"nvme{n}") for n in range(4)]
        self.say(f"mkdir -p /tmp/documented && cd /tmp/documented && printf '{BENCH_FIO}' >benchmark.ini".replace("\n", "\\n"))
        for page, line in commands():
            # The words of the pages are those of no drive.
            words = line.replace("SERIAL1", serials[0]).replace("SERIAL2", serials[1])
            words = words.replace("SERIAL", serials[0], 1).replace("SERIAL", serials[1])
            with self.subTest(page=str(page), command=line):
                result = self.begun(words)
                if "--discard-data" in result.stderr:
                    result = self.begun(words + "".join(f" --discard-data {serial}" for serial in serials if serial in words))
                self.assertNotIn("panicked", result.stderr)
                self.assertIn(result.status, BEGUN, result.stderr)
                self.lab.run("iodyno --store /tmp/documented.sqlite clean-up", 60)

    def begun(self, words):
        verb, _, rest = words.removeprefix("iodyno ").partition(" ")
        # An answer needs a whole experiment.
        seconds = 3 * SECONDS if verb == "explain" else SECONDS
        return self.lab.run(f"cd /tmp/documented && timeout -s INT {seconds} iodyno {verb} --store /tmp/documented.sqlite {rest}", 120)
