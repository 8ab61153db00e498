//! What a drive itself calls critical.

use iodyno_model::{Evidence, RuleReport, Severity};

use super::{Rule, Tally, finding};
use crate::facts::Facts;

pub(super) struct HealthCritical;

/// Bits of Critical Warning (Base Specification 2.0, figure 207): what each
/// says and how grave it is. Bit 1, temperature, is another rule's.
const BITS: [(u8, Severity, &str, &str); 5] = [
    (
        0,
        Severity::Fail,
        "available spare is below the threshold",
        "The drive has little left to replace worn blocks with; it will fail or turn read-only.",
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
        Severity::Warn,
        "the backup of its volatile memory has failed",
        "What was acknowledged may be lost when the power fails.",
    ),
    (
        5,
        Severity::Warn,
        "its persistent memory region is read-only or unreliable",
        "What relies on the persistent memory region may lose data.",
    ),
];

impl Rule for HealthCritical {
    fn id(&self) -> &'static str {
        "health-critical"
    }

    fn severity(&self) -> Severity {
        Severity::Fail
    }

    fn summary(&self) -> &'static str {
        "read-only, degraded reliability, spare below its threshold"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let Some(host) = facts.host() else { return Tally::no_host(self) };
        let mut tally = Tally::new(self);
        for drive in &host.drives {
            let name = &drive.name;
            if tally.know(name, "SMART log", &drive.health).is_none() {
                continue;
            }
            tally.looked();
            // A bit may come up during the run; none is taken back by then.
            let logs = facts.record().snapshots.iter();
            let logs = logs.filter_map(|host| host.drive(name)?.health.get());
            let (mut bits, mut spare) = (0, None);
            for log in logs {
                bits |= log.critical_warning;
                spare = Some((log.available_spare_percent, log.spare_threshold_percent));
            }
            if let Some((left, threshold)) = spare
                && left < threshold
            {
                bits |= 1;
            }
            for (bit, severity, what, why) in BITS {
                if bits >> bit & 1 == 0 {
                    continue;
                }
                let mut evidence =
                    vec![Evidence::new("critical warning", format!("{bits:#04x}, bit {bit}"))];
                if let (0, Some((left, threshold))) = (bit, spare) {
                    evidence.push(Evidence::new("spare", format!("{left} %")));
                    evidence.push(Evidence::new("threshold", format!("{threshold} %")));
                }
                tally.found(finding(
                    self,
                    severity,
                    vec![name.clone()],
                    format!("{name} says: {what}."),
                    evidence,
                    why,
                    format!(
                        "Save its data and replace it. Its log: sudo nvme smart-log /dev/{name}"
                    ),
                ));
            }
        }
        tally.report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, log, look};
    use iodyno_model::Fact;

    #[test]
    fn every_bit_has_its_severity() {
        let with = |bits| {
            let record = Bench::new(1).drive(0, |d| log(d).critical_warning = bits).record();
            look(&HealthCritical, &record)
        };
        assert_eq!(with(0), Outcome::Clear);
        assert_eq!(with(1 << 1), Outcome::Clear, "temperature is another rule's");
        for bit in [0, 2, 3] {
            with(1 << bit).only(Severity::Fail);
        }
        with(1 << 4).only(Severity::Warn);
        with(1 << 5).only(Severity::Warn);
    }

    #[test]
    fn spare_below_its_threshold_needs_no_bit() {
        let low = Bench::new(1).drive(0, |d| log(d).available_spare_percent = 9).record();
        assert!(look(&HealthCritical, &low).only(Severity::Fail).what.contains("spare"));
        let even = Bench::new(1).drive(0, |d| log(d).available_spare_percent = 10).record();
        assert_eq!(look(&HealthCritical, &even), Outcome::Clear);
    }

    #[test]
    fn without_root_it_cannot_tell() {
        let blind = |n: usize| Bench::new(n).drive(0, |d| d.health = Fact::NeedsRoot).record();
        assert_eq!(look(&HealthCritical, &blind(1)), Outcome::CannotTell);
        assert_eq!(look(&HealthCritical, &blind(2)), Outcome::ClearBut(1));
        assert_eq!(look(&HealthCritical, &Bench::new(0).record()), Outcome::NotApplicable);
    }
}
