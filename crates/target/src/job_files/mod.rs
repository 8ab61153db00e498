//! Surveys, creates, fills and removes the files of jobs.
//!
//! [`survey`] checks all of them, changes nothing, and makes all refusals; [`Surveyed::lay_out`]
//! creates one after the other. So no refusal comes after a change.
//!
//! As in fio (filesetup.c): a file that is large enough is used as it is; one that will be read, or
//! overwritten, is written in full beforehand; one that is only written gets its space, or not even
//! that. Unlike fio this never replaces a file that iodyno did not make.

mod entries;
mod entry;
mod fill;
pub(crate) mod mark;
mod survey;

pub use entries::entry_to_make;
pub use entry::{EntryKind, FileEntry, Lookup};
pub use mark::is_laid_out;
pub use survey::{Surveyed, survey};

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use iodyno_files::{self as removal, remove_in};
use iodyno_model::Host;
use rustix::fs::{Mode, OFlags, Stat};

use crate::guard::names_file;
use crate::target::PathTarget;
use crate::{
    Access, FileIdentity, OpenHow, Permission, ReadClearance, Removed, SyncMode, TargetError,
    WriteClearance,
};
use survey::FileState;

/// Without O_DIRECT.
const BUFFERED: OpenHow = OpenHow { direct: false, sync: SyncMode::None, nonblocking: false };

/// Preparation of a new or too small file before the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fill {
    /// None: writes make it grow (`fallocate=none`).
    None,
    /// Allocates its space and sets its size, if the file system supports it (`fallocate=native`
    /// and `posix`).
    Allocate,
    /// Allocates its space without setting its size (`fallocate=keep`).
    AllocateKeepingSize,
    /// Allocates its space if the file system supports it, and sets its size in any case.
    AllocateAndTruncate,
    /// Sets its size without allocating space (`fallocate=truncate`).
    Truncate,
    /// Writes it in full, with incompressible data that never repeats unless other contents are
    /// given, and syncs.
    #[default]
    Written,
}

/// Fills a buffer with contents of its own, the next ones at each call.
pub type FillBuffer = dyn FnMut(&mut [u8]);

/// A file that a job needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// Path: fio's `directory` and file name together.
    pub path: PathBuf,
    /// Minimum size, bytes.
    pub size_bytes: u64,
    /// True if it may be created (fio's `allow_file_create`).
    pub create: bool,
    /// Preparation if it is new or too small: [`Fill::Written`] for files that are read or
    /// verified, and for writes with fio's `overwrite`.
    pub fill: Fill,
    /// True if its content is kept when it has to grow (fio's `file_append`). A file that iodyno
    /// did not make is never rewritten but always keeps its content.
    pub keeps: bool,
    /// True if the job writes it, trimming included; a file that is large enough and only read
    /// needs no permission.
    pub will_write: bool,
}

/// A clearance of either kind.
#[derive(Debug)]
enum Cleared {
    Read(ReadClearance),
    Write(WriteClearance),
}

/// A file that meets its plan.
#[derive(Debug)]
pub struct LaidOut {
    cleared: Cleared,
    path: PathBuf,
    identity: FileIdentity,
    is_new: bool,
    is_ours: bool,
    /// Mark value of a new file that is only read: not every file system stores marks.
    mark_value: Option<String>,
    written_bytes: u64,
}

impl LaidOut {
    /// Returns the access of the job: writing if the plan says so.
    pub const fn access(&self) -> Access<'_> {
        match &self.cleared {
            Cleared::Read(clearance) => Access::Read(clearance),
            Cleared::Write(clearance) => Access::Write(clearance),
        }
    }

    /// The clearance for writing; `None` if the plan did not ask for it.
    pub const fn write(&self) -> Option<&WriteClearance> {
        match &self.cleared {
            Cleared::Read(_) => None,
            Cleared::Write(clearance) => Some(clearance),
        }
    }

    /// True if it was created by this layout.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Bytes of data that were written to lay it out.
    pub const fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode number.
    pub const fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Removes it (fio's `unlink`) if iodyno made it, now or before, and it is still the file at
    /// its path; idempotent.
    ///
    /// # Errors
    /// It is iodyno's and cannot be removed.
    pub fn remove_if_ours(&self) -> Result<Removed, TargetError> {
        // Others may have written to a file that is only read.
        let is_as_it_was = || match &self.cleared {
            Cleared::Read(_) => open_buffered(&self.cleared).is_some_and(|file| {
                mark::is_ours(&file)
                    || (self.mark_value.is_some() && self.mark_value == mark::of(&file))
            }),
            Cleared::Write(_) => true,
        };
        if !self.is_ours || !is_as_it_was() {
            return Ok(Removed::NotOurs);
        }
        let name = self.access().name().to_owned();
        removal::remove(&self.path, |stat| FileIdentity::of(stat) == self.identity)
            .inspect(|removed| self.free_space(*removed))
            .map_err(|errno| TargetError::of(&name, "remove it", errno))
    }

    /// Frees the space of a file that has no name left, since the clearance holds it open to the
    /// end of the run and later jobs may need it.
    fn free_space(&self, removed: Removed) {
        let Some(write) = self.write().filter(|_| removed == Removed::Yes) else { return };
        if rustix::fs::fstat(write).is_ok_and(|stat| stat.st_nlink == 0) {
            // On failure the space is freed at the end.
            let _ = rustix::fs::ftruncate(write, 0);
        }
    }
}

impl Surveyed {
    /// Creates the file, or takes the existing one, as fio would; data that is written for it is of
    /// `contents`, or random. `watcher` gets the bytes written
    /// so far before each MiB and may stop it. The clearance's size is at least the plan's, even if
    /// the job has yet to grow the file to it.
    ///
    /// # Errors
    /// Changes since the survey: another file at its path, the disk full; or `watcher` stopped it.
    /// A file it created is removed then.
    pub fn lay_out(
        self,
        host: &Host,
        permission: &Permission,
        mut contents: Option<&mut FillBuffer>,
        watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<LaidOut, TargetError> {
        let Self { plan, state, .. } = self;
        match state {
            FileState::LargeEnough(target, read) => {
                let is_ours = read.open(BUFFERED).is_ok_and(|file| mark::is_ours(&file));
                use_existing(target, Cleared::Read(read), is_ours, 0)
            }
            FileState::Writable(target, write) => {
                let mut written_bytes = 0;
                let is_ours = mark::is_ours(&write.open(BUFFERED)?);
                if target.size_bytes < plan.size_bytes {
                    let keeps = plan.keeps || !is_ours;
                    let from = if keeps { target.size_bytes } else { 0 };
                    written_bytes =
                        fill::fill(&write, &plan, from, &target.name, contents, watcher)?;
                }
                use_existing(target, cleared(write, &plan)?, is_ours, written_bytes)
            }
            FileState::Missing(folder, target) => {
                match make(&plan, &folder, &target, permission, contents.as_deref_mut(), watcher) {
                    // Another path to it, or another process, created it first.
                    Err(TargetError::Io { error, .. })
                        if error.kind() == std::io::ErrorKind::AlreadyExists =>
                    {
                        let again = survey(vec![plan], host, permission)?;
                        let is_there = |one: &Self| !matches!(one.state, FileState::Missing(..));
                        let changed = || TargetError::Changed { name: target.name.clone() };
                        let there = again.into_iter().find(is_there).ok_or_else(changed)?;
                        there.lay_out(host, permission, contents, watcher)
                    }
                    made => made,
                }
            }
        }
    }
}

/// Takes an existing file; `is_ours`: laid out by iodyno and unchanged.
fn use_existing(
    target: PathTarget,
    cleared: Cleared,
    is_ours: bool,
    written_bytes: u64,
) -> Result<LaidOut, TargetError> {
    let identity = FileIdentity { device: target.identity.0, inode: target.identity.1 };
    let (path, mark_value) = (target.path, None);
    Ok(LaidOut { cleared, path, identity, is_new: false, is_ours, mark_value, written_bytes })
}

/// Creates the file `place` in `folder`.
fn make(
    plan: &FilePlan,
    folder: &OwnedFd,
    place: &PathTarget,
    permission: &Permission,
    contents: Option<&mut FillBuffer>,
    watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<LaidOut, TargetError> {
    let Some(file) = place.path.file_name() else {
        return Err(TargetError::NotToBeMade { name: shown(&plan.path) });
    };
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let descriptor = rustix::fs::openat(folder, file, flags, mode)
        .map_err(|errno| TargetError::of(&place.name, "make it", errno))?;
    let stat = rustix::fs::fstat(&descriptor)
        .map_err(|errno| TargetError::of(&place.name, "look at it", errno))?;
    let identity = FileIdentity::of(&stat);
    // From here on it is removed on every return until it is kept.
    let unfinished = Unfinished { folder, file, identity, kept: false };
    let words = permission.naming(|word| names_file(place, word));
    let write = WriteClearance::of_new_file(descriptor, place)?.named_by(words).laid_out()?;
    let written_bytes = fill::fill(&write, plan, 0, &place.name, contents, watcher).map_err(
        |error| match error {
            TargetError::LayoutInterrupted { name, .. } => {
                TargetError::LayoutInterrupted { name, removed: true }
            }
            other => other,
        },
    )?;
    write.mark_now();
    let cleared = cleared(write, plan)?;
    unfinished.keep();
    let mark_value = match &cleared {
        Cleared::Read(_) => open_buffered(&cleared).and_then(|file| mark::of(&file)),
        Cleared::Write(_) => None,
    };
    let path = place.path.clone();
    Ok(LaidOut { cleared, path, identity, is_new: true, is_ours: true, mark_value, written_bytes })
}

/// Converts to the kind of clearance that the plan asks for.
fn cleared(write: WriteClearance, plan: &FilePlan) -> Result<Cleared, TargetError> {
    if plan.will_write {
        write.with_current_size(plan.size_bytes).map(Cleared::Write)
    } else {
        write.into_read_clearance().map(Cleared::Read)
    }
}

/// A file that is removed on drop unless it is kept.
struct Unfinished<'f> {
    folder: &'f OwnedFd,
    file: &'f OsStr,
    identity: FileIdentity,
    kept: bool,
}

impl Unfinished<'_> {
    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // The first error is returned; this one would hide it.
            let is_ours = |stat: &Stat| FileIdentity::of(stat) == self.identity;
            let _ = remove_in(self.folder, self.file, is_ours);
        }
    }
}

fn open_buffered(cleared: &Cleared) -> Option<OwnedFd> {
    match cleared {
        Cleared::Read(clearance) => clearance.open(BUFFERED).ok(),
        Cleared::Write(clearance) => clearance.as_read().open(BUFFERED).ok(),
    }
}

/// Escapes control characters of a path for messages.
fn shown(path: &Path) -> String {
    crate::target::printable(&path.display().to_string())
}

#[cfg(test)]
#[path = "../job_files_tests.rs"]
mod tests;
