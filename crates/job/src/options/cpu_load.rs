//! Options of `ioengine=cpuio`, which loads a CPU.

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
            job.engine.cpu_load.percent = Count(0, u32::MAX).parse(value)?.min(100);
            Ok(())
        },
        print: |job| job.engine.cpu_load.percent.to_string(),
        ..OptionSpec::DEFAULT
    },
    row!(
        "cpuchunks",
        engine.cpu_load.chunk_us,
        Count(1, u32::MAX),
        "50000",
        ["10000"],
        "length of a busy period with cpumode=noop, us"
    ),
    row!(
        "cpumode",
        engine.cpu_load.qsort,
        Words(&[("noop", false), ("qsort", true)]),
        "noop",
        ["qsort"],
        "noop: busy loop; qsort: sort numbers, which draws more power"
    ),
    off!(
        "exit_on_io_done",
        engine.cpu_load.exit_on_io_done,
        Bool,
        "end when all jobs that do I/O have ended"
    ),
];
