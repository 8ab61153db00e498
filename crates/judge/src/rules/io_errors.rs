//! Finds I/Os that failed.

use iodyno_model::{Caveat, Direction, Evidence, Measurement, Severity, errno_text};

use super::{Checks, Reservation, Rule, Tally, advice, disk_is_full, finding};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "io-errors",
    severity: Severity::Fail,
    summary: "I/Os of a measurement that failed",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    for of in &context.record().measurements {
        let counted: Vec<u64> = of.total.iter().filter_map(|result| result.errors).collect();
        if counted.is_empty() {
            continue;
        }
        let errors: u64 = counted.iter().sum();
        tally.checked();
        if errors == 0 {
            continue;
        }
        let completed: u64 = of.total.iter().filter_map(|result| result.whole_ios).sum();
        let mut evidence = vec![
            Evidence::new("failed", errors.to_string()),
            Evidence::new("completed", completed.to_string()),
        ];
        let failed = of.conditions.shortfalls.iter();
        let failed = failed.filter(|one| matches!(one, Caveat::IosFailed { .. }));
        evidence.extend(failed.map(|one| Evidence::new("said", one.to_string())));
        let account = of.account.iter().flat_map(|account| &account.errors);
        evidence.extend(account.map(|error| {
            let what = errno_text(error.errno, of.workload.ioengine.as_deref());
            let offsets: Vec<String> = error.offsets.iter().map(u64::to_string).collect();
            let (count, offsets) = (error.count, offsets.join(", "));
            let which = match error.direction {
                Direction::Read => "reads",
                Direction::Write => "writes",
                Direction::Trim => "trims",
                Direction::Mixed => "I/Os",
            };
            Evidence::new(which, format!("{count} x {what}, first at offset {offsets}"))
        }));
        let (why, next) = if disk_is_full(of) {
            (super::DISK_FULL.0, super::DISK_FULL.1.to_owned())
        } else if let Some(said) = advice::zones(context, of).filter(|_| !reads_failed(of)) {
            said
        } else {
            (
                "Unreadable blocks are lost data, and are not part of the rate.",
                format!(
                    "{}. Restore the data, and replace the drive if they grow",
                    advice::kernel_log(
                        context,
                        of,
                        "See which blocks: sudo dmesg | grep -i 'error, dev'"
                    )
                ),
            )
        };
        let title = format!("{errors} I/Os of {} failed.", of.title());
        let subjects =
            context.to_blame(of, |part| part.results.iter().any(|result| result.errors > Some(0)));
        tally.found(finding(Severity::Fail, subjects, title, evidence, why, next));
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let errors: u64 = of.total.iter().filter_map(|result| result.errors).sum();
    (errors > 0).then(|| Reservation::qualified(format!("{errors} I/Os failed")))
}

/// Returns true if reads failed, or it is not known which I/Os did.
fn reads_failed(of: &Measurement) -> bool {
    of.total.iter().any(|one| one.direction != Direction::Write && one.errors > Some(0))
}

#[cfg(test)]
mod tests {
    use iodyno_model::{ErrorCount, JobStats};

    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves};

    #[test]
    fn of_several_drives_at_once_those_whose_ios_failed_are_to_blame() {
        let record = Bench::new(3).measured().measurement(9, |of| {
            of.total[0].errors = Some(3);
            of.parts[1].results[0].errors = Some(3);
        });
        let found = check_rule(&RULE, &record.record());
        assert_eq!(found.only(Severity::Fail).subjects, ["nvme1n1", "nvme1"]);
    }

    #[test]
    fn failed_ios_are_a_failure() {
        let bench = Bench::new(1).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
        let errors = vec![ErrorCount {
            errno: 5,
            direction: Direction::Read,
            count: 3,
            offsets: vec![8192, 4096],
        }];
        let record = bench
            .measurement(1, |m| {
                m.total[0].errors = Some(3);
                m.account = Some(JobStats { errors, ..JobStats::default() });
            })
            .record();
        let outcome = check_rule(&RULE, &record);
        let found = outcome.only(Severity::Fail);
        assert!(found.what.starts_with("3 I/Os"));
        let reads = found.evidence.iter().find(|evidence| evidence.what == "reads").unwrap();
        assert!(reads.value.starts_with("3 x "), "{}", reads.value);
        assert!(reads.value.ends_with("first at offset 8192, 4096"), "{}", reads.value);
        assert!(reserves(&RULE, &record, 1).is_some());
        assert_eq!(reserves(&RULE, &record, 0), None);
    }

    #[test]
    fn writes_that_zones_do_not_take_are_no_fault_of_the_drive() {
        let failed = |direction| {
            let bench = Bench::new(1).measured().measurement(1, |of| {
                of.workload.rw = Some("randrw".into());
                of.total[0].direction = direction;
                of.total[0].errors = Some(9);
            });
            bench.host(|host| {
                host.blocks[0].queue.zoned = crate::testing::known("host-managed".into())
            })
        };
        let outcome = check_rule(&RULE, &failed(Direction::Write).record());
        let found = outcome.only(Severity::Fail);
        assert!(found.why.starts_with("Its zones") && !found.next.contains("replace"), "{found:?}");
        let outcome = check_rule(&RULE, &failed(Direction::Read).record());
        assert!(outcome.only(Severity::Fail).next.contains("replace"));
    }
}
