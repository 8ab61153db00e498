//! Finds drives that throttled for heat during the run.

use iodyno_model::{Drive, Evidence, Host, Severity};

use super::{Checks, Reservation, Rule, Tally, finding};
use crate::limiter;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "thermal-throttling",
    severity: Severity::Warn,
    summary: "throttling for heat during the run, by the drive's own counters",
    checks: Checks::HostAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in &host.drives {
        let name = &drive.name;
        if context.record().snapshots.len() < 2 {
            break;
        }
        let later = context.record().snapshots.iter().skip(1);
        let mut later = later.rev().filter_map(|host| host.drive(name));
        let latest = later.find_map(|last| Some((last, limiter::throttled_between(drive, last)?)));
        let Some((last, throttled)) = latest else {
            tally.known_or_note(name, "SMART log", &drive.health);
            continue;
        };
        tally.checked();
        if !throttled {
            continue;
        }
        let evidence = evidence(drive, last);
        tally.found(finding(
            Severity::Warn,
            vec![name.clone()],
            format!("{name} throttled for heat during the run."),
            evidence,
            "A throttled drive and its figures are slower than normal.",
            "Look at fans, blanking panels and the room; then repeat.",
        ));
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let throttled = of.targets.iter().find_map(|target| {
        let drive = context.place(of, target).drive?;
        let throttled = limiter::throttled(context.record(), of, &drive.name) == Some(true);
        throttled.then(|| drive.name.clone())
    })?;
    Some(Reservation::qualified(format!("{throttled} throttled for heat meanwhile")))
}

/// Counters that grew.
fn evidence(before: &Drive, after: &Drive) -> Vec<Evidence> {
    let mut counters: Vec<(&str, u32, u32)> = Vec::new();
    if let (Some(was), Some(is)) = (before.health.get(), after.health.get()) {
        let words = [
            ("transitions to light throttling", "seconds of light throttling"),
            ("transitions to heavy throttling", "seconds of heavy throttling"),
        ];
        for (n, (times, seconds)) in words.into_iter().enumerate() {
            counters.push((times, was.thermal_transitions[n], is.thermal_transitions[n]));
            counters.push((seconds, was.thermal_seconds[n], is.thermal_seconds[n]));
        }
    }
    if let (Some(was), Some(is)) = (before.ocp_health.get(), after.ocp_health.get()) {
        let counts = (was.thermal_throttling_count, is.thermal_throttling_count);
        counters.push(("times throttled (OCP)", counts.0.into(), counts.1.into()));
    }
    let grown = counters.into_iter().filter(|(_, was, is)| was != is);
    grown.map(|(what, was, is)| Evidence::new(what, format!("{was} to {is}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, log, reserves};
    use iodyno_model::{Fact, OcpHealth};

    #[test]
    fn growing_counters_mean_throttling() {
        let bench = Bench::new(1).drive(0, |d| log(d).thermal_seconds = [5, 0]).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::NotApplicable);
        assert_eq!(check_rule(&RULE, &bench.clone().after(|_| {}).record()), Outcome::Clear);
        let hot = bench.clone().after(|host| log(&mut host.drives[0]).thermal_seconds = [5, 3]);
        let record = hot.record();
        let outcome = check_rule(&RULE, &record);
        assert_eq!(outcome.only(Severity::Warn).evidence[0].value, "0 to 3");
        assert!(reserves(&RULE, &record, 0).is_some());
        // Time at the warning temperature is no throttling (rule `temperature`).
        let warm = bench.clone().after(|host| log(&mut host.drives[0]).warning_temperature_min = 9);
        assert_eq!(check_rule(&RULE, &warm.record()), Outcome::Clear);
        let blind = bench.clone().drive(0, |d| d.health = Fact::NeedsRoot).after(|_| {}).record();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
        // Data center drives also count it, and may wrap around to 0.
        let counted = |thermal_throttling_count| {
            known(OcpHealth { thermal_throttling_count, ..OcpHealth::default() })
        };
        let bench = bench.drive(0, |drive| drive.ocp_health = counted(255));
        let again = bench.after(|host| host.drives[0].ocp_health = counted(0)).record();
        let outcome = check_rule(&RULE, &again);
        assert_eq!(outcome.only(Severity::Warn).evidence[0].value, "255 to 0");
        assert!(reserves(&RULE, &again, 0).is_some());
    }
}
