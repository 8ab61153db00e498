//! Scratch files of a run: in the journal before they are made, removed at the end.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use iodyno_model::Host;
use iodyno_store::JournalEntry;
use iodyno_target::{ReadClearance, ScratchFile, ScratchPlan, Target, TargetError};

use crate::error::CampaignError;
use crate::tools::Tools;
use crate::watch::Event;

/// Scratch files of a run, with their journal entries.
#[derive(Default)]
pub(crate) struct Scratches {
    files: Vec<(i64, ScratchFile)>,
}

impl Scratches {
    /// Makes one in the directory `target`, written for `writing_ns`, and clears it for reading.
    pub(crate) fn make(
        &mut self,
        tools: &mut Tools<'_>,
        run_id: &str,
        (target, host): (&Target, &Host),
        writing_ns: u64,
    ) -> Result<ReadClearance, CampaignError> {
        let plan = ScratchPlan::of(target, host, writing_ns)?;
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
                // Nothing is left to remove.
                tools.store.journal_mark_undone(run_id, ordinal)?;
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
            tools.store.journal_mark_undone(run_id, ordinal)?;
        }
        Ok(())
    }
}
