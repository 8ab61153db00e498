//! Removes a file that iodyno made, and no other that took its place.

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
    /// Identity of a file from its stat.
    pub const fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// Outcome of removing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// Removed.
    Yes,
    /// It did not exist.
    AlreadyGone,
    /// Another file has its name; left alone.
    NotOurs,
    /// It has the right name, but the file system lacks extended attributes to prove its origin;
    /// left alone.
    Unproven,
}

/// Removes the regular file at `path` if `is_ours` approves; a symbolic link is not followed.
///
/// # Errors
/// It is ours and cannot be removed, or cannot be examined.
pub fn remove(path: &Path, is_ours: impl Fn(&Stat) -> bool) -> Result<Removed, Errno> {
    let Some((parent, file)) = path.parent().zip(path.file_name()) else {
        return Ok(Removed::NotOurs);
    };
    match open_folder(parent) {
        Ok(folder) => remove_in(&folder, file, is_ours),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(Removed::AlreadyGone),
        Err(errno) => Err(errno),
    }
}

/// Like [`remove`], in an open directory, wherever that is by now.
///
/// # Errors
/// As [`remove`].
pub fn remove_in(
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

/// Removes the folder that the caller has just created as `made`, with all that is in it, and no
/// other that took its place; follows no link. Of what cannot be removed nothing is told: the
/// caller has an error already.
pub fn remove_new_folder(folder: &Path, made: FileIdentity) {
    if rustix::fs::lstat(folder).is_ok_and(|stat| FileIdentity::of(&stat) == made) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Opens a directory, so that files in it can be named safely.
///
/// # Errors
/// It does not exist or is no directory.
pub fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}
