//! Engine `pvsync2`: preadv2 and pwritev2, which take flags.
#![allow(unsafe_code)] // System calls on memory by address.

use std::os::fd::AsRawFd;

use super::files::Files;
use super::one_by_one::{OneByOne, Transfer};
use super::syscall::syscall;
use super::{Descriptor, Operation, Setup};

/// fio's pvsync2.
pub(crate) type Pvsync2 = OneByOne<Flagged>;

/// preadv2 and pwritev2 with the flags of the job.
#[derive(Debug)]
pub(crate) struct Flagged {
    /// Flags of reads and of writes.
    flags: [u32; 2],
}

impl Transfer for Flagged {
    const NAME: &'static str = "pvsync2";
    const POLLS: bool = true;

    fn new(_: &Files, setup: &Setup) -> Self {
        let polled = if setup.options.polled { libc::RWF_HIPRI as u32 } else { 0 };
        Self { flags: setup.options.rw_flags().map(|flags| polled | flags) }
    }

    #[inline(always)]
    unsafe fn transfer(&mut self, files: &Files, descriptor: &Descriptor, memory: *mut u8) -> i64 {
        let write = descriptor.operation == Operation::Write;
        let number = if write { libc::SYS_pwritev2 } else { libc::SYS_preadv2 };
        let file = files.descriptor(descriptor.file).as_raw_fd() as usize;
        let vector = libc::iovec { iov_base: memory.cast(), iov_len: descriptor.length as usize };
        let vector = std::ptr::from_ref(&vector).expose_provenance();
        let flags = self.flags[usize::from(write)];
        // The offset has two arguments; a 64-bit kernel uses only the first.
        let offset = descriptor.offset as usize;
        // SAFETY: one vector on memory that the caller guarantees; both live until the call
        // returns.
        let result = unsafe { syscall(number, [file, vector, 1, offset, 0, flags as usize]) };
        result as i64
    }
}
