//! Trims of some of the writes that are verified (fio's `trim_percentage`, trim.c).

use std::collections::VecDeque;

use iodyno_job::{Job, Operation, Request};

use crate::contents::mix;

/// Chooses writes to be trimmed, and says when.
#[derive(Debug)]
pub(crate) struct Trims {
    percent: u64,
    random: u64,
    queued: VecDeque<Request>,
    /// Writes between two turns.
    pub(crate) every: u64,
    /// Trims in a turn at most.
    batch: usize,
    /// What is trimmed is read, and has to be zeros.
    pub(crate) read_as_zeros: bool,
}

impl Trims {
    /// Those of `job`, if it has any; `seed` chooses the writes.
    pub(crate) fn new(job: &Job, seed: u64) -> Option<Self> {
        let verify = &job.verify;
        let batch = if verify.trim_batch > 0 { verify.trim_batch } else { verify.trim_backlog };
        (job.trims_writes() && verify.do_verify).then(|| Self {
            percent: verify.trim_percent.into(),
            random: seed,
            queued: VecDeque::new(),
            every: verify.trim_backlog,
            batch: usize::try_from(batch).unwrap_or(usize::MAX),
            read_as_zeros: verify.trim_verify_zero,
        })
    }

    /// A write goes, which may be chosen.
    pub(crate) fn written(&mut self, file: u16, offset: u64, length: u32) {
        self.random = mix(self.random, offset);
        // The upper bits, evenly.
        if (self.random >> 32) * 100 < self.percent << 32 {
            self.queued.push_back(Request { offset, length, file, operation: Operation::Trim });
        }
    }

    /// The trims of a turn.
    pub(crate) fn turn(&mut self) -> Vec<Request> {
        let count = self.batch.min(self.queued.len());
        self.queued.drain(..count).collect()
    }
}
