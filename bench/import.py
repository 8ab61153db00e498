#!/usr/bin/env python3
"""Reading a log of every I/O: iodyno side by side with fio-plot, in CPU time and memory.

    python3 bench/import.py --binary target/release/iodyno --fio-plot PYTHON     an interpreter that has fio-plot
    python3 bench/import.py --binary target/release/iodyno                       iodyno alone
    python3 bench/import.py --reader PROGRAM                                     a program that is given the folder

The logs are made here: `write_lat_log` of one job at depth 1 as fio 3.33 writes it, 4 KiB random reads of about 80 us,
log-normal, from a fixed seed. iodyno imports the folder that such a log is in; fio-plot reads the same file and gathers
it for its line graph, without drawing it. The table goes to the standard output. The exit status is 1 if a goal is missed.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True

STEM = "randread-iodepth-1-numjobs-1"
FASTER = 50  # times less CPU time than fio-plot
MOST_MB = 100
ROUNDS = 3
FIO_PLOT = """
import sys
from fio_plot.fiolib import defaultsettings, getdata
settings = defaultsettings.get_default_settings()
settings.update(input_directory=[sys.argv[1]], rw="randread", iodepth=[1], numjobs=[1], type=["lat"])
print(sum(len(part["read"]) for one in getdata.get_log_data(settings) for part in one["data"]))
"""


@dataclass
class Used:
    """What a process took; memory is the most that was resident."""

    cpu_s: float
    memory_mb: float


def write_log(path, lines):
    """A row for each I/O: time in ms, latency in ns, direction, block size, priority."""
    draw = random.Random(lines)
    time_ns, rows = 0, []
    with path.open("w", encoding="ascii") as log:
        for _ in range(lines):
            latency_ns = int(draw.lognormvariate(11.2, 0.4))
            time_ns += latency_ns
            rows.append(f"{time_ns // 1_000_000}, {latency_ns}, 0, 4096, 0\n")
            if len(rows) == 100_000:
                log.writelines(rows)
                rows.clear()
        log.writelines(rows)


def run(command, environment):
    """Runs `command` to its end. The kernel counts in the starter's memory, which is some MB."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{command[0]} ended with {process.returncode}: {said.read().decode(errors='replace')[-500:]}")
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def least(command, environment, rounds):
    """The least of some rounds: what else the machine does only adds."""
    used = [run(command, environment) for _ in range(rounds)]
    return Used(min(one.cpu_s for one in used), max(one.memory_mb for one in used))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/release/iodyno")
    parser.add_argument("--reader", help="instead of `BINARY import`")
    parser.add_argument("--fio-plot", metavar="PYTHON", help="an interpreter that has fio-plot")
    parser.add_argument("--lines", type=int, nargs="+", default=[1_000_000, 5_000_000])
    options = parser.parse_args()
    ours = [options.reader] if options.reader else [options.binary, "import"]
    good = True
    print("| rows | MB | iodyno: CPU s | MB | fio-plot: CPU s | MB | times faster |")
    print("|---|---|---|---|---|---|---|")
    for lines in options.lines:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "logs", f"{STEM}_lat.1.log")
            log.parent.mkdir()
            write_log(log, lines)
            environment = {**os.environ, "IODYNO_STORE": str(Path(folder, "store.sqlite")), "LC_ALL": "C"}
            mine = least([*ours, str(log.parent)], environment, ROUNDS)
            cells = [f"{lines:,}", f"{log.stat().st_size / 1e6:.0f}", f"{mine.cpu_s:.3f}", f"{mine.memory_mb:.0f}"]
            good = good and mine.memory_mb <= MOST_MB
            if options.fio_plot:
                theirs = least([options.fio_plot, "-c", FIO_PLOT, str(log.parent)], environment, 1)
                times = theirs.cpu_s / max(mine.cpu_s, 0.001)
                good = good and times >= FASTER
                cells += [f"{theirs.cpu_s:.1f}", f"{theirs.memory_mb:.0f}", f"{times:.0f}"]
            else:
                cells += ["not asked for", "", ""]
            print(f"| {' | '.join(cells)} |", flush=True)
    print(f"\nGoals: {FASTER} times faster, at most {MOST_MB} MB: {'reached' if good else 'MISSED'}.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
