//! Options of jobs that only fio supports.

use super::{fio_only, foreign, removed};
use crate::options::{Kind, OptionSpec};

pub(in crate::options) static ROWS: &[OptionSpec] = &[
    fio_only!(
        "lockfile",
        Kind::Words(vec!["none", "exclusive", "readwrite"]),
        "none",
        ["none"],
        "files are not locked"
    ),
    foreign!("opendir", Kind::Text, "files are named one by one"),
    fio_only!("write_barrier", Kind::Number, "0", ["0"], "Linux has no barrier writes any more"),
    fio_only!("sync_file_range", Kind::Text, "", [], "sync_file_range(2) is not called"),
    fio_only!("ramp_size", Kind::Size, "", ["0"], "a warm-up is a time, or found"),
    fio_only!(
        "iomem_align" | "mem_align",
        Kind::Size,
        "0",
        ["0", "512", "4096", "4k", "4K"],
        "buffers begin at pages"
    ),
    fio_only!(
        "hugepage-size",
        Kind::Size,
        "2m",
        ["0", "2m", "2M", "2097152", "2048k"],
        "huge pages are of 2 MiB"
    ),
    foreign!("merge_blktrace_file", Kind::Text, "it is a tool on traces"),
    fio_only!("ioscheduler", Kind::Text, "", [], "the machine is measured as it is set up"),
    fio_only!("thinkcycles", Kind::Number, "0", ["0"], "pauses are times, not cycles"),
    fio_only!("end_syncfs", Kind::Bool, "0", ["0"], "files are synced one by one"),
    fio_only!("stats", Kind::Bool, "1", ["1"], "what runs is measured"),
    fio_only!("job_start_clock_id", Kind::Number, "", ["0"], "the start is Unix time"),
    foreign!("profile", Kind::Text, "it is a test of fio's own"),
    fio_only!("cgroup", Kind::Text, "", [], "jobs stay in their control group"),
    fio_only!("cgroup_weight", Kind::Number, "", [], "jobs stay in their control group"),
    fio_only!("uid", Kind::Number, "", [], "jobs run as who started them"),
    fio_only!("gid", Kind::Number, "", [], "jobs run as who started them"),
    removed!("rwmixcycle", "ms of I/O in each direction of a mixed workload"),
    removed!("percentage_sequential", "the opposite of percentage_random"),
    fio_only!("readfua", Kind::Bool, "0", ["0"], "reads with forced unit access are not made"),
    fio_only!("writefua", Kind::Bool, "0", ["0"], "writes with forced unit access are not made"),
    fio_only!("unlink_each_loop", Kind::Bool, "0", ["0"], "files stay until the job is done"),
    fio_only!("pre_read", Kind::Bool, "0", ["0"], "nothing is read before the job"),
    fio_only!(
        "rate_ignore_thinktime",
        Kind::Bool,
        "0",
        ["0"],
        "a rate is a timetable, which pauses do not stop"
    ),
];
