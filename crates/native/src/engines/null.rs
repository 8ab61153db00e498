//! Engine `null`: no I/O, to measure the cost of everything else.

use std::io;

use super::{Completion, Engine, IoUnit, Opened, Operation, Rights, Setup, SetupError};
use crate::buffers::Buffers;

/// Completes every I/O at once and in full.
#[derive(Debug)]
pub(crate) struct Null {
    queued: Vec<Completion>,
    /// The first `done` of `queued` were submitted.
    done: usize,
    rights: Rights,
    buffers: Buffers,
}

impl Engine for Null {
    const NAME: &'static str = "null";

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let Setup { depth, writable, .. } = setup;
        let buffers = setup.buffers(depth)?;
        let (queued, rights) = (Vec::with_capacity(depth.into()), Rights { writable });
        let engine = Self { queued, done: 0, rights, buffers };
        Ok(Opened { engine, depth, registered_buffers: None, shortfalls: Vec::new() })
    }

    #[inline]
    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.rights.check(batch.clone());
        self.queued.extend(batch.map(|IoUnit { slot, length, operation, .. }| {
            let moves = !matches!(operation, Operation::Sync | Operation::DataSync);
            Completion { slot, result: if moves { length.into() } else { 0 } }
        }));
    }

    #[inline(always)]
    fn enter(&mut self, _wait: u32) -> io::Result<()> {
        self.done = self.queued.len();
        Ok(())
    }

    #[inline]
    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.queued.drain(..std::mem::take(&mut self.done))
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}
