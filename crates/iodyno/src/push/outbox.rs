//! Documents that are still to be given away, beside the store: `STORE.outbox/NAME` with
//! `NAME.to`, which lists the destinations that lack it.

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use iodyno_files::NamedBy;

use super::{Parcel, Reference, Refused};

/// What follows a document's name in that of the list of its destinations.
const TO: &str = ".to";
/// No document is longer, bytes.
const MOST_BYTES: u64 = 1 << 30;
/// No list of destinations is longer, bytes.
const MOST_TO_BYTES: u64 = 1 << 20;
/// Attempts for each destination …
const TRIES: u32 = 4;
/// … and the first pause between two: doubled each time, and between half of that and all of it.
const PAUSE: Duration = Duration::from_millis(500);

/// The documents of one store.
pub(crate) struct Outbox {
    folder: PathBuf,
}

/// What became of the documents.
#[derive(Debug, Default)]
pub(crate) struct Pushed {
    /// How many were given to all their destinations.
    pub(crate) done: usize,
    /// How many are still to be.
    pub(crate) left: usize,
    /// Destinations that took none, and why.
    pub(crate) refused: Vec<(Reference, String)>,
}

impl Outbox {
    /// That of the store at `store`.
    pub(crate) fn of(store: &Path) -> Self {
        let mut name = store.canonicalize().unwrap_or_else(|_| store.into()).into_os_string();
        name.push(".outbox");
        Self { folder: name.into() }
    }

    /// Keeps a document for `to`; it is on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn add(&self, name: &str, bytes: &[u8], to: &[Reference]) -> Result<()> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.with_context(|| format!("{} cannot be made", self.folder.display()))?;
        iodyno_files::leave(&self.folder, name, bytes)?;
        self.put_list(name, to)
    }

    /// Gives away what is kept, the oldest first, until `until`.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn push(&self, until: Instant) -> Result<Pushed> {
        let lists = iodyno_files::left_in(&self.folder, TO)
            .with_context(|| format!("{} cannot be read", self.folder.display()))?;
        let mut pushed = Pushed::default();
        // A destination that is away is not asked again for the next document.
        let mut away = BTreeSet::new();
        for list in &lists {
            let name = list.trim_end_matches(TO);
            let Ok((bytes, to)) = self.read(name) else {
                pushed.left += 1;
                continue;
            };
            let mut lacking = Vec::new();
            for reference in &to {
                let parcel = Parcel { name, bytes: &bytes, until };
                if away.contains(reference) {
                    lacking.push(reference.clone());
                } else if let Err(refused) = insisted(reference, &parcel) {
                    if refused.for_now {
                        away.insert(reference.clone());
                    }
                    lacking.push(reference.clone());
                    pushed.refused.push((reference.clone(), refused.why));
                }
            }
            if lacking.is_empty() {
                pushed.done += 1;
                self.forget(&format!("{name}{TO}"));
                self.forget(name);
            } else {
                pushed.left += 1;
                if lacking != to {
                    self.put_list(name, &lacking)?;
                }
            }
        }
        Ok(pushed)
    }

    fn read(&self, name: &str) -> Result<(Vec<u8>, Vec<Reference>)> {
        let list = self.folder.join(format!("{name}{TO}"));
        let to = serde_json::from_slice(&iodyno_files::read(&list, MOST_TO_BYTES)?)?;
        Ok((iodyno_files::read(&self.folder.join(name), MOST_BYTES)?, to))
    }

    fn put_list(&self, name: &str, to: &[Reference]) -> Result<()> {
        let list = self.folder.join(format!("{name}{TO}"));
        Ok(iodyno_files::write(&list, NamedBy::Iodyno, &serde_json::to_vec(to)?)?)
    }

    fn forget(&self, name: &str) {
        // Another iodyno may have given it away at the same time.
        let _ = iodyno_files::remove(&self.folder.join(name), |_| true);
    }
}

/// Gives `parcel` to a destination, again and again as long as that may help.
fn insisted(to: &Reference, parcel: &Parcel<'_>) -> Result<(), Refused> {
    let mut pause = PAUSE;
    let mut tries = 1;
    loop {
        let refused = match to.take(parcel) {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        };
        // A thousand machines that failed together are not to come back together.
        let wait = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        if !refused.for_now || tries == TRIES || Instant::now() + wait >= parcel.until {
            return Err(refused);
        }
        std::thread::sleep(wait);
        pause *= 2;
        tries += 1;
    }
}
