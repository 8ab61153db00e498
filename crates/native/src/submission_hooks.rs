//! Prepares I/Os before submission: contents of writes, verify headers, and the ledger of what was
//! written.

use iodyno_files::{FileError, NameOrigin};
use iodyno_job::Request;

use crate::buffers::Buffers;
use crate::contents::Filler;
use crate::engines::{IoUnit, Operation};
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
    /// Tracks writes, if the job saves its verify state.
    pub(crate) write_tracker: Option<WriteTracker>,
    /// Nothing is really written (ioengine=null), so nothing is compared.
    pub(crate) pretended: bool,
}

impl SubmissionHooks {
    /// Prepares and records the writes and trims of `batch`.
    pub(crate) fn prepare(&mut self, batch: &Batch<'_>, buffers: &mut Buffers) {
        for IoUnit { offset, length, slot, file, operation } in batch.iter() {
            let write_tracker =
                self.verifying.as_mut().and_then(|verifying| verifying.write_tracker.as_mut());
            if let Some(write_tracker) = write_tracker {
                write_tracker.submitted(slot, operation, self.number);
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
                            ledger.record_write(offset, length.into(), self.number);
                        }
                    }
                    self.number += 1;
                }
                Operation::Trim => {
                    let trims =
                        self.verifying.as_ref().and_then(|verifying| verifying.trims.as_ref());
                    let is_read = trims.is_none_or(|trims| trims.read_as_zeros);
                    match self.ledger(file) {
                        Some(ledger) if is_read => ledger.record_trim(offset, length.into()),
                        Some(ledger) => ledger.forget(offset, length.into()),
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Records a completion. The contents after a failed write are unknown.
    pub(crate) fn completed(&mut self, slot: u16, io: &InFlight, succeeded: bool) {
        let write_tracker =
            self.verifying.as_mut().and_then(|verifying| verifying.write_tracker.as_mut());
        if let Some(write_tracker) = write_tracker {
            write_tracker.completed(slot, io.operation, succeeded);
        }
        if !succeeded && let Some(ledger) = self.ledger(io.file) {
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
