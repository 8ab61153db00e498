//! Traces that are replayed: which of their I/Os, when, and where on the target.
//!
//! A trace is read twice as a stream: [`survey`] says what it holds, from which a job is made;
//! [`TracedIos`] are the requests of that job.

pub(crate) mod places;
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
pub use survey::{TraceSurvey, Unplaced, survey};

/// A target takes larger blocks than its trace was surveyed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the target takes blocks of {found} bytes, and not of {surveyed} as it was looked at for")]
pub struct LargerBlocks {
    found: u32,
    surveyed: u32,
}

/// One I/O to replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TracedIo {
    /// What is requested.
    pub request: Request,
    /// When it is due, ns after the first.
    pub at_ns: u64,
    /// How long it took, as recorded, ns; `u64::MAX`: not known.
    pub latency_ns: u64,
    /// Its length, as recorded, bytes.
    pub length: u32,
}

/// The I/Os of a trace, as they are to be replayed.
#[derive(Debug)]
pub struct TracedIos {
    selection: Selection,
    how: TraceReplay,
    align_bytes: u64,
    /// Discards that have no place on the target.
    pub discards_left_out: u64,
}

impl TracedIos {
    /// Those of a trace that are replayed so, on a target that takes multiples of `align_bytes`.
    ///
    /// # Errors
    /// The target takes larger multiples than were surveyed.
    pub fn new(trace: Traced, how: TraceReplay, align_bytes: u32) -> Result<Self, LargerBlocks> {
        if align_bytes > how.align_bytes {
            return Err(LargerBlocks { found: align_bytes, surveyed: how.align_bytes });
        }
        let selection = Selection::new(trace, how.trace.from_ns, how.until_ns, how.skip);
        Ok(Self { selection, how, align_bytes: align_bytes.max(1).into(), discards_left_out: 0 })
    }

    /// The next; none at the end.
    ///
    /// # Errors
    /// The trace cannot be read on.
    pub fn next_io(&mut self) -> Result<Option<TracedIo>, ReadError> {
        loop {
            let Some((io, operation)) = self.selection.next_io()? else { return Ok(None) };
            let Some((offset, length)) = self.place(&io, operation) else {
                self.discards_left_out += 1;
                continue;
            };
            let speed = u128::from(self.how.trace.speed_percent.max(1));
            let at_ns = u128::from(io.at_ns) * 100 / speed;
            return Ok(Some(TracedIo {
                request: Request { offset, length, file: 0, operation },
                at_ns: u64::try_from(at_ns).unwrap_or(u64::MAX),
                latency_ns: io.latency.total().unwrap_or(u64::MAX),
                length: io.length,
            }));
        }
    }

    /// Where it goes on the target, and how long it is there; none: it is a discard of nothing.
    fn place(&self, io: &iodyno_trace::Io, operation: Operation) -> Option<(u64, u32)> {
        if operation == Operation::Sync {
            return Some((0, 0));
        }
        let is_discard = operation == Operation::Trim;
        let (start, end) = whole_blocks(io, is_discard, self.align_bytes)?;
        let Some(places) = &self.how.places else {
            let device = self.how.trace.devices.get(usize::from(io.device))?;
            return Some((device.at_bytes + start, (end - start) as u32));
        };
        let (offset, room) = places.place(io.device, start, end - start)?;
        Some((offset, room as u32))
    }
}

/// Where an I/O begins and ends in whole blocks: those that it touches, or of a discard those that
/// it covers; none: it covers none.
fn whole_blocks(io: &iodyno_trace::Io, is_discard: bool, block: u64) -> Option<(u64, u64)> {
    let down = |bytes: u64| bytes - bytes % block;
    let up = |bytes: u64| bytes.checked_next_multiple_of(block);
    let (start, end) = match is_discard {
        true => (up(io.offset)?, down(io.end())),
        false => (down(io.offset), up(io.end())?),
    };
    (start < end && end - start <= u32::MAX.into()).then_some((start, end))
}
