//! What files are filled with: random data, a piece at a time.

use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::TargetError;
use crate::random::{Random, unguessable};

/// It is aligned to this for direct I/O, bytes.
const ALIGN_BYTES: usize = 64 << 10;

/// A piece of memory that holds other random data with each write.
pub(crate) struct Chunk {
    random: Random,
    space: Vec<u8>,
    start: usize,
}

impl Chunk {
    /// For at most `bytes` at a time.
    ///
    /// # Errors
    /// Where there is no seed that nobody can guess.
    pub(crate) fn new(bytes: usize) -> Result<Self, TargetError> {
        let random = Random::new(u64::from_ne_bytes(unguessable()?));
        let space = vec![0; bytes + ALIGN_BYTES];
        let start = space.as_ptr().align_offset(ALIGN_BYTES);
        Ok(Self { random, space, start })
    }

    /// Writes `length` bytes that were never written before at `offset`.
    ///
    /// # Errors
    /// As pwrite(2); ENOSPC where it writes nothing. A part may be written then.
    ///
    /// # Panics
    /// Where it was not made for so many.
    pub(crate) fn write(&mut self, to: impl AsFd, length: usize, offset: u64) -> Result<(), Errno> {
        let bytes = &mut self.space[self.start..self.start + length];
        self.random.fill(bytes);
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
