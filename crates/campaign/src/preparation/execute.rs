//! Carries out a preparation, and records the state that it leaves.

use std::collections::BTreeSet;

use iodyno_host::Depth;
use iodyno_judge::Convergence;
use iodyno_model::{ConditionState, DriveState, Host, PreparationState, RunRecord};
use iodyno_target::{Purge, Target, WriteClearance, clear_for_purge, unmatched_permissions};

use super::purging::purge;
use super::{Conditioning, FillProgress, Preparing, zoned};
use crate::error::CampaignError;
use crate::execute::Execution;
use crate::scripts::{clear_script, run_on};
use crate::targets::key_of;
use crate::tools::now_ns;
use crate::watch::Event;

/// Prepares `targets`; sets `touched` once it begins to destroy their data.
pub(crate) fn prepare(
    execution: &mut Execution<'_, '_>,
    preparing: &Preparing,
    targets: &[Target],
    touched: &mut bool,
) -> Result<(), CampaignError> {
    let mut names: BTreeSet<String> = targets.iter().map(|one| one.name().to_owned()).collect();
    let permission = &execution.options.permission;
    let purges = match preparing.how.purge.filter(|_| preparing.filled.is_nothing()) {
        Some(method) => clear_for_purge(targets, execution.host, permission, method)?,
        None => Vec::new(),
    };
    let reached = || purges.iter().flat_map(Purge::reached);
    if !purges.is_empty() {
        let unused = unmatched_permissions(permission, reached());
        if let Some(word) = unused.into_iter().next() {
            return Err(CampaignError::UnusedAllowance(word));
        }
        names.extend(reached().map(|one| one.as_read().name().to_owned()));
    }
    let mut begun = ActivePreparation { execution, preparing, names, touched: false };
    let mut result = begun.prepare_cleared(targets, purges);
    if let (Ok(()), Some(conditioning)) = (&result, &preparing.condition) {
        result = begun.condition(conditioning);
    }
    *touched = begun.touched;
    if begun.touched {
        let execution = &mut *begun.execution;
        let state = match &result {
            _ if execution.tools.is_interrupted() => PreparationState::Interrupted,
            Ok(()) if !execution.failed => PreparationState::Done,
            _ => PreparationState::Failed,
        };
        let after = iodyno_host::snapshot(execution.tools.source, Depth::Full);
        execution.tools.store.add_snapshot(&execution.record.run.id, &after)?;
        begun.record(&after, state)?;
    }
    result
}

/// A preparation in progress.
struct ActivePreparation<'p, 'e, 'a, 't> {
    execution: &'e mut Execution<'a, 't>,
    preparing: &'p Preparing,
    /// Names of the devices whose data it destroys.
    names: BTreeSet<String>,
    /// Data is being destroyed.
    touched: bool,
}

impl ActivePreparation<'_, '_, '_, '_> {
    /// True if nothing more is to be carried out.
    fn is_over(&self) -> bool {
        self.execution.failed || self.execution.tools.is_interrupted()
    }

    fn prepare_cleared(
        &mut self,
        targets: &[Target],
        purges: Vec<Purge>,
    ) -> Result<(), CampaignError> {
        let (preparing, tools) = (self.preparing, &mut *self.execution.tools);
        let sentences =
            preparing.outline(targets, self.execution.host, tools.claims, tools.store)?;
        let commanded = preparing.how.purge.filter(|_| !purges.is_empty());
        if let Some(method) = commanded {
            tools.watcher.event(&Event::Expect(&sentences));
            self.begin()?;
            purge(self.execution, &purges, method);
        }
        // Words for devices that a purge only reached name nothing that is filled. Targets to fill
        // are cleared again, since they cannot be held twice.
        let named =
            |one: &&WriteClearance| targets.iter().any(|of| of.name() == one.as_read().name());
        let permission = match commanded {
            Some(_) => self
                .execution
                .options
                .permission
                .only_of(purges.iter().flat_map(Purge::reached).filter(named)),
            None => self.execution.options.permission.clone(),
        };
        drop(purges);
        let script = &preparing.jobs.script;
        if script.phases.is_empty() || self.is_over() {
            return Ok(());
        }
        let mut targets = clear_script(self.execution, script, &permission, !self.touched)?;
        if commanded.is_none() {
            self.execution.tools.watcher.event(&Event::Expect(&sentences));
            self.begin()?;
        }
        zoned::reset(&targets)?;
        run_on(self.execution, &preparing.jobs, &mut targets)
    }

    /// Runs the conditioning workload in rounds.
    fn condition(&mut self, conditioning: &Conditioning) -> Result<(), CampaignError> {
        let script = &conditioning.jobs.script;
        if script.phases.is_empty() || self.is_over() {
            return Ok(());
        }
        let permission = &self.execution.options.permission;
        let mut targets = clear_script(self.execution, script, permission, !self.touched)?;
        if !self.touched {
            self.begin()?;
        }
        run_on(self.execution, &conditioning.jobs, &mut targets)
    }

    /// Records, before anything is destroyed, that earlier states are void.
    fn begin(&mut self) -> Result<(), CampaignError> {
        self.record(self.execution.host, PreparationState::Begun)?;
        self.touched = true;
        Ok(())
    }

    /// Records the state of each namespace that can be identified later.
    fn record(&mut self, now: &Host, state: PreparationState) -> Result<(), CampaignError> {
        let (preparing, host) = (self.preparing, self.execution.host);
        let store = &mut *self.execution.tools.store;
        let record = store.load(&self.execution.record.run.id)?;
        let filled = FillProgress::of(&record);
        for name in &self.names {
            let Some((serial, nsid)) = key_of(name, host) else { continue };
            let health = now.namespace(name).and_then(|(drive, _)| drive.health.get());
            let capacity = host.block(name).and_then(|block| block.size.value());
            let state = DriveState {
                serial,
                nsid,
                run_id: Some(record.run.id.clone()),
                at_ns: now_ns(),
                state,
                purge: preparing.how.purge,
                fill: filled.state(name),
                condition: conditioned(preparing, &record, name),
                capacity_bytes: capacity.map(|size| size.0),
                host_written_bytes: health.map(|health| health.host_written_bytes),
            };
            store.add_drive_state(&state)?;
        }
        Ok(())
    }
}

/// Conditioning of a device so far, from the run's measurements.
fn conditioned(preparing: &Preparing, record: &RunRecord, name: &str) -> Option<ConditionState> {
    let workload = preparing.how.workload()?;
    let asked = preparing.how.rounds()?;
    let own = record.measurements.iter().filter(|of| of.targets == [name]);
    let found = Convergence::of(&asked, record.host(), own);
    let rounds = Some(found.rounds()).filter(|rounds| *rounds > 0)?;
    Some(ConditionState { workload, rounds, steady_in: found.steady_in })
}
