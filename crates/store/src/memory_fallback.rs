//! Fallback to memory when the store's file can no longer be written, so that further measurements
//! can still be saved elsewhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use iodyno_files::{FileError, Kind};
use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::open::Store;

/// Attempts to copy a file locked by another process, 100 ms apart.
const COPY_ATTEMPTS: u32 = 20;

impl Store {
    /// Why the file can no longer be written; everything since is only in memory.
    pub const fn aside(&self) -> Option<&StoreError> {
        self.aside.as_ref()
    }

    /// Runs `write`; if the file fails, copies the store to memory and retries there.
    pub(crate) fn write_or_fall_back<T>(
        &mut self,
        write: impl Fn(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let outcome = write(self);
        match outcome {
            // A transaction fails as a whole.
            Err(error)
                if error.is_file_failure()
                    && self.aside.is_none()
                    && self.connection.is_autocommit() =>
            {
                let Some(copy) = self.in_memory_copy() else { return Err(error) };
                self.connection = copy;
                self.aside = Some(error);
                write(self)
            }
            outcome => outcome,
        }
    }

    /// Refuses a write that must outlive the process.
    pub(crate) fn refuse_aside(&self) -> Result<(), StoreError> {
        match &self.aside {
            Some(_) => Err(StoreError::Aside { path: self.path.clone() }),
            None => Ok(()),
        }
    }

    /// Copies all committed data. A process that holds the file locked for good also blocks
    /// readers; its uncommitted data are not needed, so the pages are then read without a lock, and
    /// the copy is checked.
    fn in_memory_copy(&self) -> Option<Connection> {
        copy_of(&self.connection, COPY_ATTEMPTS).or_else(|| {
            let locked = Connection::open_with_flags(
                immutable(&self.path)?,
                OpenFlags::SQLITE_OPEN_READ_ONLY
                    | OpenFlags::SQLITE_OPEN_URI
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX,
            );
            let copy = copy_of(&locked.ok()?, 1)?;
            let integrity: String =
                copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).ok()?;
            (integrity == "ok").then_some(copy)
        })
    }
}

fn copy_of(from: &Connection, tries: u32) -> Option<Connection> {
    let mut copy = Connection::open_in_memory().ok()?;
    let copied = (0..tries).any(|_| {
        let backup = Backup::new(from, &mut copy);
        let copied = backup.and_then(|backup| {
            // Locked: returned as a result to wait on, not as an error.
            match backup.step(-1)? {
                rusqlite::backup::StepResult::Done => Ok(true),
                _ => Ok(false),
            }
        });
        let is_done = matches!(copied, Ok(true));
        if !is_done && tries > 1 {
            std::thread::sleep(Duration::from_millis(100));
        }
        is_done
    });
    if !copied || copy.pragma_update(None, "foreign_keys", true).is_err() {
        return None;
    }
    Some(copy)
}

/// Returns a URI with which SQLite opens the file without locking
/// (<https://www.sqlite.org/uri.html>).
fn immutable(path: &Path) -> Option<PathBuf> {
    let escaped = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Some(format!("file:{escaped}?immutable=1").into())
}

impl StoreError {
    /// True if the name itself is wrong: a device, a pipe, a word. That is a mistake in the command,
    /// unlike a file or a folder that cannot be written.
    pub fn is_of_name(&self) -> bool {
        match self {
            Self::NotAName { .. } | Self::NoHome => true,
            Self::File(FileError::NotAFile { kind, .. }) => *kind != Kind::Directory,
            _ => false,
        }
    }

    /// True for failures of the file: full, locked, read-only, a failing disk.
    fn is_file_failure(&self) -> bool {
        match self {
            Self::Full { .. } | Self::ReadOnly { .. } | Self::Locked { .. } | Self::Open { .. } => {
                true
            }
            Self::Sqlite { error, .. } => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed)
            ),
            _ => false,
        }
    }
}
