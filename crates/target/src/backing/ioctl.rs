//! Loop device ioctls, from linux/loop.h.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

const LOOP_SET_FD: u64 = 0x4c00;
const LOOP_CLR_FD: u64 = 0x4c01;
const LOOP_SET_DIRECT_IO: u64 = 0x4c08;
const LOOP_CTL_GET_FREE: u64 = 0x4c82;

/// Returns the number of an unused loop device, from /dev/loop-control.
pub(super) fn free(control: impl AsFd) -> io::Result<u32> {
    let number = with_number(control.as_fd(), LOOP_CTL_GET_FREE, 0)?;
    u32::try_from(number).map_err(io::Error::other)
}

/// Attaches the open `file` to a loop device; EBUSY: one is attached already.
pub(super) fn attach(device: impl AsFd, file: BorrowedFd<'_>) -> io::Result<()> {
    with_number(device.as_fd(), LOOP_SET_FD, i64::from(file.as_raw_fd())).map(drop)
}

/// Makes a loop device use direct I/O on its file.
pub(super) fn direct(device: impl AsFd) -> io::Result<()> {
    with_number(device.as_fd(), LOOP_SET_DIRECT_IO, 1).map(drop)
}

/// Detaches the file from a loop device: now, or when the last opener closes it.
pub(super) fn detach(device: impl AsFd) -> io::Result<()> {
    with_number(device.as_fd(), LOOP_CLR_FD, 0).map(drop)
}

/// Calls an ioctl that takes a number and touches no memory of this process.
fn with_number(descriptor: BorrowedFd<'_>, request: u64, number: i64) -> io::Result<i32> {
    // SAFETY: the descriptor is open; the requests above take a number.
    let result = unsafe { libc::ioctl(descriptor.as_raw_fd(), request as _, number) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
