//! Clears directory entries that jobs may create or remove.

use std::path::Path;

use iodyno_files::open_folder;
use iodyno_model::Host;
use rustix::fs::{AtFlags, FileType};

use super::survey::folder_for;
use super::{EntryKind, FileEntry, LaidOut, shown};
use crate::TargetError;

/// Returns the entry at `path` if nothing is there yet, or something of that kind, which stays as
/// it is.
///
/// # Errors
/// No directory for it, one that may not be written or holds no data, or something else is there.
pub fn entry_to_make(host: &Host, path: &Path, kind: EntryKind) -> Result<FileEntry, TargetError> {
    let (folder, place) = folder_for(path, host)?;
    let name = place.path.file_name().unwrap_or_default().to_owned();
    let there = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW);
    let there = there.map(|stat| FileType::from_raw_mode(stat.st_mode));
    let why = match (there, kind) {
        (Ok(there), EntryKind::File) if !there.is_file() => {
            "not a regular file, which the job needs"
        }
        (Ok(_), EntryKind::NewDirectory) => {
            "exists, and the job removes only directories that it made"
        }
        (Ok(there), EntryKind::Directory) if !there.is_dir() => {
            "not a directory, which the job needs"
        }
        _ => return Ok(FileEntry::new((folder, name), None, kind != EntryKind::File)),
    };
    Err(TargetError::Refused { name: shown(path), why: why.into() })
}

impl LaidOut {
    /// Returns its directory entry: removable if the file was cleared for writing.
    ///
    /// # Errors
    /// Its directory cannot be opened.
    pub fn entry(&self) -> Result<FileEntry, TargetError> {
        let path = &self.path;
        let (parent, name) = path
            .parent()
            .zip(path.file_name())
            .ok_or_else(|| TargetError::NotToBeMade { name: shown(path) })?;
        let folder = open_folder(parent)
            .map_err(|errno| TargetError::of(&shown(parent), "open it", errno))?;
        let removable = self.write().map(|_| self.identity);
        Ok(FileEntry::new((folder, name.to_owned()), removable, false))
    }
}
