//! Random data for filling files, a chunk at a time.

use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::random::{Random, unguessable};
use crate::{FillBuffer, TargetError};

/// Alignment for direct I/O, bytes.
const ALIGN_BYTES: usize = 64 << 10;

/// A buffer that holds new random data for each write.
pub(crate) struct Chunk {
    random: Random,
    space: Vec<u8>,
    start: usize,
}

impl Chunk {
    /// Makes a buffer for writes of at most `bytes`.
    ///
    /// # Errors
    /// No unguessable seed is available.
    pub(crate) fn new(bytes: usize) -> Result<Self, TargetError> {
        let random = Random::new(u64::from_ne_bytes(unguessable()?));
        let space = vec![0; bytes + ALIGN_BYTES];
        let start = space.as_ptr().align_offset(ALIGN_BYTES);
        Ok(Self { random, space, start })
    }

    /// Writes `length` new random bytes at `offset`.
    ///
    /// # Errors
    /// As pwrite(2); ENOSPC if nothing is written. A part may have been written.
    ///
    /// # Panics
    /// `length` exceeds the size it was made for.
    pub(crate) fn write(&mut self, to: impl AsFd, length: usize, offset: u64) -> Result<(), Errno> {
        self.write_with(None, to, length, offset)
    }

    /// As [`Self::write`], with bytes of `contents` if given.
    pub(crate) fn write_with(
        &mut self,
        contents: Option<&mut FillBuffer>,
        to: impl AsFd,
        length: usize,
        offset: u64,
    ) -> Result<(), Errno> {
        let bytes = &mut self.space[self.start..self.start + length];
        match contents {
            Some(fill) => fill(bytes),
            None => self.random.fill(bytes),
        }
        let mut done = 0;
        while done < length {
            let (rest, at) = (&bytes[done..], offset + done as u64);
            match rustix::io::pwrite(&to, rest, at) {
                Ok(0) => return Err(Errno::NOSPC),
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}
