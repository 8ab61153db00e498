//! I/Os with options of their own: issued by kernel threads (`force_async=N`) or with a priority
//! (`cmdprio_*`).

use std::io;
use std::time::Duration;

use super::{Completion, Engine, IoUnit, Opened, Operation, Setup, SetupError};
use crate::buffers::Buffers;
use crate::cmdprio::CmdPrio;

/// An engine that supports options per I/O.
pub(crate) trait PerIoOptions: Engine {
    /// As [`Engine::queue`], or [`Engine::queue_rest`] if some bytes are `done`, for one I/O with
    /// these options.
    fn queue_with(&mut self, unit: IoUnit, done: u32, options: IoOptions);
}

/// Options of one I/O.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IoOptions {
    /// 0: the thread's.
    pub(crate) priority: u16,
    /// It is forced to a kernel thread.
    pub(crate) to_kernel_thread: bool,
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
    /// By slot: what its rest gets, too.
    chosen: Box<[IoOptions]>,
}

impl<E: PerIoOptions> Engine for WithPerIoOptions<E> {
    const NAME: &'static str = E::NAME;

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let (async_every, cmdprio) = (setup.options.force_async, setup.cmdprio.take());
        let Opened { engine, depth, registered_buffers, shortfalls } = E::open(setup)?;
        let chosen = vec![IoOptions::default(); depth.into()].into();
        let engine = Self { engine, cmdprio, async_every, since_async: 0, chosen };
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
            let options = IoOptions { priority, to_kernel_thread };
            self.chosen[usize::from(unit.slot)] = options;
            self.engine.queue_with(unit, 0, options);
        }
    }

    fn queue_rest(&mut self, unit: IoUnit, done: u32) {
        self.engine.queue_with(unit, done, self.chosen[usize::from(unit.slot)]);
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

#[cfg(test)]
mod tests {
    use iodyno_job::Job;

    use super::*;

    /// Records what it was given.
    struct Recorder(Vec<(u16, u32, IoOptions)>, Buffers);

    impl Engine for Recorder {
        const NAME: &'static str = "recorder";

        fn open(setup: Setup) -> Result<Opened<Self>, SetupError> {
            let (depth, mut setup) = (setup.depth, setup);
            let engine = Self(Vec::new(), setup.buffers(depth)?);
            Ok(Opened { engine, depth, registered_buffers: None, shortfalls: Vec::new() })
        }

        fn queue(&mut self, _: impl Iterator<Item = IoUnit> + Clone) {}

        fn enter(&mut self, _: u32) -> io::Result<()> {
            Ok(())
        }

        fn completions(&mut self) -> impl Iterator<Item = Completion> {
            std::iter::empty()
        }

        fn buffers(&mut self) -> &mut Buffers {
            &mut self.1
        }
    }

    impl PerIoOptions for Recorder {
        fn queue_with(&mut self, unit: IoUnit, done: u32, options: IoOptions) {
            self.0.push((unit.slot, done, options));
        }
    }

    #[test]
    fn the_rest_of_an_io_has_its_options() {
        let mut setup = Setup::read_only(Vec::new(), 4, 4096);
        let mut job = Job::default();
        job.engine.command_priority.percent.read = 50;
        job.engine.command_priority.class.read = 1;
        (setup.cmdprio, setup.options.force_async) = (CmdPrio::new(&job, 4, 7), 3);
        let mut engine = WithPerIoOptions::<Recorder>::open(setup).unwrap().engine;
        let unit = |slot: u16| IoUnit {
            offset: u64::from(slot) << 12,
            length: 4096,
            slot,
            ..IoUnit::default()
        };
        engine.queue((0..4).map(unit));
        (0..4).for_each(|slot| engine.queue_rest(unit(slot), 512));
        let (whole, rests) = engine.engine.0.split_at(4);
        assert!(whole.iter().zip(rests).all(|(io, rest)| io.2 == rest.2 && rest.1 == 512));
        let priorities = whole.iter().filter(|io| io.2.priority > 0).count();
        assert!((1..4).contains(&priorities), "{whole:?}");
        assert_eq!(whole.iter().filter(|io| io.2.to_kernel_thread).count(), 1);
    }
}
