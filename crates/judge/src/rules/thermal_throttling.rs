//! Drives that slowed themselves down for heat during the run.

use iodyno_model::{Evidence, RuleReport, Severity};

use super::{Reservation, Rule, Tally, finding};
use crate::facts::Facts;
use crate::limiter;

pub(super) struct ThermalThrottling;

impl Rule for ThermalThrottling {
    fn id(&self) -> &'static str {
        "thermal-throttling"
    }

    fn severity(&self) -> Severity {
        Severity::Warn
    }

    fn summary(&self) -> &'static str {
        "throttling for heat during the run, by the drive's own counters"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let Some(host) = facts.host() else { return Tally::no_host(self) };
        let mut tally = Tally::new(self);
        for drive in &host.drives {
            let name = &drive.name;
            if facts.record().snapshots.len() < 2 {
                break;
            }
            let Some(first) = tally.know(name, "SMART log", &drive.health) else { continue };
            let later = facts.record().snapshots.iter().skip(1);
            let Some(last) = later.rev().find_map(|host| host.drive(name)?.health.get()) else {
                continue;
            };
            tally.looked();
            if !last.throttled_since(first) {
                continue;
            }
            let grown = |what: &str, before: u32, after: u32| {
                (after > before).then(|| Evidence::new(what, format!("{before} to {after}")))
            };
            let evidence = [
                grown(
                    "minutes above the warning temperature",
                    first.warning_temperature_min,
                    last.warning_temperature_min,
                ),
                grown(
                    "minutes above the critical temperature",
                    first.critical_temperature_min,
                    last.critical_temperature_min,
                ),
                grown(
                    "transitions to light throttling",
                    first.thermal_transitions[0],
                    last.thermal_transitions[0],
                ),
                grown(
                    "transitions to heavy throttling",
                    first.thermal_transitions[1],
                    last.thermal_transitions[1],
                ),
                grown(
                    "seconds of light throttling",
                    first.thermal_seconds[0],
                    last.thermal_seconds[0],
                ),
                grown(
                    "seconds of heavy throttling",
                    first.thermal_seconds[1],
                    last.thermal_seconds[1],
                ),
            ];
            tally.found(finding(
                self,
                Severity::Warn,
                vec![name.clone()],
                format!("{name} throttled for heat during the run."),
                evidence.into_iter().flatten().collect(),
                "A throttled drive is slower than it could be, and so are the figures of it.",
                "Look at fans, blanking panels and the room; then repeat.",
            ));
        }
        tally.report()
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let throttled = of.targets.iter().find_map(|target| {
            let drive = facts.place(of, target).drive?;
            let throttled = limiter::throttled(facts.record(), of, &drive.name) == Some(true);
            throttled.then(|| drive.name.clone())
        })?;
        Some(Reservation::qualified(format!("{throttled} throttled for heat meanwhile")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, log, look, reserves};
    use iodyno_model::Fact;

    #[test]
    fn growing_counters_mean_throttling() {
        let bench = Bench::new(1).drive(0, |d| log(d).thermal_seconds = [5, 0]).measured();
        assert_eq!(look(&ThermalThrottling, &bench.record()), Outcome::NotApplicable);
        assert_eq!(look(&ThermalThrottling, &bench.clone().after(|_| {}).record()), Outcome::Clear);
        let hot = bench.clone().after(|host| log(&mut host.drives[0]).thermal_seconds = [5, 3]);
        let record = hot.record();
        let outcome = look(&ThermalThrottling, &record);
        assert_eq!(outcome.only(Severity::Warn).evidence[0].value, "0 to 3");
        assert!(reserves(&ThermalThrottling, &record, 0).is_some());
        let blind = bench.drive(0, |d| d.health = Fact::NeedsRoot).after(|_| {}).record();
        assert_eq!(look(&ThermalThrottling, &blind), Outcome::CannotTell);
    }
}
