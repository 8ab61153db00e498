#!/usr/bin/env python3
"""fio's own test suites, run by fio and by iodyno under the name fio.

    python3 crosscheck/suites.py --binary target/release/iodyno --fio-src ../fio
    python3 crosscheck/suites.py --binary target/release/iodyno --fio-src ../fio --only readonly --only jobs

FIO_SRC is fio's source tree, built (./configure && make); nothing is fetched and nothing is written there. A suite is
one of its t/*.py, `jobs` are the job files of t/jobs, `examples` those of examples/ (examples.py). All of them together
write docs/reference/fio-suites.md; with --only
what came of them is printed. The exit status is 1 if a case that fio passes fails.
"""

import argparse
import importlib.util
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

sys.dont_write_bytecode = True  # before our own modules: nothing is left in the tree

from generators import GeneratorError, LoopDevice, kill_tree

HERE = Path(__file__).parent.resolve()
PAGE = HERE.parent / "docs/reference/fio-suites.md"
LIMIT_S = 3600
# Suites by their names, the long ones last: what stands behind the script. {fio}, {tree}, {device} and {python} are filled in.
SUITES = {
    "latency_percentiles": ["t/latency_percentiles.py", "-f", "{fio}"],
    "jobs": ["t/run-fio-tests.py", "-f", "{fio}", "-r", "{tree}", "-a", "artifacts", "-o", *map(str, range(1, 100))],
    "examples": [str(HERE / "examples.py"), "-f", "{fio}", "--tree", "{tree}"],
    "strided": ["t/strided.py", "--fio", "{fio}"],
    "readonly": ["t/readonly.py", "-f", "{fio}"],
    "sequence": ["t/sequence.py", "-f", "{fio}"],
    "random_seed": ["t/random_seed.py", "-f", "{fio}"],
    "jsonplus2csv_test": ["t/jsonplus2csv_test.py", "-f", "{fio}"],
    "log_compression": ["t/log_compression.py", "-f", "{fio}"],
    "sprandom": ["t/sprandom.py", "-f", "{fio}"],
    "t64-switch": ["t/t64-switch.sh", "{fio}"],
    "client_server": ["t/client_server.py", "-f", "{fio}"],
    "steadystate_tests": ["t/steadystate_tests.py", "{fio}"],
    "verify_state_save": ["t/verify_state_save.py", "-f", "{fio}"],
    "verify-trim": ["t/verify-trim.py", "-f", "{fio}", "--dut", "{device}"],
    "numberio_overlap": ["t/numberio_overlap.py", "-f", "{fio}"],
    "verify": ["t/verify.py", "-f", "{fio}"],
}
NOT_RUN = {
    "io_uring_cmd, nvmept_fdp, nvmept_pi, nvmept_streams, nvmept_trim, nvmept_write_mode": "need an NVMe character device",
    "io_uring_pi": "needs an NVMe namespace with protection information",
    "sgunmap-test, sgunmap-perf": "need a SCSI device",
    "zbd": "needs zoned null_blk or scsi_debug devices",
    "examples of other I/O engines": "need another host, a library or a device that is not here",
    "axmap, ieee754, lfsr-test, stest, unittest": "test fio's own data structures, and call no fio",
}
# What iodyno does not mean to pass, by suite.
WHY = {
    "t64-switch": "It counts how often a generator of 32 bits repeats itself; iodyno's have 64 bits, whatever their name.",
    "examples": (
        "Jobs that move data over networks (net) or defragment ext4 (e4defrag) need fio itself, those that follow write "
        "pointers (zbd) `--generator fio`. fio runs the zbd jobs here on files, whose zones it invents."
    ),
    "verify": "Test 1 writes for 3 s, and its reading twin wants the whole file written: a busy machine may be too slow.",
    "client_server": "There is no server: iodyno runs on each host, and runs are compared afterwards.",
}
NEEDS = {"steadystate_tests": "scipy"}
# A heading above the cases of a suite that runs the same list several times.
HEADING = re.compile(r"^(ddir: |mangle block size: |mode: |pattern: |Running )")
CASE = re.compile(r"^\**Test (?P<name>.+?) (?P<word>PASSED|FAILED|SKIPPED)(?P<rest>.*)$")
BARE = re.compile(r"^(?P<word>PASSED|FAILED) (?:'(?P<quoted>[^']*)'|(?P<name>\S+))(?P<rest>.*)$")
# Where in a job file an error is, and the number of a process: cases that differ in nothing else share a line.
PLACE = re.compile(r"^fio: (\S+ line \d+: |pid=\d+, )")
RESULT = re.compile(r"^result: (?P<word>pass|fail)$")


@dataclass
class Outcome:
    """What came of one suite: {case: None if it passed, else the reason}."""

    cases: dict = field(default_factory=dict)
    end: str = ""  # why it came to no more of them

    @property
    def passed(self):
        return sum(reason is None for reason in self.cases.values())


class Run:
    """One suite under one program, read as it prints."""

    def __init__(self, directory):
        self.directory, self.outcome = directory, Outcome()
        self.heading, self.said = "", ""

    def line(self, line):
        """Takes the next line of what the suite prints."""
        line = line.strip()
        if HEADING.match(line):
            self.heading = line
        elif case := CASE.match(line):
            self._case(case["name"], case["word"], case["rest"])
        elif case := BARE.match(line):
            self._note(case["quoted"] or case["name"], case["word"] == "PASSED", line)
        elif case := RESULT.match(line):
            self._note("result", case["word"] == "pass", self.said)
        elif line:
            self.said = line

    def _case(self, name, word, rest):
        rest = rest.strip("*: ,")
        # run_fio_tests prints a case's number, and behind the reason the job file or the number again.
        *reason, last = rest.rsplit(" ", 1) if rest else [""]
        if last.endswith(".fio") or last == name:
            rest = " ".join(reason).strip(" ,")
        complaint = self._complaint(name)
        if word != "SKIPPED":
            name = last if last.endswith(".fio") else name
            self._note(name, word == "PASSED", "; ".join(filter(None, [rest or self.said, complaint])))
        self.said = ""

    def _note(self, name, passed, reason):
        name = f"{self.heading}, {name}" if self.heading else name
        count = sum(known == name or known.startswith(f"{name} (") for known in self.outcome.cases)
        name = f"{name} ({count + 1})" if count else name
        self.outcome.cases[name] = None if passed else self._plain(reason)

    def _complaint(self, name):
        """The first line of standard error of the case that has just ended: its folder is the newest of that number."""
        if not name.isdigit():
            return ""
        folders = [*self.directory.glob(f"**/{int(name):04d}"), *self.directory.glob(f"**/{int(name):03d}")]
        newest = max(folders, key=lambda folder: folder.stat().st_mtime, default=None)
        texts = [path.read_text(errors="replace") for path in newest.glob("*.stderr")] if newest else []
        return next((text.strip().splitlines()[0] for text in texts if text.strip()), "")

    def _plain(self, text):
        """Without what differs between two runs on the same machine."""
        return re.sub(rf"{re.escape(str(self.directory))}/?|size \d+,?", "", text).strip(" ,").replace("|", "\\|")


class Program:
    """fio, or iodyno under that name."""

    def __init__(self, name, path, scratch, device):
        self.name, self.path, self.scratch, self.device = name, path, scratch, device

    def run(self, suite, tree):
        """Runs a suite in a folder of its own."""
        directory = self.scratch / f"{suite}-{self.name}"
        directory.mkdir()
        if "{device}" in SUITES[suite] and not self.device:
            return Outcome(end="needs a loop device, that is, root")
        if (module := NEEDS.get(suite)) and not importlib.util.find_spec(module):
            return Outcome(end=f"needs Python's {module}")
        script, *rest = SUITES[suite]
        names = {"fio": self.path, "tree": tree, "device": self.device and self.device.path}
        interpreter = sys.executable if script.endswith(".py") else "bash"
        argv = [interpreter, tree / script, *(word.format(**names) for word in rest)]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8",
                       "IODYNO_STORE": str(self.scratch / "store.sqlite")}  # fmt: skip
        run, end = Run(directory), ""
        with subprocess.Popen(argv, cwd=directory, env=environment, text=True, errors="replace", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as child:  # fmt: skip
            # What hangs is ended from outside: its lines are waited for here.
            signal.signal(signal.SIGALRM, lambda *_: kill_tree(child.pid))
            signal.alarm(LIMIT_S)
            try:
                for line in child.stdout:
                    run.line(line)
                    end = line.strip() or end
                child.wait()
            finally:
                signal.alarm(0)
                if child.poll() is None:
                    kill_tree(child.pid)
        run.outcome.end = run._plain(end)
        subprocess.run(["rm", "-rf", str(directory)], check=True)
        return run.outcome


def missed(control, ours):
    """{case: reason} of all that fio's run has and ours does not pass."""
    missing = {name: f"not reached: {ours.end}" for name in control.cases if name not in ours.cases}
    return {name: reason for name, reason in {**ours.cases, **missing}.items() if reason is not None}


def table(outcomes):
    """The table of passed and run cases, one row a suite."""
    rows, sums = ["| suite (passed / run) | fio | iodyno |", "|---|---|---|"], [0, 0, 0]
    ran = [(suite, pair) for suite, pair in outcomes.items() if pair[0].cases]
    for suite, (control, ours) in ran:
        numbers = control.passed, len(control.cases), ours.passed
        rows.append("| {} | {}/{} | {}/{} |".format(suite, *numbers, max(len(control.cases), len(ours.cases))))
        sums = [one + other for one, other in zip(sums, numbers, strict=True)]
    run = sum(max(len(control.cases), len(ours.cases)) for _, (control, ours) in ran)
    return [*rows, f"| **all** | {sums[0]}/{sums[1]} | {sums[2]}/{run} |"]


def failures(outcomes):
    """Each case that iodyno fails, with its reason, and those that fio fails."""
    lines = []
    for suite, (control, ours) in outcomes.items():
        failed, by_fio = missed(control, ours), {name for name, reason in control.cases.items() if reason is not None}
        if failed or by_fio:
            lines += ["", f"### {suite}", "", *([WHY[suite], ""] if suite in WHY else [])]
            alike = {}
            for name, reason in failed.items():
                own = reason + (" (fio fails it, too)" if name in by_fio else "")
                alike.setdefault(PLACE.sub("", own), []).append(name)
            lines += [f"- {', '.join(names)}: {reason}" for reason, names in alike.items()]
            lines += [f"- {name}: passed; fio fails it: {control.cases[name]}" for name in sorted(by_fio - failed.keys())]
    return lines


def page(outcomes, versions):
    """docs/reference/fio-suites.md."""
    head = f"""# fio's own test suites

What `make fio-suites FIO_SRC=DIRECTORY` wrote: the suites of fio's source tree, run by fio and by iodyno under the name
`fio` ([fio.md](fio.md)), one after the other on the same machine. DIRECTORY is the tree, built; nothing is fetched.

{versions}
"""
    lines = [*head.splitlines(), "", *table(outcomes), "", "## Failed"]
    lines += failures(outcomes) or ["", "None."]
    not_run = {suite: control.end for suite, (control, _) in outcomes.items() if not control.cases}
    not_run |= {suite: "the run ended before it" for suite in SUITES if suite not in outcomes} | NOT_RUN
    lines += ["", "## Not run", "", *(f"- {names}: {reason}" for names, reason in not_run.items())]
    return "\n".join(lines) + "\n"


def version(program):
    """What a program says it is."""
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def as_fio(binary, scratch, device):
    """A program of the name fio: a link, or where there is a device a script that gives leave to write to it."""
    path = scratch / "fio"
    path.symlink_to(binary)
    with_device = None
    if device:
        (scratch / "device").mkdir()
        with_device = scratch / "device" / "fio"
        word = f"{Path(device.path).name}:{device.size_bytes}"
        with_device.write_text(f'#!/bin/sh\nexec {path} --allow-write {word} --discard-data {word} "$@"\n')
        with_device.chmod(0o755)
    return path, with_device


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description="fio's own test suites, run by fio and by iodyno.")
    parser.add_argument("--binary", type=Path, required=True, help="iodyno's program")
    parser.add_argument("--fio-src", default="", help="fio's source tree, built")
    parser.add_argument("--only", action="append", choices=SUITES, help="this suite; nothing is written to docs")
    parser.add_argument("--directory", help="where scratch folders are made (default: the temporary directory)")
    return parser.parse_args()


def main():
    """Runs the suites."""
    asked = arguments()
    # What was set up is taken down as it is at the end of main.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if not asked.fio_src:
        raise SystemExit("fio-suites: say where fio's source tree is: make fio-suites FIO_SRC=DIRECTORY")
    tree, binary = Path(asked.fio_src).resolve(), asked.binary.resolve()
    if not (tree / "t" / "run-fio-tests.py").is_file():
        raise SystemExit(f"fio-suites: {tree} is not fio's source tree: there is no t/run-fio-tests.py")
    if not os.access(tree / "fio", os.X_OK):
        raise SystemExit(f"fio-suites: fio is not built in {tree}: run ./configure && make there")
    outcomes = {}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fio-suites-", dir=asked.directory))).resolve()
        device = None
        if os.geteuid() == 0 and (not asked.only or "verify-trim" in asked.only):
            try:
                device = stack.enter_context(LoopDevice(scratch, 256 << 20))
            except GeneratorError as problem:
                print(f"verify-trim is not run: {problem}")
        link, with_device = as_fio(binary, scratch, device)
        versions = (f"{version(tree / 'fio')} and {version(binary)}, Linux {platform.release().split('-')[0]} on "
                    f"{platform.machine()}, {datetime.now(timezone.utc):%Y-%m-%d}.")  # fmt: skip
        for suite in asked.only or SUITES:
            needs = "{device}" in SUITES[suite]
            ours = Program("iodyno", with_device if needs and device else link, scratch, device)
            started, pair = time.monotonic(), []
            for program in (Program("fio", tree / "fio", scratch, device), ours):
                pair.append(program.run(suite, tree))
            outcomes[suite] = pair
            counts = [f"{one.passed}/{len(one.cases)}" for one in pair]
            took = f"{time.monotonic() - started:.0f} s"
            why = "" if pair[0].cases else f": {pair[0].end}"
            print(f"{suite}: fio {counts[0]}, iodyno {counts[1]} ({took}){why}", flush=True)
            if not asked.only:
                # Hours may be needed for all: what ended before that has its page.
                PAGE.write_text(page(outcomes, versions))
    if asked.only:
        print("\n".join([*table(outcomes), *failures(outcomes)]))
    lost = [name for control, ours in outcomes.values() for name in missed(control, ours) if control.cases.get(name, "") is None]
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
