//! Finds blocks that do not hold what was written.

use iodyno_model::{Caveat, Evidence, Measurement, Severity};

use super::{Checks, Reservation, Rule, Tally, finding};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "verify-mismatch",
    severity: Severity::Fail,
    summary: "blocks that do not hold what was written",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    for of in &context.record().measurements {
        let (verified, mismatches) = counts(of);
        if verified == 0 {
            continue;
        }
        tally.checked();
        if mismatches == 0 {
            continue;
        }
        let mut evidence = vec![
            Evidence::new("mismatches", mismatches.to_string()),
            Evidence::new("verified", verified.to_string()),
        ];
        let found = of.conditions.shortfalls.iter();
        let found = found.filter(|one| matches!(one, Caveat::Mismatch { .. }));
        evidence.extend(found.map(|one| Evidence::new("said", one.to_string())));
        tally.found(finding(
            Severity::Fail,
            context.subjects(of),
            match mismatches {
                1 => format!("1 block of {} does not hold what was written.", of.title()),
                _ => format!("{mismatches} blocks of {} do not hold what was written.", of.title()),
            },
            evidence,
            "Wrong data from successful I/O is silent data loss.",
            "Take the data elsewhere; repeat on each layer below (md, LVM, the drive itself) until the one is \
             found that does it",
        ));
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let (verified, mismatches) = counts(context.record().measurements.get(measurement)?);
    let what = format!("{mismatches} of {verified} blocks do not hold what was written");
    (mismatches > 0).then(|| Reservation::qualified(what))
}

/// Number of verified blocks, and of mismatches.
fn counts(of: &Measurement) -> (u64, u64) {
    of.account.as_ref().map_or((0, 0), |account| (account.verified, account.mismatches))
}

#[cfg(test)]
mod tests {
    use iodyno_model::JobStats;

    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves};

    #[test]
    fn mismatches_are_a_failure() {
        let verified = |mismatches| {
            Bench::new(1)
                .measured()
                .measurement(1, |m| {
                    m.account = Some(JobStats { verified: 256, mismatches, ..JobStats::default() });
                    let (offset, length, what) = (4096, 512, "the block is old".into());
                    m.conditions.shortfalls.push(Caveat::Mismatch { offset, length, what });
                })
                .record()
        };
        let nobody = Bench::new(1).measured().record();
        assert_eq!(check_rule(&RULE, &nobody), Outcome::NotApplicable);
        assert_eq!(check_rule(&RULE, &verified(0)), Outcome::Clear);
        let outcome = check_rule(&RULE, &verified(4));
        let found = outcome.only(Severity::Fail);
        assert!(found.what.starts_with("4 blocks"), "{}", found.what);
        assert!(found.evidence.iter().any(|evidence| evidence.value.contains("offset 4096")));
        assert!(reserves(&RULE, &verified(4), 1).is_some());
        assert_eq!(reserves(&RULE, &verified(0), 1), None);
    }
}
