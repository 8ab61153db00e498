//! Options of the queue depth.

use super::codecs::{Bool, Count, NonZero, Words};
use super::{OptionSpec, ignored, off, row};

/// Largest depth: io_uring's rings have no more entries (IORING_MAX_ENTRIES).
pub const DEEPEST: u32 = 32_768;

pub(super) static ROWS: &[OptionSpec] = &[
    row!("iodepth", depth.iodepth, Count(1, DEEPEST), "1", ["1", "128"], "queue depth of each job"),
    row!(
        "iodepth_batch" | "iodepth_batch_submit",
        depth.batch,
        NonZero(Count(0, DEEPEST)),
        "1",
        ["1", "16"],
        "most I/Os submitted at once; default or 0: as many as fit the queue"
    ),
    row!(
        "iodepth_batch_complete_min" | "iodepth_batch_complete",
        depth.batch_complete_min,
        Count(0, DEEPEST),
        "1",
        ["0", "16"],
        "wait for this many completions"
    ),
    ignored!(
        "iodepth_batch_complete_max",
        NonZero(Count(0, DEEPEST)),
        "",
        ["32"],
        "every completion that is visible is taken",
        "most completions reaped at once"
    ),
    row!(
        "iodepth_low",
        depth.low,
        NonZero(Count(0, DEEPEST)),
        "",
        ["8"],
        "refill the queue only when it has drained to this depth"
    ),
    off!(
        "serialize_overlap",
        depth.serialize_overlap,
        Bool,
        "never keep two I/Os to the same blocks in flight"
    ),
    row!(
        "io_submit_mode",
        depth.offload,
        Words(&[("inline", false), ("offload", true)]),
        "inline",
        ["offload"],
        "offload: one thread per unit of iodepth submits an I/O and waits for it; \
         ioengine=sync then uses pread and pwrite"
    ),
];
