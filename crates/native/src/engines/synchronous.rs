//! Common part of the synchronous engines: one I/O at a time, executed by the calling thread.
#![allow(unsafe_code)] // Buffers are passed by address.

use std::io;

use iodyno_model::Caveat;

use super::files::Files;
use super::{
    Completion, Engine, IoUnit, Opened, Operation, Rights, Setup, SetupError, check_polling,
};
use crate::buffers::Buffers;

/// How a synchronous engine moves data.
pub(crate) trait Transfer: Sized {
    /// fio's name of the engine.
    const NAME: &'static str;
    /// Supports `hipri`.
    const SUPPORTS_HIPRI: bool = false;

    /// Creates the engine's state for `files`.
    fn new(files: &Files, setup: &Setup) -> Self;

    /// Reads or writes `unit.length` bytes at `memory`. Returns the bytes transferred, or a
    /// negative errno.
    ///
    /// # Safety
    /// `memory` must be valid for that many bytes and not otherwise in use.
    unsafe fn transfer(&mut self, files: &Files, unit: &IoUnit, memory: *mut u8) -> i64;

    /// Executes a sync. Returns 0 or a negative errno.
    fn sync(&mut self, files: &Files, unit: &IoUnit) -> i64 {
        files.execute(unit)
    }
}

/// An engine of depth 1.
#[derive(Debug)]
pub(crate) struct Synchronous<T> {
    transfer: T,
    files: Files,
    buffers: Buffers,
    rights: Rights,
    queued: Option<IoUnit>,
    done: Option<Completion>,
}

impl<T: Transfer> Engine for Synchronous<T> {
    const NAME: &'static str = T::NAME;

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let claims = std::mem::take(&mut setup.claims);
        let files = Files::new(std::mem::take(&mut setup.files), claims)?;
        let Setup { length, depth, writable, .. } = setup;
        let buffers = setup.buffers(1)?;
        let (transfer, rights) = (T::new(&files, &setup), Rights { writable });
        let mut engine = Self { transfer, files, buffers, rights, queued: None, done: None };
        if T::SUPPORTS_HIPRI && setup.options.polled {
            check_polling(&mut engine, length)?;
        }
        let ignored = || Caveat::DepthIgnored { engine: T::NAME.into(), asked: depth.into() };
        let shortfalls = (depth > 1).then(ignored).into_iter().collect();
        Ok(Opened { engine, depth: 1, registered_buffers: None, shortfalls })
    }

    #[inline]
    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.rights.check(batch.clone());
        for unit in batch {
            assert!(self.queued.is_none(), "one I/O at a time");
            self.queued = Some(unit);
        }
    }

    #[inline(always)]
    fn enter(&mut self, _wait: u32) -> io::Result<()> {
        let Some(unit) = self.queued else { return Ok(()) };
        let IoUnit { slot, length, operation, .. } = unit;
        let result = match operation {
            Operation::Read | Operation::Write => {
                let memory = self.buffers.lender().lend(slot, length);
                // SAFETY: `lend` has checked the length, and a lent buffer has no other user.
                let result = unsafe { self.transfer.transfer(&self.files, &unit, memory) };
                self.buffers.take_back(slot);
                result
            }
            Operation::Trim => self.files.execute(&unit),
            Operation::Sync | Operation::DataSync => self.transfer.sync(&self.files, &unit),
        };
        if result != -i64::from(libc::EINTR) {
            self.queued = None;
            self.done = Some(Completion { slot, result });
        }
        Ok(())
    }

    #[cold]
    fn queue_rest(&mut self, unit: IoUnit, done: u32) {
        let rest = unit.rest(done);
        self.rights.check(std::iter::once(rest));
        let memory = self.buffers.lender().lend(unit.slot, unit.length);
        let result = loop {
            // SAFETY: `lend` has checked the length, of which `done` is a part, and a lent buffer has
            // no other user.
            let result =
                unsafe { self.transfer.transfer(&self.files, &rest, memory.add(done as usize)) };
            if result != -i64::from(libc::EINTR) {
                break result;
            }
        };
        self.buffers.take_back(unit.slot);
        self.done = Some(Completion { slot: unit.slot, result });
    }

    #[inline]
    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.done.take().into_iter()
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}
