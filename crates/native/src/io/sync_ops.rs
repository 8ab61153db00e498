//! Operations that asynchronous engines execute synchronously.

use super::files::Files;
use super::{Completion, Descriptor};

/// Operations that the engine's interface lacks, such as trims. Executed in `enter`, as in fio, and
/// returned with the other completions.
#[derive(Debug)]
pub(super) struct Aside {
    queued: Vec<Descriptor>,
    done: Vec<Completion>,
}

impl Aside {
    /// Reserves room for `depth` operations, so that nothing is allocated later.
    pub(super) fn new(depth: u16) -> Self {
        let room = usize::from(depth);
        Self { queued: Vec::with_capacity(room), done: Vec::with_capacity(room) }
    }

    /// Queues an operation.
    pub(super) fn queue(&mut self, descriptor: Descriptor) {
        self.queued.push(descriptor);
    }

    /// Adds an I/O that has already completed.
    pub(super) fn end(&mut self, completion: Completion) {
        self.done.push(completion);
    }

    /// Executes the queue. Returns the number of completions available.
    #[inline]
    pub(super) fn carry_out(&mut self, files: &Files) -> u32 {
        if !self.queued.is_empty() {
            self.work(files);
        }
        self.done.len() as u32
    }

    #[cold]
    fn work(&mut self, files: &Files) {
        let Self { queued, done } = self;
        done.extend(queued.drain(..).map(|descriptor| {
            let result = files.carry_out(&descriptor);
            Completion { slot: descriptor.slot, result }
        }));
    }

    /// Takes a completion.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Completion> {
        self.done.pop()
    }
}
