//! How many I/Os are outstanding.

use super::codecs::{Bool, Count, OrZero, Words};
use super::{OptionSpec, ignored, off, row};

/// Greatest depth: io_uring's and libaio's queues go to 32768 and beyond, fio's `iodepth` to 2^31.
const DEEPEST: u32 = 65_536;

pub(super) static ROWS: &[OptionSpec] = &[
    row!("iodepth", depth.iodepth, Count(1, DEEPEST), "1", ["1", "128"], "queue depth of each job"),
    row!(
        "iodepth_batch" | "iodepth_batch_submit",
        depth.batch,
        OrZero(Count(0, DEEPEST)),
        "1",
        ["1", "16"],
        "most I/Os submitted at once; default or 0: all that are free"
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
        OrZero(Count(0, DEEPEST)),
        "",
        ["32"],
        "every completion that is visible is taken",
        "reaps at most this many at once"
    ),
    row!(
        "iodepth_low",
        depth.low,
        OrZero(Count(0, DEEPEST)),
        "",
        ["8"],
        "refill the queue only at this depth"
    ),
    off!(
        "serialize_overlap",
        depth.serialize_overlap,
        Bool,
        "never have two I/Os to the same blocks outstanding"
    ),
    row!(
        "io_submit_mode",
        depth.offload,
        Words(&[("inline", false), ("offload", true)]),
        "inline",
        ["offload"],
        "offload: as many threads as iodepth submit and wait, each with one I/O; \
         ioengine=sync is done by pread and pwrite then"
    ),
];
