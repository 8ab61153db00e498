//! Engines `falloc` and `ftruncate`: allocation and truncation in place of I/O.
#![allow(unsafe_code)] // Required by the trait; no data is moved.

use rustix::fs::{FallocateFlags, fallocate, ftruncate};

use super::files::Files;
use super::synchronous::{Synchronous, Transfer};
use super::{IoUnit, Operation, Setup};

/// fio's falloc.
pub(crate) type Falloc = Synchronous<Fallocate>;
/// fio's ftruncate.
pub(crate) type Ftruncate = Synchronous<Truncate>;

/// fallocate: a read keeps the file's size, a write may extend it. A trim punches a hole, as with
/// every engine. All of them modify the file.
#[derive(Debug)]
pub(crate) struct Fallocate;

impl Transfer for Fallocate {
    const NAME: &'static str = "falloc";

    fn new(_: &Files, _: &Setup) -> Self {
        Self
    }

    unsafe fn transfer(&mut self, files: &Files, unit: &IoUnit, _: *mut u8) -> i64 {
        let IoUnit { offset, length, file, operation, .. } = *unit;
        let keeps_size = operation == Operation::Read;
        let flags = if keeps_size { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
        match fallocate(files.fd(file), flags, offset, length.into()) {
            Ok(()) => length.into(),
            Err(errno) => -i64::from(errno.raw_os_error()),
        }
    }
}

/// ftruncate: a write truncates the file at its offset, as in fio; reads are invalid.
#[derive(Debug)]
pub(crate) struct Truncate;

impl Transfer for Truncate {
    const NAME: &'static str = "ftruncate";

    fn new(_: &Files, _: &Setup) -> Self {
        Self
    }

    unsafe fn transfer(&mut self, files: &Files, unit: &IoUnit, _: *mut u8) -> i64 {
        let IoUnit { offset, length, file, operation, .. } = *unit;
        if operation != Operation::Write {
            return -i64::from(libc::EINVAL);
        }
        match ftruncate(files.fd(file), offset) {
            Ok(()) => length.into(),
            Err(errno) => -i64::from(errno.raw_os_error()),
        }
    }
}
