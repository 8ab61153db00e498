#!/usr/bin/env python3
"""What `iodyno record` takes of CPU for each I/O, with a trace and with --summary.

    python3 bench/record.py --binary target/release/iodyno
    python3 bench/record.py --binary target/release/iodyno --binary older/iodyno     side by side

fio reads and writes a loop device (4 to 16 KiB at random, depth 32) on another CPU than the recording, which is the
whole process as wait4(2) tells it, less a recording of nothing, and the programs that it runs in the kernel, at each
I/O, as the kernel measures them (kernel.bpf_stats_enabled, which takes some 20 ns for each of the three). What the
kernel does to write events into its rings for a trace is not in it. Rounds alternate; the table has medians. Requires
root, fio and losetup. The exit status is 1 if an event was lost.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

GOALS_NS = {"trace": 700, "--summary": 250}
SIZE_MIB = 256
# The goals' load: 200,000 I/Os a second are not made here.
FIO = f"--name=load --rw=randrw --rwmixread=80 --bsrange=4k-16k --ioengine=libaio --iodepth=32 --direct=1 --size={SIZE_MIB}m --norandommap --time_based"


@contextlib.contextmanager
def loop_device(folder):
    """A loop device over a file that is written."""
    image = Path(folder, "image")
    with image.open("wb") as file:
        for _ in range(SIZE_MIB):
            file.write(bytes(1 << 20))
    device = subprocess.run(["losetup", "--find", "--show", image], check=True, capture_output=True, text=True).stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@contextlib.contextmanager
def run_times():
    """Lets the kernel measure its programs."""
    setting = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = setting.read_text()
    setting.write_text("1")
    try:
        yield
    finally:
        setting.write_text(before)


def programs(pid):
    """Run time of the programs that a process and its children have in the kernel, s."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        texts = [entry.read_text() for entry in Path(f"/proc/{pid}/fdinfo").iterdir()]
    except OSError:
        return 0  # ended
    total_ns = sum(int(line.split()[1]) for text in texts for line in text.splitlines() if line.startswith("run_time_ns:"))
    return total_ns / 1e9 + sum(programs(int(child)) for child in children)


def recorded(binary, device, way, seconds, folder):
    """CPU time, s, that of its programs in the kernel, s, and the summary of a recording on the last CPU."""
    to = ["-o", str(Path(folder, f"out{way}")), *(["--summary"] if way == "--summary" else [])]
    cpu = max(os.sched_getaffinity(0))
    with tempfile.TemporaryFile() as out:
        command = [binary, "--json", "record", device, "--for", f"{seconds}s", *to]
        process = subprocess.Popen(command, stdout=out, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        programs_s = 0
        while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            programs_s = programs(process.pid) or programs_s
            time.sleep(0.02)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, programs_s, json.load(out)["trace"]


def each(binary, device, way, options, folder):
    """CPU time for each I/O, ns, that of the kernel's programs, ns, and events that were lost."""
    start_s, _, _ = recorded(binary, device, way, options.seconds, folder)
    load = subprocess.Popen(
        ["fio", *FIO.split(), f"--runtime={options.seconds + 2}", f"--filename={device}", f"--cpus_allowed={min(os.sched_getaffinity(0))}"],
        stdout=subprocess.DEVNULL)  # fmt: skip
    try:
        cpu_s, programs_s, trace = recorded(binary, device, way, options.seconds, folder)
    finally:
        load.terminate()
        load.wait()
    ios = max(sum(one["ios"] for one in trace["operations"]), 1)
    return (max(cpu_s - start_s, 0) + programs_s) * 1e9 / ios, programs_s * 1e9 / ios, trace["lost"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", action="append", required=True, help="an iodyno; again: side by side")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    taken = {(binary, way): [] for binary in options.binary for way in GOALS_NS}
    all_lost = 0
    with tempfile.TemporaryDirectory() as folder, loop_device(folder) as device, run_times():
        for number in range(options.rounds):
            for binary, way in taken if number % 2 == 0 else reversed(taken):
                cpu_ns, programs_ns, lost = each(binary, device, way, options, folder)
                taken[binary, way].append((cpu_ns, programs_ns))
                all_lost += lost
    print("| record | CPU an I/O, median [range] | of it in the kernel's programs | goal |\n|---|---|---|---|")
    for (binary, way), found in taken.items():
        all_ns, programs_ns = zip(*found, strict=True)
        spread = f"[{min(all_ns):.0f} .. {max(all_ns):.0f}]"
        print(f"| {binary}, {way} | {statistics.median(all_ns):.0f} ns {spread} | {statistics.median(programs_ns):.0f} ns | {GOALS_NS[way]} ns |")
    print(f"\n{all_lost} events lost.")
    return 1 if all_lost else 0


if __name__ == "__main__":
    sys.exit(main())
