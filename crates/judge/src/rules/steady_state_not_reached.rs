//! Finds runs in rounds, and points that write, whose drive did not reach its steady state.

use iodyno_model::{EndReason, Measurement, Rounds, Severity, format_duration_ns};

use super::{Affected, Checks, Reservation, Rule, Tally};
use crate::convergence::limits;
use crate::figures::percent;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "steady-state-not-reached",
    severity: Severity::Info,
    summary: "rounds, points that write and jobs with steadystate that ended before the drive was steady",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let mut affected = Affected::default();
    if let Some((asked, targets)) = &context.rounds {
        for (targets, found) in targets {
            tally.checked();
            if found.steady_in.is_none() {
                let rounds = format!("{} rounds of at most {}", found.rounds(), asked.most);
                affected.add(targets.join(" "), rounds, targets.to_vec());
            }
        }
    }
    for (_, of) in context.finished() {
        if of.conditions.steady_state.is_some() {
            tally.checked();
            if let Some(missing) = missing(of) {
                affected.add(of.title(), missing, context.subjects(of));
            }
        }
        let Some(attained) = of.account.as_ref().and_then(|of| of.steadystate_attained) else {
            continue;
        };
        tally.checked();
        if !attained {
            let time = of.duration_ns.map_or_else(
                || "not attained".into(),
                |ns| format!("not attained in {}", format_duration_ns(ns as f64)),
            );
            affected.add(of.title(), time, context.subjects(of));
        }
    }
    affected.report(
        tally,
        "it ended before steady state",
        "Before its steady state, a drive's speed depends on its history and does not last.",
        "iodyno resume goes on with a run that was stopped; else prepare the drive (docs/howto/prepare.md), and see that nothing else uses it. Points of a sweep that write take time (--max-time 30m), or --fresh where the drive as it is just now is what is asked.",
    );
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    if of.account.as_ref().and_then(|of| of.steadystate_attained) == Some(false) {
        return Some(Reservation::qualified("its steadystate was not attained"));
    }
    if let Some(missing) = missing(of) {
        return Some(Reservation::qualified(missing));
    }
    let (asked, targets) = context.rounds.as_ref()?;
    let (_, found) = targets.iter().find(|(targets, _)| *targets == of.targets)?;
    let window = found.window(asked)?;
    let is_in_window = of.round.is_some_and(|round| window.contains(&round));
    (is_in_window && found.steady_in.is_none())
        .then(|| Reservation::qualified("the drive was not in steady state"))
}

/// Describes why a measurement is not known to be steady, if it had to be and ended at the maximum
/// time.
fn missing(of: &Measurement) -> Option<String> {
    let asked = of.conditions.steady_state.filter(|_| of.end == EndReason::MaxTime)?;
    let rounds =
        format!("{} rounds of {}", asked.rounds, format_duration_ns(asked.round_ns as f64));
    let Some((range, slope)) = asked.excursion.zip(asked.slope_excursion) else {
        return Some(format!(
            "whether the drive was in its steady state is not known: the longest time is shorter \
             than {rounds}"
        ));
    };
    let most = limits(&Rounds::default());
    (!most.allow(range, slope)).then(|| {
        format!(
            "the drive was not in steady state: over the last {rounds} the rate's range was \
             {} of its average (at most {}), its slope {} (at most {})",
            percent(range),
            percent(most.excursion),
            percent(slope),
            percent(most.slope)
        )
    })
}

/// Returns true if this rule reports for `of`, with figures, that its rate changed.
pub(super) fn reports_change(of: &Measurement) -> bool {
    let has_window = of.conditions.steady_state.is_some_and(|state| state.excursion.is_some());
    has_window && missing(of).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{JobStats, SteadyState};

    use crate::testing::{Bench, Outcome, check_rule, in_rounds, reserves};

    #[test]
    fn windows_that_are_not_steady_qualify() {
        let rule = &RULE;
        assert_eq!(check_rule(rule, &Bench::new(1).measured().record()), Outcome::NotApplicable);
        let steady = in_rounds(&[900.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
        assert_eq!(check_rule(rule, &steady), Outcome::Clear);
        assert_eq!(reserves(rule, &steady, 5), None);
        let unsteady = in_rounds(&[900.0, 100.0, 100.0, 200.0, 100.0, 100.0]);
        check_rule(rule, &unsteady).only(Severity::Info);
        assert!(reserves(rule, &unsteady, 5).is_some());
        let attained = |attained| {
            let job = Bench::new(1).measured().measurement(0, |of| {
                of.account =
                    Some(JobStats { steadystate_attained: attained, ..JobStats::default() });
            });
            job.record()
        };
        assert_eq!(check_rule(rule, &attained(Some(true))), Outcome::Clear);
        assert_eq!(check_rule(rule, &attained(None)), Outcome::NotApplicable);
        check_rule(rule, &attained(Some(false))).only(Severity::Info);
        assert!(reserves(rule, &attained(Some(false)), 0).is_some());
        // A point that writes, at its maximum time.
        let writes = |end: EndReason, window: Option<(f64, f64)>| {
            let point = Bench::new(1).measured().measurement(0, |of| {
                of.end = end.clone();
                of.conditions.steady_state = Some(SteadyState {
                    rounds: 5,
                    round_ns: 60_000_000_000,
                    excursion: window.map(|window| window.0),
                    slope_excursion: window.map(|window| window.1),
                });
                of.total[0].steady = Some(false);
            });
            point.record()
        };
        let why = |record| reserves(rule, &record, 0).map(|reserved| reserved.why);
        let not_steady = &super::super::not_steady::RULE;
        let falling = writes(EndReason::MaxTime, Some((0.45, 0.3)));
        check_rule(rule, &falling).only(Severity::Info);
        assert_eq!(reserves(not_steady, &falling, 0), None, "told once");
        assert_eq!(
            why(falling).unwrap(),
            "the drive was not in steady state: over the last 5 rounds of 60 s the rate's \
             range was 45 % of its average (at most 20 %), its slope 30 % (at most 10 %)"
        );
        let short = writes(EndReason::MaxTime, None);
        check_rule(rule, &short).only(Severity::Info);
        assert!(reserves(not_steady, &short, 0).is_some());
        assert_eq!(
            why(short).unwrap(),
            "whether the drive was in its steady state is not known: the longest time is shorter \
             than 5 rounds of 60 s"
        );
        for (end, window) in [
            (EndReason::MaxTime, Some((0.2, 0.1))),
            (EndReason::Precision, Some((0.1, 0.05))),
            (EndReason::Interrupted, None),
        ] {
            assert_eq!(why(writes(end, window)), None);
        }
        // The first round is not in the window.
        assert_eq!(reserves(rule, &unsteady, 0), None);
        check_rule(rule, &in_rounds(&[100.0, 100.0])).only(Severity::Info);
    }
}
