//! I/Os with options of their own: issued by kernel threads (`force_async=N`) or with a priority
//! (`cmdprio_*`).

use std::io;
use std::time::Duration;

use super::{Completion, Descriptor, Io, Opened, Operation, Setup, SetupError};
use crate::buffers::Buffers;
use crate::priorities::Priorities;

/// An engine that supports options per I/O.
pub(crate) trait Marking: Io {
    /// As [`Io::queue`], for one I/O with this priority (0: the thread's); `to_worker` forces it to
    /// a kernel thread.
    fn queue_marked(&mut self, descriptor: Descriptor, priority: u16, to_worker: bool);
}

/// Wraps an engine; a type of its own, so that other jobs need not check each I/O.
#[derive(Debug)]
pub(crate) struct Marked<I> {
    io: I,
    priorities: Option<Priorities>,
    /// Every Nth I/O is issued by a kernel thread; 0: none.
    every: u32,
    /// I/Os since the last of these.
    since: u32,
}

impl<I: Marking> Io for Marked<I> {
    const NAME: &'static str = I::NAME;

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let (every, priorities) = (setup.options.force_async, setup.priorities.take());
        let Opened { io, depth, registered_buffers, shortfalls } = I::open(setup)?;
        let io = Self { io, priorities, every, since: 0 };
        Ok(Opened { io, depth, registered_buffers, shortfalls })
    }

    fn queue(&mut self, batch: impl Iterator<Item = Descriptor> + Clone) {
        for descriptor in batch {
            // Never true if `every` is 0.
            let to_worker = self.since + 1 == self.every;
            self.since = if to_worker || self.every == 0 { 0 } else { self.since + 1 };
            let chosen =
                self.priorities.as_mut().filter(|_| descriptor.operation <= Operation::Write);
            let priority = chosen.map_or(0, |priorities| priorities.choose(&descriptor));
            self.io.queue_marked(descriptor, priority, to_worker);
        }
    }

    #[inline(always)]
    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.io.enter(wait)
    }

    #[inline(always)]
    fn enter_within(&mut self, wait: u32, most: Duration) -> io::Result<()> {
        self.io.enter_within(wait, most)
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.io.completions()
    }

    fn buffers(&mut self) -> &mut Buffers {
        self.io.buffers()
    }
}
