//! Undoes what killed runs left behind, using the journal.

use std::collections::BTreeSet;
use std::path::Path;

use iodyno_host::Live;
use iodyno_model::{own_command, shell_word};
use iodyno_store::{
    JournalEntry, Pending, SettingChange, Store, StoreError, WriteCacheChange, boot_id,
};
use iodyno_target::{FileIdentity, Removed, TargetError};

use crate::error::CampaignError;
use crate::layouts::{Witness, undo};
use crate::plan::WriteCacheState;
use crate::profiles::is_made;
use crate::settings::{Restored, Sysfs, restore, set_by_hand, switch_back};
use crate::undone::{Outcome, Undone};

/// Undoes what killed runs left behind, the last change first: of `run_id`, or of all runs without
/// a process. Touches only what is proven to be iodyno's.
///
/// # Errors
/// The journal cannot be read or written, or others may have written it.
pub fn clean_up(store: &mut Store, run_id: Option<&str>) -> Result<Vec<Undone>, CampaignError> {
    let pending = store.journal_pending(run_id)?;
    if !pending.is_empty() {
        store.refuse_untrusted()?;
    }
    let mut undone: Vec<Undone> = Vec::new();
    let mut held = BTreeSet::new();
    // Runs with a layout that could not be taken down completely.
    let mut standing = BTreeSet::new();
    for pending in pending {
        let run_id = &pending.run_id;
        if let Some(outcome) = left_to_others(&pending) {
            let this = Undone { what: format!("run {run_id}"), outcome };
            if undone.last().is_none_or(|last| last.what != this.what) {
                undone.push(this);
            }
            continue;
        }
        // Held, so that no other process resumes it meanwhile.
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
            JournalEntry::FitFile { path, identity } => {
                (path.clone(), fit_removed(path, *identity))
            }
            JournalEntry::Setting(change) => (change.path.clone(), restored(change)),
            JournalEntry::WriteCache(change) => (
                format!("volatile write cache of {}", change.controller),
                match change.boot_id == boot_id() {
                    true => switched_back(change),
                    false => Outcome::LeftAlone("the machine was rebooted since".into()),
                },
            ),
            JournalEntry::Built(built) if standing.contains(run_id) => {
                let why = "the layer above it could not be taken down".into();
                (built.title(), Outcome::Failed(why))
            }
            JournalEntry::Built(built) => {
                (built.title(), Outcome::of(undo(built, Witness::Journal)))
            }
        };
        if matches!((entry, &outcome), (JournalEntry::Built(_), Outcome::Failed(_))) {
            standing.insert(run_id.clone());
        }
        if outcome.is_settled() {
            store.journal_mark_undone(run_id, pending.ordinal)?;
        }
        undone.push(Undone { what, outcome });
    }
    held.iter().for_each(|run_id| store.release_lock(run_id));
    Ok(undone)
}

/// Reason not to undo a run here, or now.
fn left_to_others(pending: &Pending) -> Option<Outcome> {
    let run_id = &pending.run_id;
    if let Some(host) = pending.elsewhere.clone() {
        let by_hand = own_command(&format!("clean-up {run_id} --here"));
        return Some(Outcome::Elsewhere { host, by_hand });
    }
    let by_hand = own_command(&format!("clean-up {run_id} --ended"));
    pending.may_be_running.then_some(Outcome::MayBeRunning { by_hand })
}

/// Settles the journal entries of the files that `run_id` made for an application's profile and
/// has removed by now.
///
/// # Errors
/// The journal cannot be read or written.
pub(crate) fn settle_fit_files(store: &mut Store, run_id: &str) -> Result<(), CampaignError> {
    for pending in store.journal_pending(Some(run_id))? {
        if let Ok(JournalEntry::FitFile { path, identity }) = &pending.entry
            && fit_removed(path, *identity).is_settled()
        {
            store.journal_mark_undone(run_id, pending.ordinal)?;
        }
    }
    Ok(())
}

/// Other runs of the same profile use the same names: only the very file is removed.
fn fit_removed(path: &str, identity: Option<(u64, u64)>) -> Outcome {
    let file = Path::new(path);
    match identity {
        _ if !is_made(path) => Outcome::LeftAlone("its name is no temporary file's".into()),
        None if file.symlink_metadata().is_err() => Outcome::Gone,
        None => Outcome::Unproven { by_hand: format!("rm {}", shell_word(path)) },
        Some((device, inode)) => {
            outcome(iodyno_target::remove_exactly(file, FileIdentity { device, inode }))
        }
    }
}

fn removed(path: &str, identity: Option<(u64, u64)>) -> Outcome {
    let identity = identity.map(|(device, inode)| FileIdentity { device, inode });
    outcome(iodyno_target::remove_if_ours(Path::new(path), identity))
}

fn outcome(removed: Result<Removed, TargetError>) -> Outcome {
    match removed {
        Ok(Removed::Yes) => Outcome::Removed,
        Ok(Removed::AlreadyGone) => Outcome::Gone,
        Ok(Removed::NotOurs | Removed::Unproven) => {
            Outcome::LeftAlone("its name is now in other use".into())
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
            return Outcome::LeftAlone("the machine was rebooted since".into());
        }
        Some(_) => {}
        None => return set_by_hand(&Sysfs::default(), change),
    }
    match restore(&Sysfs::default(), change) {
        Ok(Restored::Yes) => Outcome::Restored(change.before.clone()),
        Ok(Restored::NotOurs) => Outcome::LeftAlone("changed by others since".into()),
        Ok(Restored::Gone) => Outcome::Gone,
        Err(error) => Outcome::Failed(error.to_string()),
    }
}
