//! Heat, as a suspect: what drives count, and what a rest brings back.

use iodyno_model::Host;

use super::case::Case;
use super::contrast::{Change, Effect};
use super::experiment::Experiment;
use super::held_back::throttled;
use super::suspect::{Limiter, Suspect};
use super::weigh::Scene;

impl Case<'_> {
    /// Composite temperature of the hottest of its drives in a snapshot, °C.
    pub(super) fn hottest_c(&self, host: &Host) -> Option<f64> {
        let drives = self.drives.iter().filter_map(|drive| host.drive(&drive.name));
        drives.filter_map(|drive| Some(drive.temperature.get()?.composite_c)).reduce(f64::max)
    }

    /// A drive of it was at its warning level, before or after.
    fn is_hot(&self) -> bool {
        let after = self.of_run().after.and_then(|after| self.record.snapshots.get(after));
        let above = |host: &Host, name: &str| {
            let temperature = host.drive(name)?.temperature.get()?;
            Some(temperature.composite_c >= temperature.warning_c?)
        };
        let mut hosts = [self.host(), after].into_iter().flatten();
        hosts.any(|host| self.drives.iter().any(|drive| above(host, &drive.name) == Some(true)))
    }
}

impl Scene<'_, '_> {
    /// Thermal counters tell; else a rate that falls while the drive works and
    /// comes back with a rest. Of writes a full cache does the same.
    pub(super) fn heat(&self) -> Option<Suspect> {
        let case = self.case;
        let throttles: Vec<Option<bool>> = case
            .drives
            .iter()
            .map(|drive| throttled(case.record, case.of_run(), &drive.name))
            .collect();
        let confirmed = |why: String| Some(Suspect::confirmed(Limiter::Heat, why));
        let cleared = |why: String| Some(Suspect::cleared(Limiter::Heat, why));
        let rested = self.effect(|change| matches!(change, Change::Rested { .. }));
        let said = |contrast: &super::Contrast<'_>| {
            format!("{}: {}", contrast.title(), contrast.outcome())
        };
        if throttles.contains(&Some(true)) {
            let rested = rested.map(|(_, rested)| format!("; {}", said(rested)));
            let why = "its thermal counters rose during the measurement";
            return confirmed(format!("{why}{}", rested.unwrap_or_default()));
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
                    return Some(Suspect::open(Limiter::Heat, Experiment::Rest));
                }
                (_, Some((Effect::Same | Effect::Fell, rested))) => return cleared(said(rested)),
                _ => {}
            }
        }
        if !throttles.is_empty() && throttles.iter().all(|one| *one == Some(false)) {
            return cleared("its thermal counters did not move".into());
        }
        if case.is_hot() {
            return Some(Suspect::open(Limiter::Heat, Experiment::Rest));
        }
        // Without a drive's counters nothing else is known of it.
        let (Effect::Same | Effect::Grew, again) = again? else { return None };
        cleared(said(again))
    }
}
