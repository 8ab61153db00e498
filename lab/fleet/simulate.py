#!/usr/bin/env python3
"""Documents of a fleet that nobody has: lab/fleet/simulate.py DOCUMENT DIR [--hosts 1000] [--drives 24] [--seed 1]

Of one document of `iodyno check --json` with a measured drive, each host gets DRIVES copies of that drive with serials of their own
and rates that differ by 1.5 %; planted are drives 10 % slow (one of 1,000) and a kernel on which all are 12 % slow (20
hosts). Prints what was planted."""

import argparse
import copy
import json
import random
from pathlib import Path


def renamed(value, names):
    """The value with every string that is a name replaced."""
    if isinstance(value, dict):
        return {key: renamed(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


def scaled(measurement, factor):
    """Its rates times `factor`, latencies divided by it."""
    def estimate(one, by):
        return {key: value * by if key in ("value", "low", "high", "half_width") and value is not None else value
                for key, value in one.items()}
    for verdict in measurement["verdicts"]:
        if verdict.get("measured"):
            verdict["measured"] = estimate(verdict["measured"], 1 / factor if "latency" in verdict["metric"] else factor)
    return measurement


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--drives", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    base = json.loads(arguments.document.read_text())
    chance = random.Random(arguments.seed)
    of = {name["name"]: drive for drive in base["drives"] for name in [drive, *drive["namespaces"]]}
    alone = [one for one in base["measurements"] if len(one["targets"]) == 1 and one["verdicts"] and one["targets"][0] in of
             and one["validity"] != "INVALID"]
    drive = of[alone[0]["targets"][0]]
    names = {drive["name"], *(one["name"] for one in drive["namespaces"])}
    own = [one for one in alone if one["targets"][0] in names]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    slow = []
    for host in range(arguments.hosts):
        name = f"st{host:04}"
        bad_kernel = host % 50 == 7
        document = dict(base, id=f"01a20793-0000-7000-8000-{host:012x}", name=name, drives=[], measurements=[], findings=[],
                        subjects=[], host=dict(base["host"], hostname=name, slots=[]))
        if bad_kernel:
            document["host"]["kernel"] = "6.12.99-slow"
        for bay in range(arguments.drives):
            to = {one: one.replace(drive["name"], f"nvme{bay}", 1) for one in names}
            address = f"{bay + 16:04x}:01:00.0"
            twin = renamed(drive, to)
            twin.update(serial=f"S6{host // 100:02}NX{host * 100 + bay:07}", address=address)
            document["host"]["slots"].append({"name": f"bay{bay}", "address": address[:-2], "present": None, "link_active": None})
            document["drives"].append(twin)
            planted = chance.random() < 0.001
            if planted and not bad_kernel:
                slow.append(f"{name} nvme{bay}")
            factor = (0.9 if planted else 1.0) * (0.88 if bad_kernel else 1.0)
            for one in own:
                twin = renamed(copy.deepcopy(one), to)
                document["measurements"].append(scaled(twin, factor * chance.lognormvariate(0, 0.015)))
            document["subjects"].append({"name": f"nvme{bay}", "verdict": "PASS"})
        (arguments.folder / f"{name}.json").write_text(json.dumps(document))
    print(f"{len(slow)} drives 10 % slow: {', '.join(slow)}; 20 of 1,000 hosts with kernel 6.12.99-slow")


if __name__ == "__main__":
    main()
