//! I/Os that follow a job's own: reads that verify its writes, and trims of some of them.

use iodyno_job::{Operation, Request};

use crate::verify::{Expected, Ledger};

/// Reads of everything in the ledgers, in order, in blocks of the job's size; or a given list of
/// requests.
#[derive(Debug)]
pub(crate) struct FollowUp {
    writes: std::vec::IntoIter<Request>,
    ranges: Vec<Range>,
    current: usize,
    /// Largest block, bytes.
    length: u32,
}

/// A contiguous written range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    file: u16,
    offset: u64,
    length: u64,
    /// The write that made all of it, if blocks are read as they were written.
    write: Option<Expected>,
}

impl FollowUp {
    /// Reads of everything in `ledgers`, one per file with an entry per `interval` bytes, in blocks
    /// of at most `length` bytes; `as_written`: each block holds one write only.
    pub(crate) fn new(ledgers: &[Ledger], interval: u64, length: u32, as_written: bool) -> Self {
        let mut ranges: Vec<Range> = Vec::new();
        for (file, ledger) in ledgers.iter().enumerate() {
            let file = file as u16;
            for offset in ledger.known_offsets() {
                let write = as_written.then(|| ledger.expected(offset));
                match ranges.last_mut() {
                    Some(range)
                        if (range.file, range.write) == (file, write)
                            && range.offset + range.length == offset =>
                    {
                        range.length += interval;
                    }
                    _ => {
                        ranges.push(Range { file, offset, length: interval, write });
                    }
                }
            }
        }
        Self { writes: Vec::new().into_iter(), ranges, current: 0, length }
    }

    /// These requests, unchanged.
    pub(crate) fn of(writes: Vec<Request>) -> Self {
        Self { writes: writes.into_iter(), ranges: Vec::new(), current: 0, length: 1 }
    }

    /// Fills `requests` with the next I/Os; returns fewer at the end.
    pub(crate) fn fill(&mut self, requests: &mut [Request]) -> usize {
        for (count, request) in requests.iter_mut().enumerate() {
            if let Some(write) = self.writes.next() {
                *request = write;
                continue;
            }
            let Some(range) = self.ranges.get_mut(self.current) else { return count };
            // A range begins with a write: blocks keep their positions, so that counts equal fio's,
            // and patterns begin where they did.
            let length = u64::from(self.length).min(range.length);
            let (file, offset) = (range.file, range.offset);
            let operation = Operation::Read;
            *request = Request { offset, length: length as u32, file, operation };
            range.offset += length;
            range.length -= length;
            if range.length == 0 {
                self.current += 1;
            }
        }
        requests.len()
    }
}
