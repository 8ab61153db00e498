//! Directory entries that jobs make, look up and remove (ioengine=filecreate, filestat,
//! filedelete, dircreate, dirstat, dirdelete).

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use iodyno_files::{FileIdentity, Removed, open_folder, remove_in};
use iodyno_model::Host;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, StatxFlags};
use rustix::io::Errno;

use super::mark::MarkedWhenClosed;
use super::survey::folder_for;
use super::{LaidOut, shown};
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
    is_directory: bool,
}

impl FileEntry {
    /// The entry at `path`, where there is nothing yet, or something of that kind, which stays as
    /// it is.
    ///
    /// # Errors
    /// No directory for it, one that may not be written or holds no data, something else there.
    pub fn to_make(host: &Host, path: &Path, kind: EntryKind) -> Result<Self, TargetError> {
        let (folder, place) = folder_for(path, host)?;
        let name = place.path.file_name().unwrap_or_default().to_owned();
        let there = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW);
        let there = there.map(|stat| FileType::from_raw_mode(stat.st_mode));
        let why = match (there, kind) {
            (Ok(there), EntryKind::File) if !there.is_file() => {
                "not a regular file, and the job makes one"
            }
            (Ok(_), EntryKind::NewDirectory) => {
                "there already, and the job removes only directories that it made"
            }
            (Ok(there), EntryKind::Directory) if !there.is_dir() => {
                "not a directory, and the job makes one"
            }
            _ => {
                let is_directory = kind != EntryKind::File;
                return Ok(Self {
                    folder,
                    name,
                    removable: None,
                    made: Mutex::default(),
                    is_directory,
                });
            }
        };
        Err(TargetError::Refused { name: shown(path), why: why.into() })
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
                rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())
            }
            made => made,
        }
    }

    /// Keeps in mind what [`Self::make`] opened, if it is empty: to be known again as iodyno's.
    pub fn note(&self, file: &OwnedFd) {
        if let Ok(stat) = rustix::fs::fstat(file)
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

impl LaidOut {
    /// Its entry: to be removed, if the file was cleared for writing.
    ///
    /// # Errors
    /// Its directory cannot be opened.
    pub fn entry(&self) -> Result<FileEntry, TargetError> {
        let path: &PathBuf = &self.path;
        let (parent, name) = path
            .parent()
            .zip(path.file_name())
            .ok_or_else(|| TargetError::NotToBeMade { name: shown(path) })?;
        let folder = open_folder(parent)
            .map_err(|errno| TargetError::of(&shown(parent), "open it", errno))?;
        let removable = self.write().map(|_| self.identity);
        let (name, made) = (name.to_owned(), Mutex::default());
        Ok(FileEntry { folder, name, removable, made, is_directory: false })
    }
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
