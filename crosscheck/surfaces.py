#!/usr/bin/env python3
"""Reads published surfaces of read latency under load for crates/campaign/tests/headroom.rs.

usage: surfaces.py OUT FILE...

FILE is a result of diskplorer: fio's JSON (its p99), or the figure that it drew of it (.svg, its second
panel, p95; matplotlib's colours are a logarithmic scale of 1:50). OUT gets a file each. Then:

    IODYNO_SURFACES=OUT cargo test -p iodyno-campaign --test headroom published -- --nocapture
"""

import json
import pathlib
import re
import sys

SIDE = 21
REACHED = 0.97
# Colours are relative to the least p50, which a figure does not state as a number.
LEAST_NS = 80_000
RANGE = 50


def of_json(path):
    cells = {}
    for job in json.loads(path.read_text())["jobs"]:
        name = re.match(r"job\(r_idx=(\d+),w_idx=(\d+),write_bw=(\d+),r_iops=(\d+)", job["jobname"])
        if not name:
            continue
        reads, writes, bandwidth, iops = map(int, name.groups())
        read, write = job["read"], job["write"]
        reached = write["bw_bytes"] >= REACHED * bandwidth and read["iops"] >= REACHED * iops
        p99 = read["clat_ns"].get("percentile", {}).get("99.000000")
        cells[writes, reads] = str(p99) if reached and p99 else "-"
    return cells


def of_svg(path):
    panel = path.read_text().split('id="PolyCollection_')[2].split("</g>")[0]
    shapes = re.findall(
        r'd="M ([\d.]+) ([\d.]+) \nL ([\d.]+) [\d.]+ \nL [\d.]+ ([\d.]+) .*?fill: #(\w\w)', panel, re.S
    )
    left = min(float(shape[0]) for shape in shapes)
    bottom = max(float(shape[1]) for shape in shapes)
    width = min(float(shape[2]) - float(shape[0]) for shape in shapes)
    height = min(float(shape[1]) - float(shape[3]) for shape in shapes)
    cells = {}
    for x, y, _, _, red in shapes:
        at = round((float(x) - left) / width), round((bottom - float(y)) / height)
        clipped = ">" if red == "ff" else ""
        cells[at] = f"{clipped}{LEAST_NS * RANGE ** (int(red, 16) / 255):.0f}"
    return cells


def main():
    out, *files = map(pathlib.Path, sys.argv[1:])
    if not files:
        sys.exit(__doc__)
    out.mkdir(exist_ok=True)
    for path in files:
        cells = of_svg(path) if path.suffix == ".svg" else of_json(path)
        lines = (" ".join(cells.get((writes, reads), "-") for reads in range(SIDE)) for writes in range(SIDE))
        (out / f"{path.stem}.txt").write_text("\n".join(lines) + "\n")


main()
