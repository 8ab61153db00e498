//! Finds figures that are worse than in an earlier run.

use iodyno_model::{Evidence, Severity, Verdict, shell_word};

use super::{Checks, Rule, Tally, finding, severity_of};
use crate::figures;
use crate::measured::unwritten;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "unlike-baseline",
    severity: Severity::Fail,
    summary: "figures worse than in the run given with --baseline",
    checks: Checks::Run(check),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let Some(baseline) = context.question.baseline else { return };
    for compared in &context.compared {
        let of = &context.record().measurements[compared.measurement];
        let Some((earlier, judgement)) = &compared.baseline else {
            tally.unknown(of.title(), "the baseline has no valid measurement of this workload");
            continue;
        };
        if unwritten(of) {
            tally.unknown(of.title(), "its blocks were never written");
            continue;
        }
        if judgement.verdict == Verdict::Unjudged {
            tally.unknown(of.title(), judgement.reason.to_string());
            continue;
        }
        tally.checked();
        let Some(severity) = severity_of(judgement.verdict) else { continue };
        let run = baseline.run.selector();
        let mut evidence = vec![
            Evidence::new("measured", figures::estimate(compared.metric, &compared.estimate)),
            Evidence::new("baseline", figures::estimate(compared.metric, earlier)),
            Evidence::new("run", run),
        ];
        evidence.extend(compared.limiters.iter().map(|why| Evidence::new("beside", why.clone())));
        tally.found(finding(
            severity,
            context.subjects(of),
            format!("{}: {}.", of.title(), judgement.reason),
            evidence,
            "Something changed: the drive, its link, other users, or the machine's settings.",
            format!(
                "Compare the two runs' hosts, links and drives: iodyno show {}; then repeat once more.",
                shell_word(run)
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Question;
    use crate::testing::{Bench, Outcome, check_rule, check_rule_with, known, scale};
    use iodyno_model::{Estimate, Measurement, RunRecord};

    fn against(now: &RunRecord, baseline: &RunRecord) -> Outcome {
        check_rule_with(&RULE, now, Some(baseline), None)
    }

    #[test]
    fn slower_than_before_stands_out_by_degrees() {
        let before = Bench::new(2).measured();
        let now = |factor| before.clone().measurement(1, |of| scale(of, factor)).record();
        let before = before.record();
        assert_eq!(check_rule(&RULE, &now(0.5)), Outcome::NotApplicable);
        assert_eq!(against(&now(1.0), &before), Outcome::Clear);
        assert_eq!(against(&now(1.5), &before), Outcome::Clear);
        against(&now(0.85), &before).only(Severity::Warn);
        against(&now(0.5), &before).only(Severity::Fail);
    }

    #[test]
    fn without_an_interval_of_either_nothing_is_decided() {
        let bench = Bench::new(1).measured();
        let bare = |of: &mut Measurement| {
            of.total[0].iops = of.total[0].iops.map(|iops| Estimate::bare(iops.value));
        };
        let now = |factor| bench.clone().measurement(1, |of| scale(of, factor));
        let (before, unsure) =
            (bench.clone().record(), bench.clone().measurement(1, bare).record());
        for factor in [0.011, 0.6, 1.0] {
            let now = now(factor);
            assert_eq!(
                against(&now.clone().measurement(1, bare).record(), &before),
                Outcome::ClearBut(1)
            );
            assert_eq!(against(&now.record(), &unsure), Outcome::ClearBut(1), "{factor}");
        }
        let record = now(0.6).measurement(1, bare).record();
        // The claim would judge it as well.
        let claims = crate::ClaimBook::default();
        let question =
            Question { record: &record, claims: &claims, baseline: Some(&before), expect: None };
        let metric = &crate::assess(&question).measurements[1].metrics[0];
        let reason = metric.reason.to_string();
        assert_eq!(metric.verdict, Verdict::Unjudged);
        assert_eq!(reason, "60 % of the baseline, but the intervals cannot tell");
    }

    #[test]
    fn something_else_of_the_same_name_is_no_baseline() {
        let before = Bench::new(1).measured();
        let now = before.clone().measurement(1, |of| scale(of, 0.5));
        let changes: [fn(&mut Measurement); 6] = [
            |of| of.workload.rw = Some("randwrite".into()),
            |of| of.workload.bs = Some(8192),
            |of| of.workload.iodepth = Some(256),
            |of| of.workload.numjobs = Some(2),
            |of| of.workload.direct = Some(false),
            |of| drop(of.workload.options.insert("fsync".into(), "1".into())),
        ];
        for (n, change) in changes.into_iter().enumerate() {
            let other = before.clone().measurement(1, change).record();
            assert_eq!(against(&now.record(), &other), Outcome::ClearBut(1), "{n}");
        }
        // The result of a depth search may differ each time.
        let found = |bench: Bench, depth: u32| {
            let bench = bench.measurement(1, |of| {
                of.workload.iodepth = Some(depth);
                of.conditions.depths_tried = vec![(64, 1e5), (128, 1.01e5)];
            });
            bench.record()
        };
        against(&found(now, 64), &found(before, 256)).only(Severity::Fail);
    }

    #[test]
    fn drives_are_found_by_their_serial_number() {
        let before = Bench::new(1).measured().record();
        let moved = Bench::new(1).measured().drive(0, |drive| drive.serial = known("X".into()));
        assert_eq!(against(&moved.record(), &before), Outcome::CannotTell);
    }
}
