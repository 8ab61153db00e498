//! How jobs load a CPU (`ioengine=cpuio`).

use super::codecs::{Bool, Codec, Count, Words};
use super::{Kind, OptionSpec, off, row};

pub(super) static ROWS: &[OptionSpec] = &[
    OptionSpec {
        name: "cpuload",
        default: "0",
        examples: &["50", "100"],
        help: "percent of a CPU that each clone uses",
        kind: || Kind::Number,
        parse: |job, value| {
            job.engine.cpu_load.percent = Count(0, u32::MAX).read(value)?.min(100);
            Ok(())
        },
        print: |job| job.engine.cpu_load.percent.to_string(),
        ..OptionSpec::PLAIN
    },
    row!(
        "cpuchunks",
        engine.cpu_load.chunk_us,
        Count(1, u32::MAX),
        "50000",
        ["10000"],
        "how long it is used at a time with cpumode=noop, us"
    ),
    row!(
        "cpumode",
        engine.cpu_load.sorts,
        Words(&[("noop", false), ("qsort", true)]),
        "noop",
        ["qsort"],
        "spin, or sort numbers, which takes more power"
    ),
    off!(
        "exit_on_io_done",
        engine.cpu_load.ends_with_io,
        Bool,
        "end when all jobs beside it that do I/O have ended"
    ),
];
