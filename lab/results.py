"""What came of the long cases, for docs/lab-results.md: which planted faults were named, and what was named that nobody planted."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import machine

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "lab-results.md"


class Row(NamedTuple):
    """A fault that was planted: the rules that were to name it, and those that did; what else was found above INFO."""

    fault: str
    expected: frozenset
    named: frozenset
    others: tuple


# What the cases report while they run: faults, what each boot of the healthy machine found above INFO, other counts.
faults, boots, counts = [], [], []


def write(cases, report):
    """Writes the page; `report` is the line that ends a run of these cases."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, timeout=20).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "--", "crates"], capture_output=True, text=True, timeout=20).stdout.strip()
    named = sum(len(row.named) for row in faults)
    expected = sum(len(row.expected) for row in faults)
    others = sum(len(row.others) for row in faults) + sum(map(len, boots))
    lines = [
        "# What the lab found",
        "",
        "Written by `make lab-full`; lab/README.md says what it plays.",
        "",
        f"Commit {commit or 'unknown'}{', with changes' if changed else ''}, {datetime.now(UTC):%Y-%m-%d}, QEMU {machine.version()}.",
        f"{', '.join(cases)}: {report}.",
        "",
        "## Planted faults",
        "",
        f"Of {expected} things to be named {named} were: recall {share(named, expected)}. Of {named + others} things named",
        f"{named} had been planted: precision {share(named, named + others)}. On the healthy machine, with one fault at a time.",
        "",
        "| fault | rules that are to name it | missed | found beside it above INFO |",
        "|---|---|---|---|",
    ]
    for row in faults:
        words = (", ".join(sorted(rules)).replace("|", " or ") or "-" for rules in (row.expected, row.expected - row.named, row.others))
        cells = [row.fault, *words]
        lines.append(f"| {' | '.join(cells)} |")
    quiet = sum(not found for found in boots)
    lines += ["", "## The healthy machine", "", f"Booted and checked {len(boots)} times; {quiet} times nothing above INFO was found."]
    lines += [f"- {', '.join(sorted(found))}" for found in boots if found]
    if counts:
        lines += ["", "## Kills and power cuts", "", *(f"- {text}" for text in counts)]
    lines.append("")
    PAGE.write_text("\n".join(lines))


def share(part, of):
    """A share in percent."""
    return f"{100 * part / of:.0f} %" if of else "-"
