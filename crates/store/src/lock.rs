//! Locks that show which runs a process works on: it holds the lock on the run's file beside the
//! store, `STORE.running/RUN`.
//!
//! A pid is not enough: in another PID namespace, on another host that shares the store, or later,
//! it belongs to another process. The kernel releases a lock (flock(2)) when its process ends,
//! however it ends, and the lock is visible in every namespace, and on every host if the file
//! system supports that (NFS since Linux 2.6.12).

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iodyno_files::{FileError, FileIdentity, NameOrigin, There};

/// Owner in the row of a run whose process holds its lock.
pub(crate) const LOCKED: &str = "lock";
/// Owner in the row of a run without a lock. Earlier versions stored a boot id.
const UNLOCKED: &str = "no lock";

/// Maximum length of the description in a lock file, bytes.
const DESCRIPTION_BYTES: u64 = 4096;

/// Time within which a killed process releases its locks.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(200);

/// Whether a process works on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// A process works on it.
    Alive,
    /// No process works on it.
    Ended,
    /// Not known: begun by an earlier version or without a lock, or the lock cannot be checked. Its
    /// file may be missing because the store is a copy, or is seen under another path, as in a
    /// container that has the store's file alone.
    Unknown,
}

/// Locks of the runs of a store.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    /// Folder of the lock files; `None`: a store in memory, which is not shared.
    folder: Option<PathBuf>,
    held: BTreeMap<String, Option<File>>,
}

impl Locks {
    /// Locks of the store at `path`, with links resolved.
    pub(crate) fn of(path: &Path) -> Self {
        let mut name = path.canonicalize().unwrap_or_else(|_| path.into()).into_os_string();
        name.push(".running");
        Self { folder: Some(name.into()), held: BTreeMap::new() }
    }

    /// Takes the lock of a run; `false`: it is taken.
    ///
    /// # Errors
    /// If its file cannot be created, or the file system has no locks.
    pub(crate) fn take(&mut self, run_id: &str) -> io::Result<bool> {
        if self.held.contains_key(run_id) {
            return Ok(false);
        }
        let Some(folder) = &self.folder else {
            self.held.insert(run_id.into(), None);
            return Ok(true);
        };
        std::fs::create_dir_all(folder)?;
        let path = self.file(run_id)?;
        loop {
            let file = iodyno_files::append(&path, NameOrigin::Iodyno).map_err(io::Error::other)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if is_locked(&file)? => return Ok(false),
                // Another process was checking the lock.
                Err(TryLockError::WouldBlock) => {
                    std::thread::yield_now();
                    continue;
                }
            }
            // The previous owner may have removed the file in between.
            let is_there = path.metadata().is_ok_and(|there| is_same(&there, &file));
            if is_there {
                // Only informative.
                let _ = file.set_len(0);
                let _ = (&file).write_all(description().as_bytes());
                self.held.insert(run_id.into(), Some(file));
                return Ok(true);
            }
        }
    }

    /// Releases the lock of a run, if it is ours. Its file stays, as proof that nobody works on it.
    pub(crate) fn unlock(&mut self, run_id: &str) {
        self.held.remove(run_id);
    }

    /// Releases the lock of a run that has ended, if it is ours, and removes its file.
    pub(crate) fn release(&mut self, run_id: &str) {
        if let Some(Some(held)) = self.held.remove(run_id)
            && let Ok(path) = self.file(run_id)
            && let Ok(own) = held.metadata()
        {
            // If removal fails, an unlocked file remains, which is harmless.
            let own = FileIdentity { device: own.dev(), inode: own.ino() };
            let _ = iodyno_files::remove(&path, |there| FileIdentity::of(there) == own);
        }
    }

    /// Owner to store in the row of a run, after the attempt to lock it.
    pub(crate) fn owner(&self, run_id: &str) -> &'static str {
        if self.held.contains_key(run_id) { LOCKED } else { UNLOCKED }
    }

    /// Process that holds the lock of a run; `None`: another host or PID namespace has it, or it is
    /// not known.
    pub(crate) fn pid(&self, run_id: &str) -> Option<u32> {
        let mut file = open_regular(&self.file(run_id).ok()?).ok()?.take(DESCRIPTION_BYTES);
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        text.strip_prefix(&place())?.trim().parse().ok()
    }

    /// Checks whether a process works on a run with this `owner` in its row.
    pub(crate) fn liveness(&self, run_id: &str, owner: &str) -> Liveness {
        if self.held.contains_key(run_id) {
            return Liveness::Alive;
        }
        if owner != LOCKED {
            return Liveness::Unknown;
        }
        if self.folder.is_none() {
            return Liveness::Ended;
        }
        let file = self.file(run_id).and_then(|path| open_regular(&path));
        match file.and_then(|file| is_locked(&file)) {
            Ok(true) => Liveness::Alive,
            Ok(false) => Liveness::Ended,
            Err(_) => Liveness::Unknown,
        }
    }

    /// Path of a run's lock file. The id comes from a store that anybody may have written, so it is
    /// checked.
    fn file(&self, run_id: &str) -> io::Result<PathBuf> {
        let is_id = !run_id.is_empty()
            && run_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        match &self.folder {
            Some(folder) if is_id => Ok(folder.join(run_id)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

/// Opens a lock file. Anybody may have made the folder of a foreign store: opening a FIFO in it
/// would wait for ever.
fn open_regular(path: &Path) -> io::Result<File> {
    match iodyno_files::look(path, NameOrigin::Iodyno) {
        Ok(There::File(_)) => File::open(path),
        Ok(_) | Err(FileError::NoFolder { .. }) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// True if another process holds the lock and is not just ending: the lock of a killed iodyno may
/// outlast it a little.
fn is_locked(file: &File) -> io::Result<bool> {
    let give_up = Instant::now() + RELEASE_TIMEOUT;
    loop {
        match file.try_lock_shared() {
            Ok(()) => return Ok(false),
            Err(TryLockError::WouldBlock) if Instant::now() >= give_up => return Ok(true),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn is_same(there: &std::fs::Metadata, file: &File) -> bool {
    file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
}

/// Description of the process that holds a lock, for people.
fn description() -> String {
    format!("{}{}\n", place(), std::process::id())
}

/// The part of [`description`] that all processes of this PID namespace have in common.
fn place() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!(
        "host {}\nboot {}\npid namespace {}\npid ",
        read("/proc/sys/kernel/hostname"),
        boot_id(),
        namespace.display()
    )
}

/// Boot id of the kernel; empty if not available.
pub fn boot_id() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0190aaaa";

    #[test]
    fn lock_is_exclusive_and_its_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        std::fs::write(&path, "").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let (mut one, mut other) = (Locks::of(&path), Locks::of(&link));
        assert_eq!(other.liveness(RUN, LOCKED), Liveness::Unknown, "as of a copied store");
        assert!(one.take(RUN).unwrap() && !other.take(RUN).unwrap());
        assert_eq!(other.liveness(RUN, LOCKED), Liveness::Alive);
        assert_eq!(other.pid(RUN), Some(std::process::id()));
        assert_eq!((one.owner(RUN), other.owner(RUN)), (LOCKED, UNLOCKED));
        one.unlock(RUN);
        assert_eq!(other.liveness(RUN, LOCKED), Liveness::Ended);
        assert!(one.take(RUN).unwrap());
        one.release(RUN);
        assert_eq!(other.liveness(RUN, LOCKED), Liveness::Unknown);
        assert_eq!(std::fs::read_dir(one.folder.as_ref().unwrap()).unwrap().count(), 0);
        assert!(other.take(RUN).unwrap());
        // As after a kill: the file exists, unlocked.
        drop(other);
        assert_eq!(one.liveness(RUN, LOCKED), Liveness::Ended);
        assert!(one.take(RUN).unwrap());
    }

    #[test]
    fn liveness_without_a_lock_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let mut locks = Locks::of(&folder.path().join("store.sqlite"));
        for owner in ["", "no lock", "c8b1f2a0-0000-4000-8000-000000000000/123"] {
            assert_eq!(locks.liveness(RUN, owner), Liveness::Unknown, "{owner}");
        }
        let folder = locks.folder.clone().unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(folder.join(RUN)).status();
        assert!(fifo.unwrap().success());
        assert_eq!(locks.liveness(RUN, LOCKED), Liveness::Unknown);
        for id in ["", "../store.sqlite", "a/b", "/etc/passwd"] {
            assert_eq!(locks.liveness(id, LOCKED), Liveness::Unknown, "{id}");
            assert!(locks.take(id).is_err(), "{id}");
        }
    }

    #[test]
    fn only_one_of_many_threads_holds_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        std::fs::write(&path, "").unwrap();
        let inside = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut locks = Locks::of(&path);
                    let mut taken = 0;
                    while taken < 50 {
                        if locks.take(RUN).unwrap() {
                            let others = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            assert_eq!(others, 0);
                            inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                            locks.release(RUN);
                            taken += 1;
                        }
                        locks.liveness(RUN, LOCKED);
                    }
                });
            }
        });
    }
}
