//! Finds measurements that did not finish.

use iodyno_model::{Cause, EndReason, Evidence, Severity};

use super::{Checks, Reservation, Rule, Tally, advice, disk_is_full, finding};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "measurement-failed",
    severity: Severity::Fail,
    summary: "measurements that failed or were interrupted",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    for (n, of) in context.record().measurements.iter().enumerate() {
        tally.checked();
        let EndReason::Failed(how) = &of.end else { continue };
        let repetition = context.record().repetition(n);
        if repetition.is_some_and(|again| again.failure().is_some()) {
            continue;
        }
        let (why, next) = if disk_is_full(of) {
            (super::DISK_FULL.0, super::DISK_FULL.1.to_owned())
        } else if how.cause == Cause::Unfit {
            ("The job was never begun.", "Correct what the failure names, and repeat".into())
        } else if how.cause == Cause::Engine {
            (
                "Its I/O engine is not available.",
                "Repeat it with ioengine=auto, which takes the best available engine".into(),
            )
        } else {
            (
                "A device that fails during a measurement is unreliable.",
                advice::kernel_log(context, of, "See what the kernel says: sudo dmesg | tail"),
            )
        };
        let evidence = vec![Evidence::new("failure", how.text.clone())];
        let (severity, title) = match repetition {
            Some(_) => {
                (Severity::Warn, format!("{} failed at first; repeated, it worked.", of.title()))
            }
            None => (Severity::Fail, format!("{} failed.", of.title())),
        };
        let subjects = context.to_blame(of, |part| part.failure.is_some());
        tally.found(finding(severity, subjects, title, evidence, why, next));
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    match &context.record().measurements.get(measurement)?.end {
        EndReason::Failed(how) => Some(Reservation::invalid(format!("it failed: {how}"))),
        EndReason::Interrupted => Some(Reservation::qualified("it was interrupted")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves};
    use iodyno_model::{Measurement, Validity};

    #[test]
    fn of_several_drives_at_once_those_that_failed_are_to_blame() {
        let failed = |n: Option<usize>| {
            let bench = Bench::new(3).measured().measurement(9, |of| {
                of.end = EndReason::Failed("nvme2n1: EIO".into());
                n.into_iter().for_each(|n| of.parts[n].failure = Some("EIO".into()));
            });
            check_rule(&RULE, &bench.record()).only(Severity::Fail).subjects.clone()
        };
        assert_eq!(failed(Some(2)), ["nvme2n1", "nvme2"]);
        assert_eq!(failed(None).len(), 6);
    }

    #[test]
    fn nobody_looks_into_this_kernels_log_for_what_failed_elsewhere() {
        let failed = Bench::new(1).measured().measurement(0, |m| {
            m.end = EndReason::Failed("EIO".into());
        });
        let mut record = failed.record();
        assert!(check_rule(&RULE, &record).only(Severity::Fail).next.contains("dmesg"));
        record.snapshots.clear();
        assert!(!check_rule(&RULE, &record).only(Severity::Fail).next.contains("dmesg"));
    }

    #[test]
    fn failures_are_found_and_interruptions_qualify() {
        let bench = Bench::new(1).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
        let record = bench
            .measurement(0, |m| m.end = EndReason::Failed("EIO".into()))
            .measurement(1, |m| m.end = EndReason::Interrupted)
            .record();
        let found = check_rule(&RULE, &record);
        assert_eq!(found.only(Severity::Fail).subjects, ["nvme0n1", "nvme0"]);
        assert_eq!(reserves(&RULE, &record, 0).unwrap().validity, Validity::Invalid);
        assert_eq!(reserves(&RULE, &record, 1).unwrap().validity, Validity::Qualified);
        assert_eq!(reserves(&RULE, &record, 2), None);
    }

    #[test]
    fn what_a_resumed_run_repeats_is_no_failure() {
        let mut record = Bench::new(1)
            .measured()
            .measurement(0, |m| m.end = EndReason::Failed("EIO".into()))
            .record();
        let count = record.measurements.len();
        let again = record.measurements[1].clone();
        let (name, targets) = (record.measurements[0].name.clone(), again.targets.clone());
        record.measurements.push(Measurement { name, targets, ..again });
        // A repetition of the plan's.
        check_rule(&RULE, &record).only(Severity::Fail);
        assert_eq!(record.failures().count(), 1);
        record.run.resumed_at = vec![count];
        let title = check_rule(&RULE, &record).only(Severity::Warn).what.clone();
        assert!(title.ends_with("failed at first; repeated, it worked."), "{title}");
        assert_eq!(record.failures().count(), 0);
        // Each attempt that fails takes the place of the one before.
        record.measurements[count].end = EndReason::Failed("EIO again".into());
        let found = check_rule(&RULE, &record).only(Severity::Fail).evidence.clone();
        assert!(found.iter().any(|one| one.value == "EIO again"), "{found:?}");
        assert_eq!(record.failures().map(|(n, _)| n).collect::<Vec<_>>(), [count]);
    }
}
