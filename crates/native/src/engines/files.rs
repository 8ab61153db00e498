//! The opened targets of an engine, and their trims and syncs by plain system calls.
#![allow(unsafe_code)] // The BLKDISCARD ioctl.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::fs::{
    FallocateFlags, FileType, OFlags, fallocate, fcntl_getfl, fcntl_setfl, fdatasync, fstat, fsync,
};
use rustix::io::Errno;

use super::syscall::syscall;
use super::{IoUnit, Operation, SetupError};

/// `_IO(0x12, 119)` of linux/fs.h.
const BLKDISCARD: usize = 0x1277;

/// Opened targets, by index.
#[derive(Debug)]
pub(crate) struct Files {
    files: Box<[(OwnedFd, FileType)]>,
    claims: Box<[OwnedFd]>,
}

impl Files {
    /// # Errors
    /// If there are no files or too many, or fstat fails.
    pub(super) fn new(files: Vec<OwnedFd>, claims: Vec<OwnedFd>) -> Result<Self, SetupError> {
        if files.is_empty() || files.len() > usize::from(u16::MAX) {
            return Err(SetupError::invalid("the number of targets"));
        }
        let inspect = |file: OwnedFd| -> Result<_, Errno> {
            let kind = FileType::from_raw_mode(fstat(&file)?.st_mode);
            if kind == FileType::RegularFile {
                set_noatime(&file);
            }
            Ok((file, kind))
        };
        let inspected: Result<_, _> = files.into_iter().map(inspect).collect();
        let failed = SetupError::during("fstat of a target");
        let files = inspected.map_err(|errno: Errno| failed(errno.into()))?;
        Ok(Self { files, claims: claims.into() })
    }

    /// All file descriptors, in order.
    pub(super) fn raw_fds(&self) -> Vec<RawFd> {
        self.files.iter().map(|(file, _)| file.as_raw_fd()).collect()
    }

    /// The file descriptor of `file`.
    ///
    /// # Panics
    /// If there is no such file.
    #[inline]
    pub(super) fn fd(&self, file: u16) -> &OwnedFd {
        &self.files[usize::from(file)].0
    }

    /// Number of files.
    pub(super) const fn len(&self) -> usize {
        self.files.len()
    }

    /// True if `file` is a block device.
    pub(super) fn is_block_device(&self, file: u16) -> bool {
        self.files[usize::from(file)].1 == FileType::BlockDevice
    }

    /// Executes a trim or a sync. Returns the result as a completion holds it.
    pub(super) fn execute(&self, unit: &IoUnit) -> i64 {
        let IoUnit { offset, length, file, operation, .. } = *unit;
        let target = self.fd(file);
        loop {
            let done = match operation {
                Operation::Trim if self.is_block_device(file) => {
                    let claim = self.claims.get(usize::from(file)).unwrap_or(target);
                    discard(claim, offset, length)
                }
                Operation::Trim => {
                    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                    fallocate(target, hole, offset, length.into()).map_err(Into::into)
                }
                Operation::Sync => fsync(target).map_err(Into::into),
                Operation::DataSync => fdatasync(target).map_err(Into::into),
                Operation::Read | Operation::Write => unreachable!("transfers need a buffer"),
            };
            match done {
                Ok(()) if operation == Operation::Trim => return length.into(),
                Ok(()) => return 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        }
    }
}

/// Sets O_NOATIME, as fio does: checking the access time costs 40 ns per read, a sixth of a read
/// that completes at once.
fn set_noatime(file: &OwnedFd) {
    if let Ok(flags) = fcntl_getfl(file) {
        // EPERM for another user's file: the flag stays unset.
        let _ = fcntl_setfl(file, flags | OFlags::NOATIME);
    }
}

fn discard(device: &OwnedFd, offset: u64, length: u32) -> io::Result<()> {
    let range = [offset, u64::from(length)];
    let fd = device.as_raw_fd() as usize;
    let address = range.as_ptr().expose_provenance();
    // SAFETY: BLKDISCARD reads two u64 at the address, which live until the call returns.
    let result = unsafe { syscall(libc::SYS_ioctl, [fd, BLKDISCARD, address, 0, 0, 0]) };
    super::syscall::to_result(result).map(drop)
}
