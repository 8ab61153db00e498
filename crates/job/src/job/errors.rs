//! Handling of I/O errors.

use iodyno_model::PerDirection;

/// fio's `continue_on_error`: errors after which a job continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContinueOn {
    /// Errors of reads.
    pub read: bool,
    /// Errors of writes (and of trims, as in fio).
    pub write: bool,
    /// Verification mismatches.
    pub verify: bool,
}

/// Handling of I/O errors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Errors {
    /// `continue_on_error` as given.
    pub continue_on_error: ContinueOn,
    /// `ignore_error`: errno numbers to ignore, for reads, writes and verifying (in `trim`).
    pub ignore_error: PerDirection<Vec<i32>>,
    /// The job ends once all its I/Os have failed for a second, although it continues on errors:
    /// for jobs of iodyno's own, since a surprise removal is EIO on most kernels.
    pub gives_up: bool,
    /// `max_latency`, ns: an I/O that takes longer ends the job.
    pub max_latency_ns: PerDirection<Option<u64>>,
}

impl Errors {
    /// Errors after which the job continues: as given, and those of which it ignores some (as in fio).
    #[must_use]
    pub fn continue_on(&self) -> ContinueOn {
        let (given, ignored) = (self.continue_on_error, &self.ignore_error);
        ContinueOn {
            read: given.read || !ignored.read.is_empty(),
            write: given.write || !ignored.write.is_empty(),
            verify: given.verify || !ignored.trim.is_empty(),
        }
    }
}
