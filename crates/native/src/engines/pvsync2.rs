//! Engine `pvsync2`: preadv2 and pwritev2, which take flags.
#![allow(unsafe_code)] // System calls on memory by address.

use std::os::fd::AsRawFd;

use super::files::Files;
use super::synchronous::{Synchronous, Transfer};
use super::syscall::syscall;
use super::{IoUnit, Operation, Setup};

/// fio's pvsync2.
pub(crate) type Pvsync2 = Synchronous<Preadv2>;

/// preadv2 and pwritev2 with the flags of the job.
#[derive(Debug)]
pub(crate) struct Preadv2 {
    /// Flags of reads and of writes.
    flags: [u32; 2],
}

impl Transfer for Preadv2 {
    const NAME: &'static str = "pvsync2";
    const SUPPORTS_HIPRI: bool = true;

    fn new(_: &Files, setup: &Setup) -> Self {
        let polled = if setup.options.polled { libc::RWF_HIPRI as u32 } else { 0 };
        Self { flags: setup.options.rw_flags().map(|flags| polled | flags) }
    }

    #[inline(always)]
    unsafe fn transfer(&mut self, files: &Files, unit: &IoUnit, memory: *mut u8) -> i64 {
        let write = unit.operation == Operation::Write;
        let number = if write { libc::SYS_pwritev2 } else { libc::SYS_preadv2 };
        let file = files.fd(unit.file).as_raw_fd() as usize;
        let vector = libc::iovec { iov_base: memory.cast(), iov_len: unit.length as usize };
        let vector = std::ptr::from_ref(&vector).expose_provenance();
        let flags = self.flags[usize::from(write)];
        // The offset has two arguments; a 64-bit kernel uses only the first.
        let offset = unit.offset as usize;
        // SAFETY: one vector on memory that the caller guarantees; both live until the call
        // returns.
        let result = unsafe { syscall(number, [file, vector, 1, offset, 0, flags as usize]) };
        result as i64
    }
}
