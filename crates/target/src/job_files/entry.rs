//! Directory entries that jobs create, look up and remove (ioengine=filecreate, filestat,
//! filedelete, dircreate, dirstat, dirdelete).

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use iodyno_files::{FileIdentity, Removed, remove_in};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, StatxFlags};
use rustix::io::Errno;

use super::mark::MarkOnDrop;
use crate::TargetError;

/// System call that looks an entry up (fio's `stat_type`).
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

/// Required kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A directory that must not exist yet, since it will be removed.
    NewDirectory,
}

/// An entry of a directory that is held open. Only a regular file that is unchanged since it was
/// cleared, or a directory that it created, may be removed; creating replaces nothing.
#[derive(Debug)]
pub struct FileEntry {
    folder: OwnedFd,
    name: OsString,
    /// The file that may be removed: one that was cleared for writing.
    removable: Option<FileIdentity>,
    /// The file or directory that was created.
    made: Mutex<Option<FileIdentity>>,
    /// True if a file existed already when one was to be created.
    found: AtomicBool,
    is_directory: bool,
}

impl FileEntry {
    /// Makes the entry `name` of `folder`; `removable`: the file that may be removed.
    pub(super) fn new(
        (folder, name): (OwnedFd, OsString),
        removable: Option<FileIdentity>,
        is_directory: bool,
    ) -> Self {
        let (made, found) = (Mutex::default(), AtomicBool::new(false));
        Self { folder, name, removable, made, found, is_directory }
    }

    /// Creates the directory. The caller records it by [`Self::note_directory`].
    ///
    /// # Errors
    /// The kernel's; EEXIST if something is there.
    pub fn make_directory(&self) -> Result<(), Errno> {
        rustix::fs::mkdirat(&self.folder, &self.name, Mode::RWXU)
    }

    /// Records the directory that [`Self::make_directory`] created.
    pub fn note_directory(&self) {
        if let Ok(stat) = self.stat()
            && let Ok(mut made) = self.made.lock()
        {
            *made = Some(FileIdentity::of(&stat));
        }
    }

    /// Creates the file if there is none, and opens it. The caller records it by [`Self::note`].
    ///
    /// # Errors
    /// The kernel's; EEXIST if something other than a regular file is there.
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

    /// Records the file that [`Self::make`] opened, if it was created and nobody has written to it
    /// since: to be recognized as iodyno's.
    pub fn note(&self, file: &OwnedFd) {
        if !self.found.load(Ordering::Relaxed)
            && let Ok(stat) = rustix::fs::fstat(file)
            && stat.st_size == 0
            && let Ok(mut made) = self.made.lock()
        {
            *made = Some(FileIdentity::of(&stat));
        }
    }

    /// Looks the entry up.
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

    /// Checks whether [`Self::remove`] would remove the right file or directory.
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

    /// Removes it: right after [`Self::may_be_removed`].
    ///
    /// # Errors
    /// The kernel's; EPERM if nothing may be removed.
    pub fn remove(&self) -> Result<(), Errno> {
        self.removable().ok_or(Errno::PERM)?;
        let flags = if self.is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(&self.folder, &self.name, flags)
    }

    /// Removes what [`Self::make`] or [`Self::make_directory`] created (fio's `unlink`).
    ///
    /// # Errors
    /// It is iodyno's and cannot be removed.
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
    /// Marks the file that it created, so that a later job may remove it. Not before: setting the
    /// mark between two operations would affect their latencies.
    fn drop(&mut self) {
        let made = self.made.lock().ok().and_then(|made| *made);
        let Some(identity) = made.filter(|_| !self.is_directory) else { return };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(file) = rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty()) else {
            return;
        };
        if rustix::fs::fstat(&file).is_ok_and(|stat| FileIdentity::of(&stat) == identity) {
            MarkOnDrop(file).now();
        }
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
