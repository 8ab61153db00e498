//! Engines `falloc` and `ftruncate`: allocation and truncation in place of I/O.
#![allow(unsafe_code)] // Required by the trait; no data is moved.

use rustix::fs::{FallocateFlags, fallocate, ftruncate};

use super::files::Files;
use super::one_by_one::{OneByOne, Transfer};
use super::{Descriptor, Operation, Setup};

/// fio's falloc.
pub(crate) type Falloc = OneByOne<Allocating>;
/// fio's ftruncate.
pub(crate) type Ftruncate = OneByOne<Truncating>;

/// fallocate: a read keeps the file's size, a write may extend it. A trim punches a hole, as with
/// every engine. All of them modify the file.
#[derive(Debug)]
pub(crate) struct Allocating;

impl Transfer for Allocating {
    const NAME: &'static str = "falloc";

    fn new(_: &Files, _: &Setup) -> Self {
        Self
    }

    unsafe fn transfer(&mut self, files: &Files, descriptor: &Descriptor, _: *mut u8) -> i64 {
        let Descriptor { offset, length, file, operation, .. } = *descriptor;
        let keeps_size = operation == Operation::Read;
        let flags = if keeps_size { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
        match fallocate(files.descriptor(file), flags, offset, length.into()) {
            Ok(()) => length.into(),
            Err(errno) => -i64::from(errno.raw_os_error()),
        }
    }
}

/// ftruncate: a write truncates the file at its offset, as in fio; reads are invalid.
#[derive(Debug)]
pub(crate) struct Truncating;

impl Transfer for Truncating {
    const NAME: &'static str = "ftruncate";

    fn new(_: &Files, _: &Setup) -> Self {
        Self
    }

    unsafe fn transfer(&mut self, files: &Files, descriptor: &Descriptor, _: *mut u8) -> i64 {
        let Descriptor { offset, length, file, operation, .. } = *descriptor;
        if operation != Operation::Write {
            return -i64::from(libc::EINVAL);
        }
        match ftruncate(files.descriptor(file), offset) {
            Ok(()) => length.into(),
            Err(errno) => -i64::from(errno.raw_os_error()),
        }
    }
}
