//! Operations that asynchronous engines execute synchronously.

use super::files::Files;
use super::{Completion, IoUnit};

/// Operations that the engine's interface lacks, such as trims. Executed in `enter`, as in fio, and
/// returned with the other completions.
#[derive(Debug)]
pub(super) struct SyncOps {
    queued: Vec<IoUnit>,
    done: Vec<Completion>,
}

impl SyncOps {
    /// Reserves room for `depth` operations, so that nothing is allocated later.
    pub(super) fn new(depth: u16) -> Self {
        let room = usize::from(depth);
        Self { queued: Vec::with_capacity(room), done: Vec::with_capacity(room) }
    }

    /// Queues an operation.
    pub(super) fn queue(&mut self, unit: IoUnit) {
        self.queued.push(unit);
    }

    /// Adds an I/O that has already completed.
    pub(super) fn complete(&mut self, completion: Completion) {
        self.done.push(completion);
    }

    /// Executes the queue. Returns the number of completions available.
    #[inline]
    pub(super) fn execute(&mut self, files: &Files) -> u32 {
        if !self.queued.is_empty() {
            self.execute_queued(files);
        }
        self.done.len() as u32
    }

    #[cold]
    fn execute_queued(&mut self, files: &Files) {
        let Self { queued, done } = self;
        done.extend(queued.drain(..).map(|unit| {
            let result = files.execute(&unit);
            Completion { slot: unit.slot, result }
        }));
    }

    /// Takes a completion.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Completion> {
        self.done.pop()
    }
}
