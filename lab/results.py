"""What came of the long cases, for docs/explanation/lab-results.md: which planted faults were named, and what was named that nobody planted."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import machine

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/explanation/lab-results.md"
HEALTH = "QEMU's drives report zero, and nothing sets it"
# Rules that no case can have fire, and why.
UNIT_TESTS_ONLY = {
    "media-errors": HEALTH,
    "media-errors-rising": HEALTH,
    "worn-out": HEALTH,
    "thermal-throttling": HEALTH,
    "behind-vmd": "QEMU has no VMD controller",
    "sata-limits": "its RAID card presents volumes, and no ATA disk",
    "volume-limit": "QEMU's drives have no log page of Amazon's volumes (D0h)",
    "tail-not-drives": "QEMU's drives have no latency monitor (OCP log page C3h)",
}


class Row(NamedTuple):
    """A fault that was planted: what was to name it (rules of check, a limiter of explain), what of that did, and what else was said."""

    fault: str
    command: str
    expected: frozenset
    named: frozenset
    others: tuple


# What the cases report while they run: faults, what each boot of the healthy machine found above INFO, other counts.
faults, boots, counts = [], [], []
# The guest's kernels, and the case that each rule fired in first.
kernels, fired_in = set(), {}


def fired(rule, case):
    """A rule fired in a case that is there for that."""
    fired_in.setdefault(rule, case.removeprefix("cases."))


def rules_of(binary):
    """The ids of all rules, by the program itself."""
    told = subprocess.run([str(binary), "rules", "--json"], capture_output=True, text=True, timeout=20, check=True)
    return [rule["id"] for rule in json.loads(told.stdout)["rules"]]


def commit():
    """What the tree is at; to be asked before the run, in which it may change."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, timeout=20).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "--", "crates"], capture_output=True, text=True, timeout=20).stdout.strip()
    return f"{head or 'unknown'}{', with changes' if changed else ''}"


def write(cases, report, binary, at_commit):
    """Writes the page; `report` is the line that ends a run of these cases. Returns the rules that should have fired and did not."""
    rules = rules_of(binary)
    silent = [rule for rule in rules if rule not in fired_in and rule not in UNIT_TESTS_ONLY]
    sections = [_head(cases, report, at_commit), _faults(), _healthy(), _counts(), _rules(rules)]
    PAGE.write_text("\n".join(line for section in sections for line in section) + "\n")
    return silent


def _head(cases, report, at_commit):
    return [
        "# Which faults it finds",
        "",
        "Written by `make lab-full`; lab/README.md says what it plays.",
        "",
        f"Commit {at_commit}, {datetime.now(UTC):%Y-%m-%d}, QEMU {machine.version()},",
        f"Linux {' and '.join(sorted(kernels))} in it, {os.cpu_count()} CPUs.",
        f"{', '.join(cases)}: {report}.",
        "",
    ]


def _faults():
    named = sum(len(row.named) for row in faults)
    expected = sum(len(row.expected) for row in faults)
    others = sum(len(row.others) for row in faults) + sum(map(len, boots))
    lines = [
        "## Planted faults",
        "",
        f"Of {expected} things to be named {named} were: recall {share(named, expected)}. Of {named + others} things named",
        f"{named} had been planted: precision {share(named, named + others)}. One fault at a time, on machines that are healthy",
        "else; boots of the healthy machine count for precision, too.",
        "",
        "| fault | named by | rules or limiter that are to name it | missed | found beside it above INFO |",
        "|---|---|---|---|---|",
    ]
    for row in faults:
        words = (", ".join(sorted(rules)).replace("|", " or ") or "-" for rules in (row.expected, row.expected - row.named, row.others))
        lines.append(f"| {' | '.join([row.fault, f'`{row.command}`', *words])} |")
    return [*lines, ""]


def _healthy():
    quiet = sum(not found for found in boots)
    lines = ["## The healthy machine", "", f"Booted and checked {len(boots)} times; {quiet} times nothing above INFO was found."]
    return [*lines, *(f"- {', '.join(sorted(found))}" for found in boots if found), ""]


def _counts():
    return ["## Kills and power cuts", "", *(f"- {text}" for text in counts), ""] if counts else []


def _rules(rules):
    here = [rule for rule in rules if rule in fired_in]
    lines = [
        "## Rules",
        "",
        f"Of {len(rules)} rules {len(here)} fired in the lab, where something was planted or asked for that they are to tell.",
        "The first case in which each did:",
        "",
        "| rule | case |",
        "|---|---|",
    ]
    for rule in rules:
        otherwise = f"unit tests only: {UNIT_TESTS_ONLY[rule]}" if rule in UNIT_TESTS_ONLY else "**did not fire**"
        lines.append(f"| {rule} | {fired_in.get(rule, otherwise)} |")
    return lines


def share(part, of):
    """A share in percent."""
    return f"{100 * part / of:.0f} %" if of else "-"
