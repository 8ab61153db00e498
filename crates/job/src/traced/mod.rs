//! Selects, times and places the I/Os of a trace that a job replays.
//!
//! A trace is streamed twice: [`survey`] summarizes it, which a job is made from, and [`TracedIos`]
//! yields the requests of that job.

pub(crate) mod piece_map;
mod selection;
mod survey;
#[cfg(test)]
mod tests;

use iodyno_trace::Traced;
use iodyno_trace::read::ReadError;

use thiserror::Error;

use crate::job::TraceReplay;
use crate::{Operation, Request};
use selection::Selection;
pub use survey::{PlacementError, TraceSurvey, survey};

/// The target's block size is larger than the one its trace was surveyed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the target takes blocks of {found} bytes, and not of {surveyed} as it was looked at for")]
pub struct BlockSizeMismatch {
    found: u32,
    surveyed: u32,
}

/// One I/O to replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TracedIo {
    /// The request.
    pub request: Request,
    /// Time it is due, ns after the first I/O.
    pub at_ns: u64,
    /// Recorded latency, ns; `u64::MAX`: unknown.
    pub latency_ns: u64,
    /// Recorded length, bytes.
    pub length: u32,
}

/// Iterates over the I/Os of a trace as they are to be replayed.
#[derive(Debug)]
pub struct TracedIos {
    selection: Selection,
    replay: TraceReplay,
    align_bytes: u64,
    /// Discards that cover no block of the target.
    pub discards_left_out: u64,
}

impl TracedIos {
    /// Replays `trace` on a target that takes multiples of `align_bytes`.
    ///
    /// # Errors
    /// The target takes larger multiples than the trace was surveyed for.
    pub fn new(
        trace: Traced,
        replay: TraceReplay,
        align_bytes: u32,
    ) -> Result<Self, BlockSizeMismatch> {
        if align_bytes > replay.align_bytes {
            return Err(BlockSizeMismatch { found: align_bytes, surveyed: replay.align_bytes });
        }
        let selection = Selection::new(trace, replay.trace.from_ns, replay.until_ns, replay.skip);
        let align_bytes = align_bytes.max(1).into();
        Ok(Self { selection, replay, align_bytes, discards_left_out: 0 })
    }

    /// Returns the next I/O, or `None` at the end.
    ///
    /// # Errors
    /// The rest of the trace is unreadable.
    pub fn next_io(&mut self) -> Result<Option<TracedIo>, ReadError> {
        loop {
            let Some((io, operation)) = self.selection.next_io()? else { return Ok(None) };
            let Some((offset, length)) = self.place(&io, operation) else {
                self.discards_left_out += 1;
                continue;
            };
            let speed = u128::from(self.replay.trace.speed_percent.max(1));
            let at_ns = u128::from(io.at_ns) * 100 / speed;
            return Ok(Some(TracedIo {
                request: Request { offset, length, file: 0, operation },
                at_ns: u64::try_from(at_ns).unwrap_or(u64::MAX),
                latency_ns: io.latency.total().unwrap_or(u64::MAX),
                length: io.length,
            }));
        }
    }

    /// Offset and length of an I/O on the target, bytes; `None`: a discard that covers no block.
    fn place(&self, io: &iodyno_trace::Io, operation: Operation) -> Option<(u64, u32)> {
        if operation == Operation::Sync {
            return Some((0, 0));
        }
        let is_discard = operation == Operation::Trim;
        let (start, end) = whole_blocks(io, is_discard, self.align_bytes)?;
        let Some(pieces) = &self.replay.pieces else {
            let device = self.replay.trace.devices.get(usize::from(io.device))?;
            return Some((device.at_bytes + start, (end - start) as u32));
        };
        let (offset, length) = pieces.place(io.device, start, end - start)?;
        Some((offset, length as u32))
    }
}

/// Start and end of an I/O in whole blocks: those that it touches, or for a discard those that it
/// covers fully; `None`: it covers none.
fn whole_blocks(io: &iodyno_trace::Io, is_discard: bool, block: u64) -> Option<(u64, u64)> {
    let down = |bytes: u64| bytes - bytes % block;
    let up = |bytes: u64| bytes.checked_next_multiple_of(block);
    let (start, end) = match is_discard {
        true => (up(io.offset)?, down(io.end())),
        false => (down(io.offset), up(io.end())?),
    };
    (start < end && end - start <= u32::MAX.into()).then_some((start, end))
}
