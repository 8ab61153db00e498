#!/usr/bin/env python3
"""The same job files through iodyno and through fio: what they do must be the same.

    python3 crosscheck/crosscheck.py --binary target/release/iodyno
    python3 crosscheck/crosscheck.py --binary target/release/iodyno --only zipf
    python3 crosscheck/crosscheck.py --self-test                    fio against fio: the matrix itself is right

What is compared is said in the first line of each job file; README.md explains the words. The last line says how many
cases passed and failed; the exit status is 1 if one failed.
"""

import argparse
import contextlib
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True  # before our own modules: nothing is left in the tree

import compare
import damage
import shapes
from generators import Generator, GeneratorError, LoopDevice

JOBS = Path(__file__).with_name("jobs")
REPEATS = 3
# Machines have moods: where fio's repeats do not hold ours, all are repeated, and the earlier ones still count.
LOOKS = 3
# The words of the headers: functions of compare.py, but for `shapes` and `device`.
COUNTED = ("counts", "syncs", "total")
LOGGED = {"bytes_moved", "offsets", "blocks", "sequence", "sequentiality", "distribution", "ranks", "lengths", "repeats", "arrivals"}
REPEATED = {"rates", "latencies"}
WORDS = {*COUNTED, *LOGGED, *REPEATED, "contents", "shapes", "device"}


@dataclass
class Case:
    """A job file and what its header asks for."""

    name: str
    text: str
    words: set

    @staticmethod
    def read(path):
        text = path.read_text()
        header = re.match(r"# crosscheck: (.*)\n", text)
        words = set(header[1].split()) if header else set()
        if not words or (unknown := words - WORDS):
            raise SystemExit(f"{path}: its first line must be '# crosscheck: WORDS'; unknown: {sorted(unknown) if words else 'all'}")
        return Case(path.stem, text, words)

    def prepared(self, directory, logged=True):
        """The job file as both run it: with a log of every I/O where offsets are compared, and a seed for each."""
        lines = ["[global]", "randseed=${SEED}"]
        if logged and self.words & LOGGED:
            lines += ["write_lat_log=${LOG}/log", "log_offset=1"]
        path = Path(directory, f"{self.name}.fio")
        path.write_text("\n".join(lines) + "\n" + self.text)
        return path


class Matrix:
    """Both generators, and what came of the cases."""

    def __init__(self, ours, fio, directory, device):
        self.ours, self.fio, self.directory, self.device = ours, fio, directory, device
        self.passed, self.failed = 0, []

    def note(self, name, wrong, started):
        """One line for each case as it ends, and what is wrong in full."""
        print(f"{'FAILED' if wrong else 'passed'}  {name} ({time.monotonic() - started:.1f} s)", flush=True)
        for line in wrong:
            print(f"        {line}", flush=True)
        if wrong:
            self.failed.append(name)
        else:
            self.passed += 1

    def check(self, name, function):
        """Runs one case; a generator that fails is a failed case."""
        started = time.monotonic()
        try:
            wrong = function()
        except (GeneratorError, KeyError, IndexError, ValueError, TypeError) as problem:
            wrong = [f"{type(problem).__name__}: {problem}" if not isinstance(problem, GeneratorError) else str(problem)]
        self.note(name, wrong, started)

    def job(self, case):
        """One job file, compared as its words say."""
        if "device" in case.words and not self.device:
            return ["NOT RUN: needs a loop device, that is, root"]
        return self._repeated(case) if case.words & REPEATED else self._once(case)

    def _run(self, generator, case, path, files):
        device = self.device if "device" in case.words else None
        if device:
            device.fill()
        with _named(generator):
            return generator.succeeding(path, files, device=device)

    def _once(self, case):
        path = case.prepared(self.directory)
        outcomes, left, documents = [], [], []
        for generator in (self.ours, self.fio):
            outcomes.append(self._run(generator, case, path, generator.fresh()))
            left.append(outcomes[-1].left())
        for generator, outcome in zip((self.ours, self.fio), outcomes, strict=True):
            with _named(generator):
                documents.append(outcome.document())
        wrong = [f"JSON: {line}" for line in shapes.json_differences(*documents)]
        for word in COUNTED:
            if word in case.words:
                wrong += [f"{word}: {line}" for line in getattr(compare, word)(*documents)]
        wrong += [f"files: {line}" for line in compare.sizes(*left)]
        if "contents" in case.words:
            wrong += [f"contents: {line}" for line in compare.contents(*left)]
        if case.words & LOGGED:
            logs = []
            for generator, outcome in zip((self.ours, self.fio), outcomes, strict=True):
                with _named(generator):
                    logs.append(outcome.ios())
            for word in sorted(case.words & LOGGED):
                wrong += [f"{word}: {line}" for line in getattr(compare, word)(*logs)]
        if "shapes" in case.words:
            wrong += self._shapes(case)
        return wrong

    def _shapes(self, case):
        """The outputs for people and for parsers, in fio's own shape."""
        path, wrong = case.prepared(self.directory, logged=False), []
        forms = (("normal", shapes.normal_differences), ("terse", shapes.terse_differences))
        for form, differences in forms:
            texts = []
            for generator in (self.ours, self.fio):
                with _named(generator):
                    texts.append(generator.succeeding(path, generator.fresh(), form=form).output)
            wrong += [f"{form}: {line}" for line in differences(*texts)]
        documents = []
        for generator in (self.ours, self.fio):
            with _named(generator):
                documents.append(generator.succeeding(path, generator.fresh(), form="json+").document())
        return wrong + [f"json+: {line}" for line in shapes.json_differences(*documents)]

    def _repeated(self, case):
        """Time-bounded: both by turns, in the same files, which fio lays out; see LOOKS."""
        path = case.prepared(self.directory, logged=False)
        files = self.fio.fresh()
        runs = {self.fio: [], self.ours: []}
        self._run(self.fio, case, path, files)  # lays out files, and is not counted
        for _ in range(LOOKS):
            for turn in range(REPEATS):
                for generator in (self.fio, self.ours) if turn % 2 == 0 else (self.ours, self.fio):
                    outcome = self._run(generator, case, path, files)
                    with _named(generator):
                        runs[generator].append(outcome.document())
            ours, fio = runs[self.ours], runs[self.fio]
            wrong = [f"{word}: {line}" for word in sorted(case.words & REPEATED) for line in getattr(compare, word)(ours, fio)]
            if not wrong:
                break
        return wrong + [f"JSON: {line}" for line in shapes.json_differences(ours[0], fio[0])]

    def damage(self, method, planted):
        """Each generator finds the damage in its own data; that fio does shows that it is planted."""
        wrong = []
        for generator in (self.ours, self.fio):
            with _named(generator):
                wrong += [f"{generator.name}: {line}" for line in damage.found(generator, method, planted, self.directory)]
        return wrong


@contextlib.contextmanager
def _named(generator):
    """Says whose failure it is."""
    try:
        yield
    except GeneratorError as problem:
        if str(problem).startswith(f"{generator.name}: "):
            raise
        raise GeneratorError(f"{generator.name}: {problem}") from problem


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/iodyno", help="iodyno [default: %(default)s]")
    parser.add_argument("--binary-args", default="run", help="what follows it before fio's options [default: %(default)s]")
    parser.add_argument("--fio", default="fio")
    parser.add_argument("--only", metavar="NAME", action="append", help="only cases whose names contain this")
    parser.add_argument("--directory", type=Path, help="where the files are made [default: the temporary directory]")
    parser.add_argument("--keep", action="store_true", help="leave the files, logs and outputs of the last cases there")
    parser.add_argument("--without-root", action="store_true", help="leave out what needs a loop device")
    parser.add_argument("--self-test", action="store_true", help="fio against fio with another seed: all must pass")
    options = parser.parse_args()
    for program in (options.fio, *([] if options.self_test else [options.binary])):
        if not shutil.which(program):
            parser.error(f"{program} is not a program")
    return options


def run(options, directory, stack):
    """All cases; returns the Matrix."""
    device = None
    if not options.without_root:
        try:
            device = stack.enter_context(LoopDevice(directory))
        except (GeneratorError, OSError) as problem:
            print(f"no loop device: {problem}", flush=True)
    command = [options.fio] if options.self_test else [shutil.which(options.binary), *shlex.split(options.binary_args)]
    asks = not options.self_test and bool(options.binary_args)
    # Absolute: each runs in its own directory.
    command[0] = os.path.abspath(shutil.which(command[0]))
    ours = Generator("again" if options.self_test else "iodyno", command, directory, 20_260_000, asks)
    fio = Generator("fio", [shutil.which(options.fio)], directory, 1_234, False)
    matrix = Matrix(ours, fio, directory, device)
    for path in sorted(JOBS.glob("*.fio")):
        case = Case.read(path)
        if "device" in case.words and options.without_root:
            print(f"left out {case.name}: --without-root", flush=True)
        elif _chosen(case.name, options.only):
            matrix.check(case.name, lambda case=case: matrix.job(case))
    for method in damage.METHODS:
        for planted in damage.DAMAGES:
            name = f"damage-{method}-{planted.name.replace(' ', '-')}"
            if _chosen(name, options.only):
                matrix.check(name, lambda method=method, planted=planted: matrix.damage(method, planted))
    return matrix


def _chosen(name, only):
    return not only or any(part in name for part in only)


def main():
    options = arguments()
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda *_: sys.exit(3))  # so that what was made is removed
    directory = Path(tempfile.mkdtemp(prefix="iodyno-crosscheck-", dir=options.directory))
    try:
        with contextlib.ExitStack() as stack:
            matrix = run(options, directory, stack)
    finally:
        if options.keep:
            print(f"left in {directory}", file=sys.stderr)
        else:
            shutil.rmtree(directory, ignore_errors=True)
    if matrix.failed:
        print("failed: " + " ".join(matrix.failed))
    print(f"{matrix.passed} passed, {len(matrix.failed)} failed")
    return 0 if matrix.passed and not matrix.failed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(3)
