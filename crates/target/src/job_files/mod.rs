//! The files of jobs: made, filled, and removed again.
//!
//! As fio does it (filesetup.c): a file that is large enough is used as it is;
//! one that will be read, or overwritten, is written in full beforehand; one
//! that is only written gets its space, or not even that. Unlike fio this
//! never replaces a file that somebody else made.

mod fill;
pub(crate) mod mark;

pub use mark::is_laid_out;

use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iodyno_host::Live;
use iodyno_model::Host;
use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::guard::{Guard, names_file};
use crate::removal::{self, open_folder, remove_in};
use crate::target::PathTarget;
use crate::{
    Access, FileIdentity, Permission, ReadClearance, Removed, Target, TargetError, WriteClearance,
    resolve_anywhere,
};

/// What a new or too small file gets before the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fill {
    /// Nothing: writes make it grow (`fallocate=none`).
    None,
    /// Its space and its size, unwritten, where the file system can
    /// (`fallocate=native` and `posix`).
    Allocate,
    /// Its space, but no size (`fallocate=keep`).
    AllocateKeepingSize,
    /// Its size, but no space (`fallocate=truncate`).
    Truncate,
    /// Incompressible data that never repeats, all of it, synced.
    #[default]
    Written,
}

/// A file that a job needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// Where: fio's `directory` and file name together.
    pub path: PathBuf,
    /// The size that it has at least, bytes.
    pub size_bytes: u64,
    /// Whether it may be made, with the directories that lead to it (fio's
    /// `allow_file_create`).
    pub create: bool,
    /// What it gets where it is new or too small: [`Fill::Written`] for what
    /// is read or verified, and for writes with fio's `overwrite`.
    pub fill: Fill,
    /// Whether the job writes it, trimming included; one that is large enough
    /// and only read needs no permission.
    pub will_write: bool,
}

/// A clearance of either kind.
#[derive(Debug)]
enum Cleared {
    Read(ReadClearance),
    Write(WriteClearance),
}

/// A file that is as its plan says.
#[derive(Debug)]
pub struct LaidOut {
    cleared: Cleared,
    path: PathBuf,
    identity: FileIdentity,
    is_new: bool,
    is_ours: bool,
    written_bytes: u64,
}

impl LaidOut {
    /// What the job may do with it: write it, where its plan says so.
    pub const fn access(&self) -> Access<'_> {
        match &self.cleared {
            Cleared::Read(clearance) => Access::Read(clearance),
            Cleared::Write(clearance) => Access::Write(clearance),
        }
    }

    /// The clearance for writing; `None` where the plan did not ask for it.
    pub const fn write(&self) -> Option<&WriteClearance> {
        match &self.cleared {
            Cleared::Read(_) => None,
            Cleared::Write(clearance) => Some(clearance),
        }
    }

    /// Whether it was made just now.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Bytes of data that were written to lay it out.
    pub const fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Its path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode number.
    pub const fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Removes it (fio's `unlink`) if iodyno made it, now or before, and it is
    /// still the file at its path; once is as good as twice.
    ///
    /// # Errors
    /// It is ours and cannot be removed.
    pub fn remove_if_ours(&self) -> Result<Removed, TargetError> {
        // Of a file that is only read others may have written meanwhile.
        let is_as_it_was = || match &self.cleared {
            Cleared::Read(_) => {
                open_to_look(&self.cleared).is_some_and(|file| mark::is_ours(&file))
            }
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

    /// Gives back the space of a file that has no name any more, since the
    /// clearance holds it open to the end of the run: later jobs may want it.
    fn free_space(&self, removed: Removed) {
        let Some(write) = self.write().filter(|_| removed == Removed::Yes) else { return };
        if rustix::fs::fstat(write).is_ok_and(|stat| stat.st_nlink == 0) {
            // What cannot be had now comes back at the end.
            let _ = rustix::fs::ftruncate(write, 0);
        }
    }
}

/// Makes the file of `plan`, or takes the one that is there, as fio would;
/// `watcher` gets the bytes written so far before each MiB and may stop it.
/// A size that the clearance gives is at least the plan's, also where the job
/// has yet to make the file grow to it.
///
/// A file that is new or that iodyno made needs no permission; another one
/// that would be written needs its path in `permission`.
///
/// # Errors
/// Too little room (told before writing, where the file system knows), not
/// to be made, not named, in use, not a file, on a file system that holds no
/// data; or `watcher` stopped it. What was made is removed then.
pub fn lay_out(
    plan: &FilePlan,
    host: &Host,
    permission: &Permission,
    watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<LaidOut, TargetError> {
    match fs::symlink_metadata(&plan.path) {
        Ok(found) => {
            if found.is_symlink() && ![0, own_uid()].contains(&found.uid()) {
                return Err(TargetError::Refused {
                    name: shown(&plan.path),
                    why: "a symbolic link that another user made".into(),
                });
            }
            take(plan, host, permission, watcher)
        }
        Err(_) if plan.create => make(plan, host, permission, watcher),
        Err(_) => Err(TargetError::NotToBeMade { name: shown(&plan.path) }),
    }
}

/// The file that is there already.
fn take(
    plan: &FilePlan,
    host: &Host,
    permission: &Permission,
    watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<LaidOut, TargetError> {
    // With a `/` it is a path and never a device's kernel name.
    let absolute = std::path::absolute(&plan.path).map_err(|source| io(&plan.path, source))?;
    let Some(path) = absolute.to_str() else { return Err(not_text(&plan.path)) };
    let target = match resolve_anywhere(host, path)?.pop() {
        Some(Target::File(file)) => file,
        other => {
            let what = match other {
                Some(Target::Directory(_)) => "a directory, and the job needs a file",
                _ => "a device, and the job needs a file",
            };
            return Err(TargetError::Refused { name: shown(&plan.path), why: what.into() });
        }
    };
    let is_ours = is_laid_out(&target.path);
    let is_enough = target.size_bytes >= plan.size_bytes;
    let (cleared, written_bytes) = if is_enough && !plan.will_write {
        (Cleared::Read(ReadClearance::of_file(&target)?), 0)
    } else {
        let guard = Guard { source: &Live::new(), host, permission };
        let write = guard.file(&target, Some(plan.size_bytes))?;
        let mut written_bytes = 0;
        if !is_enough {
            room_for(&target, plan)?;
            written_bytes = fill::fill(&write, plan, &target.name, watcher)?;
        }
        (cleared(write, plan)?, written_bytes)
    };
    let identity = FileIdentity { device: target.identity.0, inode: target.identity.1 };
    Ok(LaidOut { cleared, path: target.path, identity, is_new: false, is_ours, written_bytes })
}

/// A new file.
fn make(
    plan: &FilePlan,
    host: &Host,
    permission: &Permission,
    watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<LaidOut, TargetError> {
    let absolute = std::path::absolute(&plan.path).map_err(|source| io(&plan.path, source))?;
    let Some((parent, file)) = parent_of(&absolute) else {
        return Err(TargetError::NotToBeMade { name: shown(&plan.path) });
    };
    let folders = NewFolders::make(parent)?;
    let parent = parent.canonicalize().map_err(|source| io(parent, source))?;
    let folder =
        open_folder(&parent).map_err(|errno| TargetError::of(&shown(&parent), "open it", errno))?;
    let stat = rustix::fs::fstat(&folder)
        .map_err(|errno| TargetError::of(&shown(&parent), "look at it", errno))?;
    let path = parent.join(file);
    // Refuses a file system that holds no data before anything is made in it.
    let place = PathTarget::new(host, path.clone(), &stat)?.empty();
    room_for(&place, plan)?;

    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let descriptor = rustix::fs::openat(&folder, file, flags, mode)
        .map_err(|errno| TargetError::of(&place.name, "make it", errno))?;
    let stat = rustix::fs::fstat(&descriptor)
        .map_err(|errno| TargetError::of(&place.name, "look at it", errno))?;
    let identity = FileIdentity::of(&stat);
    // From here on it is removed however this function is left.
    let unfinished = Unfinished { folder, file, identity, kept: false };
    let words = permission.naming(|word| names_file(&place, word));
    let write = WriteClearance::of_new_file(descriptor, &place)?.named_by(words).laid_out()?;
    let written_bytes =
        fill::fill(&write, plan, &place.name, watcher).map_err(|error| match error {
            TargetError::LayoutInterrupted { name, .. } => {
                TargetError::LayoutInterrupted { name, removed: true }
            }
            other => other,
        })?;
    write.mark_now();
    let cleared = cleared(write, plan)?;
    unfinished.keep();
    folders.keep();
    Ok(LaidOut { cleared, path, identity, is_new: true, is_ours: true, written_bytes })
}

/// The clearance that the plan asks for.
fn cleared(write: WriteClearance, plan: &FilePlan) -> Result<Cleared, TargetError> {
    if plan.will_write {
        write.sized_anew(plan.size_bytes).map(Cleared::Write)
    } else {
        write.into_read_clearance().map(Cleared::Read)
    }
}

/// That the file system has room for what is missing, where it says.
fn room_for(target: &PathTarget, plan: &FilePlan) -> Result<(), TargetError> {
    if matches!(plan.fill, Fill::None | Fill::Truncate) {
        return Ok(());
    }
    let folder = target.path.parent().unwrap_or(Path::new("/"));
    let Ok(space) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    let needed_bytes = plan.size_bytes.saturating_sub(target.allocated_bytes());
    if space.f_blocks > 0 && needed_bytes > free_bytes {
        return Err(TargetError::NoRoom { name: target.name.clone(), needed_bytes, free_bytes });
    }
    Ok(())
}

/// A file that is removed when this is dropped, unless it is kept.
struct Unfinished<'f> {
    folder: OwnedFd,
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
            // The error that led here is told; this one would hide it.
            let is_ours = |stat: &Stat| FileIdentity::of(stat) == self.identity;
            let _ = remove_in(&self.folder, self.file, is_ours);
        }
    }
}

/// The directories that were made for a file, deepest last; removed when this
/// is dropped, unless they are kept or somebody put something into them.
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Makes what is missing of `folder`, as fio does.
    fn make(folder: &Path) -> Result<Self, TargetError> {
        let mut missing: Vec<&Path> =
            folder.ancestors().take_while(|ancestor| !ancestor.exists()).collect();
        missing.reverse();
        let mut made = Self(Vec::new());
        for folder in missing {
            let mode = Mode::from_raw_mode(0o755);
            match rustix::fs::mkdir(folder, mode) {
                Ok(()) => made.0.push(folder.to_path_buf()),
                Err(Errno::EXIST) if folder.is_dir() => {}
                Err(errno) => {
                    return Err(TargetError::of(&shown(folder), "make this directory", errno));
                }
            }
        }
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn open_to_look(cleared: &Cleared) -> Option<OwnedFd> {
    let how = crate::OpenHow { direct: false, ..crate::OpenHow::default() };
    match cleared {
        Cleared::Read(clearance) => clearance.open(how).ok(),
        Cleared::Write(clearance) => clearance.as_read().open(how).ok(),
    }
}

fn parent_of(path: &Path) -> Option<(&Path, &OsStr)> {
    path.parent().zip(path.file_name())
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A path for messages, which a terminal must not obey.
fn shown(path: &Path) -> String {
    crate::target::printable(&path.display().to_string())
}

fn io(path: &Path, error: std::io::Error) -> TargetError {
    TargetError::Io { name: shown(path), action: "look it up", error }
}

fn not_text(path: &Path) -> TargetError {
    TargetError::Refused { name: shown(path), why: "its name is not UTF-8".into() }
}

#[cfg(test)]
#[path = "../job_files_tests.rs"]
mod tests;
