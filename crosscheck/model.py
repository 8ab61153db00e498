#!/usr/bin/env python3
"""Models of traces beside the traces: both replayed onto the same file by turns, and their rates and latencies compared.

    python3 crosscheck/model.py --binary target/release/iodyno --directory /var/tmp

Six traces are made, so that what is in them is known; as root, others are recorded on a loop device with ext4 while SQLite,
a copy, a build, a log like etcd's and a video write. Trace and model are replayed in the order A B B A, --rounds times.
A model is right if IOPS differ by at most 2 %, p50 and p99 by at most 10 %. Where the replays of the trace differ from each
other by more than that, the machine cannot tell, and the verdict is NOISY, whatever the model does.

Whatever the machine does, both are replayed onto drives that are simulated here (DRIVES), which always take the same time for
the same I/Os: the columns have how much IOPS / p50 / p99 of the model differ. Beside them, how much the p99 differs that the means
which options of a job keep come to, as `iodyno model` reckons it. The exit status is 1 if a model is wrong on a simulated
drive, or DIFFERS. Of fewer than 1000 I/Os p99 rests on less than ten, and is not judged.
"""

import argparse
import bisect
import collections
import contextlib
import itertools
import json
import math
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 6
# Bytes of the file that is replayed onto, and of the loop device that is recorded.
TARGET, LOOP = 1 << 30, 1 << 29
BOUNDS = {"iops": 0.02, "p50": 0.10, "p99": 0.10}
NAME = "/dev/made"
# Dies, each with one page of 16 KiB at a time; us to read and to write it; blocks of 4 KiB in a cache, which take 10 us.
DRIVES = {"fast": (16, 60, 120, 0), "slow, cache": (4, 250, 400, 4096)}
PAGE, BLOCK = 16 << 10, 4 << 10
FEWEST = 1000


def arrivals(rng, rate):
    """Times, us, of independent I/Os; rate(s) per second, at most 4000."""
    at = 0.0
    while at < SECONDS:
        at += rng.expovariate(4000)
        if rng.random() * 4000 < rate(at) and at < SECONDS:
            yield int(at * 1e6)


def zipf(rng):
    ranks = [1 / (n + 1) for n in range(1 << 16)]
    sums = list(itertools.accumulate(ranks))
    for at in arrivals(rng, lambda _: 1000):
        rank = bisect.bisect_left(sums, rng.random() * sums[-1])
        yield at, "read", rank * 40503 % (1 << 16) * 4096, 4096


def runs(rng):
    place = [0, 0]
    for number, at in enumerate(arrivals(rng, lambda _: 600)):
        if rng.random() < 1 / 3:
            yield at, "read", rng.randrange(1 << 17) * 4096, 4096
            continue
        reader = number % 2
        if place[reader] % (128 << 16) == 0:
            place[reader] = rng.randrange(1 << 6) * (128 << 16)
        yield at, "read", place[reader], 1 << 16
        place[reader] += 1 << 16


def bursts(rng):
    for burst in range(SECONDS * 10):
        at = burst * 100_000 + rng.randrange(50_000)
        for _ in range(60):
            at += int(rng.expovariate(1 / 20))
            yield at, "read", rng.randrange(1 << 17) * 4096, 4096


def mixed(rng):
    for at in arrivals(rng, lambda _: 600):
        if rng.random() < 0.7:
            yield at, "read", rng.randrange(1 << 13) * 65536, rng.choice([4096, 4096, 16384])
        else:
            yield at, "write", rng.randrange(1 << 13) * 65536, rng.choice([8192, 65536])


def diurnal(rng):
    for at in arrivals(rng, lambda s: 800 * (1 + 0.8 * math.sin(2 * math.pi * s / SECONDS))):
        yield at, "read", rng.randrange(1 << 17) * 4096, 8192


def log(rng):
    at = 0
    for number in range(SECONDS * 100):
        at += 4000 + int(rng.expovariate(1 / 4000))
        yield at, "write", number * 4096, 4096
        at += 400
        yield at, "sync", 0, 0


MADE = {"zipf reads": zipf, "runs among random": runs, "bursts": bursts, "sizes by operation": mixed, "diurnal": diurnal, "log, fsync": log}


def sqlite(folder):
    base = sqlite3.connect(folder / "base", isolation_level=None)
    base.execute("pragma synchronous=full")
    base.execute("create table t(k integer primary key, v blob)")
    end, number = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        base.execute("insert or replace into t values(?, ?)", (random.randrange(5000), os.urandom(900)))
        number += 1
        time.sleep(0.002)
    base.close()


def copy(folder):
    source = folder / "source"
    source.mkdir()
    for number in range(200):
        (source / str(number)).write_bytes(os.urandom(random.choice([2000, 20_000, 500_000])))
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("1")
    shutil.copytree(source, folder / "copy")
    os.sync()


def build(folder):
    for number in range(60):
        (folder / f"{number}.c").write_text(f"#include <stdio.h>\nint f{number}(void) {{ return printf(\"{number}\"); }}\n")
        subprocess.run(["gcc", "-c", f"{number}.c"], cwd=folder, check=True)
        os.sync()


def etcd(folder):
    with open(folder / "wal", "wb") as wal:
        wal.truncate(64 << 20)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            wal.write(os.urandom(2300))
            wal.flush()
            os.fdatasync(wal.fileno())
            time.sleep(0.003)


def video(folder):
    with open(folder / "film", "wb") as film:
        for _ in range(SECONDS * 4):
            film.write(os.urandom(3 << 20))
            film.flush()
            os.fdatasync(film.fileno())
            time.sleep(0.25)


RECORDED = {"SQLite": sqlite, "copy": copy, "build": build, "like etcd": etcd, "video write": video}


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def make(name, to):
    rows = sorted(MADE[name](random.Random(name)))
    lines = [f"{at} {NAME} {action} {offset} {length}" for at, action, offset, length in rows]
    to.write_text("\n".join(["fio version 3 iolog", f"0 {NAME} add", f"0 {NAME} open", *lines]) + "\n")


@contextlib.contextmanager
def mounted(folder):
    """A file system on a loop device of a file of ours: (its name, where it is mounted)."""
    disk, point = folder / "disk", folder / "mounted"
    with open(disk, "wb") as file:
        file.truncate(LOOP)
    point.mkdir()
    device = run("losetup", "--find", "--show", "--direct-io=on", disk).decode().strip()
    try:
        run("mkfs.ext4", "-q", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", device)
        run("mount", device, point)
        try:
            yield device, point
        finally:
            run("umount", point)
    finally:
        run("losetup", "--detach", device)
        disk.unlink()
        point.rmdir()


def record(binary, name, folder, to):
    with mounted(folder) as (device, point):
        os.sync()
        recorder = subprocess.Popen([binary, "-q", "record", device, "-o", to], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not to.exists() and recorder.poll() is None:
            time.sleep(0.05)
        RECORDED[name](point)
        recorder.terminate()
        _, said = recorder.communicate()
        if not to.exists():
            sys.exit(f"record: {said.decode()}")


def replay(binary, iolog, target):
    """IOPS, and p50 and p99 of reads and writes together, us."""
    words = ["--name=replay", f"--read_iolog={iolog}", f"--replay_redirect={target}", "--replay_skip=trim", "--ioengine=libaio", f"--allow-write={target}"]
    words += ["--iodepth=256", "--direct=1", "--output-format=json+", "--percentile_list=50:99"]
    job = json.loads(run(binary, "fio", *words))["jobs"][0]
    bins = {}
    for way in ("read", "write"):
        for ns, count in job[way].get("lat_ns", job[way]["clat_ns"]).get("bins", job[way]["clat_ns"].get("bins", {})).items():
            bins[int(ns)] = bins.get(int(ns), 0) + count
    counts = sorted(bins.items())
    total = sum(bins.values())

    def quantile(share):
        seen = 0
        for ns, count in counts:
            seen += count
            if seen >= share * total:
                return ns / 1000
        return 0.0

    return {"iops": sum(job[way]["iops"] for way in ("read", "write")), "p50": quantile(0.5), "p99": quantile(0.99)}


def simulated(iolog, dies, read_us, write_us, cached):
    """IOPS, and p50 and p99, us, of reads and writes on a drive that is always the same."""
    free, cache, taken, end = [0.0] * dies, collections.OrderedDict(), [], 1.0
    for line in iolog.read_text().splitlines():
        words = line.split()
        if len(words) != 5 or words[2] not in ("read", "write"):
            continue
        at, offset, length = int(words[0]), int(words[3]), int(words[4])
        blocks = range(offset // BLOCK, -(-(offset + length) // BLOCK))
        hit = words[2] == "read" and all(block in cache for block in blocks) and cached
        done = at + 10.0
        for page in range(offset // PAGE, -(-(offset + length) // PAGE)) if not hit else ():
            die = (page + (page // 16 * 2654435761 >> 7)) % dies
            free[die] = max(free[die], at) + (read_us if words[2] == "read" else write_us) * (0.5 + page * 40503 % 1000 / 1000)
            done = max(done, free[die])
        for block in blocks if cached else ():
            cache[block] = None
            cache.move_to_end(block)
            if len(cache) > cached:
                cache.popitem(last=False)
        taken.append(done - at)
        end = max(end, done)
    taken.sort()
    return {"iops": len(taken) / end * 1e6, "p50": taken[len(taken) // 2], "p99": taken[int(len(taken) * 0.99)]}


def differences(one, other):
    """By which share the medians differ."""
    medians = [{what: statistics.median(each[what] for each in some) for what in BOUNDS} for some in (one, other)]
    return {what: medians[1][what] / medians[0][what] - 1 for what in BOUNDS}, medians


def judged(traces, models):
    found, medians = differences(traces, models)
    # First the trace against itself: where its own replays differ, whatever the model does tells nothing.
    spread = {what: (max(one[what] for one in traces) - min(one[what] for one in traces)) / medians[0][what] for what in BOUNDS}
    if any(spread[what] > bound for what, bound in BOUNDS.items()):
        return "NOISY", found, medians
    return ("AGREES" if all(abs(found[what]) <= bound for what, bound in BOUNDS.items()) else "DIFFERS"), found, medians


def compare(asked_for, name, folder):
    """A row of the table, and whether it is fine."""
    iotrace, model = folder / "trace.iotrace", folder / "trace.iomodel"
    made = name in MADE
    if made:
        make(name, folder / "made.iolog")
        run(asked_for.binary, "-q", "import", folder / "made.iolog", "-o", iotrace)
    else:
        record(asked_for.binary, name, folder, iotrace)
    said = json.loads(run(asked_for.binary, "-q", "--json", "model", iotrace, "-o", model))
    likeness, ios = said["likeness"], said["likeness"]["trace"]["ios"]
    iologs = []
    for source, to in ((iotrace, "a.iolog"), (model, "b.iolog")):
        run(asked_for.binary, "-q", "import", source, "-o", folder / to)
        iologs.append(folder / to)
    results = ([], [])
    for _ in range(asked_for.rounds):
        for which in (0, 1, 1, 0):
            results[which].append(replay(asked_for.binary, iologs[which], asked_for.target))
    judged_by = [what for what in BOUNDS if what != "p99" or ios >= FEWEST]
    drives = [differences(*([simulated(iolog, *drive)] for iolog in iologs))[0] for drive in DRIVES.values()]
    is_right = all(abs(found[what]) <= BOUNDS[what] for found in drives for what in judged_by)
    options = likeness["options_p99_ns"] / max(likeness["trace"]["simulated_p99_ns"], 1) - 1
    size = model.stat().st_size / ios
    columns = [name, "made" if made else "recorded", f"{ios}", f"{size:.2f}"]
    verdict = "-"
    if asked_for.rounds:
        verdict, found, (trace, _) = judged(*results)
        columns += [f"{trace['p50']:.0f} / {trace['p99']:.0f}", *(f"{found[what]:+.1%}" for what in BOUNDS)]
    else:
        columns += ["-"] * 4
    columns += [verdict, *(" / ".join(f"{found[what]:+.1%}" for what in BOUNDS) for found in drives), f"{options:+.0%}"]
    columns += [", ".join(said["misses"]) or "-"]
    print(f"| {' | '.join(columns)} |", flush=True)
    return verdict != "DIFFERS" and is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, type=Path)
    parser.add_argument("--directory", default=".", type=Path, help="on the disk to replay onto")
    parser.add_argument("--rounds", default=2, type=int, help="of A B B A; 0: only what is reckoned")
    parser.add_argument("--only", action="append", help="a trace by name")
    asked_for = parser.parse_args()
    asked_for.binary = asked_for.binary.resolve()
    names = [*MADE, *(RECORDED if os.geteuid() == 0 else [])]
    names = [name for name in names if not asked_for.only or name in asked_for.only]
    heading = ["trace", "", "I/Os", "B/I/O", "p50 / p99, us", *BOUNDS, "verdict", *DRIVES, "by options", "missed"]
    print(f"| {' | '.join(heading)} |\n|{'---|' * len(heading)}", flush=True)
    fine = True
    with tempfile.TemporaryDirectory(dir=asked_for.directory) as folder:
        asked_for.target = Path(folder) / "target"
        if asked_for.rounds:
            with open(asked_for.target, "wb") as file:
                for _ in range(TARGET >> 20):
                    file.write(os.urandom(1 << 20))
                os.fsync(file.fileno())
        for number, name in enumerate(names):
            own = Path(folder) / str(number)
            own.mkdir()
            fine &= compare(asked_for, name, own)
            shutil.rmtree(own)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
