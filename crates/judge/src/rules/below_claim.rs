//! Finds rates below the data sheet, and latencies above it.

use iodyno_model::{Evidence, Severity};

use super::{Checks, Rule, Tally, advice, finding, severity_of};
use crate::figures;
use crate::measured::unwritten;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "below-claim",
    severity: Severity::Fail,
    summary: "rates below 90 % of the data sheet's, latencies above it",
    checks: Checks::Run(check),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    for compared in &context.compared {
        let of = &context.record().measurements[compared.measurement];
        if of.targets.len() != 1 {
            continue;
        }
        let Some((claim, judgement)) = &compared.claim else {
            tally.unknown(of.title(), "no data sheet for it");
            continue;
        };
        if unwritten(of) {
            tally.unknown(of.title(), "its blocks were never written");
            continue;
        }
        if let Some(why) = judgement.below_saturation {
            // The best of a series represents the others.
            if why.surpassed_by.is_none() {
                tally.unknown(of.title(), judgement.reason.to_string());
            }
            continue;
        }
        tally.checked();
        let Some(severity) = severity_of(judgement.verdict) else { continue };
        let mut evidence = vec![
            Evidence::new("measured", figures::estimate(compared.metric, &compared.estimate)),
            Evidence::new("claim", figures::value(compared.metric, claim.value)),
            Evidence::new("of", claim.model.clone()),
            Evidence::new("source", claim.source.clone()),
        ];
        if !claim.conditions.is_empty() {
            evidence.push(Evidence::new("conditions", claim.conditions.clone()));
        }
        if let Some((ceiling, what)) = &compared.ceiling {
            let figure = figures::value(compared.metric, *ceiling);
            evidence.push(Evidence::new("ceiling", format!("{figure}: {what}")));
        }
        let is_virtual = |target: &String| {
            context.place(of, target).drive.is_some_and(|drive| drive.virtual_disk.is_some())
        };
        let next: String = if of.targets.iter().any(is_virtual) {
            "See that the volume is of the type stated (--volume), and whether the instance limits it; \
             then it is a case for the provider."
                .into()
        } else if severity == Severity::Fail {
            "Update its firmware, try another slot, repeat; then call the vendor.".into()
        } else if compared.limiters.is_empty() {
            let fill = advice::fill_unknown(context, of);
            format!("Its speed depends on how it was filled. {fill}")
        } else {
            "Remove the limits named above, and repeat.".into()
        };
        tally.found(finding(
            severity,
            context.subjects(of),
            format!("{}: {}.", of.title(), judgement.reason),
            evidence,
            "The drive, or the path to it, is slower than specified.",
            next,
        ));
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::Verdict;

    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, scale, set_written};
    use iodyno_model::{Metric, WrittenState};

    fn slow(n: usize, factor: f64) -> Bench {
        Bench::new(1).measured().measurement(n, |of| scale(of, factor))
    }

    #[test]
    fn random_reads_far_below_an_exact_claim_fail() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::Clear);
        let outcome = check_rule(&RULE, &slow(1, 0.5).record());
        assert!(outcome.only(Severity::Fail).what.contains("49 % of the claim"), "{outcome:?}");
        // The upper end reaches 90 %.
        assert_eq!(check_rule(&RULE, &slow(1, 0.91).record()), Outcome::Clear);
    }

    #[test]
    fn a_network_in_between_makes_it_a_warning() {
        let bench = slow(1, 0.5).drive(0, |drive| {
            drive.transport = crate::testing::known("tcp".into());
            drive.links.clear();
        });
        let found = check_rule(&RULE, &bench.record());
        assert!(found.only(Severity::Warn).what.contains("behind a network (NVMe over tcp)"));
    }

    #[test]
    fn an_unknown_fill_or_another_limiter_makes_it_a_warning() {
        let outcome = check_rule(&RULE, &slow(0, 0.5).record());
        assert!(outcome.only(Severity::Warn).what.contains("fill unknown"));
        let limited: [fn(&mut iodyno_model::Measurement); 5] = [
            |of| of.cpu = of.cpu.map(|cpu| iodyno_model::CpuUse { busiest_thread: 1.0, ..cpu }),
            |of| of.conditions.other_bytes_per_s = Some(4e8),
            |of| of.conditions.depth_reached = Some(3.0),
            |of| of.conditions.punted = Some(true),
            |of| of.conditions.depths_tried = vec![(64, 1e5), (128, 2e5)],
        ];
        for limit in limited {
            let outcome = check_rule(&RULE, &slow(1, 0.5).measurement(1, limit).record());
            outcome.only(Severity::Warn);
        }
        let hot = slow(1, 0.5)
            .after(|host| crate::testing::log(&mut host.drives[0]).thermal_seconds = [9, 0]);
        assert!(check_rule(&RULE, &hot.record()).only(Severity::Warn).what.contains("heat"));
        let narrow = slow(1, 0.1).link(0, |link| {
            link.current =
                crate::testing::known(iodyno_model::LinkState { generation: 1, width: 1 });
        });
        assert!(check_rule(&RULE, &narrow.record()).only(Severity::Warn).what.contains("Gen1 x1"));
    }

    #[test]
    fn latencies_above_the_claim_warn_at_most() {
        check_rule(&RULE, &slow(2, 5.0).record()).only(Severity::Warn);
        assert_eq!(check_rule(&RULE, &slow(2, 0.1).record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &slow(2, 1.1).record()), Outcome::Clear);
    }

    #[test]
    fn without_claim_or_data_it_is_undecided() {
        let other = slow(1, 0.5).drive(0, |drive| {
            drive.model = crate::testing::known("UNHEARD OF".into());
        });
        assert_eq!(check_rule(&RULE, &other.record()), Outcome::CannotTell);
        let empty = (0..3).fold(slow(1, 0.5), |bench, n| {
            bench.measurement(n, |of| set_written(of, WrittenState::Unwritten))
        });
        assert_eq!(check_rule(&RULE, &empty.record()), Outcome::CannotTell);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
    }

    #[test]
    fn the_best_of_a_series_is_no_reason_to_fail() {
        let mut claims = crate::claims::ClaimBook::default();
        let sheet = crate::testing::SHEET.replace("\"exact\"", "\"series_max\"");
        claims.add_toml(&sheet, "s").unwrap();
        let record = slow(1, 0.5).record();
        let question =
            crate::Question { record: &record, claims: &claims, baseline: None, expect: None };
        let context = RuleContext::gather(&question);
        let random = context.compared.iter().find(|c| c.metric == Metric::Iops).unwrap();
        assert_eq!(random.claim.as_ref().unwrap().1.verdict, Verdict::Unjudged);
    }
}
