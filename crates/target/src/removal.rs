//! Removing a file that was made here, and no other that took its place.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Device and inode number of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    /// Device number of its file system (`st_dev`).
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

impl FileIdentity {
    pub(crate) const fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// What became of a file that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It was there and is removed.
    Yes,
    /// It was not there.
    AlreadyGone,
    /// What has its name is another file, and is left alone.
    NotOurs,
    /// It has our name and cannot bear a proof, on a file system without
    /// extended attributes: it is left alone.
    Unproven,
}

/// Removes the regular file at `path` if `is_ours` says so; a symbolic link is not followed.
///
/// # Errors
/// It is ours and cannot be removed, or cannot be looked at.
pub(crate) fn remove(path: &Path, is_ours: impl Fn(&Stat) -> bool) -> Result<Removed, Errno> {
    let Some((parent, file)) = path.parent().zip(path.file_name()) else {
        return Ok(Removed::NotOurs);
    };
    match open_folder(parent) {
        Ok(folder) => remove_in(&folder, file, is_ours),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(Removed::AlreadyGone),
        Err(errno) => Err(errno),
    }
}

/// The same in a directory that is open, wherever it is by now.
///
/// # Errors
/// As [`remove`].
pub(crate) fn remove_in(
    folder: &OwnedFd,
    file: &OsStr,
    is_ours: impl Fn(&Stat) -> bool,
) -> Result<Removed, Errno> {
    let stat = match rustix::fs::statat(folder, file, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(Removed::AlreadyGone),
        Err(errno) => return Err(errno),
    };
    if !FileType::from_raw_mode(stat.st_mode).is_file() || !is_ours(&stat) {
        return Ok(Removed::NotOurs);
    }
    match rustix::fs::unlinkat(folder, file, AtFlags::empty()) {
        Ok(()) => Ok(Removed::Yes),
        Err(Errno::NOENT) => Ok(Removed::AlreadyGone),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory, so that what is in it can be named safely.
pub(crate) fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}
