//! Targets that are not quite storage.

use iodyno_model::{Measurement, RuleReport, Severity};

use super::{Reservation, Rule, qualify};
use crate::facts::Facts;

pub(super) struct TargetQualified;

impl Rule for TargetQualified {
    fn id(&self) -> &'static str {
        "target-qualified"
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        "targets whose figures are not those of a drive: overlay, compression, memory"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let look = |of: &Measurement| {
            let remarks = &of.conditions.target_remarks;
            Ok((!remarks.is_empty()).then(|| remarks.join("; ")))
        };
        let words = [
            "the target is not quite a drive",
            "Something between the target and the drive answers I/O by itself or changes it.",
            "Measure a directory on a plain file system, or the device itself: sudo iodyno check /dev/…",
        ];
        qualify(self, facts, look, words)
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let remarks = &of.conditions.target_remarks;
        (!remarks.is_empty()).then(|| Reservation::qualified(remarks.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, look, reserves};

    #[test]
    fn remarks_qualify() {
        let bench = Bench::new(1).measured();
        assert_eq!(look(&TargetQualified, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&TargetQualified, &bench.record(), 1), None);
        assert_eq!(look(&TargetQualified, &Bench::new(1).record()), Outcome::NotApplicable);
        let tripped = bench.measurement(1, |of| {
            of.conditions.target_remarks = vec!["on overlay".into()];
        });
        look(&TargetQualified, &tripped.record()).only(Severity::Info);
        assert!(reserves(&TargetQualified, &tripped.record(), 1).unwrap().why.contains("overlay"));
    }
}
