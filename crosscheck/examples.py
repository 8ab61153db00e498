#!/usr/bin/env python3
"""fio's example job files through a program of the name fio, one line for each: PASSED, FAILED or SKIPPED.

    python3 crosscheck/examples.py -f ../fio/fio --tree ../fio
    python3 crosscheck/suites.py --binary target/release/iodyno --fio-src ../fio --only examples

Each file is copied as wild.py does it: paths and devices below a scratch folder, sizes and times made short. What needs
another host's or library's I/O engine is skipped. Where the program asks for words that name a file which stands for a device,
they are typed, as a user would.
"""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from wild import ADVICE, LIMIT_S, LOCAL, SIZE, Copy, call, engines

# What fio has on any Linux machine, besides what works on files and devices.
ALSO = {"null", "cpuio", "exec", "page_fault", "net", "e4defrag", "falloc", "ftruncate", "filecreate", "filestat", "filedelete",
        "dircreate", "dirstat", "dirdelete"}  # fmt: skip
# Engines of which the examples name devices that a file cannot stand for.
OF_DEVICES = {"sg", "io_uring_cmd"}
# Clones of it write to each other's blocks and verify them. The original's are 124 GiB apart, the
# copy's 128 writes: which of them comes first is chance, and fio itself fails every other time.
ALONE = {"cross-stripe-verify"}
# For jobs that do not say: some of them go at a few KiB/s.
RUNTIME_S = 3


def reason(said):
    """What a program that failed said last."""
    lines = [line.strip() for line in said.splitlines() if line.startswith(("fio: ", "iodyno: "))]
    return (lines or said.strip().splitlines() or [""])[-1 if not lines else 0]


def shortened(text):
    """With an end for jobs that have none."""
    limit = f"[global]\nruntime={RUNTIME_S}\n"
    return text.replace("[global]\n", limit, 1) if "[global]\n" in text else limit + text


def attempt(path, fio, root):
    """Runs one; None, or why it failed."""
    copy = Copy(path.read_text(errors="replace"), root)
    copy.prepare()
    job = root / "work" / path.name
    text = re.sub(r"numjobs=\d+", "numjobs=1", copy.text) if path.stem in ALONE else copy.text
    job.write_text(shortened(text))
    allowed = []
    while True:
        status, said = call([fio, *allowed, path.name], root, copy.environment, LIMIT_S + 10 * copy.text.count("["))
        if status and "`size` is missing" in said and SIZE not in allowed:
            allowed.append(SIZE)
            continue
        advice = ADVICE.search(said) if status else None
        if not advice or advice[2] in allowed or not advice[2].startswith(str(root)):
            return None if status == 0 else reason(said) or f"exit status {status}"
        allowed += [advice[1], advice[2]]


def main():
    """Runs them all."""
    parser = argparse.ArgumentParser(description="fio's example job files.")
    parser.add_argument("-f", "--fio", type=Path, required=True, help="the program")
    parser.add_argument("--tree", type=Path, required=True, help="fio's source tree")
    parser.add_argument("--only", default="", help="job files with this in their names")
    asked = parser.parse_args()
    failed = 0
    for path in sorted((asked.tree / "examples").glob("*.fio")):
        if asked.only not in path.name:
            continue
        others = engines(path.read_text(errors="replace")) - (LOCAL | ALSO) | engines(path.read_text()) & OF_DEVICES
        if others:
            print(f"Test {path.stem} SKIPPED, ioengine={sorted(others)[0]}", flush=True)
            continue
        root = Path(tempfile.mkdtemp(prefix=f"{path.stem}-", dir=".")).resolve()
        why = attempt(path, str(asked.fio.absolute()), root)
        why = why and why.replace(f"{root}/", "").replace(str(root), "")
        print(f"Test {path.stem} {'FAILED, ' + why if why else 'PASSED'}", flush=True)
        failed += bool(why)
        shutil.rmtree(root)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
