//! What killed runs left behind, undone by the journal.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use iodyno_host::Live;
use iodyno_store::{JournalEntry, SettingChange, Store, StoreError, WriteCacheChange, boot_id};
use iodyno_target::{FileIdentity, Removed};

use crate::error::CampaignError;
use crate::layouts::{Witness, undo};
use crate::settings::{Restored, Sysfs, WriteCacheState, restore, set_by_hand, switch_back};

/// Something that a run left behind.
#[derive(Debug)]
pub struct Undone {
    /// What: a scratch file's path, a setting's, a part of a layout.
    pub what: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of undoing something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A file was there, and is no more.
    Removed,
    /// A part of a layout stood, and does no more.
    TakenDown,
    /// A drive holds nothing any more.
    Emptied,
    /// A setting has this value again.
    Restored(String),
    /// Nothing was there to be undone: a thing on a drive that is gone is gone.
    Gone,
    /// It is somebody else's by now, and is left alone; a sentence says why.
    LeftAlone(String),
    /// Nothing proves that iodyno made it: it is left alone, and stays in the journal.
    Unproven {
        /// The command that undoes it, for who knows better.
        by_hand: String,
    },
    /// Of a run of which nobody knows whether it still goes on.
    MayBeRunning {
        /// The command that undoes it, for who knows that it ended.
        by_hand: String,
    },
    /// What its entry says cannot be read: why. It stays in the journal.
    Unreadable(String),
    /// It is ours and cannot be undone: why. It stays in the journal.
    Failed(String),
}

impl Outcome {
    /// Whether nothing is left to be done.
    pub const fn is_settled(&self) -> bool {
        !matches!(
            self,
            Self::Unproven { .. }
                | Self::MayBeRunning { .. }
                | Self::Unreadable(_)
                | Self::Failed(_)
        )
    }

    fn of(result: Result<Self, CampaignError>) -> Self {
        result.unwrap_or_else(|error| Self::Failed(error.to_string()))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed => f.write_str("removed"),
            Self::TakenDown => f.write_str("taken down"),
            Self::Emptied => f.write_str("emptied"),
            Self::Restored(value) => write!(f, "{value} again"),
            Self::Gone => f.write_str("is gone already"),
            Self::LeftAlone(why) => write!(f, "left alone: {why}"),
            Self::Unproven { by_hand } => {
                write!(f, "left alone: nothing proves that iodyno made it; if it did: {by_hand}")
            }
            Self::MayBeRunning { by_hand } => {
                write!(
                    f,
                    "left alone: whether it still goes on cannot be known; if it ended: {by_hand}"
                )
            }
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Self::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

/// Undoes what killed runs left behind, the last change first: of `run_id`, or
/// of all runs that no process works on any more. Only what proves to be
/// iodyno's is touched.
///
/// # Errors
/// The journal cannot be read or written, or others may have written it.
pub fn clean_up(store: &mut Store, run_id: Option<&str>) -> Result<Vec<Undone>, CampaignError> {
    let pending = store.journal_pending(run_id)?;
    if !pending.is_empty() {
        store.refuse_others()?;
    }
    let mut undone: Vec<Undone> = Vec::new();
    let mut held = BTreeSet::new();
    for pending in pending {
        let run_id = &pending.run_id;
        if pending.may_be_running {
            let by_hand = format!("iodyno clean-up {run_id} --ended");
            let this = Undone {
                what: format!("run {run_id}"),
                outcome: Outcome::MayBeRunning { by_hand },
            };
            if undone.last().is_none_or(|last| last.what != this.what) {
                undone.push(this);
            }
            continue;
        }
        // Nobody takes it up meanwhile.
        if !held.contains(run_id) {
            match store.hold(run_id) {
                Ok(()) => held.insert(run_id.clone()),
                Err(StoreError::StillRunning(_)) => continue,
                Err(error) => return Err(error.into()),
            };
        }
        let entry = match &pending.entry {
            Ok(entry) => entry,
            Err(damage) => {
                let what = format!("entry {} of run {run_id}", pending.ordinal);
                undone.push(Undone { what, outcome: Outcome::Unreadable(damage.clone()) });
                continue;
            }
        };
        let (what, outcome) = match entry {
            JournalEntry::ScratchFile { path, identity } => {
                (path.clone(), removed(path, *identity))
            }
            JournalEntry::Setting(change) => (change.path.clone(), restored(change)),
            JournalEntry::WriteCache(change) => (
                format!("volatile write cache of {}", change.controller),
                match change.boot_id == boot_id() {
                    true => switched_back(change),
                    false => Outcome::LeftAlone("the machine was restarted since".into()),
                },
            ),
            JournalEntry::Built(built) => {
                (built.title(), Outcome::of(undo(built, Witness::Journal)))
            }
        };
        if outcome.is_settled() {
            store.journal_done(run_id, pending.ordinal)?;
        }
        undone.push(Undone { what, outcome });
    }
    held.iter().for_each(|run_id| store.let_go(run_id));
    Ok(undone)
}

fn removed(path: &str, identity: Option<(u64, u64)>) -> Outcome {
    let identity = identity.map(|(device, inode)| FileIdentity { device, inode });
    match iodyno_target::remove_if_ours(Path::new(path), identity) {
        Ok(Removed::Yes) => Outcome::Removed,
        Ok(Removed::AlreadyGone) => Outcome::Gone,
        Ok(Removed::NotOurs | Removed::Unproven) => {
            Outcome::LeftAlone("something else has its name now".into())
        }
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

fn switched_back(change: &WriteCacheChange) -> Outcome {
    match switch_back(&Live::new(), change) {
        Ok(Restored::Yes) => Outcome::Restored(WriteCacheState::of(!change.on).name().into()),
        Ok(Restored::NotOurs | Restored::Gone) => Outcome::Gone,
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

fn restored(change: &SettingChange) -> Outcome {
    match &change.boot_id {
        Some(boot) if *boot != boot_id() => {
            return Outcome::LeftAlone("the machine was restarted since".into());
        }
        Some(_) => {}
        None => return set_by_hand(&Sysfs::default(), change),
    }
    match restore(&Sysfs::default(), change) {
        Ok(Restored::Yes) => Outcome::Restored(change.before.clone()),
        Ok(Restored::NotOurs) => Outcome::LeftAlone("somebody else set it since".into()),
        Ok(Restored::Gone) => Outcome::Gone,
        Err(error) => Outcome::Failed(error.to_string()),
    }
}
