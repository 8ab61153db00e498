//! Filters the I/Os of a trace by time and operation.

use iodyno_model::ReplayedIos;
use iodyno_trace::read::ReadError;
use iodyno_trace::{Io, Traced};

use crate::Operation;

/// The I/Os of a time range, without skipped ones and those that have no equivalent request.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) trace: Traced,
    from_ns: u64,
    until_ns: u64,
    /// Reads, writes, discards, flushes.
    skip: [bool; 4],
    /// Time of the first selected I/O.
    first_ns: Option<u64>,
    pub(super) left_out: ReplayedIos,
}

impl Selection {
    pub(super) fn new(mut trace: Traced, from_ns: u64, until_ns: u64, skip: [bool; 4]) -> Self {
        trace.skip_before(from_ns);
        let left_out = ReplayedIos::default();
        Self { trace, from_ns, until_ns, skip, first_ns: None, left_out }
    }

    /// Returns the next I/O, with its time since the first one, or `None` at the end.
    pub(super) fn next_io(&mut self) -> Result<Option<(Io, Operation)>, ReadError> {
        use iodyno_trace::Operation as Traced;
        while let Some(io) = self.trace.next_io()? {
            if io.at_ns < self.from_ns {
                continue;
            }
            if io.at_ns >= self.until_ns {
                return Ok(None);
            }
            let left_out = &mut self.left_out;
            let is_empty = io.length == 0 && io.operation != Traced::Flush;
            let (operation, skipped, count) = match io.operation {
                Traced::Other => (Operation::Sync, true, &mut left_out.others),
                _ if is_empty => (Operation::Sync, true, &mut left_out.others),
                Traced::Read => (Operation::Read, self.skip[0], &mut left_out.reads),
                Traced::Write => (Operation::Write, self.skip[1], &mut left_out.writes),
                Traced::Discard => (Operation::Trim, self.skip[2], &mut left_out.discards),
                Traced::Flush => (Operation::Sync, self.skip[3], &mut left_out.flushes),
            };
            if skipped {
                *count += 1;
                continue;
            }
            let first_ns = *self.first_ns.get_or_insert(io.at_ns);
            return Ok(Some((Io { at_ns: io.at_ns - first_ns, ..io }, operation)));
        }
        Ok(None)
    }
}
