#!/usr/bin/env python3
"""A sweep: the same grid by bench-fio at a fixed time for each point, and by iodyno until it is known.

    python3 bench/sweep.py --binary target/release/iodyno --bench-fio PROGRAM --directory DIR
    python3 bench/sweep.py --binary target/release/iodyno --directory DIR        without bench-fio: fio with its options
    ... --seconds 60 --reference 180 --max-time 60s --precision 2                this is usual
    ... --update-readme

4 KiB random reads by io_uring from one file with data, O_DIRECT, every iodepth with every numjobs. Each point is held
against a long reference run by fio, half of which is made before all the others and half behind them: their difference
is what the machine alone makes of the same measurement. The contenders take turns. The table goes to the standard
output; the exit status is 1 if a goal is missed.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

README = Path(__file__).parent / "README.md"
MARKS = ("<!-- sweep -->", "<!-- /sweep -->")
GOALS = {"iodyno": (10, 2.0), "iodyno --adaptive": (20, 5.0)}  # times less, median error in %


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def fio(options, point, seconds):
    """IOPS of a point, as bench-fio has fio measure it."""
    depth, jobs = point
    command = [
        options.fio, "--name=point", f"--filename={options.file}", "--rw=randread", "--bs=4k", "--direct=1",
        "--ioengine=io_uring", f"--iodepth={depth}", f"--numjobs={jobs}", "--group_reporting", "--time_based",
        f"--runtime={seconds}", "--norandommap", "--randrepeat=0", "--output-format=json",
    ]
    report = run(command)
    return json.loads(report[report.index("{"):])["jobs"][0]["read"]["iops"]


def reference(options, grid):
    return {point: fio(options, point, options.reference / 2) for point in grid}


def by_loop(options, grid):
    return {point: fio(options, point, options.seconds) for point in grid}


def by_bench_fio(options, grid):
    """IOPS by point, from the JSON files that it leaves."""
    with tempfile.TemporaryDirectory(dir=options.directory) as out:
        run([
            options.bench_fio, "--target", options.file, "--type", "file", "--size", f"{options.size_mib}M",
            "--mode", "randread", "--block-size", "4k", "--engine", "io_uring", "--direct", "1",
            "--iodepth", *map(str, options.iodepth), "--numjobs", *map(str, options.numjobs),
            "--runtime", str(options.seconds), "--time-based", "--output", out, "--quiet",
        ])
        found = {}
        for path in Path(out).rglob("*.json"):
            jobs = json.loads(path.read_text())["jobs"]
            settings = jobs[0]["job options"]
            point = int(settings["iodepth"]), int(settings["numjobs"])
            found[point] = sum(job["read"]["iops"] for job in jobs)
        missing = [point for point in grid if point not in found]
        if missing:
            sys.exit(f"bench-fio left nothing of {missing}")
        return found


def by_iodyno(options, grid, *words):
    """IOPS by point; those that were predicted in a set of their own."""
    with tempfile.TemporaryDirectory() as folder:
        document = json.loads(run([
            options.binary, "--store", f"{folder}/store", "--json", "sweep", "--target", options.file,
            "--set", "rw=randread", "--set", "bs=4k", "--set", "direct=1", "--set", "ioengine=io_uring",
            "--set", "norandommap=1", "--set", "randrepeat=0",
            "--grid", "iodepth=" + ",".join(map(str, options.iodepth)),
            "--grid", "numjobs=" + ",".join(map(str, options.numjobs)),
            "--precision", str(options.precision), "--max-time", options.max_time, "--p99-precision", "0", *words,
        ]))
    def point(name):
        words = dict(word.split("=") for word in name.split())
        return int(words["iodepth"]), int(words["numjobs"])
    found = {point(of["name"]): of["read"]["iops"]["value"] for of in document["measurements"]}
    predicted = {point(of["name"]): of["iops"]["value"] for of in document["outlook"]["predictions"]}
    return found | predicted, len(predicted)


def timed(measure, *words):
    start = time.monotonic()
    found = measure(*words)
    return time.monotonic() - start, found


def errors(found, truth):
    return [abs(found[point] / truth[point] - 1) * 100 for point in truth]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/release/iodyno")
    parser.add_argument("--bench-fio", help="bench-fio's program (pip install fio-plot)")
    parser.add_argument("--fio", default=shutil.which("fio") or "fio")
    parser.add_argument("--directory", default=".", help="where the file is made")
    parser.add_argument("--size-mib", type=int, default=4096)
    parser.add_argument("--iodepth", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--numjobs", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--seconds", type=int, default=60, help="of each point of bench-fio")
    parser.add_argument("--reference", type=int, default=180, help="seconds of each point's reference")
    parser.add_argument("--max-time", default="60s")
    parser.add_argument("--precision", type=float, default=2.0)
    parser.add_argument("--update-readme", action="store_true")
    options = parser.parse_args()
    options.directory = str(Path(options.directory).resolve())
    grid = [(depth, jobs) for depth in options.iodepth for jobs in options.numjobs]
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        options.file = f"{folder}/data"
        run([options.fio, "--name=fill", f"--filename={options.file}", "--rw=write", "--bs=1m", "--direct=1",
             f"--size={options.size_mib}M", "--end_fsync=1", "--output-format=json"])
        first = reference(options, grid)
        fixed_by = by_bench_fio if options.bench_fio else by_loop
        fixed_s, fixed = timed(fixed_by, options, grid)
        known_s, (known, _) = timed(by_iodyno, options, grid)
        adaptive_s, (adaptive, predicted) = timed(by_iodyno, options, grid, "--adaptive")
        last = reference(options, grid)
    truth = {point: (first[point] + last[point]) / 2 for point in grid}
    fixed_name = "bench-fio" if options.bench_fio else "fio, as bench-fio runs it"
    rows = [
        (f"{fixed_name}, {options.seconds} s each", fixed_s, fixed),
        ("iodyno", known_s, known),
        (f"iodyno --adaptive ({predicted} of {len(grid)} points predicted)", adaptive_s, adaptive),
    ]
    # Half the difference of the halves is how far each of them is off on the average.
    machine = statistics.median(abs(first[point] - last[point]) / truth[point] * 50 for point in grid)
    lines = [
        f"{len(grid)} points: iodepth {options.iodepth}, numjobs {options.numjobs}; precision {options.precision} %, "
        f"at most {options.max_time} each; reference {options.reference} s each.",
        f"The two halves of the reference are off their mean by {machine:.1f} % (median): no less can be asked here.",
        "",
        "| by | time, s | times less | median error, % | largest error, % |",
        "|---|---|---|---|---|",
    ]
    missed = False
    for name, seconds, found in rows:
        off = errors(found, truth)
        lines.append(
            f"| {name} | {seconds:.0f} | {fixed_s / seconds:.1f} | {statistics.median(off):.1f} | {max(off):.1f} |")
        goal = next((goal for start, goal in reversed(GOALS.items()) if name.startswith(start)), None)
        if goal:
            missed |= fixed_s / seconds < goal[0] or statistics.median(off) > goal[1]
    table = "\n".join(lines) + "\n"
    print(table, end="")
    if options.update_readme:
        text = README.read_text()
        before, rest = text.split(MARKS[0])
        README.write_text(f"{before}{MARKS[0]}\n{table}{MARKS[1]}{rest.split(MARKS[1])[1]}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
