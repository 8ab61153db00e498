"""What is run, and which runs are set against each other with which goal."""

from dataclasses import dataclass

COMMON = "--name=bench --rw=randread --bs=4k --direct=1 --norandommap=1 --time_based=1"
# What people who know fio well would give it.
TUNED = "--fixedbufs=1 --registerfiles=1"
BATCH_32 = "--iodepth_batch_submit=32 --iodepth_batch_complete_min=1 --iodepth_batch_complete_max=128"
BATCH_64 = "--iodepth_batch_submit=64 --iodepth_batch_complete_min=1 --iodepth_batch_complete_max=128"
URING = "--ioengine=io_uring --iodepth="
# The goal against t/io_uring, which makes I/O as fast as the kernel takes it.
LIMIT = 0.98


@dataclass(frozen=True)
class Contender:
    """A program with its options, on a target. `program` is iodyno, fio or t/io_uring."""

    name: str
    program: str
    target: str
    options: str


@dataclass(frozen=True)
class Comparison:
    """Two contenders, paired round by round.

    metric  what is divided:
            cpu           theirs / ours, CPU ns for each I/O: how many times our I/Os one core makes
            cpu_share     ours / theirs, the same turned over
            iops          ours / theirs, by the wall clock
            p50, p99      ours / theirs, latency percentiles
            agreement     the larger p50 / the smaller: 1 is agreement
    goal    the least (`cpu`, `iops`) or the most (all others) that is wanted; None: shown only
    noise   whether a goal counts as reached too when it lies within the range of the rounds' ratios
    equal   a self-test: the median has to be 1, within 10 %
    """

    what: str
    ours: str
    theirs: str
    metric: str
    goal: float | None
    noise: bool = False
    equal: bool = False

    @property
    def more_is_better(self):
        return self.metric in ("cpu", "iops")

    def ratio(self, ours, theirs):
        """Of two Samples of one round."""
        if self.metric == "cpu":
            return theirs.cpu_ns / ours.cpu_ns
        if self.metric == "cpu_share":
            return ours.cpu_ns / theirs.cpu_ns
        if self.metric == "iops":
            return ours.iops / theirs.iops
        a, b = (sample.percentiles_ns[99.0 if self.metric == "p99" else 50.0] for sample in (ours, theirs))
        return max(a, b) / min(a, b) if self.metric == "agreement" else a / b


def contenders():
    """All of them, by name."""
    rows = []
    for target, depths in (("sparse", "all"), ("written", "all"), ("zram", "zram")):
        ours, fio, t = f"iodyno {target}", f"fio {target}", f"t/io_uring {target}"
        rows += [
            (f"{ours} io_uring 128", "iodyno", target, URING + "128"),
            (f"{fio} io_uring 128 tuned", "fio", target, f"{URING}128 {TUNED} {BATCH_32}"),
            (f"{ours} psync 1", "iodyno", target, "--ioengine=psync"),
            (f"{fio} psync 1", "fio", target, "--ioengine=psync"),
            (f"{t} 128", "t/io_uring", target, "-b4096 -d128 -s32 -c32 -p0 -B1 -F1 -t0 -n1"),
        ]
        if depths == "zram":
            rows += [
                (f"{ours} libaio 128", "iodyno", target, "--ioengine=libaio --iodepth=128"),
                (f"{fio} libaio 128 batch 32", "fio", target, f"--ioengine=libaio --iodepth=128 {BATCH_32}"),
                (f"{t} sync", "t/io_uring", target, "-b4096 -d1 -p0 -S1 -t0 -n1"),
                # Kernel threads make the I/O: who waits for one is woken by it.
                (f"{t} 128 wait 1", "t/io_uring", target, "-b4096 -d128 -s32 -c1 -p0 -B1 -F1 -t0 -n1"),
                (f"{ours} io_uring 128 wait 32", "iodyno", target, URING + "128 --iodepth_batch_complete_min=32"),
            ]
            continue
        rows += [
            (f"{ours} io_uring 128 batch 1", "iodyno", target, URING + "128 --iodepth_batch=1"),
            (f"{fio} io_uring 128", "fio", target, URING + "128"),
            (f"{fio} io_uring 128 batch 1", "fio", target, f"{URING}128 {TUNED} --iodepth_batch=1 --lat_percentiles=1"),
            (f"{ours} io_uring 1", "iodyno", target, URING + "1"),
            (f"{fio} io_uring 1", "fio", target, f"{URING}1 {TUNED}"),
            (f"{t} 1", "t/io_uring", target, "-b4096 -d1 -s1 -c1 -p0 -B1 -F1 -t0 -n1"),
            (f"{t} 1 stamps", "t/io_uring", target, "-b4096 -d1 -s1 -c1 -p0 -B1 -F1 -t1 -n1"),
        ]
        if target == "sparse":
            rows += [
                (f"{ours} io_uring 128 no statistics", "iodyno", target, URING + "128 --gtod_reduce=1"),
                (f"{ours} io_uring 128 full view", "iodyno", target, URING + "128 --live=full"),
                (f"{ours} io_uring 128 stream", "iodyno", target, URING + "128 --stream=/dev/null"),
                (f"{ours} io_uring 128 batch 64", "iodyno", target, URING + "128 --iodepth_batch=64"),
                (f"{fio} io_uring 128 tuned no statistics", "fio", target, f"{URING}128 {TUNED} {BATCH_32} --gtod_reduce=1"),
                (f"{fio} io_uring 128 tuned batch 64", "fio", target, f"{URING}128 {TUNED} {BATCH_64}"),
                (f"{t} sync", "t/io_uring", target, "-b4096 -d1 -p0 -S1 -t0 -n1"),
            ]
    return {row[0]: Contender(*row) for row in rows}


def comparisons():
    """In the order of the table. What a kernel makes possible, t/io_uring shows in the same rounds: goals are held against it."""
    rows = []
    s = "sparse"
    rows += [
        ("sparse, io_uring depth 128: fio tuned", f"iodyno {s} io_uring 128", f"fio {s} io_uring 128 tuned", "cpu", None),
        ("... the kernel's limit: t/io_uring against fio tuned", f"t/io_uring {s} 128", f"fio {s} io_uring 128 tuned", "cpu", None),
        ("... fio as usually run", f"iodyno {s} io_uring 128", f"fio {s} io_uring 128", "cpu", None),
        ("... the kernel's limit: t/io_uring against it", f"t/io_uring {s} 128", f"fio {s} io_uring 128", "cpu", None),
        ("... fio tuned, gtod_reduce (no latencies)", f"iodyno {s} io_uring 128", f"fio {s} io_uring 128 tuned no statistics", "cpu", None),
        ("... batches of 64 on both sides", f"iodyno {s} io_uring 128 batch 64", f"fio {s} io_uring 128 tuned batch 64", "cpu", None),
        ("... batches of 1 on both sides", f"iodyno {s} io_uring 128 batch 1", f"fio {s} io_uring 128 batch 1", "cpu", None),
        ("... t/io_uring without statistics", f"iodyno {s} io_uring 128", f"t/io_uring {s} 128", "cpu", LIMIT),
        ("... statistics: with / without", f"iodyno {s} io_uring 128", f"iodyno {s} io_uring 128 no statistics", "cpu_share", 1.02),
        ("... rate with / without the full view", f"iodyno {s} io_uring 128 full view", f"iodyno {s} io_uring 128", "iops", 0.99, True),
        ("... rate with / without --stream", f"iodyno {s} io_uring 128 stream", f"iodyno {s} io_uring 128", "iops", 0.99, True),
        ("sparse, io_uring depth 1: fio", f"iodyno {s} io_uring 1", f"fio {s} io_uring 1", "cpu", None),
        ("... the kernel's limit: t/io_uring against fio", f"t/io_uring {s} 1", f"fio {s} io_uring 1", "cpu", None),
        ("... t/io_uring", f"iodyno {s} io_uring 1", f"t/io_uring {s} 1", "cpu", LIMIT),
        ("... t/io_uring with time stamps (-t1)", f"iodyno {s} io_uring 1", f"t/io_uring {s} 1 stamps", "cpu", None),
        ("sparse, psync: fio", f"iodyno {s} psync 1", f"fio {s} psync 1", "cpu", None),
        ("... the kernel's limit: t/io_uring -S1 against fio", f"t/io_uring {s} sync", f"fio {s} psync 1", "cpu", None),
        ("... t/io_uring -S1", f"iodyno {s} psync 1", f"t/io_uring {s} sync", "cpu", LIMIT),
    ]
    z = "zram"
    rows += [
        ("zram, psync: fio", f"iodyno {z} psync 1", f"fio {z} psync 1", "cpu", None),
        ("... the kernel's limit: t/io_uring -S1 against fio", f"t/io_uring {z} sync", f"fio {z} psync 1", "cpu", None),
        ("... t/io_uring -S1", f"iodyno {z} psync 1", f"t/io_uring {z} sync", "cpu", LIMIT),
        ("zram, libaio depth 128: fio, batches of 32", f"iodyno {z} libaio 128", f"fio {z} libaio 128 batch 32", "cpu", None),
        ("zram, io_uring depth 128 (kernel threads): fio tuned", f"iodyno {z} io_uring 128", f"fio {z} io_uring 128 tuned", "cpu", None),
        ("... t/io_uring, which waits for one, too", f"iodyno {z} io_uring 128", f"t/io_uring {z} 128 wait 1", "cpu", LIMIT),
        ("... both wait for 32", f"iodyno {z} io_uring 128 wait 32", f"t/io_uring {z} 128", "cpu", LIMIT),
    ]
    w = "written"
    rows += [
        ("written, io_uring depth 128: IOPS of fio tuned", f"iodyno {w} io_uring 128", f"fio {w} io_uring 128 tuned", "iops", 1.0, True),
        ("... CPU of fio tuned", f"iodyno {w} io_uring 128", f"fio {w} io_uring 128 tuned", "cpu_share", None),
        ("... CPU of fio as usually run", f"iodyno {w} io_uring 128", f"fio {w} io_uring 128", "cpu_share", None),
        ("... CPU of t/io_uring", f"iodyno {w} io_uring 128", f"t/io_uring {w} 128", "cpu_share", 1.02, True),
        ("... batches of 1 on both sides", f"iodyno {w} io_uring 128 batch 1", f"fio {w} io_uring 128 batch 1", "cpu", None),
        ("... p50: natural batches / our batches of 1", f"iodyno {w} io_uring 128", f"iodyno {w} io_uring 128 batch 1", "p50", 1.0, True),
        ("... p99: natural batches / our batches of 1", f"iodyno {w} io_uring 128", f"iodyno {w} io_uring 128 batch 1", "p99", 1.0, True),
        ("... p50 / fio's at batches of 1", f"iodyno {w} io_uring 128", f"fio {w} io_uring 128 batch 1", "p50", 1.0, True),
        ("... p99 / fio's at batches of 1", f"iodyno {w} io_uring 128", f"fio {w} io_uring 128 batch 1", "p99", 1.0, True),
        ("written, io_uring depth 1: IOPS of fio", f"iodyno {w} io_uring 1", f"fio {w} io_uring 1", "iops", 1.0, True),
        ("... CPU of fio", f"iodyno {w} io_uring 1", f"fio {w} io_uring 1", "cpu", None),
        ("written, psync: IOPS of fio", f"iodyno {w} psync 1", f"fio {w} psync 1", "iops", 1.0, True),
        ("accuracy, sparse: p50 of io_uring and psync at depth 1", f"iodyno {s} io_uring 1", f"iodyno {s} psync 1", "agreement", None),
        ("... the same of fio's clat", f"fio {s} io_uring 1", f"fio {s} psync 1", "agreement", None),
        ("accuracy, written: p50 of io_uring and psync at depth 1", f"iodyno {w} io_uring 1", f"iodyno {w} psync 1", "agreement", 1.05),
        ("... the same of fio's clat", f"fio {w} io_uring 1", f"fio {w} psync 1", "agreement", None),
    ]
    return [Comparison(*row) for row in rows]
