//! Finds what is left of a preparation whose run was stopped.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_job::script::Script;
use iodyno_judge::is_whole;
use iodyno_model::{Direction, FillState, Purpose, Run, RunKind, RunRecord, RunState};

use iodyno_store::Store;
use iodyno_target::Target;

use super::Preparing;
use super::fill::{FILL_BYTES, filled_bytes, whole_bytes};
use crate::error::CampaignError;
use crate::plan::{Preparation, Study};
use crate::schedule::ScriptJobs;

/// Progress of fills, by block device name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FillProgress {
    states: BTreeMap<String, FillState>,
    /// Devices whose last partial block is written.
    rests: BTreeSet<String>,
}

impl FillProgress {
    /// Progress from the measurements of a run.
    pub fn of(record: &RunRecord) -> Self {
        let mut filled = Self::default();
        for of in record.measurements.iter().filter(|of| of.purpose.is_fill()) {
            let [target] = of.targets.as_slice() else { continue };
            if of.purpose == Purpose::FillRest && is_whole(of) {
                filled.rests.insert(target.clone());
            }
            let written = of.result(Direction::Write).and_then(|one| one.whole_bytes.or(one.bytes));
            if let Some(bytes) = written {
                let state = filled
                    .states
                    .entry(target.clone())
                    .or_insert(FillState { written_bytes: 0, duration_ns: 0 });
                state.written_bytes += bytes;
                state.duration_ns += of.duration_ns.unwrap_or(0);
            }
        }
        filled
    }

    /// True if nothing was written yet.
    pub(crate) fn is_nothing(&self) -> bool {
        self.states.is_empty()
    }

    /// Fill of a device so far.
    pub(crate) fn state(&self, name: &str) -> Option<FillState> {
        self.states.get(name).copied().filter(|state| state.written_bytes > 0)
    }

    /// Bytes that need not be written again, in whole blocks, of the `bytes` to be written to a
    /// device of `size_bytes`. A pass without its last partial block is incomplete.
    pub(super) fn done_bytes(&self, name: &str, size_bytes: u64, bytes: u64) -> u64 {
        let Some(state) = self.state(name) else { return 0 };
        let has_rest = !size_bytes.is_multiple_of(FILL_BYTES) && bytes >= whole_bytes(size_bytes);
        let most_bytes = match has_rest && !self.rests.contains(name) {
            true => bytes.saturating_sub(FILL_BYTES),
            false => bytes,
        };
        (state.written_bytes / FILL_BYTES * FILL_BYTES).min(most_bytes)
    }
}

/// Last preparation of `targets`, if it was the same `study` and was stopped, so that it can be
/// resumed.
///
/// # Errors
/// The store cannot be read.
pub fn stopped(
    study: &Study,
    targets: &[Target],
    store: &Store,
) -> Result<Option<Run>, CampaignError> {
    let plan = study.to_toml()?;
    let names: Vec<&str> = targets.iter().map(Target::name).collect();
    let runs = store.runs()?.into_iter();
    let own = runs.filter(|run| run.kind == RunKind::Prepare && run.targets == names);
    let last = own.max_by_key(|run| run.started_ns);
    Ok(last.filter(|run| run.state == RunState::Interrupted && run.plan == plan))
}

impl Preparation {
    /// What the stopped run `record` lacks on `targets`; `None` if nothing. An interrupted purge is
    /// repeated, and so is a fill that was killed, whose bytes were not counted.
    ///
    /// # Errors
    /// As [`Preparation::of`].
    pub fn left(
        &self,
        record: &RunRecord,
        targets: &[Target],
    ) -> Result<Option<Preparing>, CampaignError> {
        // It was finished, since measuring began.
        if record.measurements.iter().any(|of| of.purpose.is_measure()) {
            return Ok(None);
        }
        let filled = FillProgress::of(record);
        let is_full = |target: &Target| {
            self.fill.zip(target.size_bytes()).is_some_and(|(times, size_bytes)| {
                let bytes = filled_bytes(size_bytes, times);
                filled.done_bytes(target.name(), size_bytes, bytes) == bytes && bytes > 0
            })
        };
        let is_conditioned = record.measurements.iter().any(|of| of.purpose == Purpose::Condition);
        let jobs = match is_conditioned || targets.iter().all(is_full) {
            true => ScriptJobs::once(Script::default(), &[]),
            false => self.jobs(targets, &filled)?,
        };
        let condition = self.conditioning(targets, Some(record))?;
        if jobs.script.phases.is_empty() && condition.is_none() && !record.measurements.is_empty() {
            return Ok(None);
        }
        Ok(Some(Preparing { how: self.clone(), jobs, filled, condition }))
    }
}
