//! A preparation carried out, and the state that it leaves recorded.

use std::collections::BTreeSet;

use iodyno_host::Depth;
use iodyno_job::script::Script;
use iodyno_judge::Convergence;
use iodyno_model::{ConditionState, DriveState, Host, PreparationState, RunRecord};
use iodyno_target::{Purge, Target, WriteClearance, clear_for_purge, unused_allowances};

use super::{Conditioning, Filled, Preparing, key_of, zoned};
use crate::error::CampaignError;
use crate::execute::{Campaign, now_ns};
use crate::rounds::turns_once;
use crate::watch::Event;

impl Campaign<'_, '_> {
    /// Prepares `targets`; `script`, the plan's own, is carried out after it.
    pub(crate) fn prepare(
        &mut self,
        preparing: &Preparing,
        targets: &[Target],
        script: &Script,
    ) -> Result<(), CampaignError> {
        let names: BTreeSet<String> = targets.iter().map(|one| one.name().to_owned()).collect();
        let permission = &self.options.permission;
        let purges = match preparing.how.purge.filter(|_| preparing.filled.is_nothing()) {
            Some(method) => clear_for_purge(targets, self.host, permission, method)?,
            None => Vec::new(),
        };
        let mut touched = names.clone();
        let reached = || purges.iter().flat_map(Purge::reached);
        if !purges.is_empty() {
            let unused = unused_allowances(permission, reached());
            if let Some(word) = unused.into_iter().next() {
                return Err(CampaignError::UnusedAllowance(word));
            }
            touched.extend(reached().map(|one| one.as_read().name().to_owned()));
        }
        let mut result = self.prepare_cleared(preparing, targets, purges, &touched);
        if let (Ok(()), Some(conditioning)) = (&result, &preparing.condition) {
            result = self.condition(preparing, conditioning, &touched);
        }
        if self.touched {
            let state = match &result {
                _ if self.is_interrupted() => PreparationState::Interrupted,
                Ok(()) if !self.failed => PreparationState::Done,
                _ => PreparationState::Failed,
            };
            let after = iodyno_host::snapshot(self.tools.source, Depth::Full);
            self.tools.store.add_snapshot(&self.run_id, &after)?;
            self.record(preparing, &touched, &after, state)?;
        }
        result?;
        match self.is_over(script) {
            true => Ok(()),
            false => self.play(script),
        }
    }

    /// Nothing of `script` is to be carried out any more.
    fn is_over(&self, script: &Script) -> bool {
        script.phases.is_empty() || self.failed || self.is_interrupted()
    }

    fn prepare_cleared(
        &mut self,
        preparing: &Preparing,
        targets: &[Target],
        purges: Vec<Purge>,
        touched: &BTreeSet<String>,
    ) -> Result<(), CampaignError> {
        let (host, claims) = (self.host, self.tools.claims);
        let sentences = preparing.outline(targets, host, claims, self.tools.store)?;
        let commanded = preparing.how.purge.filter(|_| !purges.is_empty());
        if let Some(method) = commanded {
            self.tools.watcher.event(&Event::Expect(&sentences));
            self.begin(preparing, touched)?;
            self.purge(&purges, method);
        }
        // Words for what was only reached name nothing that is filled. What is
        // filled is cleared anew, since it cannot be held twice.
        let named =
            |one: &&WriteClearance| targets.iter().any(|of| of.name() == one.as_read().name());
        let permission = match commanded {
            Some(_) => self
                .options
                .permission
                .only_of(purges.iter().flat_map(Purge::reached).filter(named)),
            None => self.options.permission.clone(),
        };
        drop(purges);
        let script = &preparing.script;
        if self.is_over(script) {
            return Ok(());
        }
        let places = self.places(script, &permission)?;
        if commanded.is_none() {
            self.tools.watcher.event(&Event::Expect(&sentences));
            self.begin(preparing, touched)?;
        }
        zoned::reset(&places)?;
        self.play_on(script, &places, turns_once(script))
    }

    /// Runs the workload that conditions the drives, in rounds.
    fn condition(
        &mut self,
        preparing: &Preparing,
        conditioning: &Conditioning,
        touched: &BTreeSet<String>,
    ) -> Result<(), CampaignError> {
        let script = &conditioning.script;
        if self.is_over(script) {
            return Ok(());
        }
        let places = self.places(script, &self.options.permission)?;
        if !self.touched {
            self.begin(preparing, touched)?;
        }
        self.play_on(script, &places, conditioning.rounds.turns(script))
    }

    /// Records, before anything is destroyed, that what was known is over.
    fn begin(
        &mut self,
        preparing: &Preparing,
        touched: &BTreeSet<String>,
    ) -> Result<(), CampaignError> {
        self.record(preparing, touched, self.host, PreparationState::Begun)?;
        self.touched = true;
        Ok(())
    }

    /// Records the state of each namespace that can be known again.
    fn record(
        &mut self,
        preparing: &Preparing,
        touched: &BTreeSet<String>,
        now: &Host,
        state: PreparationState,
    ) -> Result<(), CampaignError> {
        let record = self.tools.store.load(&self.run_id)?;
        let filled = Filled::of(&record);
        for name in touched {
            let Some((serial, nsid)) = key_of(name, self.host) else { continue };
            let health = now.namespace(name).and_then(|(drive, _)| drive.health.get());
            let capacity = self.host.block(name).and_then(|block| block.size.value());
            let state = DriveState {
                serial,
                nsid,
                run_id: Some(self.run_id.clone()),
                at_ns: now_ns(),
                state,
                purge: preparing.how.purge,
                fill: filled.state(name),
                condition: Self::conditioned(preparing, &record, name),
                capacity_bytes: capacity.map(|size| size.0),
                host_written_bytes: health.map(|health| health.host_written_bytes),
            };
            self.tools.store.add_drive_state(&state)?;
        }
        Ok(())
    }

    /// What a device was conditioned by so far, by the run's measurements.
    fn conditioned(
        preparing: &Preparing,
        record: &RunRecord,
        name: &str,
    ) -> Option<ConditionState> {
        let workload = preparing.how.workload()?;
        let asked = preparing.how.rounds()?;
        let own = record.measurements.iter().filter(|of| of.targets == [name]);
        let found = Convergence::of(&asked, record.host(), own);
        let rounds = Some(found.rounds()).filter(|rounds| *rounds > 0)?;
        Some(ConditionState { workload, rounds, steady_in: found.steady_in })
    }
}
