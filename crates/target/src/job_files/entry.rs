//! Directory entries that jobs make, look up and remove (ioengine=filecreate, filestat,
//! filedelete, dircreate, dirstat, dirdelete).

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use iodyno_files::{FileIdentity, Removed, remove_in};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, StatxFlags};
use rustix::io::Errno;

use super::mark::MarkedWhenClosed;
use crate::TargetError;

/// How an entry is looked up (fio's `stat_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lookup {
    /// stat(2).
    #[default]
    Stat,
    /// lstat(2).
    Lstat,
    /// statx(2).
    Statx,
}

/// What an entry is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A directory that is not there yet, since it will be removed.
    NewDirectory,
}

/// An entry of a directory that is held open. What may be removed is a regular file that is the
/// same as when it was cleared, or a directory that it made; what is made replaces nothing.
#[derive(Debug)]
pub struct FileEntry {
    folder: OwnedFd,
    name: OsString,
    /// The file that it may remove: one that was cleared for writing.
    removable: Option<FileIdentity>,
    /// The file or directory that it made.
    made: Mutex<Option<FileIdentity>>,
    /// A file was there already when one was to be made.
    found: AtomicBool,
    is_directory: bool,
}

impl FileEntry {
    /// The entry `name` of `folder`; `removable`: the file that it may remove.
    pub(super) fn new(
        (folder, name): (OwnedFd, OsString),
        removable: Option<FileIdentity>,
        is_directory: bool,
    ) -> Self {
        let (made, found) = (Mutex::default(), AtomicBool::new(false));
        Self { folder, name, removable, made, found, is_directory }
    }

    /// Makes the directory. The caller says so by [`Self::note_directory`].
    ///
    /// # Errors
    /// The kernel's; EEXIST where something is there.
    pub fn make_directory(&self) -> Result<(), Errno> {
        rustix::fs::mkdirat(&self.folder, &self.name, Mode::RWXU)
    }

    /// Keeps in mind what [`Self::make_directory`] made.
    pub fn note_directory(&self) {
        if let Ok(stat) = self.stat()
            && let Ok(mut made) = self.made.lock()
        {
            *made = Some(FileIdentity::of(&stat));
        }
    }

    /// Makes the file if there is none, and opens it. The caller says so by [`Self::note`].
    ///
    /// # Errors
    /// The kernel's; EEXIST where something else than a regular file is there.
    pub fn make(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let new = flags | OFlags::CREATE | OFlags::EXCL;
        match rustix::fs::openat(&self.folder, &self.name, new, Mode::from_raw_mode(0o600)) {
            Err(Errno::EXIST) if self.stat().is_ok_and(|stat| is_file(&stat)) => {
                self.found.store(true, Ordering::Relaxed);
                rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())
            }
            made => made,
        }
    }

    /// Keeps in mind what [`Self::make`] opened, if it made it and nobody wrote to it since: to be
    /// known again as iodyno's.
    pub fn note(&self, file: &OwnedFd) {
        if !self.found.load(Ordering::Relaxed)
            && let Ok(stat) = rustix::fs::fstat(file)
            && stat.st_size == 0
            && let Ok(mut made) = self.made.lock()
        {
            *made = Some(FileIdentity::of(&stat));
        }
    }

    /// Looks it up.
    ///
    /// # Errors
    /// The kernel's.
    pub fn look(&self, how: Lookup) -> Result<(), Errno> {
        match how {
            Lookup::Stat => {
                rustix::fs::statat(&self.folder, &self.name, AtFlags::empty()).map(drop)
            }
            Lookup::Lstat => self.stat().map(drop),
            Lookup::Statx => {
                let (flags, mask) = (AtFlags::empty(), StatxFlags::ALL);
                rustix::fs::statx(&self.folder, &self.name, flags, mask).map(drop)
            }
        }
    }

    /// Whether [`Self::remove`] would remove what it may.
    ///
    /// # Errors
    /// ENOENT: it is gone; EPERM: another file is there, or none may be removed.
    pub fn may_be_removed(&self) -> Result<(), Errno> {
        let stat = self.stat()?;
        let is_same = self.removable() == Some(FileIdentity::of(&stat));
        let is_of_kind = is_file(&stat) != self.is_directory;
        if is_same && is_of_kind { Ok(()) } else { Err(Errno::PERM) }
    }

    fn removable(&self) -> Option<FileIdentity> {
        let made = || self.made.lock().ok().and_then(|made| *made);
        if self.is_directory { made() } else { self.removable }
    }

    /// Removes it: at once after [`Self::may_be_removed`].
    ///
    /// # Errors
    /// The kernel's; EPERM where nothing may be removed.
    pub fn remove(&self) -> Result<(), Errno> {
        self.removable().ok_or(Errno::PERM)?;
        let flags = if self.is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(&self.folder, &self.name, flags)
    }

    /// Removes what [`Self::make`] or [`Self::make_directory`] made (fio's `unlink`).
    ///
    /// # Errors
    /// It is ours and cannot be removed.
    pub fn remove_made(&self) -> Result<Removed, TargetError> {
        if self.is_directory {
            let removed = self.may_be_removed().and_then(|()| self.remove());
            return Ok(if removed.is_ok() { Removed::Yes } else { Removed::NotOurs });
        }
        let Some(identity) = self.made.lock().ok().and_then(|mut made| made.take()) else {
            return Ok(Removed::NotOurs);
        };
        remove_in(&self.folder, &self.name, |stat| FileIdentity::of(stat) == identity)
            .map_err(|errno| TargetError::of(&self.name.to_string_lossy(), "remove it", errno))
    }

    fn stat(&self) -> Result<Stat, Errno> {
        rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_file()
}

impl Drop for FileEntry {
    /// Marks the file that it made, so that a later job may remove it. Not before: to set the
    /// mark between two operations would be seen in their latencies.
    fn drop(&mut self) {
        let made = self.made.lock().ok().and_then(|made| *made);
        let Some(identity) = made.filter(|_| !self.is_directory) else { return };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(file) = rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty()) else {
            return;
        };
        if rustix::fs::fstat(&file).is_ok_and(|stat| FileIdentity::of(&stat) == identity) {
            MarkedWhenClosed(file).now();
        }
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
