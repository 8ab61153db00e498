"""What can be counted exactly instead of timed: instructions in callgrind, system calls by the kernel's tracepoint.

Both are taken of two runs that differ in nothing but their length; the difference divided by the difference in I/Os
leaves out starting and ending.
"""

import re
import tempfile
from pathlib import Path

from measure import RunError, read_fio

# Far enough apart that what happens by the clock (samples, waiting) does not matter.
CALLGRIND_IOS = (50_000, 450_000)
ENTER_IOS = (10_000, 30_000)


def _length(ios):
    return ["--time_based=0", f"--size={1 << 28}", f"--io_size={ios * 4096}"]


def _quotient(short, long):
    (ios_a, count_a), (ios_b, count_b) = short, long
    if ios_b <= ios_a:
        raise RunError(f"{ios_a} and {ios_b} I/Os: the longer run is not longer")
    return (count_b - count_a) / (ios_b - ios_a)


def _ios(path):
    job = read_fio(path)["jobs"][0]
    return job["read"]["total_ios"]


def instructions_per_io(runner, argv):
    """User instructions for each I/O, under callgrind, of the thread that makes them: what other threads do (samples,
    intervals of the mean) they do by the clock, and callgrind makes a second fifty times as expensive."""

    def measured(ios):
        with tempfile.TemporaryDirectory() as directory:
            result = Path(directory, "result.json")
            output = ["--output-format=json", f"--output={result}"]
            callgrind = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={directory}/%p.out"]
            runner.run([*callgrind, *argv, *_length(ios), *output], limit_s=300)
            # A program may fork: a file for each thread, `PID.out-THREAD`. Processes are told apart by their order.
            paths = list(Path(directory).glob("*.out-*"))
            pids = sorted({int(path.stem) for path in paths})
            threads = {
                (pids.index(int(path.stem)), path.suffix): int(
                    re.search(r"^(?:totals|summary): (\d+)", path.read_text(errors="replace"), re.M)[1]
                )
                for path in paths
            }
            if not threads:
                raise RunError("callgrind wrote no counts")
            return _ios(result), threads

    (ios_a, short), (ios_b, long) = map(measured, CALLGRIND_IOS)
    thread = max(long, key=lambda thread: long[thread] - short.get(thread, 0))
    return _quotient((ios_a, short.get(thread, 0)), (ios_b, long[thread]))


def enters_per_io(runner, argv):
    """Calls of io_uring_enter for each I/O, by perf and the kernel's tracepoint; strace would change the timing, and
    with it how often a program finds its completion there already."""

    def measured(ios):
        with tempfile.TemporaryDirectory() as directory:
            result, counts = Path(directory, "result.json"), Path(directory, "counts")
            output = ["--output-format=json", f"--output={result}"]
            perf = ["perf", "stat", "-x;", "-o", str(counts), "-e", "syscalls:sys_enter_io_uring_enter", "--"]
            runner.run([*perf, *argv, *_length(ios), *output])
            found = re.search(r"^(\d+);", counts.read_text(), re.M)
            if not found:
                raise RunError(f"perf counted nothing: {counts.read_text().strip()}")
            return _ios(result), int(found[1])

    return _quotient(*map(measured, ENTER_IOS))
