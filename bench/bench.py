#!/usr/bin/env python3
"""iodyno's load generator side by side with fio and t/io_uring, on this machine.

    python3 bench/bench.py --binary target/release/iodyno --t-io-uring PATH --callgrind
    python3 bench/bench.py --binary target/release/iodyno --quick           two rounds, to see that it works
    python3 bench/bench.py --self-test                                      everything against itself: must be equal

What is measured and the goals: README.md. The exit status is 0 if every goal is reached at 90 % or more, 1 if not.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.dont_write_bytecode = True  # before our own modules: nothing is left in the tree

import counts
import table
import targets
from cases import COMMON, TUNED, BATCH_32, URING, comparisons, contenders
from measure import RunError, Runner

README = Path(__file__).with_name("README.md")
IN_TERMINAL = Path(__file__).with_name("in_terminal.py")
START_IOS = 256  # the run that measures what starting and ending takes


def say(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    """The programs, the targets that are there, and what was measured."""

    def __init__(self, options, runner, paths, described):
        self.options, self.runner, self.paths, self.described = options, runner, paths, described
        self.contenders, self.comparisons = contenders(), comparisons()
        if options.self_test:
            self._against_itself()
        if options.only:
            self.comparisons = [c for c in self.comparisons if options.only in f"{c.what} {c.ours} {c.theirs}"]
        used = {name for comparison in self.comparisons for name in (comparison.ours, comparison.theirs)}
        chosen = [c for name, c in self.contenders.items() if name in used]
        self.absent = {c.name: why for c in chosen if (why := self._why_absent(c))}
        self.present = [c for c in chosen if c.name not in self.absent]
        self.starts, self.samples = {}, {c.name: [] for c in self.present}
        self.loads = []

    def _against_itself(self):
        pairs = {}
        for comparison in self.comparisons:
            theirs = self.contenders[comparison.theirs]
            if theirs.program != "iodyno" and comparison.metric != "agreement":
                again = replace(theirs, name=f"again: {theirs.name}")
                self.contenders[again.name] = again
                what = f"{comparison.theirs} ({comparison.metric})"
                pairs[what] = replace(comparison, what=what, ours=again.name, goal=1.0, equal=True)
        self.comparisons = list(pairs.values())

    def _why_absent(self, contender):
        if contender.target not in self.paths:
            return f"no target: {contender.target}"
        if contender.program == "t/io_uring" and not self.options.t_io_uring:
            return "t/io_uring: no --t-io-uring PATH given"
        return None

    def argv(self, contender):
        """The command that makes its I/O; how long is added by who calls it."""
        path, extra = self.paths[contender.target], shlex.split(contender.options)
        if contender.program == "t/io_uring":
            return [str(self.options.t_io_uring), *extra, path]
        program = self.ours() if contender.program == "iodyno" else [self.options.fio]
        if "--live=" in contender.options:
            program = [sys.executable, str(IN_TERMINAL), *program]
        return [*program, *shlex.split(COMMON), f"--filename={path}", *extra]

    def ours(self):
        return [str(self.options.binary), *shlex.split(self.options.binary_args)]

    def _measure(self, contender):
        argv = self.argv(contender)
        if contender.program == "t/io_uring":
            return self.runner.t_io_uring(argv, self.options.seconds)  # its start takes about a millisecond
        sample = self.runner.like_fio([*argv, f"--runtime={self.options.seconds}"])
        return sample.less(self.starts[contender.name])

    def _measure_start(self, contender, times):
        argv = [*self.argv(contender), "--time_based=0", f"--io_size={START_IOS * 4096}"]
        samples = [self.runner.like_fio(argv) for _ in range(times)]
        return sorted(samples, key=lambda sample: sample.user_s + sample.system_s)[times // 2]

    def measure(self):
        """All rounds: forwards, then backwards, and so on, so that no one is always after the same other."""
        for contender in list(self.present):
            if contender.program == "t/io_uring":
                continue
            try:
                self.starts[contender.name] = self._measure_start(contender, 1 if self.options.quick else 3)
            except (RunError, KeyError, IndexError) as problem:
                self._drop(contender, problem)
        for number in range(self.options.rounds):
            self.loads.append(os.getloadavg()[0])
            say(f"round {number + 1} of {self.options.rounds}, load {self.loads[-1]:.2f}")
            for contender in self.present if number % 2 == 0 else reversed(self.present):
                try:
                    sample = self._measure(contender)
                except (RunError, KeyError, IndexError) as problem:
                    say(f"FAILED: {contender.name}: {problem}")
                    sample = None
                self.samples[contender.name].append(sample)

    def _drop(self, contender, problem):
        say(f"FAILED: {contender.name}: {problem}")
        self.present.remove(contender)
        self.absent[contender.name] = f"failed: {problem}"

    def rows(self):
        rows = [table.compared(comparison, self.samples, self.absent) for comparison in self.comparisons]
        if not self.options.self_test and not self.options.only:
            rows += self._memory()
            rows += self._enters()
            rows += self._instructions()
        return rows

    def _memory(self):
        name, buffers, allowed = "iodyno sparse io_uring 128", 128 * 4096, (8 << 20) + (64 << 10)
        taken = [sample.memory for sample in self.samples.get(name, []) if sample]

        def row(what, each, goal, word):
            figure = f"{max(each) / (1 << 20):.1f}" if each else ""
            return table.Row(f"memory at depth 128, less its I/O buffers, MiB: {what}", figure, goal, word, values={"bytes": each})

        own, resident = [one.own_bytes - buffers for one in taken], [one.resident_bytes - buffers for one in taken]
        word = table.at_most(max(own), allowed) if own else table.FAILED
        return [
            row("its own (RssAnon)", own, "<= 8.06", word),
            row("with the program's pages in the page cache (VmHWM)", resident, "", table.SHOWN),
        ]

    def _enters(self):
        rows = []
        for target in ("sparse", "written"):
            for program, tuned, goal in (("iodyno", "", 1.0), ("fio", TUNED, None)):
                what = f"{target}, io_uring depth 1: io_uring_enter for each I/O, {program}"
                rows.append(self._counted(what, counts.enters_per_io, program, target, f"{URING}1 {tuned}", goal, "{:.3f}"))
        return rows

    def _instructions(self):
        if not self.options.callgrind:
            return []
        rows = []
        full = f"{URING}128 {TUNED} {BATCH_32} --thread=1"
        for program, more, goal in (("iodyno", f"{URING}128", 100), ("fio", full, None)):
            what = f"sparse, io_uring depth 128: user instructions for each I/O, {program}"
            rows.append(self._counted(what, counts.instructions_per_io, program, "sparse", more, goal, "{:.0f}"))
        return rows

    def _counted(self, what, count, program, target, more, goal, form):
        wanted = "" if goal is None else f"<= {goal:g}"
        if target not in self.paths:
            return table.Row(what, "", wanted, table.FAILED, "no such target")
        program = self.ours() if program == "iodyno" else [self.options.fio]
        argv = [*program, *shlex.split(COMMON), f"--filename={self.paths[target]}", *shlex.split(more)]
        say(what)
        try:
            value = count(self.runner, argv)
        except (RunError, KeyError, IndexError, OSError) as problem:
            say(f"FAILED: {what}: {problem}")
            return table.Row(what, "", wanted, table.FAILED, str(problem).splitlines()[0])
        word = table.at_most(value, goal)
        return table.Row(what, form.format(value), wanted, word, values={"value": value})


def header(bench):
    """What the numbers hold for."""
    options = bench.options
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    priority = "nice -15" if bench.runner.raised else "ordinary priority (not root)"
    said = " ".join(shlex.quote(word) for word in sys.argv[1:])
    # File names of one machine say nothing to others.
    said = re.sub(r"/\S*/", "", said)
    lines = {
        "command": f"`bench.py {said}`",
        "taken": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} x {model[1].strip() if model else platform.machine()}, Linux {platform.release()}",
        "programs": ", ".join(filter(None, (_version([str(options.binary)]) if not options.self_test else "", _version([options.fio]),
                                            "t/io_uring" if options.t_io_uring else "no t/io_uring"))),
        "rounds": f"{options.rounds} of {options.seconds} s each, on CPU {bench.runner.cpu}, {priority}",
        "load": f"{min(bench.loads):.2f} to {max(bench.loads):.2f} (1 minute; the runs themselves are about 1)",
        "targets": ", ".join(f"{name} ({text})" for name, text in bench.described.items()),
    }  # fmt: skip
    if missing := sorted({why for why in bench.absent.values()}):
        lines["NOT MEASURED"] = "; ".join(why.splitlines()[0] for why in missing)
    return lines


def _version(program):
    try:
        return subprocess.run([*program, "--version"], capture_output=True, text=True, timeout=10).stdout.strip()
    except OSError:
        return f"{program[0]}: not there"


@contextlib.contextmanager
def all_targets(options, directory):
    """Their paths, and what to say of them; what cannot be had is told."""
    paths, described = {}, {}
    kind = targets.file_system(directory)
    with contextlib.ExitStack() as stack:
        say("making the targets")
        for name, size, written in (("sparse", 1 << 30, False), ("written", options.written_mib << 20, True)):
            paths[name] = stack.enter_context(targets.file_of(directory, name, size, written))
            described[name] = f"file of {size >> 20} MiB on {kind}"
        if kind != "ext4":
            say(f"NOTE: {directory} is {kind}, not ext4: a sparse file may not complete inline there")
        try:
            paths["zram"] = stack.enter_context(targets.zram_device(1 << 30))
            described["zram"] = "1024 MiB, never written"
        except (targets.Unavailable, OSError) as problem:
            say(f"NOT MEASURED: zram: {problem}")
        yield paths, described


def update_readme(text):
    """Puts the results between README.md's markers."""
    page = README.read_text()
    begin, end = "<!-- results -->", "<!-- /results -->"
    if begin not in page or end not in page:
        raise SystemExit(f"{README}: no {begin} and {end} to put the results between")
    head, tail = page.split(begin)[0], page.split(end)[1]
    README.write_text(f"{head}{begin}\n{text}{end}{tail}")


def document(bench, head, rows):
    samples = {
        name: {"options": bench.contenders[name].options, "program": bench.contenders[name].program,
               "start": bench.starts[name].values() if name in bench.starts else None,
               "rounds": [sample.values() if sample else None for sample in rounds]}
        for name, rounds in bench.samples.items()
    }  # fmt: skip
    lines = [{"case": r.what, "figure": r.figure, "goal": r.goal, "word": r.word, **(r.values or {})} for r in rows]
    return {"header": head, "loads": bench.loads, "rows": lines, "contenders": samples}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/iodyno", help="iodyno [default: %(default)s]")
    parser.add_argument("--binary-args", default="run", help="what follows it before fio's options [default: %(default)s]")
    parser.add_argument("--fio", default="fio")
    parser.add_argument("--t-io-uring", metavar="PATH", type=Path, help="fio's t/io_uring, built with t_io_uring.patch")
    parser.add_argument("--directory", type=Path, help="where files are made: ext4 on the disk to measure [default: the temporary directory]")
    parser.add_argument("--written-mib", type=int, default=1024, help="size of the written file [default: %(default)s]")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=2, help="of each run [default: %(default)s]")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="CPU that everything runs on [default: the last]")
    parser.add_argument("--only", metavar="TEXT", help="only comparisons whose programs or targets contain this")
    parser.add_argument("--quick", action="store_true", help="2 rounds of 1 s: shows that it works, not how fast it is")
    parser.add_argument("--callgrind", action="store_true", help="count instructions as well")
    parser.add_argument("--self-test", action="store_true", help="fio and t/io_uring against themselves")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every single value")
    parser.add_argument("--update-readme", action="store_true", help="put the results into bench/README.md")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 2, 1
    for program in (options.fio, *([] if options.self_test else [options.binary]), *filter(None, [options.t_io_uring])):
        if not shutil.which(str(program)):
            parser.error(f"{program} is not a program")
    return options


def main():
    options = arguments()
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda *_: sys.exit(3))  # so that what was made is removed
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="iodyno-bench-", dir=options.directory))
        paths, described = stack.enter_context(all_targets(options, directory))
        bench = Bench(options, Runner(options.cpu, directory), paths, described)
        bench.measure()
        rows = bench.rows()
    head = header(bench)
    text = table.markdown(head, rows)
    print(text, end="")
    if options.markdown:
        options.markdown.write_text(text)
    if options.json:
        options.json.write_text(json.dumps(document(bench, head, rows), indent=1) + "\n")
    if options.update_readme:
        update_readme(text)
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(3)
