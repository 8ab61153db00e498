//! What an asynchronous engine has to make synchronously.

use super::files::Files;
use super::{Completion, Descriptor};

/// I/Os that the engine's own interface does not have, such as trims. They are
/// made in `enter`, as fio does, and handed out with the other completions.
#[derive(Debug)]
pub(super) struct Aside {
    queued: Vec<Descriptor>,
    done: Vec<Completion>,
}

impl Aside {
    /// Room for `depth`, so that nothing is allocated later.
    pub(super) fn new(depth: u16) -> Self {
        let room = usize::from(depth);
        Self { queued: Vec::with_capacity(room), done: Vec::with_capacity(room) }
    }

    /// Takes an I/O to be made.
    pub(super) fn queue(&mut self, descriptor: Descriptor) {
        self.queued.push(descriptor);
    }

    /// Takes an I/O that has ended otherwise.
    pub(super) fn end(&mut self, completion: Completion) {
        self.done.push(completion);
    }

    /// Makes what was queued. Returns how many completions are there.
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

    /// One that is done.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Completion> {
        self.done.pop()
    }
}
