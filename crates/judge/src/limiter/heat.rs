//! Heat and bursts, as suspects: drive counters, and recovery after a rest.

use iodyno_model::{Drive, Experiment, Host};

use super::bottlenecks::{overheated_min, throttled};
use super::case::Case;
use super::case_context::CaseContext;
use super::contrast::{Change, Effect};
use super::suspect::{Limiter, Suspect};

impl Case<'_> {
    /// Composite temperature of its hottest drive in a snapshot, °C.
    pub(super) fn hottest_c(&self, host: &Host) -> Option<f64> {
        let drives = self.drives.iter().filter_map(|drive| host.drive(&drive.name));
        drives.filter_map(Drive::composite_c).reduce(f64::max)
    }

    /// For each of its drives, true if it throttled in the meantime; `None`: not known.
    pub(super) fn throttles(&self) -> Vec<Option<bool>> {
        let throttled = |drive: &&Drive| throttled(self.record, self.of_run(), &drive.name);
        self.drives.iter().map(throttled).collect()
    }

    /// Returns true if one of its drives was at its warning level, before, after or in between.
    fn is_hot(&self) -> bool {
        let after = self.of_run().after.and_then(|after| self.record.snapshots.get(after));
        let above = |host: &Host, name: &str| {
            let temperature = host.drive(name)?.temperature.get()?;
            Some(temperature.composite_c >= temperature.warning_c?)
        };
        let mut hosts = [self.host(), after].into_iter().flatten();
        hosts.any(|host| self.drives.iter().any(|drive| above(host, &drive.name) == Some(true)))
            || self
                .drives
                .iter()
                .any(|drive| overheated_min(self.record, self.of_run(), &drive.name) > Some(0))
    }
}

impl CaseContext<'_, '_> {
    /// Decided by thermal counters, else by a rate that falls under load and recovers with a rest.
    /// For writes, a full cache has the same effect.
    pub(super) fn heat(&self) -> Option<Suspect> {
        let case = self.case;
        let throttles = case.throttles();
        let rested = self.effect(|change| matches!(change, Change::Rested { .. }));
        // Without a temperature it cannot be called heat.
        let limiter = match rested.as_ref().map(|(_, rested)| &rested.change) {
            _ if case.is_hot() => Limiter::Heat,
            Some(Change::Rested { from_c: Some(from_c), to_c: Some(to_c) }) if to_c < from_c => {
                Limiter::Heat
            }
            None if case.host().and_then(|host| case.hottest_c(host)).is_some() => Limiter::Heat,
            _ => Limiter::Burst,
        };
        let confirmed = |why: String| Some(Suspect::confirmed(limiter, why));
        let cleared = |why: String| Some(Suspect::cleared(limiter, why));
        let said = |contrast: &super::Contrast<'_>| {
            format!("{}: {}", contrast.title(), contrast.outcome())
        };
        if throttles.contains(&Some(true)) {
            let rested = rested.map(|(_, rested)| format!("; {}", said(rested)));
            let why = "its thermal counters rose during the measurement";
            let why = format!("{why}{}", rested.unwrap_or_default());
            return Some(Suspect::confirmed(Limiter::Heat, why));
        }
        let again = self.effect(|change| *change == Change::Again);
        if case.reads() {
            match (again, rested) {
                (_, Some((Effect::Grew, rested))) => return confirmed(said(rested)),
                (Some((Effect::Fell, again)), Some((Effect::Same, rested))) => {
                    return confirmed(format!("{}; {}", said(again), said(rested)));
                }
                (Some((Effect::Fell, again)), Some((Effect::Fell, rested))) => {
                    return cleared(format!("{}; {}", said(again), said(rested)));
                }
                (Some((Effect::Fell, _)), _) => {
                    return Some(Suspect::open(limiter, Experiment::Rest));
                }
                (_, Some((Effect::Same | Effect::Fell, rested))) => return cleared(said(rested)),
                _ => {}
            }
        }
        // Many drives throttle without counting it.
        if case.is_hot() {
            return Some(Suspect::open(Limiter::Heat, Experiment::Rest));
        }
        if !throttles.is_empty() && throttles.iter().all(|one| *one == Some(false)) {
            let why = "thermal counters did not change";
            return Some(Suspect::cleared(Limiter::Heat, why));
        }
        // Without a drive's counters nothing else is known about its heat.
        let (Effect::Same | Effect::Grew, again) = again? else { return None };
        cleared(said(again))
    }
}
