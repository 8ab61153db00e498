#!/usr/bin/env python3
"""The laboratory: iodyno on a machine whose NVMe drives, links and faults are known.

    python3 lab/lab.py --binary target/release/iodyno             run the cases of `make test`
    python3 lab/lab.py --binary target/release/iodyno --full      those, the long ones, and what came of them into docs/
    python3 lab/lab.py --binary target/release/iodyno check       run some of them
    python3 lab/lab.py planted                                    show, without iodyno, that the faults are there
    python3 lab/lab.py run 'nvme list'                            boot, run one command, print what it says
    python3 lab/lab.py shell                                      boot, run commands as they are typed
"""

import argparse
import importlib
import itertools
import signal
import sys
import time
import traceback
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # before the laboratory's own modules: nothing is left in the tree

import cases
import machine
import packages
import results
import topology
from laboratory import CACHE, Lab

# In this order: the machine's state is handed from one to the next. Drives that are unplugged are back after a power cut.
CASES = ["planted", "inventory", "faults", "check", "guard", "prepare", "zoned", "layouts", "nfs", "passthrough", "misfortune", "verifying", "recording", "unplug", "power"]
LIMIT_S = 1500
# Too long for `make test`. Those that need another machine name it in MACHINE.
LONG_CASES = [
    "exports", "in_use", "neighbours", "crashes", "cliff", "limits", "layers", "pcie_errors", "explained", "control_groups", "healthy", "rules_fire", "switched",
    "nodes", "two_paths", "raid_card", "stacks", "replug", "old_kernel", "documented",
]
LONG_LIMIT_S = 7200


class Report(unittest.TestResult):
    """One line for each test as it ends, and what is wrong in full."""

    passed = 0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def _line(self, word, test, more=""):
        name = test.id().removeprefix("cases.")
        print(f"{word:7} {name} ({time.monotonic() - self.started:.1f} s){more}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1
        self._line("passed", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line("SKIPPED", test, f": {reason}")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._line("FAILED", subtest)
            print("".join(traceback.format_exception(*err)), flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._line("FAILED", test)
        print(self.failures[-1][1], flush=True)

    def addError(self, test, err):
        super().addError(test, err)
        self._line("FAILED", test)
        print(self.errors[-1][1], flush=True)


class Quick(unittest.TestLoader):
    """Leaves out what is marked `cases.long`."""

    def getTestCaseNames(self, case):
        return [name for name in super().getTestCaseNames(case) if not getattr(getattr(case, name), "long", False)]


def by_machine(names):
    """[(machine, modules)] of the cases in their order; the next one stays on the machine if it can."""
    modules = [importlib.import_module(f"cases.{name}") for name in names]
    each = [(drawn, module) for module in modules for drawn in getattr(module, "MACHINES", [getattr(module, "MACHINE", topology.FAULTY_MACHINE)])]
    return [(drawn, [module for _, module in group]) for drawn, group in itertools.groupby(each, lambda one: one[0])]


def run_cases(groups, programs, limit_s, pattern=None, quick=False):
    """Runs the cases, or those whose name holds one of `pattern`, separated by commas, `quick` without the long tests; returns whether none failed, and the line that says how many."""
    report, total = Report(), 0
    loader = Quick() if quick else unittest.TestLoader()
    loader.testNamePatterns = pattern and [f"*{part}*" for part in pattern.split(",")]
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(limit_s)
    try:
        for drawn, modules in groups:
            suite = unittest.TestSuite(map(loader.loadTestsFromModule, modules))
            total += suite.countTestCases()
            with Lab(drawn, programs, tell) as lab:
                cases.Case.lab = lab
                results.kernels.add(lab.run("uname -r").stdout.strip())
                try:
                    suite.run(report)
                except OutOfTime:
                    print(lab.machine.error(f"FAILED  the cases took more than {limit_s} s; what was not reached counts as failed"))
                    break
    finally:
        signal.alarm(0)
    skipped = len(report.skipped)
    passed = report.passed
    failed = total - passed - skipped
    line = f"{passed} passed, {failed} failed, {skipped} skipped"
    print(line, flush=True)
    return failed == 0, line


def tell(text):
    """Says how far it is."""
    print(text, file=sys.stderr, flush=True)


def shell(lab):
    """Runs commands from standard input until it ends."""
    print("drives: " + ", ".join(f"{drive.name} {lab.controller(drive.name)}" for drive in lab.topology.drives), file=sys.stderr)
    interactive = sys.stdin.isatty()
    while True:
        try:
            command = input("lab# " if interactive else "")
        except EOFError:
            return
        result = lab.run(command, timeout_s=600)
        sys.stdout.write(result.stdout)
        sys.stderr.write(result.stderr)
        if result.status:
            print(f"[{result.status}]", file=sys.stderr)


# unittest lets KeyboardInterrupt alone through.
class OutOfTime(KeyboardInterrupt):
    """The cases took too long."""


def _out_of_time(*_):
    raise OutOfTime


def _stop(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, help="the program under test, put into the guest as /bin/iodyno")
    parser.add_argument("--tool", type=Path, action="append", default=[], help="another program of this machine to put into the guest")
    parser.add_argument("--full", action="store_true", help="also the long cases; leaves docs/explanation/lab-results.md")
    known = CASES + LONG_CASES
    parser.add_argument("-k", dest="pattern", help="only tests whose name holds this, or one of several, separated by commas")
    parser.add_argument("what", nargs="*", help=f"shell; run COMMAND; fetch (packages only); or cases: {', '.join(known)}")
    options = parser.parse_args()
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, _stop)
    options.what = options.what or (CASES + LONG_CASES if options.full else CASES)
    verb = options.what[0]
    if verb not in ("shell", "run", "fetch"):
        if unknown := [name for name in options.what if name not in known]:
            parser.error(f"no such case: {', '.join(unknown)}")
        if not options.binary and options.what != ["planted"]:
            parser.error("these cases need --binary; only 'planted' does without")
    if verb == "run" and len(options.what) != 2:
        parser.error("run takes one command, in quotes")
    programs = {"iodyno": options.binary} if options.binary else {}
    programs |= {tool.name: tool for tool in options.tool}
    for program in programs.values():
        if not program.is_file():
            parser.error(f"{program} not found")
    started = time.monotonic()
    try:
        if verb == "fetch":
            for tree in (packages.tools(CACHE), *(packages.kernel(CACHE, name) for name in (packages.CLOUD_KERNEL, packages.FULL_KERNEL, *packages.old_kernels().values()))):
                print(tree)
            return 0
        if verb in ("shell", "run"):
            with Lab(topology.FAULTY_MACHINE, programs, tell) as lab:
                if verb == "shell":
                    shell(lab)
                    return 0
                result = lab.run(options.what[1], timeout_s=600)
                sys.stdout.write(result.stdout)
                sys.stderr.write(result.stderr)
                return result.status
        commit = results.commit()
        long = options.full or not set(CASES).issuperset(options.what)
        limit_s = LONG_LIMIT_S if long else LIMIT_S
        good, line = run_cases(by_machine(options.what), programs, limit_s, options.pattern, quick=options.what == CASES)
        tell(f"lab: {time.monotonic() - started:.1f} s")
        if options.full:
            silent = results.write(options.what, line, options.binary, commit)
            # Of some cases not all rules are to be expected.
            if silent and set(options.what) >= {*CASES, *LONG_CASES}:
                print(f"FAILED  rules that should have fired and did not: {', '.join(silent)}")
                good = False
        return 0 if good else 1
    except (machine.MachineError, packages.PackageError, FileNotFoundError) as problem:
        print(f"lab: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 3


if __name__ == "__main__":
    sys.exit(main())
