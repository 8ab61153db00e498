//! A preparation carried out, and the state that it leaves recorded.

use std::collections::BTreeSet;

use iodyno_host::Depth;
use iodyno_job::script::Script;
use iodyno_model::{Direction, DriveState, FillState, Host, PreparationState};
use iodyno_target::{Purge, Target, WriteClearance, clear_for_purge, unused_allowances};

use super::{Preparation, key_of};
use crate::error::CampaignError;
use crate::execute::{Campaign, now_ns};
use crate::watch::Event;

impl Campaign<'_, '_> {
    /// Prepares `targets`; `script` is what of it is jobs.
    pub(crate) fn prepare(
        &mut self,
        preparation: Preparation,
        targets: &[Target],
        script: &Script,
    ) -> Result<(), CampaignError> {
        let names: BTreeSet<String> = targets.iter().map(|one| one.name().to_owned()).collect();
        let permission = &self.options.permission;
        let purges = match preparation.purge {
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
        let result = self.prepare_cleared(preparation, targets, script, purges, &touched);
        if self.touched {
            let state = match &result {
                _ if self.is_interrupted() => PreparationState::Interrupted,
                Ok(()) if !self.failed => PreparationState::Done,
                _ => PreparationState::Failed,
            };
            let after = iodyno_host::snapshot(self.tools.source, Depth::Full);
            self.tools.store.add_snapshot(&self.run_id, &after)?;
            self.record(preparation, &touched, &after, state)?;
        }
        result
    }

    fn prepare_cleared(
        &mut self,
        preparation: Preparation,
        targets: &[Target],
        script: &Script,
        purges: Vec<Purge>,
        touched: &BTreeSet<String>,
    ) -> Result<(), CampaignError> {
        let (host, claims) = (self.host, self.tools.claims);
        let sentences = preparation.outline(targets, host, claims, self.tools.store)?;
        let commanded = preparation.purge.filter(|_| !purges.is_empty());
        if let Some(method) = commanded {
            self.tools.watcher.event(&Event::Expect(&sentences));
            self.begin(preparation, touched)?;
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
        if script.phases.is_empty() || self.failed || self.is_interrupted() {
            return Ok(());
        }
        let places = self.places(script, &permission)?;
        if commanded.is_none() {
            self.tools.watcher.event(&Event::Expect(&sentences));
            self.begin(preparation, touched)?;
        }
        self.play_on(script, &places)
    }

    /// Records, before anything is destroyed, that what was known is over.
    fn begin(
        &mut self,
        preparation: Preparation,
        touched: &BTreeSet<String>,
    ) -> Result<(), CampaignError> {
        self.record(preparation, touched, self.host, PreparationState::Begun)?;
        self.touched = true;
        Ok(())
    }

    /// Records the state of each namespace that can be known again.
    fn record(
        &mut self,
        preparation: Preparation,
        touched: &BTreeSet<String>,
        now: &Host,
        state: PreparationState,
    ) -> Result<(), CampaignError> {
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
                purge: preparation.purge,
                fill: self.filled(name)?,
                capacity_bytes: capacity.map(|size| size.0),
                host_written_bytes: health.map(|health| health.host_written_bytes),
            };
            self.tools.store.add_drive_state(&state)?;
        }
        Ok(())
    }

    /// What the run has written to a device so far, by its measurements.
    fn filled(&self, name: &str) -> Result<Option<FillState>, CampaignError> {
        let mut fill = FillState { written_bytes: 0, duration_ns: 0 };
        let record = self.tools.store.load(&self.run_id)?;
        for of in record.measurements.iter().filter(|of| of.targets == [name]) {
            let writes = of.total.iter().find(|result| result.direction == Direction::Write);
            if let Some(bytes) = writes.and_then(|result| result.whole_bytes.or(result.bytes)) {
                fill.written_bytes += bytes;
                fill.duration_ns += of.duration_ns.unwrap_or(0);
            }
        }
        Ok(Some(fill).filter(|fill| fill.written_bytes > 0))
    }
}
