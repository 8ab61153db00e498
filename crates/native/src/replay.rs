//! What was written, to be read again.

use iodyno_job::{Operation, Request};

use crate::verify::Ledger;

/// Reads of all that the books hold, in order, in blocks of the job's size; or
/// of single writes, each as it was made.
#[derive(Debug)]
pub(crate) struct Replay {
    writes: std::vec::IntoIter<Request>,
    runs: Vec<Run>,
    run: usize,
    /// Largest block, bytes.
    length: u32,
}

/// A stretch that was written without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    file: u16,
    offset: u64,
    length: u64,
    /// Where blocks are counted from, bytes.
    origin: u64,
}

impl Replay {
    /// Of what `ledgers`, one for each file, with entries for each `interval`
    /// bytes, know; in blocks of at most `length` bytes.
    pub(crate) fn new(ledgers: &[Ledger], interval: u64, length: u32) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for (file, ledger) in ledgers.iter().enumerate() {
            let (file, origin) = (file as u16, ledger.start());
            for offset in ledger.in_order() {
                match runs.last_mut() {
                    Some(run) if run.file == file && run.offset + run.length == offset => {
                        run.length += interval;
                    }
                    _ => runs.push(Run { file, offset, length: interval, origin }),
                }
            }
        }
        Self { writes: Vec::new().into_iter(), runs, run: 0, length }
    }

    /// Of these writes.
    pub(crate) fn of(writes: Vec<Request>) -> Self {
        Self { writes: writes.into_iter(), runs: Vec::new(), run: 0, length: 1 }
    }

    /// The next reads; fewer where there are no more.
    pub(crate) fn fill(&mut self, requests: &mut [Request]) -> usize {
        for (count, request) in requests.iter_mut().enumerate() {
            if let Some(write) = self.writes.next() {
                *request = write;
                continue;
            }
            let Some(run) = self.runs.get_mut(self.run) else { return count };
            // Blocks stay where they were written, so that fio's counts are ours, and a pattern
            // begins where it did.
            let within = (run.offset - run.origin) % u64::from(self.length);
            let length = (u64::from(self.length) - within).min(run.length);
            let (file, offset) = (run.file, run.offset);
            let operation = Operation::Read;
            *request = Request { offset, length: length as u32, file, operation };
            run.offset += length;
            run.length -= length;
            if run.length == 0 {
                self.run += 1;
            }
        }
        requests.len()
    }
}
