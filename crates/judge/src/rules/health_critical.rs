//! Finds drives that report a critical state.

use iodyno_model::{Evidence, HealthLog, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

/// Bits of Critical Warning (Base Specification 2.0, figure 207) with severity, meaning and reason.
/// Bit 1, temperature, has its own rule.
const BITS: [(u8, Severity, &str, &str); 5] = [
    (
        0,
        Severity::Fail,
        "available spare is below the threshold",
        "The drive has few spare blocks left; it will fail or turn read-only.",
    ),
    (
        2,
        Severity::Fail,
        "reliability is degraded by media or internal errors",
        "The drive itself no longer vouches for its data.",
    ),
    (3, Severity::Fail, "the drive is read-only", "The drive no longer takes writes."),
    (
        4,
        Severity::Fail,
        "the backup of its volatile memory has failed",
        "Acknowledged writes may be lost on power failure.",
    ),
    (
        5,
        Severity::Warn,
        "its persistent memory region is read-only or unreliable",
        "What relies on the persistent memory region may lose data.",
    ),
];

pub(super) static RULE: Rule = Rule {
    id: "health-critical",
    severity: Severity::Fail,
    summary: "read-only, degraded reliability, spare below its threshold",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in &host.drives {
        let name = &drive.name;
        if tally.known_or_note(name, "SMART log", &drive.health).is_none() {
            continue;
        }
        tally.checked();
        // A bit may be set during the run, but not cleared.
        let logs = context.record().snapshots.iter();
        let logs = || logs.clone().filter_map(|host| host.drive(name)?.health.get());
        let says = |log: &HealthLog, bit: u8| log.critical_warning >> bit & 1 == 1;
        let is_spent = |log: &HealthLog| log.available_spare_percent < log.spare_threshold_percent;
        for (bit, severity, what, why) in BITS {
            let by_bit = logs().find(|log| says(log, bit));
            let Some(log) = by_bit.or_else(|| logs().find(|log| bit == 0 && is_spent(log))) else {
                continue;
            };
            let set = if says(log, bit) { "set" } else { "not set" };
            let byte = format!("{:#04x}, bit {bit} {set}", log.critical_warning);
            let mut evidence = vec![Evidence::new("critical warning", byte)];
            if bit == 0 {
                let percent = |value: u8| format!("{value} %");
                evidence.push(Evidence::new("spare", percent(log.available_spare_percent)));
                evidence.push(Evidence::new("threshold", percent(log.spare_threshold_percent)));
            }
            tally.found(finding(
                severity,
                vec![name.clone()],
                format!("{name} says: {what}."),
                evidence,
                why,
                format!("Save its data and replace it. Its log: sudo nvme smart-log /dev/{name}"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, log};
    use iodyno_model::Fact;

    #[test]
    fn every_bit_has_its_severity() {
        let with = |bits| {
            let record = Bench::new(1).drive(0, |d| log(d).critical_warning = bits).record();
            check_rule(&RULE, &record)
        };
        assert_eq!(with(0), Outcome::Clear);
        assert_eq!(with(1 << 1), Outcome::Clear, "temperature is another rule's");
        for bit in [0, 2, 3, 4] {
            with(1 << bit).only(Severity::Fail);
        }
        with(1 << 5).only(Severity::Warn);
    }

    #[test]
    fn spare_below_its_threshold_needs_no_bit() {
        let low = Bench::new(1).drive(0, |d| log(d).available_spare_percent = 9).record();
        let found = check_rule(&RULE, &low);
        let found = found.only(Severity::Fail);
        assert!(found.what.contains("spare"));
        assert_eq!(found.evidence[0].value, "0x00, bit 0 not set", "the byte as the drive has it");
        let even = Bench::new(1).drive(0, |d| log(d).available_spare_percent = 10).record();
        assert_eq!(check_rule(&RULE, &even), Outcome::Clear);
    }

    #[test]
    fn the_byte_is_one_that_a_log_held() {
        let mut bits = Bench::new(1).drive(0, |d| log(d).critical_warning = 1 << 2);
        bits = bits.after(|host| log(&mut host.drives[0]).critical_warning = 1 << 3);
        let Outcome::Findings(found) = check_rule(&RULE, &bits.record()) else { panic!() };
        let bytes: Vec<&str> = found.iter().map(|one| one.evidence[0].value.as_str()).collect();
        assert_eq!(bytes, ["0x04, bit 2 set", "0x08, bit 3 set"], "and not 0x0c");
    }

    #[test]
    fn without_root_it_is_undecided() {
        let blind = |n: usize| Bench::new(n).drive(0, |d| d.health = Fact::NeedsRoot).record();
        assert_eq!(check_rule(&RULE, &blind(1)), Outcome::CannotTell);
        assert_eq!(check_rule(&RULE, &blind(2)), Outcome::ClearBut(1));
        assert_eq!(check_rule(&RULE, &Bench::new(0).record()), Outcome::NotApplicable);
    }
}
