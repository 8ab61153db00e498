//! A store whose file takes nothing any more goes on in memory, so that what is
//! measured from there on can be kept elsewhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::open::Store;

/// How often, at 100 ms each, a copy is tried while another process locks the file.
const TRIES: u32 = 20;

impl Store {
    /// Why the file takes nothing any more; all that was written since is in memory alone.
    pub const fn aside(&self) -> Option<&StoreError> {
        self.aside.as_ref()
    }

    /// Writes; where the file fails, goes on in memory with a copy of it, and writes there.
    pub(crate) fn writing<T>(
        &mut self,
        write: impl Fn(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let outcome = write(self);
        match outcome {
            // Within a transaction all of it fails together.
            Err(error)
                if error.is_of_the_file()
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

    /// Refuses where what is written would not outlive the process.
    pub(crate) fn refuse_aside(&self) -> Result<(), StoreError> {
        match &self.aside {
            Some(_) => Err(StoreError::Aside { path: self.path.clone() }),
            None => Ok(()),
        }
    }

    /// All that is committed. A process that holds the file locked for good keeps
    /// readers out as well; what it has not committed is not asked for, so the
    /// pages are then read without its leave, and the copy is checked.
    fn in_memory_copy(&self) -> Option<Connection> {
        copy_of(&self.connection, TRIES).or_else(|| {
            let locked = Connection::open_with_flags(
                immutable(&self.path)?,
                OpenFlags::SQLITE_OPEN_READ_ONLY
                    | OpenFlags::SQLITE_OPEN_URI
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX,
            );
            let copy = copy_of(&locked.ok()?, 1)?;
            let said: String =
                copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).ok()?;
            (said == "ok").then_some(copy)
        })
    }
}

fn copy_of(from: &Connection, tries: u32) -> Option<Connection> {
    let mut copy = Connection::open_in_memory().ok()?;
    let copied = (0..tries).any(|_| {
        let backup = Backup::new(from, &mut copy);
        let copied = backup.and_then(|backup| {
            // Locked is no error to it, but something to wait for.
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

/// The file as a URI by which SQLite takes no lock (<https://www.sqlite.org/uri.html>).
fn immutable(path: &Path) -> Option<PathBuf> {
    let escaped = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Some(format!("file:{escaped}?immutable=1").into())
}

impl StoreError {
    /// It is the file's: full, locked, read-only, a failing disk.
    fn is_of_the_file(&self) -> bool {
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
