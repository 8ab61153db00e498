//! What killed runs left behind, undone by the journal.

use std::path::Path;

use iodyno_store::{JournalEntry, SettingChange, Store};
use iodyno_target::{FileIdentity, Removed};

use crate::error::CampaignError;
use crate::layouts::undo;
use crate::settings::{Restored, Sysfs, restore};

/// Something that was undone, or could not be.
#[derive(Debug)]
pub struct Undone {
    /// What: a scratch file's path, a setting's, a part of a layout.
    pub what: String,
    /// What came of it, in words, or why it could not be undone.
    pub outcome: Result<String, String>,
}

/// Undoes what killed runs left behind, the last change first: of `run_id`, or
/// of all runs that no process works on any more.
///
/// # Errors
/// The journal cannot be read or written.
pub fn clean_up(store: &mut Store, run_id: Option<&str>) -> Result<Vec<Undone>, CampaignError> {
    let mut undone = Vec::new();
    for pending in store.journal_pending(run_id)? {
        let (what, outcome) = match &pending.entry {
            JournalEntry::ScratchFile { path, identity } => {
                (path.clone(), removed(path, *identity))
            }
            JournalEntry::Setting(change) => (change.path.clone(), restored(change)),
            JournalEntry::Built(built) => {
                (built.title(), undo(built).map(|outcome| outcome.to_string()))
            }
        };
        if outcome.is_ok() {
            store.journal_done(&pending.run_id, pending.ordinal)?;
        }
        undone.push(Undone { what, outcome });
    }
    Ok(undone)
}

fn removed(path: &str, identity: Option<(u64, u64)>) -> Result<String, String> {
    let identity = identity.map(|(device, inode)| FileIdentity { device, inode });
    let removed = iodyno_target::remove_if_ours(Path::new(path), identity);
    let words = match removed.map_err(|error| error.to_string())? {
        Removed::Yes => "removed",
        Removed::AlreadyGone => "was gone already",
        Removed::NotOurs => "left alone: something else has its name now",
    };
    Ok(words.to_owned())
}

fn restored(change: &SettingChange) -> Result<String, String> {
    let restored = restore(&Sysfs::default(), change);
    Ok(match restored.map_err(|error| error.to_string())? {
        Restored::Yes => format!("{} again", change.before),
        Restored::NotOurs => "left alone: somebody else set it since".to_owned(),
        Restored::Gone => "is gone already".to_owned(),
    })
}
