//! fio's options in one static table, which drives job files, the command line, plans and the
//! option reference; and the stream of I/Os that a job issues.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod defaults;
pub mod iolog;
mod job;
mod nearest;
mod operation;
mod options;
mod reference;
pub mod script;
mod stream;
pub mod syntax;
pub mod traced;
mod value;
mod workload;

pub use job::{
    AccessPattern, Amount, BlockSize, CommandPriority, CommandType, Contents, ContinueOn, CpuLoad,
    CpuPolicy, DedupeMode, Depth, Distribution, Engine, Errors, ExitWhat, Extent, Fallocate,
    FileService, Files, Flush, IOLOG_HEAD, IoEngine, Job, LatencyTarget, Log, Logs, MemoryPolicy,
    Pace, Pattern, PatternPart, Percentiles, Priority, Program, RandomGenerator, RateProcess,
    Replay, Report, Sequencer, SizePriority, Space, Sprandom, StatType, SteadyKind, SteadyState,
    Sync, ThinkBlocks, Threads, Time, TraceReplay, Unified, Verify, VerifyMethod, VerifyPolicy,
    Zone, ZoneMode, ioprio,
};
pub use nearest::nearest_name;
pub use operation::Operation;
pub use options::{
    DEEPEST, Kind, OptionSpec, READING_ENGINES_OF_FIO, Support, apply, apply_all, check,
    errno_name, find, gcd, is_fio_only, main_name, main_value, nearest_option, notes, options,
};
pub use reference::reference;
pub use stream::{PlannedWork, Region, Request, Room, Stream, Unfit, random_seeds};
pub use value::{
    JobError, TimeUnit, Units, ValueError, parse_list, parse_seconds, parse_signed, parse_size,
    parse_size_in, parse_time,
};
