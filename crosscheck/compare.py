"""What two outcomes of one job file must have in common. Each function returns what is wrong, as lines."""

import statistics
from collections import Counter

from chance import FALSE_ALARMS, same_distribution

DIRECTIONS = ("read", "write", "trim")
BUCKETS = 32

# For a figure of time-bounded jobs: how far beyond fio's own range the median of ours may lie, as a share of fio's
# median; `SPREADS` times fio's spread between its repeats is allowed as well.
LEAST_TOLERANCE = {"iops": 0.02, "bw_bytes": 0.02, "mean": 0.05, "p50": 0.05, "p99": 0.10, "p99.9": 0.25}
SPREADS = 2


def _jobs(document):
    return [(job["jobname"], job) for job in document["jobs"]]


def counts(ours, theirs):
    """I/Os and bytes of every job and direction, exactly."""
    return _equal(ours, theirs, lambda job: {d: (job[d]["total_ios"], job[d]["io_bytes"]) for d in DIRECTIONS})


def syncs(ours, theirs):
    """How many fsyncs were made, exactly."""
    return _equal(ours, theirs, lambda job: job["sync"]["total_ios"])


def _equal(ours, theirs, of):
    a, b = ([(name, of(job)) for name, job in _jobs(document)] for document in (ours, theirs))
    if [name for name, _ in a] != [name for name, _ in b]:
        return [f"jobs {[name for name, _ in a]}, fio has {[name for name, _ in b]}"]
    return [f"job {name}: {x}, fio {y}" for (name, x), (_, y) in zip(a, b, strict=True) if x != y]


def total(ours, theirs):
    """I/Os and bytes of all directions together, exactly; the share of reads as chance allows."""
    wrong = _equal(ours, theirs, lambda job: tuple(sum(job[d][key] for d in DIRECTIONS) for key in ("total_ios", "io_bytes")))
    a, b = (Counter() for _ in range(2))
    for sums, document in ((a, ours), (b, theirs)):
        for _, job in _jobs(document):
            sums.update({d: job[d]["total_ios"] for d in DIRECTIONS})
    return wrong + _alike("shares of directions", +a, +b)


def sizes(ours, theirs):
    """The files that are left behind: their names and sizes."""
    a, b = ({name: len(data) for name, data in left.items()} for left in (ours, theirs))
    return [f"{name} is {a.get(name)} bytes, fio's {b.get(name)}" for name in sorted(a | b) if a.get(name) != b.get(name)]


def contents(ours, theirs):
    """What is in the files, or on the device, byte by byte."""
    wrong = []
    for name in sorted(ours | theirs):
        a, b = ours.get(name, b""), theirs.get(name, b"")
        if a != b:
            first = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            wrong.append(f"{name} differs from byte {first} on: {a[first:first + 8].hex()}, fio's {b[first:first + 8].hex()}")
    return wrong


def bytes_moved(ours, theirs):
    """Bytes of each job, within one block: the last one of a random length may reach over the end."""
    largest = max(io.length for io in theirs)
    a, b = (Counter() for _ in range(2))
    for sums, ios in ((a, ours), (b, theirs)):
        for io in ios:
            sums[io.job] += io.length
    return [f"job {job}: {a[job]} bytes, fio {b[job]}" for job in sorted(a | b) if abs(a[job] - b[job]) > largest]


def _place(io):
    return io.job, io.direction, io.offset, io.length


def offsets(ours, theirs):
    """Every I/O of each job, in whatever order: direction, offset, length."""
    return _multisets(*(Counter(map(_place, ios)) for ios in (ours, theirs)))


def blocks(ours, theirs):
    """As `offsets`, where the direction is left to chance."""
    return _multisets(*(Counter((io.job, "any", io.offset, io.length) for io in ios) for ios in (ours, theirs)))


def _multisets(ours, theirs):
    wrong = []
    for what, difference in (("only fio makes", theirs - ours), ("fio does not make", ours - theirs)):
        if difference:
            some = (f"{length} at {offset} (job {job}, direction {direction}) x{n}"
                    for (job, direction, offset, length), n in sorted(difference.items(), key=str)[:4])  # fmt: skip
            wrong.append(f"{what} {difference.total()} I/Os: {', '.join(some)}")
    return wrong


def sequence(ours, theirs):
    """As `offsets`, and in the same order within each job (for one I/O at a time)."""
    for number, (a, b) in enumerate(zip(map(_place, ours), map(_place, theirs), strict=False)):
        if a != b:
            return [f"I/O {number} (job, direction, offset, length) is {a}, fio's {b}"]
    return [] if len(ours) == len(theirs) else [f"{len(ours)} I/Os, fio {len(theirs)}"]


def sequentiality(ours, theirs):
    """How many I/Os begin where the last one ended."""

    def followers(ios):
        return Counter(a.offset + a.length == b.offset for a, b in zip(ios, ios[1:], strict=False))

    return _alike("I/Os that follow on the last one", followers(ours), followers(theirs))


def arrivals(ours, theirs):
    """The times between I/Os of one job, in steps of 3 ms: an open loop's process."""

    def gaps(ios):
        ended = sorted(io.ended_ms for io in ios)
        return Counter(min((b - a) // 3, 10) for a, b in zip(ended, ended[1:], strict=False))

    return _alike("times between I/Os", gaps(ours), gaps(theirs))


def distribution(ours, theirs):
    """Where the I/Os go: chi-square of the offsets in BUCKETS equal parts."""
    span = max(io.offset + io.length for io in theirs)
    return _alike("offsets", *(Counter(io.offset * BUCKETS // span for io in ios) for ios in (ours, theirs)))


def ranks(ours, theirs):
    """How often the most hit block is hit, the next, and so on, in ranges that double.

    fio scatters the favourites of zipf and pareto over the file by a hash of its own, so that which block is favoured
    is not compared.
    """

    def by_rank(ios):
        hits = sorted(Counter(io.offset for io in ios).values(), reverse=True)
        parts = Counter()
        for rank, times in enumerate(hits):
            parts[(rank + 1).bit_length()] += times
        return parts

    return _alike("hits by rank", by_rank(ours), by_rank(theirs))


def lengths(ours, theirs):
    """Which lengths: the same ones, as often."""
    a, b = (Counter((io.direction, io.length) for io in ios) for ios in (ours, theirs))
    return _alike("lengths", a, b)


def repeats(ours, theirs):
    """How many blocks were hit once, twice and so on: what is left of a random map, or its absence."""
    a, b = (Counter(Counter((io.job, io.offset) for io in ios).values()) for ios in (ours, theirs))
    return _alike("hits of a block", a, b)


def _alike(what, ours, theirs):
    probability, degrees = same_distribution(ours, theirs)
    if probability >= FALSE_ALARMS:
        return []
    return [f"{what} differ: chi-square with {degrees} degrees of freedom, p = {probability:.1e}; {dict(ours)}, fio {dict(theirs)}"[:700]]


def rates(ours, theirs):
    """Of several runs each: IOPS and bandwidth of each direction."""
    return _within(ours, theirs, ("iops", "bw_bytes"), lambda side, key: side[key])


def latencies(ours, theirs):
    """Of several runs each: the total latency's mean and percentiles."""
    named = {"p50": "50.000000", "p99": "99.000000", "p99.9": "99.900000"}

    def figure(side, key):
        return side["lat_ns"]["mean"] if key == "mean" else side["lat_ns"]["percentile"][named[key]]

    return _within(ours, theirs, ("mean", *named), figure)


def _within(ours, theirs, keys, figure):
    wrong = []
    for number, (name, _) in enumerate(_jobs(theirs[0])):
        for direction in DIRECTIONS:
            a, b = ([document["jobs"][number][direction] for document in runs] for runs in (ours, theirs))
            if not any(side["total_ios"] for side in a + b):
                continue
            for key in keys:
                mine, fio = [figure(side, key) for side in a], [figure(side, key) for side in b]
                middle = statistics.median(fio)
                slack = max(SPREADS * (max(fio) - min(fio)), LEAST_TOLERANCE[key] * middle)
                value = statistics.median(mine)
                if not min(fio) - slack <= value <= max(fio) + slack:
                    allowed = f"{min(fio):.6g} .. {max(fio):.6g}, allowed {slack:.3g} beyond"
                    wrong.append(f"job {name}, {direction} {key}: {value:.6g}, fio {allowed}")
    return wrong
