//! Scratch files, through which a directory is measured.
//!
//! A scratch file is full of random data, so that neither compression nor deduplication can help,
//! and as large as about 10 s of writing make it.
//!
//! If the file system supports it (O_TMPFILE: ext4, XFS, btrfs, f2fs, …), the file never has a
//! name: whatever happens, kill -9 and power failure included, the kernel frees it with the last
//! descriptor. Elsewhere it has the plan's name and is removed when the [`ScratchFile`] is dropped;
//! after a kill [`remove_if_ours`] removes it. The caller cannot know beforehand which it will be,
//! so [`ScratchPlan::path`] goes to the journal before [`ScratchFile::create`] in both cases.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use iodyno_files::{self as removal, FileIdentity, Removed};
use iodyno_model::Host;
use rustix::fs::{Advice, Dev, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::chunk::Chunk;
use crate::random::unguessable;
use crate::thin_pool::FullPool;
use crate::{PathTarget, ReadClearance, Target, TargetError, WriteClearance};

/// Minimum size of a scratch file, bytes.
const LEAST_BYTES: u64 = 256 << 20;
/// Maximum size of a scratch file, bytes.
const MOST_BYTES: u64 = 8 << 30;
/// A scratch file takes at most 1/N of the free space.
const SHARE_OF_FREE: u64 = 4;
/// Write size, bytes: a multiple of every block size, and enough to keep a drive busy, since the
/// kernel splits it into concurrent requests.
const CHUNK_BYTES: usize = 4 << 20;

const PREFIX: &str = ".iodyno-scratch-";
const SUFFIX: &str = ".tmp";

/// Path and size limits of a scratch file.
#[derive(Debug, Clone)]
pub struct ScratchPlan {
    directory: PathTarget,
    path: PathBuf,
    least_bytes: u64,
    most_bytes: u64,
    writing_ns: u64,
    /// True if it gets a name in any case.
    named: bool,
}

impl ScratchPlan {
    /// Longest time of writing that is of use, ns.
    pub const LONGEST_NS: u64 = 10_000_000_000;

    /// Plans a scratch file in a directory, written for `writing_ns`, or longer to reach 256 MiB;
    /// nothing is created yet.
    ///
    /// # Errors
    /// Not a directory, or a quarter of its free space is less than 256 MiB.
    pub fn of(target: &Target, host: &Host, writing_ns: u64) -> Result<Self, TargetError> {
        let Target::Directory(directory) = target else {
            return Err(TargetError::Refused {
                name: target.name().into(),
                why: "a scratch file needs a directory".into(),
            });
        };
        let failed = |errno| TargetError::of(&directory.name, "read its free space", errno);
        let space = rustix::fs::statvfs(&directory.path).map_err(failed)?;
        let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
        let pool = directory.device.as_ref().and_then(|on| FullPool::after(host, on, free_bytes));
        let free_bytes = pool.map_or(free_bytes, |pool| free_bytes.min(pool.free_bytes));
        let most_bytes = most_bytes(free_bytes).ok_or_else(|| TargetError::NoSpace {
            directory: directory.name.clone(),
            free_bytes,
            needed_bytes: LEAST_BYTES * SHARE_OF_FREE,
        })?;
        let id = unguessable::<16>()?;
        let id = u128::from_ne_bytes(id);
        Ok(Self { writing_ns, ..Self::with(directory, id, LEAST_BYTES, most_bytes, false) })
    }

    fn with(
        directory: &PathTarget,
        id: u128,
        least_bytes: u64,
        most_bytes: u64,
        named: bool,
    ) -> Self {
        Self {
            path: directory.path.join(format!("{PREFIX}{id:032x}{SUFFIX}")),
            directory: directory.clone(),
            least_bytes,
            most_bytes,
            writing_ns: Self::LONGEST_NS,
            named,
        }
    }

    /// Makes a plan with a test's own limits, whatever is free.
    #[cfg(test)]
    pub(crate) fn unchecked(target: &Target, least: u64, most: u64, named: bool) -> Self {
        let Target::Directory(directory) = target else { panic!("not a directory") };
        let id = u128::from_ne_bytes(unguessable::<16>().unwrap());
        Self::with(directory, id, least, most, named)
    }

    /// The path of the file, if it gets a name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Maximum size, bytes.
    pub const fn most_bytes(&self) -> u64 {
        self.most_bytes
    }
}

/// Returns the maximum size of a scratch file for this much free space; `None`: too little.
fn most_bytes(free_bytes: u64) -> Option<u64> {
    let share = free_bytes / SHARE_OF_FREE;
    let chunks = share.min(MOST_BYTES) / CHUNK_BYTES as u64;
    (share >= LEAST_BYTES).then_some(chunks * CHUNK_BYTES as u64)
}

/// A file of random data. It is freed when it and all its clearances are dropped.
#[derive(Debug)]
pub struct ScratchFile {
    clearance: ReadClearance,
    named: Option<Named>,
}

impl ScratchFile {
    /// Creates the file and fills it until the plan's time is over (but at least 256 MiB), its size
    /// is reached, or the disk is full. `progress` gets the bytes written and the time
    /// since the start, ns, several times a second, and may stop it.
    ///
    /// # Errors
    /// The directory cannot be written, is full before 256 MiB, or `progress` stopped it. Nothing
    /// of the file is left then.
    pub fn create(
        plan: &ScratchPlan,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Self, TargetError> {
        // From here on the name is removed on every error return.
        let (descriptor, named) = make(plan)?;
        let write = WriteClearance::of_new_file(descriptor, &plan.directory)?;
        let named = named.map(|named| named.with_identity(write.identity()));
        fill(&write, plan, progress)?;
        let failed = |errno| TargetError::of(&plan.directory.name, "sync its scratch file", errno);
        rustix::fs::fsync(&write).map_err(failed)?;
        if !write.as_read().direct() {
            // Make reads come from storage, not from the page cache. Only advice: the clearance
            // carries the caveat that the cache is used.
            let _ = rustix::fs::fadvise(&write, 0, None, Advice::DontNeed);
        }
        Ok(Self { clearance: write.into_read_clearance()?, named })
    }

    /// Clears it for reading, named after its directory. Its space is not freed while a clearance
    /// is held.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn clear_for_reading(&self) -> Result<ReadClearance, TargetError> {
        self.clearance.try_clone()
    }

    /// Identity of the file while it has a name; `None` if it never had one or was removed.
    pub fn identity(&self) -> Option<FileIdentity> {
        self.named.as_ref()?.identity
    }

    /// Size, bytes.
    pub const fn size_bytes(&self) -> u64 {
        self.clearance.size_bytes()
    }

    /// Removes its name, if it has one; idempotent.
    ///
    /// # Errors
    /// The directory may no longer be written.
    pub fn remove(&mut self) -> Result<(), TargetError> {
        match self.named.take() {
            Some(named) => named.remove().map(|_| ()),
            None => Ok(()),
        }
    }
}

/// A name that is removed on drop.
#[derive(Debug)]
struct Named {
    path: PathBuf,
    identity: Option<FileIdentity>,
}

impl Named {
    fn with_identity(mut self, (device, inode): (Dev, u64)) -> Self {
        self.identity = Some(FileIdentity { device, inode });
        self
    }

    fn remove(&self) -> Result<Removed, TargetError> {
        remove_if_ours(&self.path, self.identity)
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        // The error has no receiver; the journal still has the file.
        let _ = self.remove();
    }
}

/// Creates the empty file, without a name if possible.
fn make(plan: &ScratchPlan) -> Result<(OwnedFd, Option<Named>), TargetError> {
    let failed = |errno| TargetError::of(&plan.directory.name, "make a scratch file", errno);
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    if !plan.named {
        // O_EXCL: nobody can give it a name afterwards.
        let unnamed = flags | OFlags::TMPFILE | OFlags::EXCL;
        match rustix::fs::open(&plan.directory.path, unnamed, mode) {
            Ok(descriptor) => return Ok((descriptor, None)),
            // Unsupported, according to open(2); EINVAL and ENOENT come from file systems that do
            // not know the flag.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    let new = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let descriptor = rustix::fs::open(&plan.path, new, mode).map_err(failed)?;
    Ok((descriptor, Some(Named { path: plan.path.clone(), identity: None })))
}

/// Writes random data; no two blocks are equal.
fn fill(
    write: &WriteClearance,
    plan: &ScratchPlan,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(), TargetError> {
    let directory = || plan.directory.name.clone();
    let mut chunk = Chunk::new(CHUNK_BYTES)?;
    let start = Instant::now();
    let mut written = 0;
    while written < plan.most_bytes {
        let elapsed_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if progress(written, elapsed_ns).is_break() {
            return Err(TargetError::Interrupted { directory: directory() });
        }
        if elapsed_ns >= plan.writing_ns && written >= plan.least_bytes {
            break;
        }
        match chunk.write(write, CHUNK_BYTES, written) {
            Ok(()) => written += CHUNK_BYTES as u64,
            // Full: use what is there. A partial chunk is truncated.
            Err(Errno::NOSPC | Errno::DQUOT) if written >= plan.least_bytes => break,
            Err(Errno::NOSPC) => {
                return Err(TargetError::NoSpace {
                    directory: directory(),
                    free_bytes: written,
                    needed_bytes: plan.least_bytes * SHARE_OF_FREE,
                });
            }
            Err(errno) => {
                return Err(TargetError::of(&plan.directory.name, "write its scratch file", errno));
            }
        }
    }
    rustix::fs::ftruncate(write, written)
        .map_err(|errno| TargetError::of(&plan.directory.name, "cut its scratch file", errno))
}

/// Removes the scratch file at `path` after a kill: only if it has a scratch file's name, is a
/// regular file, belongs to this user and, if `identity` is known (it is not if the kill came too
/// early), is that very file.
///
/// # Errors
/// It is iodyno's and cannot be removed.
pub fn remove_if_ours(path: &Path, identity: Option<FileIdentity>) -> Result<Removed, TargetError> {
    if !path.file_name().and_then(OsStr::to_str).is_some_and(is_scratch_name) {
        return Ok(Removed::NotOurs);
    }
    remove(path, |found| identity.is_none_or(|identity| identity == found))
}

/// Removes the file at `path` if it is the one with this identity and belongs to this user.
///
/// # Errors
/// It is that file and cannot be removed.
pub fn remove_exactly(path: &Path, identity: FileIdentity) -> Result<Removed, TargetError> {
    remove(path, |found| identity == found)
}

fn remove(path: &Path, is_it: impl Fn(FileIdentity) -> bool) -> Result<Removed, TargetError> {
    let is_ours = |stat: &Stat| {
        stat.st_uid == rustix::process::geteuid().as_raw() && is_it(FileIdentity::of(stat))
    };
    removal::remove(path, is_ours)
        .map_err(|errno| TargetError::of(&path.display().to_string(), "remove it", errno))
}

fn is_scratch_name(name: &str) -> bool {
    let id = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    id.is_some_and(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
#[path = "scratch_tests.rs"]
mod tests;
