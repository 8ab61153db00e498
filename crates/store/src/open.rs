//! Opening of stores.

use std::path::{Path, PathBuf};
use std::time::Duration;

use iodyno_files::is_read_only;
use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::lock::Locks;
use crate::migrations;
use crate::store_file::StoreFile;

/// Pages copied at a time.
const COPIED_PAGES: i32 = 1024;
/// SQLite's error for an interrupted commit that a reader cannot roll back
/// (<https://www.sqlite.org/rescode.html#readonly_rollback>).
const HOT_JOURNAL: i32 = rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
/// SQLite's error for a file that is no longer at its path (same page).
const MOVED: i32 = rusqlite::ffi::SQLITE_READONLY_DBMOVED;

/// Path of a store in memory.
const MEMORY: &str = ":memory:";
/// Time to wait for another process: a commit takes milliseconds, or seconds on a disk under test.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(15);
/// Mode bit: writable by every user (inode(7)).
pub(crate) const WORLD_WRITABLE: u32 = 0o002;

/// The store.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) locks: Locks,
    pub(crate) path: PathBuf,
    /// Why the file can no longer be written; `connection` is then in memory.
    pub(crate) aside: Option<StoreError>,
}

/// Folder of root's store.
const ROOTS: &str = "/var/lib";

/// Default path of the store: /var/lib/iodyno for root, else the XDG data directory (XDG Base
/// Directory Specification 0.8). Without HOME the user's home is that of passwd(5); the path is
/// empty, which is refused, for a user without a home.
pub fn default_path() -> PathBuf {
    if let Some(path) = path_in_environment() {
        return path;
    }
    let data = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let base = match data {
        _ if is_root() => ROOTS.into(),
        Some(data) => data,
        None => match std::env::home_dir().filter(|home| home.is_absolute()) {
            Some(home) => home.join(".local/share"),
            None => return PathBuf::new(),
        },
    };
    base.join("iodyno/store.sqlite")
}

/// Path that the user gave as IODYNO_STORE.
pub fn path_in_environment() -> Option<PathBuf> {
    variable("IODYNO_STORE")
}

/// True if `path` is a user's default store, and root has one.
pub fn has_only_roots(path: &Path) -> bool {
    let is_named = path_in_environment().is_some();
    !is_root() && !is_named && path == default_path() && Path::new(ROOTS).join("iodyno").exists()
}

/// Path for results until the next boot, if [`default_path`] is on a read-only file system, as in a
/// rescue system; `None`: it is not, the user named a store, or this path is read-only too.
pub fn volatile_path() -> Option<PathBuf> {
    let base = if is_root() { Some("/run".into()) } else { variable("XDG_RUNTIME_DIR") };
    let other = base?.join("iodyno/store.sqlite");
    let is_named = path_in_environment().is_some();
    (!is_named && is_read_only(&default_path()) && !is_read_only(&other)).then_some(other)
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

impl Store {
    /// Opens the store for writing; creates it, and its folder (accessible only to the user), if
    /// missing.
    ///
    /// # Errors
    /// If it cannot be opened or written, is not a store, or has a newer version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut store = Self::at(&StoreFile::made(path)?, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        store.refuse_foreign()?;
        store.prepare().map_err(|error| store.explain(error))?;
        Ok(store)
    }

    /// Opens the store read-only.
    ///
    /// # Errors
    /// If it is missing or unreadable, is not a store, or has a newer version.
    pub fn open_existing_readonly(path: &Path) -> Result<Self, StoreError> {
        let store = Self::existing_readonly(path)?;
        let needs_writing = match store.refuse_foreign() {
            Ok(()) => store.version()? < migrations::VERSION,
            // A power cut or a kill during a commit.
            Err(StoreError::CutOff { .. }) => true,
            Err(other) => return Err(other),
        };
        if needs_writing {
            // Opening for writing migrates the store, and rolls back an interrupted commit.
            drop(store);
            return Self::open(path);
        }
        Ok(store)
    }

    /// Copies the store to memory and migrates it there: another host's file is not changed.
    ///
    /// # Errors
    /// As for [`Self::open_existing_readonly`].
    pub fn copy_of(path: &Path) -> Result<Self, StoreError> {
        let file = Self::existing_readonly(path)?;
        file.refuse_foreign()?;
        let mut copy = Self::connect(Path::new(MEMORY), OpenFlags::default())?;
        let copied = Backup::new(&file.connection, &mut copy.connection)
            .and_then(|backup| backup.run_to_completion(COPIED_PAGES, Duration::ZERO, None));
        copied.map_err(|error| file.explain(error))?;
        copy.path = path.into();
        copy.locks = Locks::of(path);
        copy.prepare().map_err(|error| copy.explain(error))?;
        Ok(copy)
    }

    /// Makes a store in memory, which ends with the process.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn in_memory() -> Result<Self, StoreError> {
        let mut store = Self::connect(Path::new(MEMORY), OpenFlags::default())?;
        store.prepare().map_err(|error| store.explain(error))?;
        Ok(store)
    }

    /// Makes a store in memory in place of the one at `path`, which failed with `why`; it has its
    /// runs, if they can be read.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn in_place_of(path: &Path, why: StoreError) -> Result<Self, StoreError> {
        let copy = match why {
            // A reader would wait for the lock as long again.
            StoreError::Locked { .. } => Self::in_memory(),
            _ => Self::copy_of(path).or_else(|_| Self::in_memory()),
        };
        Ok(Self { locks: Locks::default(), path: path.into(), aside: Some(why), ..copy? })
    }

    fn existing_readonly(path: &Path) -> Result<Self, StoreError> {
        match StoreFile::existing(path)? {
            Some(file) => Self::at(&file, OpenFlags::SQLITE_OPEN_READ_ONLY),
            None => Err(StoreError::Missing { path: path.into() }),
        }
    }

    fn at(file: &StoreFile, flags: OpenFlags) -> Result<Self, StoreError> {
        let store = Self::connect(&file.path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)?;
        // SQLite reads and writes nothing before the first statement.
        file.check_unchanged()?;
        Ok(store)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|error| StoreError::Open { path: path.into(), reason: error.to_string() })?;
        let locks = if path == Path::new(MEMORY) { Locks::default() } else { Locks::of(path) };
        let store = Self { connection, locks, path: path.into(), aside: None };
        store.set_busy_timeout(BUSY_TIMEOUT)?;
        Ok(store)
    }

    /// Sets how long a write waits for another iodyno to finish writing; default 15 s.
    ///
    /// # Errors
    /// Errors of SQLite.
    pub fn set_busy_timeout(&self, time: Duration) -> Result<(), StoreError> {
        self.connection.busy_timeout(time).map_err(|error| self.explain(error))
    }

    fn prepare(&mut self) -> rusqlite::Result<()> {
        // A rollback journal and a sync per commit: measurements survive a power cut, and one file
        // is the whole store. Commits happen between measurements, so their milliseconds do not
        // matter. EXTRA also syncs the folder: with FULL the rollback journal could reappear after
        // a power cut and revert the last commit.
        self.connection.pragma_update(None, "synchronous", "EXTRA")?;
        self.connection.pragma_update(None, "foreign_keys", true)?;
        if migrations::version(&self.connection)? == 0 {
            self.connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        migrations::migrate(&mut self.connection)
    }

    /// Checks that the journal can be trusted: only this user, root, and a group given the file may
    /// have written it.
    ///
    /// # Errors
    /// If another user owns it, or every user may write it.
    pub fn refuse_untrusted(&self) -> Result<(), StoreError> {
        use std::os::unix::fs::MetadataExt as _;
        if self.path == Path::new(MEMORY) {
            return Ok(());
        }
        let uid_of = |path: &Path| path.metadata().map(|found| (found.uid(), found.mode()));
        let looked =
            uid_of(&self.path).and_then(|found| Ok((found, uid_of(Path::new("/proc/self"))?)));
        let ((uid, mode), (own, _)) = looked.map_err(|error| StoreError::Open {
            path: self.path.clone(),
            reason: error.to_string(),
        })?;
        match [0, own].contains(&uid) && mode & WORLD_WRITABLE == 0 {
            true => Ok(()),
            false => Err(StoreError::OfOthers { path: self.path.clone(), uid }),
        }
    }

    /// Refuses databases of other programs and of newer versions.
    fn refuse_foreign(&self) -> Result<(), StoreError> {
        // Other programs use the name `schema_version`, too.
        let ours = "name IN ('run', 'snapshot', 'measurement', 'journal')";
        let (objects, ours): (i64, i64) = self
            .connection
            .query_row(
                &format!("SELECT count(*), count(*) FILTER (WHERE {ours}) FROM sqlite_schema"),
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(|error| self.explain(error))?;
        if objects > 0 && ours < 4 {
            return Err(StoreError::NotAStore { path: self.path.clone() });
        }
        let found = self.version()?;
        if found > migrations::VERSION {
            let path = self.path.clone();
            return Err(StoreError::Newer { path, found, known: migrations::VERSION });
        }
        if objects == 0 && self.connection.is_readonly(rusqlite::MAIN_DB).unwrap_or(false) {
            return Err(StoreError::Missing { path: self.path.clone() });
        }
        Ok(())
    }

    fn version(&self) -> Result<i64, StoreError> {
        migrations::version(&self.connection).map_err(|error| self.explain(error))
    }

    /// Converts an SQLite error to one that says what to do.
    pub(crate) fn explain(&self, error: rusqlite::Error) -> StoreError {
        let path = self.path.clone();
        match error.sqlite_error_code() {
            Some(ErrorCode::ReadOnly)
                if error.sqlite_extended_error_code() == Some(HOT_JOURNAL) =>
            {
                StoreError::CutOff { path }
            }
            Some(ErrorCode::ReadOnly) if error.sqlite_extended_error_code() == Some(MOVED) => {
                StoreError::Open { path, reason: "it was removed or replaced meanwhile".into() }
            }
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
            Some(ErrorCode::NotADatabase) => StoreError::NotAStore { path },
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Locked { path }
            }
            Some(ErrorCode::DatabaseCorrupt) => self.damaged("pages", error),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::Open { path, reason: error.to_string() }
            }
            _ => StoreError::Sqlite { path, error },
        }
    }

    pub(crate) fn damaged(&self, what: &'static str, reason: impl ToString) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what, reason: reason.to_string() }
    }
}
