//! psync: pread, one at a time.
#![allow(unsafe_code)] // pread into memory that is known by its address.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{Completion, Descriptor, Io, Opened, SetupError};
use crate::buffers::Buffers;

/// One read at a time, made by the thread itself.
#[derive(Debug)]
pub(crate) struct Psync {
    target: OwnedFd,
    buffers: Buffers,
    queued: Option<Descriptor>,
    done: Option<Completion>,
}

impl Psync {
    /// What the last read left in the buffer.
    pub(crate) fn data(&self) -> &[u8] {
        self.buffers.read(0).expect("nothing is lent between reads, and buffer 0 exists")
    }
}

impl Io for Psync {
    const NAME: &'static str = "psync";

    fn open(target: OwnedFd, depth: u16, length: u32) -> Result<Opened<Self>, SetupError> {
        let buffers = Buffers::new(1, length).map_err(SetupError::of("mmap of the buffers"))?;
        let io = Self { target, buffers, queued: None, done: None };
        let shortfalls = (depth > 1)
            .then(|| format!("psync keeps one I/O in flight; iodepth={depth} was asked for"));
        let shortfalls = shortfalls.into_iter().collect();
        Ok(Opened { io, depth: 1, registered_buffers: None, shortfalls })
    }

    #[inline]
    fn queue(&mut self, batch: &[Descriptor]) {
        self.queued = batch.first().copied().or(self.queued);
    }

    #[inline]
    fn enter(&mut self, _wait: u32) -> io::Result<()> {
        let Some(Descriptor { offset, length, slot }) = self.queued else { return Ok(()) };
        let buffer = self.buffers.lend(slot, length);
        let (target, offset) = (self.target.as_raw_fd(), offset as libc::off_t);
        // SAFETY: `lend` has checked the length, and nobody else uses a lent buffer.
        let result = unsafe { libc::pread(target, buffer.cast(), length as usize, offset) };
        self.buffers.take_back();
        let result = match result {
            0.. => result as i64,
            _ => match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => return Ok(()),
                errno => -i64::from(errno.unwrap_or(libc::EIO)),
            },
        };
        self.queued = None;
        self.done = Some(Completion { slot, result });
        Ok(())
    }

    #[inline]
    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.done.take().into_iter()
    }
}

#[cfg(test)]
impl crate::testing::Look for Psync {
    fn buffers(&self) -> &Buffers {
        &self.buffers
    }
}
