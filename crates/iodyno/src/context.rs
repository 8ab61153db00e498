//! State that every command needs: the store, the source of facts, output settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;
use iodyno_campaign::CampaignError;
use iodyno_files::{NameOrigin, There};
use iodyno_host::{Captured, Live, Source};
use iodyno_judge::ClaimBook;
use iodyno_report::text::clean;
use iodyno_store::{Store, StoreError};

use crate::arguments::{DataSheets, Global, LiveView, When};
use crate::terminal;

/// Global options, resolved.
pub(crate) struct Context {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) color: When,
    /// View of the progress; `None`: chosen automatically.
    pub(crate) live: Option<LiveView>,
    /// Set when the user interrupts.
    pub(crate) interrupted: Arc<AtomicBool>,
    /// A verdict is given also without a store to keep it in.
    pub(crate) verdict_first: bool,
    /// A step of `accept`: without targets it measures nothing.
    pub(crate) is_step: bool,
    /// Set when some of the named inputs could not be read, or results not be stored.
    pub(crate) incomplete: Arc<AtomicBool>,
    store: PathBuf,
    /// Store in use until the next boot, since `store` is read-only.
    volatile_path: Option<PathBuf>,
    sysroot: Option<PathBuf>,
}

/// Maximum length of a job file, plan or data sheet, bytes.
pub(crate) const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Error that the user has to correct: exit status 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Returns a [`Usage`] error from the function around it; arguments as of `format!`.
macro_rules! bail_usage {
    ($($words:tt)*) => { return Err($crate::context::Usage(format!($($words)*)).into()) };
}
pub(crate) use bail_usage;

impl Context {
    pub(crate) fn new(global: &Global) -> Self {
        let default = iodyno_store::default_path();
        let volatile_path = iodyno_store::volatile_path();
        // `accept` names the store to its steps.
        let is_usual = |path: &&PathBuf| **path == default || Some(*path) == volatile_path.as_ref();
        let by_sudo =
            rustix::process::geteuid().is_root() && std::env::var_os("SUDO_UID").is_some();
        let store = match iodyno_store::path_in_environment() {
            // sudo passes on no variables.
            Some(path) if by_sudo => Some(global.store.clone().unwrap_or(path)),
            _ => global.store.clone().filter(|path| !is_usual(&path)),
        };
        iodyno_model::set_called(by_sudo, store.as_deref());
        Self {
            json: global.json,
            quiet: global.quiet,
            color: global.color,
            live: global.live,
            interrupted: Arc::default(),
            verdict_first: global.as_step,
            is_step: global.as_step,
            incomplete: Arc::default(),
            volatile_path: volatile_path.filter(|_| global.store.is_none()),
            store: global.store.clone().unwrap_or(default),
            sysroot: global.sysroot.clone(),
        }
    }

    /// Notes that some of the named inputs could not be read.
    pub(crate) fn note_unreadable(&self) {
        self.incomplete.store(true, Ordering::Relaxed);
    }

    /// True if some of the named inputs could not be read, or results not be stored.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete.load(Ordering::Relaxed)
    }

    /// Returns the source of the machine's facts, live or captured.
    pub(crate) fn source(&self) -> Result<Box<dyn Source>> {
        if let Some(directory) = &self.sysroot {
            return Ok(Box::new(Captured::open(directory)?));
        }
        if !Path::new("/proc/self").exists() {
            let why = "/proc is not mounted, so iodyno cannot see who uses a drive";
            bail_usage!("{why}: mount -t proc proc /proc");
        }
        Ok(Box::new(Live::new()))
    }

    /// True if the facts are another machine's: nothing can be measured.
    pub(crate) fn is_captured(&self) -> bool {
        self.sysroot.is_some()
    }

    /// Refuses what a captured machine cannot do; `why`: `cannot be measured`.
    pub(crate) fn refuse_captured(&self, why: &str) -> Result<()> {
        if self.is_captured() {
            bail_usage!("a captured machine {why}");
        }
        Ok(())
    }

    /// Path of the store in use.
    pub(crate) fn store_path(&self) -> &Path {
        self.volatile_path.as_ref().unwrap_or(&self.store)
    }

    /// Paths of the store and of the one in use until the next boot.
    pub(crate) fn stores(&self) -> impl Iterator<Item = &Path> {
        [&self.store].into_iter().chain(&self.volatile_path).map(PathBuf::as_path)
    }

    /// Global options that make another iodyno use the same store and machine.
    pub(crate) fn global_args(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--store".into(), self.store_path().into()];
        words.extend(self.quiet.then(|| "--quiet".into()));
        let live = self.live.and_then(|view| view.to_possible_value());
        words.extend(live.map(|view| format!("--live={}", view.get_name()).into()));
        if let Some(sysroot) = &self.sysroot {
            words.extend(["--sysroot".into(), sysroot.into()]);
        }
        words
    }

    /// Opens the store for writing.
    pub(crate) fn store(&self) -> Result<Store> {
        if let Some(other) = &self.volatile_path {
            terminal::note(&clean(&format!(
                "the store {} is read-only: results go to {} until the next boot",
                self.store.display(),
                other.display()
            )));
        }
        match Store::open(self.store_path()) {
            // As on a disk that is full: the store says later what it could not keep.
            Err(error) if self.verdict_first && !error.is_of_name() => {
                Ok(Store::in_place_of(self.store_path(), error)?)
            }
            opened => Ok(opened?),
        }
    }

    /// Opens the store read-only.
    pub(crate) fn store_to_read(&self) -> Result<Store> {
        let other = self.volatile_path.as_ref().filter(|other| other.exists());
        Ok(Store::open_existing_readonly(other.unwrap_or(&self.store))?)
    }

    /// Opens the store read-only; `None`: there is none yet.
    pub(crate) fn existing_store(&self) -> Result<Option<Store>> {
        match self.store_to_read() {
            Ok(store) => Ok(Some(store)),
            Err(error) => match error.downcast_ref() {
                Some(StoreError::Missing { .. }) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Data sheets (built-in, from the user's own folder, and named ones) and contracts of volumes.
    pub(crate) fn claims(&self, sheets: &DataSheets) -> Result<ClaimBook> {
        let mut book = ClaimBook::builtin();
        let mut files = user_datasheets();
        files.extend_from_slice(&sheets.datasheet);
        for file in files {
            let text = read(&file).context("data sheet")?;
            book.add_toml(&text, &file.display().to_string())?;
        }
        for stated in &sheets.volume {
            book.add_volume(stated).map_err(|error| Usage(format!("--volume: {error}")))?;
        }
        Ok(book)
    }
}

/// `*.toml` in the XDG configuration directory's iodyno/datasheets.
fn user_datasheets() -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let Some(configuration) =
        variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")))
    else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(configuration.join("iodyno/datasheets")) else {
        return Vec::new();
    };
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_toml).collect();
    files.sort();
    files
}

/// Reads a plan, a data sheet or expectations that the user named.
pub(crate) fn read(path: &Path) -> Result<String> {
    let bytes =
        iodyno_files::read(path, MAX_TEXT_BYTES).map_err(|error| Usage(error.to_string()))?;
    String::from_utf8(bytes)
        .map_err(|_| Usage(format!("{} cannot be read: it is not UTF-8", path.display())).into())
}

/// Writes a file that the user named; on an error a new one is removed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let is_new = matches!(iodyno_files::look(path, NameOrigin::User), Ok(There::Nothing));
    iodyno_files::write(path, NameOrigin::User, bytes).map_err(|error| {
        if is_new
            && let Ok(There::File(ours)) = iodyno_files::look(path, NameOrigin::Iodyno)
            && let Ok(path) = std::path::absolute(path)
        {
            let is_ours = |stat: &rustix::fs::Stat| iodyno_files::FileIdentity::of(stat) == ours;
            let _ = iodyno_files::remove(&path, is_ours);
        }
        Usage(error.to_string()).into()
    })
}

/// Exit status of an error: 3 if a measurement was interrupted, else 2.
pub(crate) fn status_of(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<CampaignError>() {
        Some(CampaignError::Interrupted) => 3,
        _ => 2,
    }
}
