//! Engine `splice`: moves data through a pipe, without read and write.
#![allow(unsafe_code)] // System calls on memory by address.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::files::Files;
use super::synchronous::{Synchronous, Transfer};
use super::{IoUnit, Operation, Setup};

/// Bytes per step: the capacity of a pipe (fio's SPLICE_DEF_SIZE).
const PIPE_BYTES: usize = 64 << 10;

/// fio's splice.
pub(crate) type Splice = Synchronous<SplicePipe>;

/// splice between file and pipe, vmsplice between pipe and memory, as in fio.
#[derive(Debug)]
pub(crate) struct SplicePipe {
    /// Reading and writing end; recreated after an error, which may leave data in it.
    pipe: Option<(OwnedFd, OwnedFd)>,
}

impl Transfer for SplicePipe {
    const NAME: &'static str = "splice";

    fn new(_: &Files, _: &Setup) -> Self {
        Self { pipe: None }
    }

    unsafe fn transfer(&mut self, files: &Files, unit: &IoUnit, memory: *mut u8) -> i64 {
        let pipe = match self.pipe.take().map_or_else(pipe, Ok) {
            Ok(pipe) => pipe,
            Err(error) => return -errno(&error),
        };
        let file = files.fd(unit.file);
        let (mut moved, mut offset) = (0, unit.offset as libc::off64_t);
        let length = unit.length as usize;
        while moved < length {
            let max = (length - moved).min(PIPE_BYTES);
            // SAFETY: `moved` is less than the length, for which the caller guarantees memory.
            let place = unsafe { memory.add(moved) };
            let transfer = if unit.operation == Operation::Write { write } else { read };
            // SAFETY: the caller guarantees `max` bytes from there.
            let step = unsafe { transfer(&pipe, file, &mut offset, place, max) };
            match step {
                Ok(0) => break,
                Ok(count) => moved += count,
                // Dropping the pipe discards its contents.
                Err(error) => return -errno(&error),
            }
        }
        self.pipe = Some(pipe);
        moved as i64
    }
}

fn errno(error: &io::Error) -> i64 {
    error.raw_os_error().unwrap_or(libc::EIO).into()
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    io::pipe().map(|(reading, writing)| (reading.into(), writing.into()))
}

/// Bytes moved by a system call, which is repeated after EINTR.
fn moved(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(count) => return Ok(count),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Reads up to `max` bytes at `offset` and advances it.
///
/// # Safety
/// `memory` must be valid for `max` bytes and not otherwise in use.
unsafe fn read(
    (reading, writing): &(OwnedFd, OwnedFd),
    file: &OwnedFd,
    offset: &mut libc::off64_t,
    memory: *mut u8,
    max: usize,
) -> io::Result<usize> {
    let (file, none) = (file.as_raw_fd(), std::ptr::null_mut());
    let (from, to) = (reading.as_raw_fd(), writing.as_raw_fd());
    // SAFETY: the offset outlives the call; no memory of ours is touched.
    let count = moved(|| unsafe { libc::splice(file, offset, to, none, max, 0) })?;
    let mut out = 0;
    while out < count {
        // SAFETY: `out` is less than `count`, and that is no more than `max`.
        let iov_base = unsafe { memory.add(out) }.cast();
        let vector = libc::iovec { iov_base, iov_len: count - out };
        // SAFETY: the vector and its memory outlive the call.
        match moved(|| unsafe { libc::vmsplice(from, &raw const vector, 1, 0) })? {
            0 => return Err(io::Error::from_raw_os_error(libc::ENODATA)),
            some => out += some,
        }
    }
    Ok(count)
}

/// Writes up to `max` bytes at `offset` and advances it.
///
/// # Safety
/// As [`read`].
unsafe fn write(
    (reading, writing): &(OwnedFd, OwnedFd),
    file: &OwnedFd,
    offset: &mut libc::off64_t,
    memory: *mut u8,
    max: usize,
) -> io::Result<usize> {
    let (file, none) = (file.as_raw_fd(), std::ptr::null_mut());
    let (from, to) = (reading.as_raw_fd(), writing.as_raw_fd());
    let vector = libc::iovec { iov_base: memory.cast(), iov_len: max };
    // SAFETY: the pipe refers to the memory until the loop below has drained it.
    let count = moved(|| unsafe { libc::vmsplice(to, &raw const vector, 1, 0) })?;
    let mut left = count;
    while left > 0 {
        // SAFETY: the offset outlives the call; no memory of ours is touched.
        match moved(|| unsafe { libc::splice(from, none, file, offset, left, 0) })? {
            0 => return Err(io::Error::from_raw_os_error(libc::EIO)),
            some => left -= some,
        }
    }
    Ok(count)
}
