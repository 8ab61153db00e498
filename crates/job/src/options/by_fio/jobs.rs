//! Options of jobs that only fio does.

use super::{by_fio, taken_out};
use crate::options::{Kind, OptionSpec};

pub(in crate::options) static ROWS: &[OptionSpec] = &[
    by_fio!(
        "lockfile",
        Kind::Words(vec!["none", "exclusive", "readwrite"]),
        "none",
        ["none"],
        "files are not locked"
    ),
    by_fio!("opendir", Kind::Text, "", [], "files are named one by one"),
    by_fio!("write_barrier", Kind::Number, "0", ["0"], "Linux has no barrier writes any more"),
    by_fio!("sync_file_range", Kind::Text, "", [], "sync_file_range(2) is not called"),
    by_fio!("ramp_size", Kind::Size, "", ["0"], "a warm-up is a time, or found"),
    by_fio!(
        "iomem_align" | "mem_align",
        Kind::Size,
        "0",
        ["0", "512", "4096", "4k", "4K"],
        "buffers begin at pages"
    ),
    by_fio!(
        "hugepage-size",
        Kind::Size,
        "2m",
        ["0", "2m", "2M", "2097152", "2048k"],
        "huge pages are of 2 MiB"
    ),
    by_fio!("merge_blktrace_file", Kind::Text, "", [], "it is a tool on traces"),
    by_fio!("ioscheduler", Kind::Text, "", [], "the machine is measured as it is set up"),
    by_fio!("thinkcycles", Kind::Number, "0", ["0"], "pauses are times, not cycles"),
    by_fio!("end_syncfs", Kind::Bool, "0", ["0"], "files are synced one by one"),
    by_fio!("stats", Kind::Bool, "1", ["1"], "what runs is measured"),
    by_fio!("job_start_clock_id", Kind::Number, "", ["0"], "the start is Unix time"),
    by_fio!("profile", Kind::Text, "", [], "it is a test of fio's own"),
    by_fio!("cgroup", Kind::Text, "", [], "jobs stay in their control group"),
    by_fio!("cgroup_weight", Kind::Number, "", [], "jobs stay in their control group"),
    by_fio!("uid", Kind::Number, "", [], "jobs run as who started them"),
    by_fio!("gid", Kind::Number, "", [], "jobs run as who started them"),
    taken_out!("rwmixcycle", "ms of each direction in a mix"),
    taken_out!("percentage_sequential", "the opposite of percentage_random"),
    by_fio!("readfua", Kind::Bool, "0", ["0"], "reads with forced unit access are not made"),
    by_fio!("writefua", Kind::Bool, "0", ["0"], "writes with forced unit access are not made"),
    by_fio!("unlink_each_loop", Kind::Bool, "0", ["0"], "files stay until the job is done"),
    by_fio!("pre_read", Kind::Bool, "0", ["0"], "nothing is read before the job"),
    by_fio!(
        "rate_ignore_thinktime",
        Kind::Bool,
        "0",
        ["0"],
        "a rate is a timetable, which pauses do not stop"
    ),
];
