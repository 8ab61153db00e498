//! Options of syncs.

use super::codecs::{Bool, Count};
use super::{OptionSpec, off, row};

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "fsync",
        flush.fsync,
        Count(0, u32::MAX),
        "0",
        ["1", "32"],
        "fsync(2) after this many writes"
    ),
    row!(
        "fdatasync",
        flush.fdatasync,
        Count(0, u32::MAX),
        "0",
        ["1", "128"],
        "fdatasync(2) after this many writes"
    ),
    off!("end_fsync", flush.end_fsync, Bool, "fsync(2) when the job is done"),
];
