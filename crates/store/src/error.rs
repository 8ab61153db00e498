//! What can go wrong with the store.

use std::path::PathBuf;

use iodyno_files::FileError;
use thiserror::Error;

/// Why the store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is none.
    #[error(
        "there is no store at {path}: nothing was measured yet, or --store names another place"
    )]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// What is at its place is no file: nothing was opened.
    #[error("the store {0}")]
    File(FileError),
    /// A word that SQLite would take for something else than a file.
    #[error(
        "--store {path}: the store is a file, since what was measured has to outlive the command; name one (./{path} if it is called that)"
    )]
    NotAName {
        /// As it was typed.
        path: PathBuf,
    },
    /// Its folder cannot be made, or the file not opened.
    #[error("the store {path} cannot be opened: {reason}; name another with --store PATH")]
    Open {
        /// Where it is.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// It may be read, not written.
    #[error("the store {path} is read-only; name another with --store PATH")]
    ReadOnly {
        /// Where it is.
        path: PathBuf,
    },
    /// A commit did not end, and it may only be read.
    #[error(
        "the last write to the store {path} was cut off: `iodyno runs --store {path}`, by one who may write it, takes it back"
    )]
    CutOff {
        /// Where it is.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{path} is not a store of iodyno; name another with --store PATH")]
    NotAStore {
        /// Where it is.
        path: PathBuf,
    },
    /// A later iodyno wrote it.
    #[error(
        "the store {path} has version {found}, this iodyno knows up to {known}: use a newer iodyno, or another store with --store PATH"
    )]
    Newer {
        /// Where it is.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// The disk under it is full.
    #[error("there is no room for the store {path}")]
    Full {
        /// Where it is.
        path: PathBuf,
    },
    /// It failed before; what is done to the machine could not be undone after a kill.
    #[error("the store {path} takes nothing any more, so nothing on this machine is changed")]
    Aside {
        /// Where it is.
        path: PathBuf,
    },
    /// A run of this name exists.
    #[error(
        "there is a run named `{0}` already: choose another --run-name, or `iodyno runs rm '{0}'` first"
    )]
    NameTaken(String),
    /// A name that would be misread.
    #[error(
        "a run cannot be named {0:?}: `last` means the newest run, and a name has no control characters"
    )]
    BadName(String),
    /// Another user may have written it, and it says what is to be removed.
    #[error(
        "{path} belongs to user {uid}, or every user may write it: what it says that runs left \
         behind is not undone on its word; run clean-up as that user, or chown and chmod it first"
    )]
    OfOthers {
        /// Where it is.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// Nobody knows whether a process works on it.
    #[error(
        "whether run {0} still goes on cannot be known here (an earlier version began it, or its \
         lock cannot be looked at): if it ended, `iodyno clean-up {0} --ended`"
    )]
    MayBeRunning(String),
    /// A process works on it.
    #[error("run {0} is going on: stop it first")]
    StillRunning(String),
    /// Its journal alone knows what it left behind.
    #[error("run {0} left something behind: `iodyno clean-up {0}` first")]
    PendingUndo(String),
    /// It would not read back.
    #[error("{what} cannot be stored: {reason}; this is a mistake in iodyno, please report it")]
    Unstorable {
        /// What.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// No run fits.
    #[error("there is no run `{0}`; `iodyno runs` lists them")]
    NoSuchRun(String),
    /// Several runs fit.
    #[error("`{selector}` fits {count} runs: give more of the id; `iodyno runs` lists them")]
    Ambiguous {
        /// As it was typed.
        selector: String,
        /// How many fit.
        count: usize,
    },
    /// Something stored cannot be read.
    #[error("the store {path} holds {what} that cannot be read: {reason}")]
    Damaged {
        /// Where it is.
        path: PathBuf,
        /// What.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// Another process holds it.
    #[error("the store {path} is locked by another process; end it, or wait")]
    Locked {
        /// Where it is.
        path: PathBuf,
    },
    /// SQLite says something else.
    #[error("the store {path}: {error}")]
    Sqlite {
        /// Where it is.
        path: PathBuf,
        /// What it says.
        error: rusqlite::Error,
    },
}
