//! Engine `psync`: pread and pwrite.
#![allow(unsafe_code)] // System calls on memory by address.

use std::os::fd::AsRawFd;

use super::files::Files;
use super::synchronous::{Synchronous, Transfer};
use super::syscall::syscall;
use super::{IoUnit, Operation, Setup};

/// fio's psync.
pub(crate) type Psync = Synchronous<PreadPwrite>;

/// pread64 and pwrite64.
#[derive(Debug)]
pub(crate) struct PreadPwrite;

impl Transfer for PreadPwrite {
    const NAME: &'static str = "psync";

    fn new(_: &Files, _: &Setup) -> Self {
        Self
    }

    #[inline(always)]
    unsafe fn transfer(&mut self, files: &Files, unit: &IoUnit, memory: *mut u8) -> i64 {
        let write = unit.operation == Operation::Write;
        let number = if write { libc::SYS_pwrite64 } else { libc::SYS_pread64 };
        let file = files.fd(unit.file).as_raw_fd() as usize;
        let (address, length) = (memory.expose_provenance(), unit.length as usize);
        // SAFETY: the caller's promise: `memory` is valid for `length` bytes and exclusive.
        let result =
            unsafe { syscall(number, [file, address, length, unit.offset as usize, 0, 0]) };
        result as i64
    }
}
