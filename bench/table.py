"""The results as a Markdown table, and as one JSON document with every single value."""

import statistics
from dataclasses import dataclass
from operator import attrgetter

REACHED, NEARLY, MISSED, SHOWN, FAILED = "reached", ">= 90 %", "MISSED", "", "NOT MEASURED"


@dataclass
class Row:
    """One line of the table."""

    what: str
    figure: str
    goal: str
    word: str
    detail: str = ""
    values: dict | None = None

    @property
    def good(self):
        return self.word in (REACHED, NEARLY, SHOWN)


def judged(comparison, ratios):
    """Which word the goal earns."""
    if comparison.goal is None:
        return SHOWN
    if comparison.equal:
        return REACHED if abs(statistics.median(ratios) - 1) <= 0.1 else MISSED
    sign = 1 if comparison.more_is_better else -1
    median, best = statistics.median(ratios), max(ratios, key=lambda r: r * sign)
    if sign * median >= sign * comparison.goal or (comparison.noise and sign * best >= sign * comparison.goal):
        return REACHED
    share = median / comparison.goal
    return NEARLY if (share if sign > 0 else 1 / share) >= 0.9 else MISSED


def at_most(value, goal):
    """Which word a count earns; a few calls of start and end in ten thousand I/Os are no failure."""
    if goal is None:
        return SHOWN
    return REACHED if value <= goal * 1.005 else NEARLY if value <= goal / 0.9 else MISSED


def compared(comparison, samples, absent):
    """The Row of a comparison; `samples` are lists by contender, one of each round, with None where one failed."""
    goal = "" if comparison.goal is None else "1" if comparison.equal else f"{'>=' if comparison.more_is_better else '<='} {comparison.goal:g}"
    for name in (comparison.ours, comparison.theirs):
        if name in absent:
            return Row(comparison.what, "", goal, FAILED if comparison.goal else SHOWN, absent[name].splitlines()[0])
    ratios, a, b = [], [], []
    for ours, theirs in zip(samples[comparison.ours], samples[comparison.theirs], strict=True):
        try:
            ratios.append(comparison.ratio(ours, theirs))
        except (AttributeError, KeyError, ZeroDivisionError):
            continue  # one of the two failed in this round, or has no such figure
        a.append(ours)
        b.append(theirs)
    if not ratios:
        return Row(comparison.what, "", goal, FAILED, "no round in which both sides have this figure")
    figure = f"{statistics.median(ratios):.2f} [{min(ratios):.2f} .. {max(ratios):.2f}]"
    values = {"ours": comparison.ours, "theirs": comparison.theirs, "metric": comparison.metric, "ratios": ratios}
    return Row(comparison.what, figure, goal, judged(comparison, ratios), _detail(comparison.metric, a, b), values)


def _detail(metric, ours, theirs):
    def middle(samples, of):
        return statistics.median(of(sample) for sample in samples)

    def cpu(samples):
        total, user, system = (middle(samples, attrgetter(name)) for name in ("cpu_ns", "user_ns", "system_ns"))
        return f"{total:.0f} ns ({user:.0f} + {system:.0f})"

    def one(samples):
        if metric in ("cpu", "cpu_share"):
            return cpu(samples)
        if metric == "iops":
            return f"{middle(samples, lambda s: s.iops) / 1e3:.1f}k IOPS"
        at = 99.0 if metric == "p99" else 50.0
        return f"{middle(samples, lambda s: s.percentiles_ns[at]) / 1e3:.2f} us"

    return f"{one(ours)} : {one(theirs)}"


def markdown(header, rows):
    """The header as a list, the rows as a table."""
    lines = [f"- {name}: {text}" for name, text in header.items()]
    lines += ["", "| case | ratio, median [range] | goal | | iodyno : other |", "|---|---|---|---|---|"]
    for row in rows:
        cells = (row.what, row.figure, row.goal, row.word, row.detail)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
