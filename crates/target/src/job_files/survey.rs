//! Checks the files of jobs before any of them is touched.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iodyno_host::Live;
use iodyno_model::Host;
use rustix::fs::{Dev, Mode, OFlags};

use super::{BUFFERED, FilePlan, Fill, mark, shown};
use crate::guard::{Guard, names_file};
use crate::resolve::{judged, path_of_word};
use crate::target::PathTarget;
use crate::thin_pool::FullPool;
use crate::{
    Permission, ReadClearance, Target, TargetError, WriteClearance, resolve_even_in_memory,
};
use iodyno_files::open_real;

/// A checked file of a plan: it can be laid out, and is unchanged so far.
#[derive(Debug)]
pub struct Surveyed {
    pub(super) plan: FilePlan,
    pub(super) state: FileState,
    words: Vec<String>,
    direct: Option<Direct>,
}

/// State of the path at which the file will be.
#[derive(Debug)]
pub(super) enum FileState {
    /// A file that is only read and large enough.
    LargeEnough(PathTarget, ReadClearance),
    /// A file that may be written.
    Writable(PathTarget, WriteClearance),
    /// No file yet, in this directory.
    Missing(OwnedFd, PathTarget),
}

/// Direct I/O on a file.
#[derive(Debug, Clone, Copy)]
struct Direct {
    supported: bool,
    block_bytes: u32,
}

impl Direct {
    const fn of(read: &ReadClearance) -> Self {
        Self { supported: read.direct(), block_bytes: read.block_bytes() }
    }
}

impl Surveyed {
    /// The plan of the file.
    pub const fn plan(&self) -> &FilePlan {
        &self.plan
    }

    /// Size after the layout, bytes.
    pub fn size_bytes(&self) -> u64 {
        let holds_bytes = match &self.state {
            FileState::LargeEnough(target, _)
            | FileState::Writable(target, _)
            | FileState::Missing(_, target) => target.size_bytes,
        };
        holds_bytes.max(self.plan.size_bytes)
    }

    /// Words of the permission that name it and that it may need.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// True if it has to be created or extended first.
    pub const fn needs_layout(&self) -> bool {
        match &self.state {
            FileState::LargeEnough(..) => false,
            FileState::Writable(target, _) => target.size_bytes < self.plan.size_bytes,
            FileState::Missing(..) => true,
        }
    }

    /// Alignment of direct I/O on it, bytes: 0 if unsupported; `None` if unknown before it is
    /// created.
    pub fn direct_bytes(&self) -> Option<u32> {
        self.direct.map(|direct| if direct.supported { direct.block_bytes } else { 0 })
    }
}

/// Checks the files of `plans` together, and changes nothing.
///
/// A file that is new or that iodyno made needs no permission; any other that would be written
/// needs its path in `permission`.
///
/// # Errors
/// The first file that cannot be laid out: too little room for all, if the file system reports it;
/// directory missing, may not be created, not named, in use, not a file, on a file system that
/// holds no data.
pub fn survey(
    plans: Vec<FilePlan>,
    host: &Host,
    permission: &Permission,
) -> Result<Vec<Surveyed>, TargetError> {
    let mut taken_bytes = BTreeMap::new();
    let mut surveyed = Vec::with_capacity(plans.len());
    for plan in plans {
        let (state, words, direct) = check(&plan, host, permission)?;
        if let FileState::Writable(target, _) | FileState::Missing(_, target) = &state {
            reserve_room(host, target, &plan, &mut taken_bytes)?;
        }
        surveyed.push(Surveyed { plan, state, words, direct });
    }
    Ok(surveyed)
}

type Checked = (FileState, Vec<String>, Option<Direct>);

fn check(plan: &FilePlan, host: &Host, permission: &Permission) -> Result<Checked, TargetError> {
    match fs::symlink_metadata(&plan.path) {
        Ok(found) => {
            let is_mine = [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
            if found.is_symlink() && !is_mine {
                return Err(TargetError::Refused {
                    name: shown(&plan.path),
                    why: "a symbolic link of another user".into(),
                });
            }
            check_file(plan, host, permission)
        }
        Err(_) if plan.create => check_new_file(plan, host, permission),
        Err(_) => Err(TargetError::NotToBeMade { name: shown(&plan.path) }),
    }
}

/// Checks a file that exists.
fn check_file(
    plan: &FilePlan,
    host: &Host,
    permission: &Permission,
) -> Result<Checked, TargetError> {
    // With a `/` it is a path and never a device's kernel name.
    let absolute = std::path::absolute(&plan.path).map_err(|source| io(&plan.path, source))?;
    let Some(path) = absolute.to_str() else { return Err(not_text(&plan.path)) };
    let target = match resolve_even_in_memory(host, path)?.pop() {
        Some(Target::File(file)) => file,
        other => {
            let what = match other {
                Some(Target::Directory(_)) => "a directory, but the job needs a file",
                _ => "a device, but the job needs a file",
            };
            return Err(TargetError::Refused { name: shown(&plan.path), why: what.into() });
        }
    };
    let words = permission.naming(|word| names_file(&target, word));
    if target.size_bytes >= plan.size_bytes && !plan.will_write {
        let read = ReadClearance::of_file(&target)?;
        let direct = Direct::of(&read);
        // A word may have been needed to extend another's file before; iodyno's own need none.
        let is_ours = words.is_empty() || mark::is_ours(&read.open(BUFFERED)?);
        let words = if is_ours { Vec::new() } else { words };
        return Ok((FileState::LargeEnough(target, read), words, Some(direct)));
    }
    let guard = Guard { source: &Live::new(), host, permission };
    let write = guard.file(&target, Some(plan.size_bytes)).map_err(|error| match error {
        TargetError::NotAllowed { name, .. } if !plan.will_write => TargetError::TooShort {
            name,
            holds_bytes: target.size_bytes,
            wanted_bytes: plan.size_bytes,
        },
        error => error,
    })?;
    let direct = Direct::of(write.as_read());
    Ok((FileState::Writable(target, write), words, Some(direct)))
}

/// Checks the directory for a new file.
fn check_new_file(
    plan: &FilePlan,
    host: &Host,
    permission: &Permission,
) -> Result<Checked, TargetError> {
    let (folder, place) = folder_for(&plan.path, host)?;
    let words = permission.naming(|word| will_be_named(&place, word));
    let direct = probe_direct_io(&folder, &place);
    Ok((FileState::Missing(folder, place), words, direct))
}

/// Opens the directory for a new file, and describes the file's place in it.
pub(super) fn folder_for(path: &Path, host: &Host) -> Result<(OwnedFd, PathTarget), TargetError> {
    let absolute = std::path::absolute(path).map_err(|source| io(path, source))?;
    let Some((parent, file)) = parent_of(&absolute) else {
        return Err(TargetError::NotToBeMade { name: shown(path) });
    };
    if let Some(missing) = first_missing(parent) {
        return Err(TargetError::NoDirectory {
            name: shown(path),
            directory: shown(parent),
            missing: shown(missing),
        });
    }
    judged(&absolute, &shown(path))?;
    let real = judged(parent, &shown(path))?;
    let folder = open_real(parent, real.as_deref(), OFlags::RDONLY | OFlags::DIRECTORY)
        .map_err(|errno| TargetError::of(&shown(parent), "open it", errno))?;
    let canonical = || parent.canonicalize().map_err(|source| io(parent, source));
    let parent = real.map_or_else(canonical, Ok)?;
    let stat = rustix::fs::fstat(&folder)
        .map_err(|errno| TargetError::of(&shown(&parent), "look at it", errno))?;
    let path = parent.join(file);
    // Refuses a file system that holds no data before anything is created in it.
    let place = PathTarget::new(host, path, &stat)?.into_new_file();
    let may_write = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(&parent, may_write)
        .map_err(|errno| TargetError::of(&place.name, "make it", errno))?;
    Ok((folder, place))
}

/// Probes direct I/O of files in `folder` with an unnamed file, if possible.
fn probe_direct_io(folder: &OwnedFd, place: &PathTarget) -> Option<Direct> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o600);
    let descriptor = rustix::fs::openat(folder, ".", flags, mode).ok()?;
    let stat = rustix::fs::fstat(&descriptor).ok()?;
    let target = place.with_identity((stat.st_dev, stat.st_ino));
    ReadClearance::of_open_file(&descriptor, &target).ok().map(|read| Direct::of(&read))
}

/// True if a word is the path of a file that does not exist yet.
fn will_be_named(place: &PathTarget, word: &str) -> bool {
    let Ok(absolute) = std::path::absolute(word) else { return false };
    let Some((parent, file)) = parent_of(&absolute) else { return false };
    path_of_word(parent).is_some_and(|parent| parent.join(file) == place.path)
}

/// Returns the highest missing directory on the path to `folder`.
fn first_missing(folder: &Path) -> Option<&Path> {
    folder.ancestors().take_while(|ancestor| !ancestor.exists()).last()
}

/// Verifies that the file system, and a thin pool below it, have room for the missing part, if they
/// report that, in addition to the other files.
fn reserve_room(
    host: &Host,
    target: &PathTarget,
    plan: &FilePlan,
    taken_bytes: &mut BTreeMap<Dev, u64>,
) -> Result<(), TargetError> {
    if matches!(plan.fill, Fill::None | Fill::Truncate) || target.size_bytes >= plan.size_bytes {
        return Ok(());
    }
    let folder = target.path.parent().unwrap_or(Path::new("/"));
    let (Ok(space), Ok(stat)) = (rustix::fs::statvfs(folder), rustix::fs::stat(folder)) else {
        return Ok(());
    };
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    let taken = taken_bytes.entry(stat.st_dev).or_default();
    let free_bytes = free_bytes.saturating_sub(*taken);
    let needed_bytes = plan.size_bytes.saturating_sub(target.allocated_bytes());
    if space.f_blocks > 0 && needed_bytes > free_bytes {
        return Err(TargetError::NoRoom { name: target.name.clone(), needed_bytes, free_bytes });
    }
    *taken = taken.saturating_add(needed_bytes);
    let pool = target.device.as_ref().and_then(|device| FullPool::after(host, device, *taken));
    pool.map_or(Ok(()), |pool| Err(pool.error(&target.name)))
}

fn parent_of(path: &Path) -> Option<(&Path, &OsStr)> {
    path.parent().zip(path.file_name())
}

fn io(path: &Path, error: std::io::Error) -> TargetError {
    TargetError::Io { name: shown(path), action: "look it up", error }
}

fn not_text(path: &Path) -> TargetError {
    TargetError::Refused { name: shown(path), why: "its name is not UTF-8".into() }
}
