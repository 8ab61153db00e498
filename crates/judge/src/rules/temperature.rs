//! Drives that are too hot.

use iodyno_model::{Drive, Evidence, RuleReport, Severity};

use super::{Rule, Tally, finding};
use crate::facts::Facts;

pub(super) struct TemperatureHigh;

/// Temperature bit of Critical Warning.
const TEMPERATURE: u8 = 1 << 1;

impl Rule for TemperatureHigh {
    fn id(&self) -> &'static str {
        "temperature"
    }

    fn severity(&self) -> Severity {
        Severity::Warn
    }

    fn summary(&self) -> &'static str {
        "temperature at the drive's warning level, or its warning bit"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let Some(host) = facts.host() else { return Tally::no_host(self) };
        let mut tally = Tally::new(self);
        for drive in &host.drives {
            let name = &drive.name;
            let seen: Vec<&Drive> =
                facts.record().snapshots.iter().filter_map(|host| host.drive(name)).collect();
            let warned = seen
                .iter()
                .filter_map(|drive| drive.health.get())
                .any(|log| log.critical_warning & TEMPERATURE != 0);
            let hottest = seen.iter().filter_map(|drive| composite_c(drive)).max_by(f64::total_cmp);
            let level = seen.iter().find_map(|drive| warning_c(drive));
            if drive.health.get().is_none() && (hottest.is_none() || level.is_none()) {
                tally.know(name, "SMART log", &drive.health);
                continue;
            }
            tally.looked();
            let at_level = matches!((hottest, level), (Some(now), Some(level)) if now >= level);
            if !warned && !at_level {
                continue;
            }
            let mut evidence = Vec::new();
            evidence.extend(hottest.map(|c| Evidence::new("temperature", format!("{c:.0} °C"))));
            evidence.extend(level.map(|c| Evidence::new("warning level", format!("{c:.0} °C"))));
            let bit = if warned { "set" } else { "not set" };
            evidence.push(Evidence::new("warning bit", bit));
            tally.found(finding(
                self,
                Severity::Warn,
                vec![name.clone()],
                format!("{name} is too hot."),
                evidence,
                "A hot drive slows itself down, ages faster, and shuts down at its critical level.",
                "Look at fans, blanking panels and the room; then repeat.",
            ));
        }
        tally.report()
    }
}

/// Composite temperature, °C, as the hardware monitor or the log gives it.
fn composite_c(drive: &Drive) -> Option<f64> {
    let monitor = drive.temperature.get().map(|temperature| temperature.composite_c);
    let log = drive.health.get().filter(|log| log.temperature_k > 0);
    monitor.or_else(|| log.map(|log| f64::from(log.temperature_k) - 273.15))
}

/// Warning level (WCTEMP), °C.
fn warning_c(drive: &Drive) -> Option<f64> {
    let identified = drive.identify.get().map(|identify| identify.warning_temperature_k);
    let identified = identified.filter(|kelvin| *kelvin > 0);
    let identified = identified.map(|kelvin| f64::from(kelvin) - 273.15);
    identified.or_else(|| drive.temperature.get().and_then(|temperature| temperature.warning_c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, known, log, look};
    use iodyno_model::{Fact, Temperature};

    fn at(c: f64) -> Fact<Temperature> {
        known(Temperature { composite_c: c, warning_c: Some(80.0), critical_c: None })
    }

    #[test]
    fn heat_is_seen_in_any_snapshot_and_by_the_bit() {
        assert_eq!(look(&TemperatureHigh, &Bench::new(1).record()), Outcome::Clear);
        let hot = Bench::new(1).after(|host| host.drives[0].temperature = at(80.0)).record();
        look(&TemperatureHigh, &hot).only(Severity::Warn);
        let warm = Bench::new(1).after(|host| host.drives[0].temperature = at(79.0)).record();
        assert_eq!(look(&TemperatureHigh, &warm), Outcome::Clear);
        let bit = Bench::new(1).drive(0, |d| log(d).critical_warning = 2).record();
        look(&TemperatureHigh, &bit).only(Severity::Warn);
    }

    #[test]
    fn without_log_and_level_it_cannot_tell() {
        let blind = Bench::new(1).drive(0, |d| {
            d.health = Fact::NeedsRoot;
            d.temperature = Fact::Absent;
        });
        assert_eq!(look(&TemperatureHigh, &blind.record()), Outcome::CannotTell);
    }
}
