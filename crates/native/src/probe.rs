//! Single reads, one after the other: what blocks hold and how fast they come.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use iodyno_load::{BlockContent, ProbeSample};

use crate::io::{Io, Psync, Setup, SetupError, read_once};

/// Reads `length` bytes at each of `offsets` until `most` has passed.
///
/// # Errors
/// Where there is no memory for the buffer; reads that fail are samples.
pub(crate) fn probe(
    target: OwnedFd,
    offsets: &[u64],
    length: u32,
    most: Duration,
) -> Result<Vec<ProbeSample>, SetupError> {
    let mut psync = Psync::open(Setup::reading(target, 1, length))?.io;
    let begun = Instant::now();
    let mut samples = Vec::with_capacity(offsets.len());
    for &offset in offsets {
        if begun.elapsed() >= most {
            break;
        }
        let (latency_ns, result) =
            read_once(&mut psync, offset, length).map_err(SetupError::of("pread"))?;
        let content = if result == i64::from(length) {
            BlockContent::of(psync.buffers().slot(0, length))
        } else {
            BlockContent::Unreadable
        };
        samples.push(ProbeSample { offset, latency_ns, content });
    }
    Ok(samples)
}
