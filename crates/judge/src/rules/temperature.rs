//! Finds drives that are too hot.

use iodyno_model::{ABSOLUTE_ZERO_C, Drive, Evidence, Host, Severity};

use super::{Checks, Reservation, Rule, Tally, finding};
use crate::limiter;
use crate::rule_context::RuleContext;

/// Temperature bit of Critical Warning.
const TEMPERATURE: u8 = 1 << 1;

/// Severity, statement, reason and advice.
type Said = (Severity, &'static str, &'static str, &'static str);

const HOT: Said = (
    Severity::Warn,
    "is too hot",
    "A drive this hot may throttle, ages faster, and may shut down at its critical level.",
    "Look at fans, blanking panels and the room; then repeat.",
);
const WAS_CRITICAL: Said = (
    Severity::Info,
    "has been at its critical temperature",
    "At the critical level a drive may lose what it has not yet written, or shut down.",
    "Look at fans and blanking panels; watch whether the minutes grow.",
);

pub(super) static RULE: Rule = Rule {
    id: "temperature",
    severity: Severity::Warn,
    summary: "temperature at the drive's warning level, or its warning bit",
    checks: Checks::HostAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in &host.drives {
        let name = &drive.name;
        let seen: Vec<&Drive> =
            context.record().snapshots.iter().filter_map(|host| host.drive(name)).collect();
        let warned = seen
            .iter()
            .filter_map(|drive| drive.health.get())
            .any(|log| log.critical_warning & TEMPERATURE != 0);
        let hottest = seen.iter().filter_map(|drive| drive.composite_c()).max_by(f64::total_cmp);
        let level = seen.iter().find_map(|drive| warning_c(drive));
        if drive.health.get().is_none() && (hottest.is_none() || level.is_none()) {
            tally.known_or_note(name, "SMART log", &drive.health);
            continue;
        }
        tally.checked();
        let minutes = |drive: &&Drive| Some(drive.health.get()?.critical_temperature_min);
        let before = seen.first().and_then(minutes);
        let critical = seen.iter().filter_map(minutes).max().filter(|minutes| *minutes > 0);
        let at_level = matches!((hottest, level), (Some(now), Some(level)) if now >= level);
        let grew = before.is_some() && critical > before;
        let mut logs = seen.iter().filter_map(|drive| drive.health.get());
        let overheated = match (logs.next(), logs.next_back()) {
            (Some(first), Some(last)) => last.overheated_since(first),
            _ => 0,
        };
        if !warned && !at_level && critical.is_none() && overheated == 0 {
            continue;
        }
        let mut evidence = Vec::new();
        let since = |min: u32| {
            if grew {
                format!("{min} min, and counting")
            } else {
                format!("{min} min in its lifetime")
            }
        };
        evidence.extend(critical.map(|min| Evidence::new("at its critical level", since(min))));
        if overheated > 0 {
            evidence.push(Evidence::new("above its warning level", format!("{overheated} min")));
        }
        evidence.extend(hottest.map(|c| Evidence::new("temperature", format!("{c:.0} °C"))));
        evidence.extend(level.map(|c| Evidence::new("warning level", format!("{c:.0} °C"))));
        let bit = if warned { "set" } else { "not set" };
        evidence.push(Evidence::new("warning bit", bit));
        let is_hot = warned || at_level || overheated > 0;
        let (severity, what, why, next) = if is_hot { HOT } else { WAS_CRITICAL };
        let what = match overheated {
            0 => format!("{name} {what}."),
            min => format!("{name} was {min} min above its warning temperature during the run."),
        };
        tally.found(finding(severity, vec![name.clone()], what, evidence, why, next));
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    of.targets.iter().find_map(|target| {
        let name = &context.place(of, target).drive?.name;
        let minutes = limiter::overheated_min(context.record(), of, name)?;
        let why = || format!("{name} was {minutes} min above its warning temperature meanwhile");
        (minutes > 0).then(|| Reservation::qualified(why()))
    })
}

/// Warning level (WCTEMP), °C.
fn warning_c(drive: &Drive) -> Option<f64> {
    let identified = drive.identify.get().map(|identify| identify.warning_temperature_k);
    let identified = identified.filter(|kelvin| *kelvin > 0);
    let identified = identified.map(|kelvin| f64::from(kelvin) + ABSOLUTE_ZERO_C);
    identified.or_else(|| drive.temperature.get().and_then(|temperature| temperature.warning_c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, log, reserves};
    use iodyno_model::{Fact, Temperature};

    fn at(c: f64) -> Fact<Temperature> {
        known(Temperature { composite_c: c, warning_c: Some(80.0), critical_c: None })
    }

    #[test]
    fn heat_is_seen_in_any_snapshot_and_by_the_bit() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::Clear);
        let hot = Bench::new(1).after(|host| host.drives[0].temperature = at(80.0)).record();
        check_rule(&RULE, &hot).only(Severity::Warn);
        let warm = Bench::new(1).after(|host| host.drives[0].temperature = at(79.0)).record();
        assert_eq!(check_rule(&RULE, &warm), Outcome::Clear);
        let bit = Bench::new(1).drive(0, |d| log(d).critical_warning = 2).record();
        check_rule(&RULE, &bit).only(Severity::Warn);
    }

    #[test]
    fn without_log_and_level_it_is_undecided() {
        let blind = Bench::new(1).drive(0, |d| {
            d.health = Fact::NeedsRoot;
            d.temperature = Fact::Absent;
        });
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
    }

    #[test]
    fn minutes_at_the_critical_level_warn_if_they_grow_during_the_run() {
        let past = Bench::new(1).drive(0, |d| log(d).critical_temperature_min = 12);
        let found = check_rule(&RULE, &past.record());
        assert_eq!(found.only(Severity::Info).evidence[0].value, "12 min in its lifetime");
        let now = past.after(|host| log(&mut host.drives[0]).critical_temperature_min = 13);
        let found = check_rule(&RULE, &now.record());
        assert_eq!(found.only(Severity::Warn).evidence[0].value, "13 min, and counting");
    }

    #[test]
    fn minutes_at_the_warning_level_count_if_they_grow_during_the_run() {
        let past = Bench::new(1).drive(0, |d| log(d).warning_temperature_min = 12).measured();
        assert_eq!(check_rule(&RULE, &past.record()), Outcome::Clear);
        let now = past.after(|host| log(&mut host.drives[0]).warning_temperature_min = 15);
        let record = now.record();
        let found = check_rule(&RULE, &record);
        let text = "nvme0 was 3 min above its warning temperature during the run.";
        assert_eq!(found.only(Severity::Warn).what, text);
        assert!(reserves(&RULE, &record, 0).is_some());
    }

    #[test]
    fn no_temperature_is_no_absolute_zero() {
        let none = Bench::new(1).drive(0, |d| {
            d.temperature = at(-273.15);
            log(d).temperature_k = 0;
            log(d).critical_warning = 2;
        });
        let found = check_rule(&RULE, &none.record());
        let names: Vec<&str> =
            found.only(Severity::Warn).evidence.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(names, ["warning level", "warning bit"]);
    }
}
