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
READING = "while :; do dd if=/dev/nvme0n1 of=/dev/nvme0n1 bs=4k count=50 iflag=direct oflag=direct conv=notrunc 2>/dev/null; done & other=$!; {}; status=$?; kill $other; exit $status"
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
        # Where pages say that documents of nodes lie.
        self.say("mkdir -p /srv/acceptance")
        self.assertIn(self.begun("iodyno accept quick --push /srv/acceptance").status, BEGUN)
        for page, line in commands():
            # The words of the pages are those of no drive: of the ones that a line names, then of the first.
            of = [*(serials[int(n)] for n in re.findall(r"nvme(\d)n1", line)), *serials]
            words = line.replace("SERIAL1", serials[0]).replace("SERIAL2", serials[1])
            words = words.replace("SERIAL", of[0], 1).replace("SERIAL", of[1])
            with self.subTest(page=str(page), command=line):
                result = self.begun(words)
                # What the answer says is typed, as somebody would who may lose what is on the drives.
                for _ in serials:
                    more = re.findall(r"--(?:allow-write|discard-data) LAB\w+", result.stderr)
                    if result.status != 2 or not more:
                        break
                    words += "".join(f" {word}" for word in more if word not in words)
                    result = self.begun(words)
                self.assertNotIn("panicked", result.stderr)
                self.assertIn(result.status, BEGUN, result.stderr)
                self.lab.run("iodyno --store /tmp/documented.sqlite clean-up", 60)

    def begun(self, words):
        verb, _, rest = words.removeprefix("iodyno ").partition(" ")
        # An answer needs a whole experiment.
        seconds = 3 * SECONDS if verb == "explain" else SECONDS
        words = f"cd /tmp/documented && timeout -s INT {seconds} iodyno {verb} --store /tmp/documented.sqlite {rest}"
        # What is recorded is to be replayed: reads, and writes of what was there.
        return self.lab.run(READING.format(words) if verb == "record" else words, 120)
