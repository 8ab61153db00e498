//! Finds drives that are slower than their equals.

use iodyno_model::{Evidence, Severity, Verdict};

use super::{Checks, Rule, Tally, advice, finding, severity_of};
use crate::figures;
use crate::measured::unwritten;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "unlike-peers",
    severity: Severity::Fail,
    summary: "drives slower than equal drives (three or more) under the same load",
    checks: Checks::Run(check),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    for compared in &context.compared {
        let of = &context.record().measurements[compared.measurement];
        if unwritten(of) {
            tally.unknown(of.title(), "its blocks were never written");
            continue;
        }
        let Some((median, count, judgement)) = &compared.peers else { continue };
        if judgement.verdict == Verdict::Unjudged {
            tally.unknown(of.title(), judgement.reason.to_string());
            continue;
        }
        tally.checked();
        let Some(severity) = severity_of(judgement.verdict) else { continue };
        let mut evidence = vec![
            Evidence::new("measured", figures::estimate(compared.metric, &compared.estimate)),
            Evidence::new("peers' median", figures::value(compared.metric, *median)),
            Evidence::new("peers", count.to_string()),
        ];
        evidence.extend(compared.limiters.iter().map(|why| Evidence::new("beside", why.clone())));
        tally.found(finding(
            severity,
            context.subjects(of),
            format!("{}: {}.", of.title(), judgement.reason),
            evidence,
            "Drives of the same model, firmware, capacity, link and fill should be equally fast; an array is \
             as fast as its slowest member.",
            format!(
                "Compare their logs{}. Swap two in their slots and repeat: if the slowness moves with \
                 the drive, replace it.",
                advice::drive_logs(context, of, "smart-log")
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, link, scale, set_written};
    use iodyno_model::{Estimate, LinkState, Measurement, WrittenState};

    fn one_at(factor: f64) -> Bench {
        Bench::new(3).measured().measurement(4, |of| scale(of, factor))
    }

    #[test]
    fn a_slow_one_stands_out_by_degrees() {
        assert_eq!(check_rule(&RULE, &one_at(1.0).record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &one_at(0.92).record()), Outcome::Clear);
        check_rule(&RULE, &one_at(0.85).record()).only(Severity::Warn);
        let outcome = check_rule(&RULE, &one_at(0.5).record());
        assert_eq!(outcome.only(Severity::Fail).subjects, ["nvme1n1", "nvme1"]);
        assert_eq!(check_rule(&RULE, &one_at(2.0).record()), Outcome::Clear);
    }

    #[test]
    fn overlapping_intervals_cannot_tell_and_close_ones_pass() {
        let with = |factor: f64, width: Option<f64>| {
            let bench = one_at(factor).measurement(4, |of| {
                let iops = of.total[0].iops.as_mut().unwrap();
                let value = iops.value;
                *iops = width.map_or(Estimate::bare(value), |width| {
                    Estimate::confident(value, value * (1.0 - width), value * (1.0 + width), 0.95)
                });
            });
            check_rule(&RULE, &bench.record())
        };
        // The other steps are clear.
        assert_eq!(with(0.85, Some(0.5)), Outcome::ClearBut(1));
        assert_eq!(with(0.1, None), Outcome::ClearBut(1), "no interval");
        assert_eq!(with(1.0, Some(0.05)), Outcome::Clear, "5 % less would be no finding");
        assert_eq!(with(1.5, Some(0.3)), Outcome::Clear);
        with(0.1, Some(0.5)).only(Severity::Fail);
        // Two of three without an interval say nothing about the third.
        let alone = one_at(0.5).measurement(1, bare).measurement(7, bare);
        assert_eq!(check_rule(&RULE, &alone.record()), Outcome::ClearBut(3));
    }

    fn bare(of: &mut Measurement) {
        of.total[0].iops = of.total[0].iops.map(|iops| Estimate::bare(iops.value));
    }

    #[test]
    fn a_drive_that_somebody_else_used_warns_at_most() {
        let busy = |bytes| {
            let bench = one_at(0.5).measurement(4, |of| {
                of.conditions.other_iops = Some(1e5);
                of.conditions.other_bytes_per_s = Some(bytes);
            });
            check_rule(&RULE, &bench.record())
        };
        assert!(busy(4e8).only(Severity::Warn).what.contains("other processes did"));
        busy(1e3).only(Severity::Fail);
    }

    #[test]
    fn latencies_warn_at_most() {
        let slow = Bench::new(3).measured().measurement(5, |of| scale(of, 3.0));
        check_rule(&RULE, &slow.record()).only(Severity::Warn);
    }

    #[test]
    fn a_drive_below_a_narrower_uplink_is_no_peer() {
        let below = |generation| {
            let bench = Bench::new(4).measured().host(|host| {
                let mut uplink = link("0000:00:09.0", "0000:20:00.0");
                uplink.current = known(LinkState { generation, width: 4 });
                host.links.push(uplink);
                host.drives[1].links.insert(0, "0000:20:00.0".into());
            });
            bench.measurement(4, |of| scale(of, 0.5))
        };
        check_rule(&RULE, &below(4).record()).only(Severity::Fail);
        assert_eq!(check_rule(&RULE, &below(3).record()), Outcome::Clear);
    }

    #[test]
    fn peers_are_equal_and_three() {
        let two = Bench::new(2).measured().measurement(4, |of| scale(of, 0.5));
        assert_eq!(check_rule(&RULE, &two.record()), Outcome::NotApplicable);
        let unequal = one_at(0.5).drive(1, |drive| drive.firmware = known("F0".into()));
        assert_eq!(check_rule(&RULE, &unequal.record()), Outcome::NotApplicable);
        let unlike = one_at(0.5).measurement(4, |of| set_written(of, WrittenState::Partly));
        assert_eq!(
            check_rule(&RULE, &unlike.record()),
            Outcome::Clear,
            "the other steps have peers"
        );
        let shallow = one_at(0.5).measurement(4, |of| of.workload.iodepth = Some(4));
        assert_eq!(check_rule(&RULE, &shallow.record()), Outcome::Clear, "no equal load");
        let empty = (0..3).fold(Bench::new(1).measured(), |bench, n| {
            bench.measurement(n, |of| set_written(of, WrittenState::Unwritten))
        });
        assert_eq!(check_rule(&RULE, &empty.record()), Outcome::CannotTell);
    }
}
