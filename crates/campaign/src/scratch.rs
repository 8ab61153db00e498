//! Scratch files of a run: in the journal before they are made, gone afterwards.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use iodyno_store::{JournalEntry, Store};
use iodyno_target::{
    FileIdentity, ReadClearance, Removed, ScratchFile, ScratchPlan, Target, TargetError,
};

use crate::error::CampaignError;
use crate::execute::Tools;
use crate::layouts::undo;
use crate::watch::Event;

/// The scratch files of a run, with their entries in the journal.
#[derive(Default)]
pub(crate) struct Scratches {
    files: Vec<(i64, ScratchFile)>,
}

impl Scratches {
    /// Makes one in the directory `target` and clears it for reading.
    pub(crate) fn make(
        &mut self,
        tools: &mut Tools<'_>,
        run_id: &str,
        target: &Target,
    ) -> Result<ReadClearance, CampaignError> {
        let plan = ScratchPlan::of(target)?;
        let entry =
            JournalEntry::ScratchFile { path: plan.path().display().to_string(), identity: None };
        let ordinal = tools.store.journal_add(run_id, &entry)?;
        let made = ScratchFile::create(&plan, &mut |written_bytes, elapsed_ns| {
            let most_bytes = plan.most_bytes();
            let directory = target.name();
            tools.watcher.event(&Event::Scratch {
                directory,
                written_bytes,
                most_bytes,
                elapsed_ns,
            });
            match tools.interrupted.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        match made {
            Ok(file) => {
                let clearance = file.clear_for_reading()?;
                self.files.push((ordinal, file));
                Ok(clearance)
            }
            Err(error) => {
                // Nothing of it is left.
                tools.store.journal_done(run_id, ordinal)?;
                Err(match error {
                    TargetError::Interrupted { .. } => CampaignError::Interrupted,
                    error => error.into(),
                })
            }
        }
    }

    /// Removes them all, the last one first.
    pub(crate) fn remove(
        mut self,
        tools: &mut Tools<'_>,
        run_id: &str,
    ) -> Result<(), CampaignError> {
        while let Some((ordinal, mut file)) = self.files.pop() {
            file.remove()?;
            tools.store.journal_done(run_id, ordinal)?;
        }
        Ok(())
    }
}

/// Something that was undone, or could not be.
#[derive(Debug)]
pub struct Undone {
    /// What: a scratch file's path.
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
            JournalEntry::Built(built) => (built.title(), undo(built)),
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
