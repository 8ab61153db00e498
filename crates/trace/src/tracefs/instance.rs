//! A tracefs instance: private ring buffers, so that nobody else's tracing is affected.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::RecordError;

/// Prefix of instance names, followed by the process id.
const PREFIX: &str = "iodyno-";
/// `O_NONBLOCK` (asm-generic/fcntl.h).
const NONBLOCK: i32 = 0o4000;

/// An instance, removed on drop.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) root: PathBuf,
    folder: PathBuf,
}

/// Returns the mount point of tracefs.
pub(super) fn mounted() -> Result<PathBuf, RecordError> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = text.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        after.starts_with("tracefs ").then(|| before.split(' ').nth(4).map(PathBuf::from))?
    });
    mount.ok_or(RecordError::NotMounted)
}

/// Removes instances of processes that are gone: a killed recording leaves one. Returns their
/// number.
///
/// # Errors
/// There is no tracefs, or the user may not access it.
pub fn remove_stale() -> Result<usize, RecordError> {
    let folder = mounted()?.join("instances");
    let entries = fs::read_dir(&folder).map_err(|error| RecordError::of(&folder, error))?;
    let mut removed = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        let is_gone = process.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists());
        // The kernel keeps an instance that a process in another container reads.
        removed += usize::from(is_gone && fs::remove_dir(entry.path()).is_ok());
    }
    Ok(removed)
}

impl Instance {
    /// Creates an instance.
    pub(super) fn new() -> Result<Self, RecordError> {
        let root = mounted()?;
        let folder = root.join("instances").join(format!("{PREFIX}{}", std::process::id()));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                // Left by an earlier process with this id.
                fs::remove_dir(&folder)
                    .and_then(|()| fs::create_dir(&folder))
                    .map_err(|error| RecordError::of(&folder, error))?;
            }
            made => made.map_err(|error| RecordError::of(&folder, error))?,
        }
        Ok(Self { root, folder })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn read(&self, name: &str) -> Result<String, RecordError> {
        let path = self.path(name);
        fs::read_to_string(&path).map_err(|error| RecordError::of(path, error))
    }

    pub(super) fn write(&self, name: &str, value: &str) -> Result<(), RecordError> {
        let path = self.path(name);
        let opened = OpenOptions::new().write(true).open(&path);
        let written = opened.and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|error| RecordError::of(path, error))
    }

    /// Opens the ring buffers, one for each CPU.
    pub(super) fn rings(&self) -> Result<Vec<(PathBuf, File)>, RecordError> {
        let folder = self.path("per_cpu");
        let entries = fs::read_dir(&folder).map_err(|error| RecordError::of(&folder, error))?;
        let mut rings = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path().join("trace_pipe_raw");
            let file = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(&path);
            rings.push((entry.path(), file.map_err(|error| RecordError::of(path, error))?));
        }
        Ok(rings)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The rings are closed first: their owners declare them before this.
        let _ = fs::remove_dir(&self.folder);
    }
}
