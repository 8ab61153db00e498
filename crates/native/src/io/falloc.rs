//! falloc and ftruncate: calls that change where a file has room, in place of I/O.
#![allow(unsafe_code)] // The trait's way to move data; this moves none.

use rustix::fs::{FallocateFlags, fallocate, ftruncate};

use super::files::Files;
use super::one_by_one::{OneByOne, Transfer};
use super::{Descriptor, Operation, Setup};

/// One allocation at a time.
pub(crate) type Falloc = OneByOne<Allocating>;
/// One ftruncate at a time.
pub(crate) type Ftruncate = OneByOne<Truncating>;

/// fallocate: a read keeps the file's size, a write may make it grow. A trim punches a hole, as
/// with every engine. Either changes the file.
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

/// ftruncate: a write makes the file end at its offset, as fio's does; a read is none.
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
