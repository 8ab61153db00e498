//! io_uring with every Nth I/O made by a kernel thread (`force_async=N`).

use std::io;
use std::iter::once;
use std::time::Duration;

use super::{IOSQE_ASYNC, Uring};
use crate::buffers::Buffers;
use crate::io::{Completion, Descriptor, Io, Opened, Setup, SetupError};

/// A ring of its own kind, so that the others need not count.
#[derive(Debug)]
pub(crate) struct EveryNth {
    ring: Uring,
    /// The heads of entries with IOSQE_ASYNC, or those without, whichever the ring does not use.
    others: Box<[u64]>,
    every: u32,
    /// I/Os since the last one for a kernel thread.
    since: u32,
}

impl Io for EveryNth {
    const NAME: &'static str = Uring::NAME;

    fn open(setup: Setup) -> Result<Opened<Self>, SetupError> {
        let every = setup.options.force_async.max(1);
        let Opened { io: ring, depth, registered_buffers, shortfalls } = Uring::open(setup)?;
        let others = ring.heads.iter().map(|head| head | u64::from(IOSQE_ASYNC) << 8).collect();
        let io = Self { ring, others, every, since: 0 };
        Ok(Opened { io, depth, registered_buffers, shortfalls })
    }

    fn queue(&mut self, batch: impl Iterator<Item = Descriptor> + Clone) {
        for descriptor in batch {
            self.since += 1;
            if self.since < self.every {
                self.ring.queue(once(descriptor));
                continue;
            }
            self.since = 0;
            std::mem::swap(&mut self.ring.heads, &mut self.others);
            self.ring.queue(once(descriptor));
            std::mem::swap(&mut self.ring.heads, &mut self.others);
        }
    }

    #[inline(always)]
    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.ring.enter(wait)
    }

    #[inline(always)]
    fn enter_within(&mut self, wait: u32, most: Duration) -> io::Result<()> {
        self.ring.enter_within(wait, most)
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.ring.completions()
    }

    fn buffers(&mut self) -> &mut Buffers {
        self.ring.buffers()
    }
}
