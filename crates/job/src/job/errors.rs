//! What becomes of errors.

use iodyno_model::PerDirection;

/// fio's `continue_on_error`: after which errors a job goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContinueOn {
    /// Errors of reads.
    pub read: bool,
    /// Errors of writes (and of trims, as in fio).
    pub write: bool,
    /// Blocks that are not what was written.
    pub verify: bool,
}

/// What becomes of errors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Errors {
    /// `continue_on_error`.
    pub continue_on_error: ContinueOn,
    /// `ignore_error`: errno numbers that are no errors, for reads, writes and verifying (`trim`).
    pub ignore_error: PerDirection<Vec<i32>>,
    /// `max_latency`, ns: an I/O that takes longer ends the job.
    pub max_latency_ns: PerDirection<Option<u64>>,
}
