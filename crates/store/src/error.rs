//! Errors of the store.

use std::path::{Path, PathBuf};

use iodyno_files::FileError;
use iodyno_model::{own_command, shell_word};
use thiserror::Error;

use crate::open::{BUSY_TIMEOUT, has_only_roots};

/// Error of the store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The store does not exist.
    #[error(
        "no store at {path}: nothing measured yet, or --store names another path{}",
        of_root(path)
    )]
    Missing {
        /// Path that was tried.
        path: PathBuf,
    },
    /// The path is not a regular file; nothing was opened.
    #[error("the store {0}")]
    File(FileError),
    /// A name that SQLite would not take for a file.
    #[error(
        "--store {path}: the store must be a file, since results have to outlive the command; name one (./{path} if that is its name)"
    )]
    NotAName {
        /// Path as typed.
        path: PathBuf,
    },
    /// No path was given, and the user has no home directory.
    #[error("no home directory to keep the store in: name the store with --store PATH")]
    NoHome,
    /// The folder cannot be created, or the file cannot be opened.
    #[error("the store {path} cannot be opened: {reason}; name another with --store PATH")]
    Open {
        /// Path of the store.
        path: PathBuf,
        /// System's error message.
        reason: String,
    },
    /// The store is readable but not writable.
    #[error("the store {path} is read-only; name another with --store PATH")]
    ReadOnly {
        /// Path of the store.
        path: PathBuf,
    },
    /// A commit was interrupted, and the store is read-only.
    #[error(
        "the last write to the store {path} was cut off: `iodyno runs --store {path}`, as a user who may write, rolls it back"
    )]
    CutOff {
        /// Path of the store.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{path} is not an iodyno store; name another with --store PATH")]
    NotAStore {
        /// Path of the file.
        path: PathBuf,
    },
    /// Written by a newer iodyno.
    #[error(
        "the store {path} has version {found}, this iodyno knows up to {known}: use a newer iodyno, or another store with --store PATH"
    )]
    Newer {
        /// Path of the store.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// Newest known schema version.
        known: i64,
    },
    /// The disk is full.
    #[error("no space left for the store {path}: free some, or name another with --store PATH")]
    Full {
        /// Path of the store.
        path: PathBuf,
    },
    /// The store failed before; changes of the machine could not be undone after a kill.
    #[error("the store {path} cannot be written, so nothing on this machine is changed")]
    Aside {
        /// Path of the store.
        path: PathBuf,
    },
    /// A run of this name exists.
    #[error(
        "a run named `{0}` already exists: choose another --run-name, or `{next}` first",
        next = of_run("runs rm", .0, "")
    )]
    NameTaken(String),
    /// The name is reserved or has control characters.
    #[error(
        "a run cannot be named {0:?}: `last` means the newest run, and a name has no control characters"
    )]
    BadName(String),
    /// Another user may have written the store, whose journal says what to remove.
    #[error(
        "{path} belongs to user {uid}, or every user may write it: its list of leftovers is not trusted; run clean-up as that user, or chown and chmod it first"
    )]
    OfOthers {
        /// Path of the store.
        path: PathBuf,
        /// Owner of the file.
        uid: u32,
    },
    /// It cannot be known whether a process works on the run.
    #[error(
        "run {0} may still be in progress (begun by an earlier version, or its lock cannot be checked): if it ended, `{next}`",
        next = of_run("clean-up", .0, " --ended")
    )]
    MayBeRunning(String),
    /// A process works on the run.
    #[error("{0}")]
    StillRunning(Worker),
    /// The run left something behind that only its journal lists.
    #[error(
        "run {0} left something behind: `{next}` first",
        next = of_run("clean-up", .0, "")
    )]
    PendingUndo(String),
    /// The value would not read back.
    #[error("cannot store {what}: {reason}; this is a bug in iodyno, please report it")]
    Unstorable {
        /// Kind of value.
        what: &'static str,
        /// Reason.
        reason: String,
    },
    /// No run matches.
    #[error("no run `{0}`; `{runs}` lists them", runs = own_command("runs"))]
    NoSuchRun(String),
    /// Several runs match.
    #[error(
        "`{selector}` matches {count} runs: give a longer id; `{runs}` lists them",
        runs = own_command("runs")
    )]
    Ambiguous {
        /// Selector as typed.
        selector: String,
        /// Number of matching runs.
        count: usize,
    },
    /// Stored data cannot be read.
    #[error("the store {path} holds {what} that cannot be read: {reason}")]
    Damaged {
        /// Path of the store.
        path: PathBuf,
        /// Kind of data.
        what: &'static str,
        /// Reason.
        reason: String,
    },
    /// Locked by another process.
    #[error("the store {path} is locked by another process, for {} s now: wait until it ends; `fuser {path}` names it", BUSY_TIMEOUT.as_secs())]
    Locked {
        /// Path of the store.
        path: PathBuf,
    },
    /// Another SQLite error.
    #[error("the store {path}: {error}")]
    Sqlite {
        /// Path of the store.
        path: PathBuf,
        /// SQLite's error.
        error: rusqlite::Error,
    },
}

/// A run in progress and its process, if this one can see it.
#[derive(Debug, Error)]
#[error("run {run_id} is running: stop it first ({})", stop(*pid))]
pub struct Worker {
    pub(crate) run_id: String,
    pub(crate) pid: Option<u32>,
}

fn stop(pid: Option<u32>) -> String {
    let own_terminal = "Ctrl-C where it was started";
    pid.map_or_else(|| own_terminal.into(), |pid| format!("kill -INT {pid}, or {own_terminal}"))
}

fn of_run(command: &str, run: &str, option: &str) -> String {
    own_command(&format!("{command} {}{option}", shell_word(run)))
}

/// Where the runs of root are, for a user without a store.
fn of_root(path: &Path) -> &'static str {
    match has_only_roots(path) {
        true => "; those of root: sudo iodyno runs",
        false => "",
    }
}
