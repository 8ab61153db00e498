//! Prepares I/Os before submission: contents of writes, verify headers, and the ledger of what was
//! written.

use iodyno_files::{FileError, NameOrigin};
use iodyno_job::Request;

use crate::buffers::Buffers;
use crate::contents::Filler;
use crate::engines::{IoUnit, Operation};
use crate::follow_up::FollowUp;
use crate::in_flight::{Batch, InFlight};
use crate::trims::Trims;
use crate::verify::{Expected, Ledger, Mismatch, Verifier, WriteTracker};

/// Prepares the writes of a thread and records them.
#[derive(Debug)]
pub(crate) struct SubmissionHooks {
    /// Contents that change from write to write.
    pub(crate) filler: Option<Filler>,
    pub(crate) verifying: Option<VerifyContext>,
    /// Writes so far, over all loops.
    pub(crate) number: u64,
}

/// State of a verifying thread.
#[derive(Debug)]
pub(crate) struct VerifyContext {
    pub(crate) verifier: Verifier,
    /// Per file, the writes made; empty: only headers on the medium are known.
    pub(crate) ledgers: Vec<Ledger>,
    /// `verify_dump`: base names of each file's dumps.
    pub(crate) dumps: Option<Vec<String>>,
    /// Writes since the last verification, if `verify_backlog` verifies only these.
    pub(crate) backlog: Option<Vec<Request>>,
    /// Trims of some of the writes.
    pub(crate) trims: Option<Trims>,
    /// Trimmed blocks are verified to read as zeros.
    pub(crate) trimmed_are_zeros: bool,
    /// Tracks writes, if the job saves its verify state.
    pub(crate) write_tracker: Option<WriteTracker>,
    /// Nothing is really written (ioengine=null), so nothing is compared.
    pub(crate) pretended: bool,
}

impl SubmissionHooks {
    /// Prepares and records the writes and trims of `batch`.
    pub(crate) fn prepare(&mut self, batch: &Batch<'_>, buffers: &mut Buffers) {
        for (n, IoUnit { offset, length, slot, file, operation }) in batch.iter().enumerate() {
            let write_tracker =
                self.verifying.as_mut().and_then(|verifying| verifying.write_tracker.as_mut());
            if let Some(write_tracker) = write_tracker {
                write_tracker.submitted(slot, file, operation, self.number);
            }
            match operation {
                Operation::Write => {
                    let block = buffers.slot_mut(slot, length);
                    if let Some(filler) = &mut self.filler {
                        filler.refill(block, offset, self.number);
                    }
                    if let Some(VerifyContext { verifier, ledgers, backlog, trims, .. }) =
                        &mut self.verifying
                    {
                        if let Some(trims) = trims {
                            trims.add_write(file, offset, length);
                        }
                        verifier.stamp(block, offset, self.number);
                        if let Some(backlog) = backlog {
                            let operation = Operation::Read;
                            backlog.push(Request { offset, length, file, operation });
                        }
                        if let Some(ledger) = ledgers.get_mut(usize::from(file)) {
                            match batch.overlaps_a_write(n) {
                                true if verifier.reads_as_written() => {
                                    ledger.forget(offset, length.into());
                                }
                                true => ledger.record_some_write(offset, length.into()),
                                false => ledger.record_write(offset, length.into(), self.number),
                            }
                        }
                    }
                    self.number += 1;
                }
                Operation::Trim => {
                    let verifying = self.verifying.as_ref();
                    let are_zeros = verifying.is_some_and(|verifying| verifying.trimmed_are_zeros);
                    match self.ledger(file) {
                        Some(ledger) if are_zeros => ledger.record_trim(offset, length.into()),
                        Some(ledger) => ledger.forget(offset, length.into()),
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Records a completion. The contents after a failed write or trim are unknown.
    pub(crate) fn completed(&mut self, slot: u16, io: &InFlight, succeeded: bool) {
        let write_tracker =
            self.verifying.as_mut().and_then(|verifying| verifying.write_tracker.as_mut());
        if let Some(write_tracker) = write_tracker {
            write_tracker.completed(slot, io.file, io.operation, succeeded);
        }
        let changes = matches!(io.operation, Operation::Write | Operation::Trim);
        if !succeeded
            && changes
            && let Some(ledger) = self.ledger(io.file)
        {
            ledger.forget(io.offset, io.length.into());
        }
    }

    /// Clears the ledgers: everything in them was verified.
    pub(crate) fn clear_ledgers(&mut self) {
        let ledgers = self.verifying.as_mut().map(|verifying| &mut verifying.ledgers);
        ledgers.into_iter().flatten().for_each(Ledger::clear);
    }

    fn ledger(&mut self, file: u16) -> Option<&mut Ledger> {
        self.verifying.as_mut()?.ledgers.get_mut(usize::from(file))
    }
}

impl VerifyContext {
    /// Reads of everything in the ledgers, in blocks of at most `length` bytes.
    pub(crate) fn reads(&self, length: u32) -> FollowUp {
        let verifier = &self.verifier;
        FollowUp::new(&self.ledgers, verifier.interval(), length, verifier.reads_as_written())
    }

    /// Verifies `block`, read from `offset` of `file`.
    pub(crate) fn check(&self, block: &[u8], file: u16, offset: u64) -> Result<(), Mismatch> {
        let ledger = self.ledgers.get(usize::from(file));
        self.verifier.check(block, offset, |offset| {
            ledger.map_or(Expected::ANY, |ledger| ledger.expected(offset))
        })
    }

    /// Dumps the found and the expected contents of a block into files in the current directory,
    /// named as in fio. Returns their names.
    ///
    /// # Errors
    /// If the files cannot be written.
    #[cold]
    pub(crate) fn dump(
        &self,
        block: &[u8],
        file: u16,
        offset: u64,
    ) -> Result<Vec<String>, FileError> {
        let names = self.dumps.as_ref().and_then(|names| names.get(usize::from(file)));
        let Some(name) = names else { return Ok(Vec::new()) };
        let ledger = self.ledgers.get(usize::from(file));
        let expected = |offset| ledger.map_or(Expected::ANY, |ledger| ledger.expected(offset));
        let dump = self.verifier.dump(block, offset, expected);
        let received = (format!("{name}.{offset}.received"), Some(dump.found));
        let expected = (format!("{name}.{offset}.expected"), dump.expected);
        let mut written = Vec::new();
        for (path, contents) in [received, expected] {
            if let Some(contents) = contents {
                iodyno_files::write(path.as_ref(), NameOrigin::Iodyno, &contents)?;
                written.push(path);
            }
        }
        Ok(written)
    }

    /// Number of writes that were not recorded, and so cannot be verified.
    pub(crate) fn untracked(&self) -> u64 {
        self.ledgers.iter().map(Ledger::untracked).sum()
    }
}

#[cfg(test)]
mod tests {
    use iodyno_job::{BlockSize, Contents, Verify, VerifyMethod};

    use super::*;
    use crate::in_flight::SlotTable;

    const LENGTH: u32 = 4096;

    fn hooks(trimmed_are_zeros: bool) -> SubmissionHooks {
        let verify = Verify { method: VerifyMethod::Crc32c, ..Verify::default() };
        let (contents, sizes) = (Contents::default(), BlockSize::Fixed(LENGTH.into()));
        let verifying = VerifyContext {
            verifier: Verifier::new(&verify, &contents, &sizes, 0, 1, 0).unwrap(),
            ledgers: vec![Ledger::new(0, LENGTH.into(), 16, 1 << 20).unwrap()],
            dumps: None,
            backlog: None,
            trims: None,
            trimmed_are_zeros,
            write_tracker: None,
            pretended: false,
        };
        SubmissionHooks { filler: None, verifying: Some(verifying), number: 0 }
    }

    /// Prepares an I/O of the first block and returns what the block is expected to hold after it.
    fn expected_after(hooks: &mut SubmissionHooks, operation: Operation, ok: bool) -> Expected {
        let mut buffers = Buffers::new(1, LENGTH).unwrap();
        let mut slots = SlotTable::new(1);
        let requests = [Request { offset: 0, length: LENGTH, file: 0, operation }];
        hooks.prepare(&slots.reserve(&requests), &mut buffers);
        let io = InFlight { length: LENGTH, operation, ..InFlight::default() };
        hooks.completed(0, &io, ok);
        hooks.ledger(0).unwrap().expected(0)
    }

    #[test]
    fn only_a_failed_change_makes_contents_unknown() {
        let mut hooks = hooks(true);
        let first = Expected::number(0);
        assert_eq!(expected_after(&mut hooks, Operation::Write, true), first);
        assert_eq!(expected_after(&mut hooks, Operation::Read, false), first);
        assert_eq!(expected_after(&mut hooks, Operation::Write, false), Expected::Unknown);
    }

    #[test]
    fn trimmed_blocks_are_zeros_only_if_asked() {
        for (zeros, expected) in [(true, Expected::Zeros), (false, Expected::Unknown)] {
            let mut hooks = hooks(zeros);
            expected_after(&mut hooks, Operation::Write, true);
            assert_eq!(expected_after(&mut hooks, Operation::Trim, true), expected);
        }
    }
}
