#!/usr/bin/env python3
"""Applications beside their profiles: etcd's own fsync histogram and pg_test_fsync, and what `iodyno fit` says of the same disk.

    python3 crosscheck/profiles.py --binary target/release/iodyno --directory /var/lib

etcd (Debian: etcd-server) is started on the directory, gets puts one after the other, and is asked for its metrics; its
p99 is known as a bucket between powers of two. Programs that are not installed are skipped. The exit status is 1 if one
of them disagrees.
"""

import argparse
import base64
import contextlib
import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# As many puts: p99 rests on 50 of them.
PUTS = 5000
# Bytes of a value, so that an entry of etcd's log has some 2300.
VALUE = 2200
PORT = 23790
# A rate that differs by less than this share of our interval's ends is the same: the disk is another one a minute later.
TOLERANCE = 0.3
HISTOGRAM = re.compile(r'etcd_disk_wal_fsync_duration_seconds_bucket\{le="([^"]+)"\} (\S+)')


def fit(binary, profile, directory):
    """The quantities of a profile as measured: {figure: (value, low, high)}."""
    with tempfile.TemporaryDirectory() as store:
        command = [binary, "--store", f"{store}/store.sqlite", "--json", "-q", "fit", profile, directory]
        said = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if said.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))}: {said.returncode}")
    quantities = json.loads(said.stdout)["fit"]["quantities"]
    known = ((one["of"], one["estimate"]) for one in quantities if one["estimate"])
    return {of: (found["value"], found["low"], found["high"]) for of, found in known}


@contextlib.contextmanager
def running(program, directory):
    """etcd on the directory, once it answers."""
    urls = [f"http://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT + 1}"]
    words = ["--data-dir", directory, "--listen-client-urls", urls[0], "--advertise-client-urls", urls[0]]
    peers = ["--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1], "--initial-cluster", f"default={urls[1]}"]
    etcd = subprocess.Popen([program, *words, *peers], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if asked("GET", "/health") is not None:
                break
            time.sleep(0.1)
        yield
    finally:
        etcd.terminate()
        etcd.wait()


def asked(method, path, body=None, connection=None):
    """The answer of etcd, or None."""
    connection = connection or http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        text = answer.read().decode()
        return text if answer.status == 200 else None
    except OSError:
        return None


def fsyncs():
    """etcd's histogram: [(upper end in s, flushes up to it)]."""
    found = HISTOGRAM.findall(asked("GET", "/metrics") or "")
    return [(float(end.replace("+Inf", "inf")), float(count)) for end, count in found]


def bucket_of_p99(before, after):
    """The ends, s, between which the p99 of the flushes between two histograms lies."""
    counts = [(end, count - earlier) for (end, count), (_, earlier) in zip(after, before, strict=True)]
    wanted, low = 0.99 * counts[-1][1], 0.0
    for end, count in counts:
        if count >= wanted:
            return low, end
        low = end
    return low, float("inf")


def etcd(binary, program, directory):
    """Whether etcd and its profile agree."""
    with tempfile.TemporaryDirectory(dir=directory) as data, running(program, data):
        before = fsyncs()
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        value = base64.b64encode(b"x" * VALUE).decode()
        for number in range(PUTS):
            key = base64.b64encode(str(number % 100).encode()).decode()
            if asked("POST", "/v3/kv/put", json.dumps({"key": key, "value": value}), connection) is None:
                print("FAILED   etcd takes no puts")
                return False
        low, high = bucket_of_p99(before, fsyncs())
    value, at_least, at_most = (ns / 1e9 for ns in fit(binary, "etcd", directory)["wal sync p99"])
    agree = at_least <= high and at_most >= low
    own = f"{low * 1e3:g} to {high * 1e3:g} ms"
    ours = f"{value * 1e3:.3g} ms ({at_least * 1e3:.3g} to {at_most * 1e3:.3g})"
    print(f"{'AGREES ' if agree else 'DIFFERS'}  etcd: p99 of its own fsyncs {own}, fit etcd {ours}")
    return agree


def postgresql(binary, program, directory):
    """Whether pg_test_fsync and the profile agree."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        said = subprocess.run([program, "-s", "5", "-f", f"{folder}/wal"], capture_output=True, text=True, check=True).stdout
    own = float(re.search(r"\bfdatasync\s+([\d.]+) ops/sec", said)[1])
    value, low, high = fit(binary, "postgresql", directory)["commit write iops"]
    agree = low * (1 - TOLERANCE) <= own <= high * (1 + TOLERANCE)
    ours = f"{value:.0f} ({low:.0f} to {high:.0f})"
    print(f"{'AGREES ' if agree else 'DIFFERS'}  postgresql: pg_test_fsync, fdatasync {own:.0f}/s, fit postgresql {ours}")
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, type=Path)
    parser.add_argument("--directory", default=".", help="on the disk to measure")
    parser.add_argument("--etcd", default=shutil.which("etcd"))
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_test_fsync"))
    parser.add_argument("--pg-test-fsync", default=shutil.which("pg_test_fsync") or (installed and installed[-1]))
    asked_for = parser.parse_args()
    fine = True
    programs = [(etcd, asked_for.etcd, "etcd-server"), (postgresql, asked_for.pg_test_fsync, "postgresql")]
    for compare, program, package in programs:
        if program:
            fine &= compare(asked_for.binary, program, asked_for.directory)
        else:
            print(f"SKIPPED  {compare.__name__}: install {package}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
