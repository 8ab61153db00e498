//! I/Os with options of their own: issued by kernel threads (`force_async=N`) or with a priority
//! (`cmdprio_*`).

use std::io;
use std::time::Duration;

use super::{Completion, Engine, IoUnit, Opened, Operation, Setup, SetupError};
use crate::buffers::Buffers;
use crate::cmdprio::CmdPrio;

/// An engine that supports options per I/O.
pub(crate) trait PerIoOptions: Engine {
    /// As [`Engine::queue`], for one I/O with this priority (0: the thread's); `to_kernel_thread` forces it to
    /// a kernel thread.
    fn queue_with(&mut self, unit: IoUnit, priority: u16, to_kernel_thread: bool);
}

/// Wraps an engine; a type of its own, so that other jobs need not check each I/O.
#[derive(Debug)]
pub(crate) struct WithPerIoOptions<E> {
    engine: E,
    cmdprio: Option<CmdPrio>,
    /// Every Nth I/O is issued by a kernel thread; 0: none.
    async_every: u32,
    /// I/Os since the last of these.
    since_async: u32,
}

impl<E: PerIoOptions> Engine for WithPerIoOptions<E> {
    const NAME: &'static str = E::NAME;

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let (async_every, cmdprio) = (setup.options.force_async, setup.cmdprio.take());
        let Opened { engine, depth, registered_buffers, shortfalls } = E::open(setup)?;
        let engine = Self { engine, cmdprio, async_every, since_async: 0 };
        Ok(Opened { engine, depth, registered_buffers, shortfalls })
    }

    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        for unit in batch {
            // Never true if `async_every` is 0.
            let to_kernel_thread = self.since_async + 1 == self.async_every;
            self.since_async =
                if to_kernel_thread || self.async_every == 0 { 0 } else { self.since_async + 1 };
            let chosen = self.cmdprio.as_mut().filter(|_| unit.operation <= Operation::Write);
            let priority = chosen.map_or(0, |cmdprio| cmdprio.choose(&unit));
            self.engine.queue_with(unit, priority, to_kernel_thread);
        }
    }

    fn queue_rest(&mut self, unit: IoUnit, done: u32) {
        self.engine.queue_rest(unit, done);
    }

    #[inline(always)]
    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.engine.enter(wait)
    }

    #[inline(always)]
    fn enter_within(&mut self, wait: u32, timeout: Duration) -> io::Result<()> {
        self.engine.enter_within(wait, timeout)
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.engine.completions()
    }

    fn buffers(&mut self) -> &mut Buffers {
        self.engine.buffers()
    }
}
