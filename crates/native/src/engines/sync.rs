//! Engine `sync`: lseek, then read or write.
#![allow(unsafe_code)] // System calls on memory by address.

use std::os::fd::AsRawFd;

use super::files::Files;
use super::synchronous::{Synchronous, Transfer};
use super::syscall::syscall;
use super::{IoUnit, Operation, Setup};

/// fio's sync.
pub(crate) type Sync = Synchronous<LseekReadWrite>;

/// read and write, preceded by lseek if the file position differs, as in fio.
#[derive(Debug)]
pub(crate) struct LseekReadWrite {
    /// The position of each file, if known.
    positions: Box<[Option<u64>]>,
}

impl Transfer for LseekReadWrite {
    const NAME: &'static str = "sync";

    fn new(files: &Files, _: &Setup) -> Self {
        Self { positions: vec![None; files.len()].into() }
    }

    #[inline(always)]
    unsafe fn transfer(&mut self, files: &Files, unit: &IoUnit, memory: *mut u8) -> i64 {
        let IoUnit { offset, length, file, operation, .. } = *unit;
        let target = files.fd(file).as_raw_fd() as usize;
        let position = &mut self.positions[usize::from(file)];
        if position.take() != Some(offset) {
            let whence = libc::SEEK_SET as usize;
            // SAFETY: lseek touches no memory of ours.
            let result =
                unsafe { syscall(libc::SYS_lseek, [target, offset as usize, whence, 0, 0, 0]) };
            if result < 0 {
                return result as i64;
            }
        }
        let write = operation == Operation::Write;
        let number = if write { libc::SYS_write } else { libc::SYS_read };
        let (address, length) = (memory.expose_provenance(), length as usize);
        // SAFETY: the caller's promise: `memory` is valid for `length` bytes and exclusive.
        let result = unsafe { syscall(number, [target, address, length, 0, 0, 0]) };
        *position = u64::try_from(result).ok().map(|moved| offset + moved);
        result as i64
    }
}
