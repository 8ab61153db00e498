//! Common part of the synchronous engines: one I/O at a time, executed by the calling thread.
#![allow(unsafe_code)] // Buffers are passed by address.

use std::io;

use iodyno_model::Caveat;

use super::files::Files;
use super::{
    Completion, Descriptor, Io, Opened, Operation, Rights, Setup, SetupError, try_polling,
};
use crate::buffers::Buffers;

/// How a synchronous engine moves data.
pub(crate) trait Transfer: Sized {
    /// fio's name of the engine.
    const NAME: &'static str;
    /// Supports `hipri`.
    const POLLS: bool = false;

    /// Creates the engine's state for `files`.
    fn new(files: &Files, setup: &Setup) -> Self;

    /// Reads or writes `descriptor.length` bytes at `memory`. Returns the bytes transferred, or a
    /// negative errno.
    ///
    /// # Safety
    /// `memory` must be valid for that many bytes and not otherwise in use.
    unsafe fn transfer(&mut self, files: &Files, descriptor: &Descriptor, memory: *mut u8) -> i64;

    /// Executes a sync. Returns 0 or a negative errno.
    fn sync(&mut self, files: &Files, descriptor: &Descriptor) -> i64 {
        files.carry_out(descriptor)
    }
}

/// An engine of depth 1.
#[derive(Debug)]
pub(crate) struct OneByOne<T> {
    transfer: T,
    files: Files,
    buffers: Buffers,
    rights: Rights,
    queued: Option<Descriptor>,
    done: Option<Completion>,
}

impl<T: Transfer> Io for OneByOne<T> {
    const NAME: &'static str = T::NAME;

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let claims = std::mem::take(&mut setup.claims);
        let files = Files::new(std::mem::take(&mut setup.files), claims)?;
        let Setup { length, depth, writable, .. } = setup;
        let buffers = setup.buffers(1)?;
        let (transfer, rights) = (T::new(&files, &setup), Rights { writable });
        let mut io = Self { transfer, files, buffers, rights, queued: None, done: None };
        if T::POLLS && setup.options.polled {
            try_polling(&mut io, length)?;
        }
        let ignored = || Caveat::DepthIgnored { engine: T::NAME.into(), asked: depth.into() };
        let shortfalls = (depth > 1).then(ignored).into_iter().collect();
        Ok(Opened { io, depth: 1, registered_buffers: None, shortfalls })
    }

    #[inline]
    fn queue(&mut self, batch: impl Iterator<Item = Descriptor> + Clone) {
        self.rights.check(batch.clone());
        for descriptor in batch {
            assert!(self.queued.is_none(), "one I/O at a time");
            self.queued = Some(descriptor);
        }
    }

    #[inline(always)]
    fn enter(&mut self, _wait: u32) -> io::Result<()> {
        let Some(descriptor) = self.queued else { return Ok(()) };
        let Descriptor { slot, length, operation, .. } = descriptor;
        let result = match operation {
            Operation::Read | Operation::Write => {
                let memory = self.buffers.lender().lend(slot, length);
                // SAFETY: `lend` has checked the length, and a lent buffer has no other user.
                let result = unsafe { self.transfer.transfer(&self.files, &descriptor, memory) };
                self.buffers.take_back(slot);
                result
            }
            Operation::Trim => self.files.carry_out(&descriptor),
            Operation::Sync | Operation::DataSync => self.transfer.sync(&self.files, &descriptor),
        };
        if result != -i64::from(libc::EINTR) {
            self.queued = None;
            self.done = Some(Completion { slot, result });
        }
        Ok(())
    }

    #[inline]
    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.done.take().into_iter()
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}
