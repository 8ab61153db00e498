//! Engine `psync`: pread and pwrite.
#![allow(unsafe_code)] // System calls on memory by address.

use std::os::fd::AsRawFd;

use super::files::Files;
use super::one_by_one::{OneByOne, Transfer};
use super::syscall::syscall;
use super::{Descriptor, Operation, Setup};

/// fio's psync.
pub(crate) type Psync = OneByOne<Positioned>;

/// pread64 and pwrite64.
#[derive(Debug)]
pub(crate) struct Positioned;

impl Transfer for Positioned {
    const NAME: &'static str = "psync";

    fn new(_: &Files, _: &Setup) -> Self {
        Self
    }

    #[inline(always)]
    unsafe fn transfer(&mut self, files: &Files, descriptor: &Descriptor, memory: *mut u8) -> i64 {
        let write = descriptor.operation == Operation::Write;
        let number = if write { libc::SYS_pwrite64 } else { libc::SYS_pread64 };
        let file = files.descriptor(descriptor.file).as_raw_fd() as usize;
        let (address, length) = (memory.expose_provenance(), descriptor.length as usize);
        // SAFETY: the caller's promise: `memory` is valid for `length` bytes and exclusive.
        let result =
            unsafe { syscall(number, [file, address, length, descriptor.offset as usize, 0, 0]) };
        result as i64
    }
}
