//! Qualifies targets that are not plain storage.

use iodyno_model::{Caveat, Measurement, WrittenShare, WrittenState};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "target-qualified",
    summary: "targets whose figures are not those of a drive: overlay, compression, memory",
    affected_by,
    what: "the target is not just a drive",
    why: "A layer above the drive answers I/O itself or changes it.",
    next: "Measure a directory on a plain file system, or the drive below: sudo iodyno check DRIVE",
});

/// Without /sys it is not known if a drive is below.
const NO_SYSFS: &str = "/sys is not mounted, so that the device below is not known";

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let blind = context.record().host().filter(|host| host.no_sysfs).map(|_| NO_SYSFS);
    // Unwritten blocks are reported by blocks-not-written.
    let empty = |written: &WrittenShare| {
        matches!(written.state, WrittenState::Unwritten | WrittenState::Partly)
    };
    let is_reported = of.conditions.written.iter().any(empty);
    let is_new =
        |remark: &&Caveat| !(is_reported && matches!(remark, Caveat::PartlyAllocated { .. }));
    let remarks = of.conditions.target_remarks.iter().filter(is_new).map(ToString::to_string);
    let remarks: Vec<String> = remarks.chain(blind.map(str::to_owned)).collect();
    Ok((!remarks.is_empty()).then(|| remarks.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves, set_written};
    use iodyno_model::{FileSystemEffect, Severity};

    #[test]
    fn remarks_qualify() {
        let bench = Bench::new(1).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&RULE, &bench.record(), 1), None);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
        let tripped = bench.measurement(1, |of| {
            let effect = FileSystemEffect::Overlay;
            of.conditions.target_remarks =
                vec![Caveat::FileSystem { name: "overlay".into(), effect }];
        });
        check_rule(&RULE, &tripped.record()).only(Severity::Info);
        assert!(reserves(&RULE, &tripped.record(), 1).unwrap().why.contains("overlay"));
        let holes = tripped.measurement(1, |of| {
            of.conditions.target_remarks =
                vec![Caveat::PartlyAllocated { allocated_bytes: 0, size_bytes: 1 << 30 }];
        });
        assert!(reserves(&RULE, &holes.record(), 1).is_some());
        let reported = holes.measurement(1, |of| set_written(of, WrittenState::Unwritten));
        assert_eq!(reserves(&RULE, &reported.record(), 1), None);
    }

    #[test]
    fn without_sys_nobody_knows_what_was_measured() {
        let blind = Bench::new(0).host(|host| host.no_sysfs = true).record();
        let mut record = Bench::new(1).measured().record();
        record.snapshots = blind.snapshots;
        assert_eq!(reserves(&RULE, &record, 1).unwrap().why, NO_SYSFS);
        assert_eq!(check_rule(&super::super::drive_dead::RULE, &record), Outcome::CannotTell);
    }
}
