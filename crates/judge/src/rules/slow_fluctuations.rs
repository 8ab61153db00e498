//! Finds rates that fluctuate more slowly than the measured time can show.

use iodyno_model::{DirectionResult, Estimate, Measurement, Metric, Severity, format_duration_ns};
use iodyno_stats::two_sample::disjoint;

use super::{Affected, Checks, Reservation, Rule, Tally};
use crate::convergence::is_whole;
use crate::figures;
use crate::rule_context::RuleContext;

/// Evidence that the next measurement may lie outside of the interval.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slow {
    /// The windows of the measurement itself.
    Window,
    /// The rate when measured again.
    Again(Estimate),
    /// A higher rate with all drives at once, which should only be slower.
    AllAtOnce(Estimate),
}

pub(super) static RULE: Rule = Rule {
    id: "slow-fluctuations",
    severity: Severity::Info,
    summary: "rates with fluctuations slower than the measured time",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let mut affected = Affected::default();
    for (_, of) in context.finished() {
        let Some(result) = of.total.first() else { continue };
        let (Some(_), Some(iops)) = (result.slow, result.iops) else {
            tally.unknown(of.title(), "too short to detect slow fluctuations");
            continue;
        };
        tally.checked();
        if let Some(slow) = slow(context, of) {
            let figure = figures::estimate(Metric::Iops, &iops);
            let figure = format!("{figure}; {}", words(slow, of));
            affected.add(of.title(), figure, context.subjects(of));
        }
    }
    let next = match context.profile {
        None => {
            "Measure for several times as long as the fluctuations last (check: --time 60; jobs: runtime=60), or repeat it and compare the repetitions."
        }
        // Its rounds have one length.
        Some(_) => "Repeat it and compare the repetitions.",
    };
    affected.report(
        tally,
        "slow fluctuations: the interval only covers the measured time",
        "Background work of the drive (garbage collection), or a neighbour that comes and goes, gives another mean the next time. The interval covers only what happened while it was measured.",
        next,
    );
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    Some(Reservation::qualified(format!("slow fluctuations: {}", words(slow(context, of)?, of))))
}

/// Returns the evidence; `None` also if a rate change is already reported.
fn slow(context: &RuleContext<'_>, of: &Measurement) -> Option<Slow> {
    let result = of.total.first()?;
    if result.steady == Some(false) {
        return None;
    }
    elsewhere(context, of, result).or_else(|| (result.slow == Some(true)).then_some(Slow::Window))
}

/// Compares with the same point of the same run, and returns it if it is further away than both
/// intervals allow.
fn elsewhere(
    context: &RuleContext<'_>,
    of: &Measurement,
    result: &DirectionResult,
) -> Option<Slow> {
    let own = result.iops?;
    let bounds = own.bounds().filter(|_| own.relative_half_width().is_some())?;
    let others = context.index.repeated(of).iter().filter(|other| {
        // Rounds are made because the drive changes.
        other.phase != of.phase && (other.round, of.round) == (None, None) && is_whole(other)
    });
    others.copied().find_map(|other| {
        if other.targets == of.targets {
            let theirs = of_direction(&other.total, result)?;
            return disjoint(bounds, theirs.bounds()?).then_some(Slow::Again(theirs));
        }
        let [target] = of.targets.as_slice() else { return None };
        let part = other.parts.iter().find(|part| part.target == *target)?;
        let theirs = of_direction(&part.results, result)?;
        (theirs.low() > bounds.1).then_some(Slow::AllAtOnce(theirs))
    })
}

/// Returns the rate of the same direction, if its interval is known.
fn of_direction(results: &[DirectionResult], like: &DirectionResult) -> Option<Estimate> {
    let found = results.iter().find(|one| one.direction == like.direction)?.iops?;
    found.relative_half_width().map(|_| found)
}

fn words(slow: Slow, of: &Measurement) -> String {
    let time = of.duration_ns.map_or_else(
        || "the measured time".to_owned(),
        |ns| format!("these {}", format_duration_ns(ns as f64)),
    );
    let only = format!("the interval covers {time} only");
    let rate = |rate: Estimate| figures::estimate(Metric::Iops, &rate);
    match slow {
        Slow::Window => only,
        Slow::Again(theirs) => format!("measured again, it was {}; {only}", rate(theirs)),
        Slow::AllAtOnce(theirs) => {
            format!("with all at once, it was {}; {only}", rate(theirs))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves};
    use iodyno_model::EndReason;

    #[test]
    fn a_slow_wave_qualifies_and_a_change_has_its_own_rule() {
        let bench = Bench::new(1).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&RULE, &bench.record(), 1), None);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
        let slow = bench.clone().measurement(1, |of| of.total[0].slow = Some(true));
        check_rule(&RULE, &slow.record()).only(Severity::Info);
        let why = reserves(&RULE, &slow.record(), 1).unwrap().why;
        assert!(why.starts_with("slow fluctuations: the interval covers these "), "{why}");
        let changed = slow.measurement(1, |of| of.total[0].steady = Some(false));
        assert_eq!(reserves(&RULE, &changed.record(), 1), None);
        let blind =
            (0..3).fold(bench, |bench, n| bench.measurement(n, |of| of.total[0].slow = None));
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
    }

    #[test]
    fn repetitions_show_fluctuations_beyond_the_window() {
        let mut record = Bench::new(1).measured().record();
        let mut again = record.measurements[1].clone();
        again.phase = 77;
        record.measurements.push(again);
        let last = record.measurements.len() - 1;
        assert_eq!(reserves(&RULE, &record, 1), None);
        let result = &mut record.measurements[last].total[0];
        result.iops = result.iops.map(|iops| iops.scaled(0.9));
        for measurement in [1, last] {
            let why = reserves(&RULE, &record, measurement).unwrap().why;
            assert!(why.contains("measured again, it was "), "{why}");
        }
        // What was interrupted is an attempt.
        record.measurements[last].end = EndReason::Interrupted;
        assert_eq!(reserves(&RULE, &record, 1), None);
        record.measurements[last].end = EndReason::Done;
        record.measurements[last].round = Some(2);
        assert_eq!(reserves(&RULE, &record, 1), None);
    }
}
