//! Finds rates that changed during the measurement.

use iodyno_model::{DirectionResult, Measurement, Metric, Severity, Window, format_duration_ns};
use iodyno_stats::shift::shift;

use super::{Affected, Checks, Reservation, Rule, Tally, rate_cliff, steady_state_not_reached};
use crate::figures;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "not-steady",
    severity: Severity::Info,
    summary: "rates that changed over the measured time",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let mut affected = Affected::default();
    for (_, of) in context.finished() {
        let Some(result) = of.total.first().filter(|_| has_own_rate(of)) else { continue };
        let (Some(steady), Some(iops), Some(ns)) = (result.steady, result.iops, of.duration_ns)
        else {
            tally.unknown(of.title(), "too short to tell if it is steady");
            continue;
        };
        tally.checked();
        if !steady && !is_reported(context, of) {
            let rate = figures::estimate(Metric::Iops, &iops);
            let levels =
                levels(result, of.warmup_ns).map_or_else(String::new, |text| format!(": {text}"));
            let figure = format!("{rate} over {}{levels}", format_duration_ns(ns as f64));
            affected.add(of.title(), figure, context.subjects(of));
        }
    }
    affected.report(
        tally,
        "rate not stable during the measurement",
        "A changing rate has no stable mean: another moment gives another figure.",
        "Measure longer (check: --time 60; jobs: runtime=60); if it falls, look at temperature, at what else uses the drive and, of writes, for a cache that is full.",
    );
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let is_steady = of.total.first()?.steady != Some(false);
    let unsteady = !is_steady && has_own_rate(of) && !is_reported(context, of);
    unsteady.then(|| Reservation::qualified("rate not stable during the measurement"))
}

/// Returns false for a replay, whose rate changes as its trace does.
fn has_own_rate(of: &Measurement) -> bool {
    of.replayed().is_none()
}

/// Returns true if another rule reports it, with cause or figures.
fn is_reported(context: &RuleContext<'_>, of: &Measurement) -> bool {
    matches!(rate_cliff::affected_by(context, of), Ok(Some(_)))
        || steady_state_not_reached::reports_change(of)
}

/// Describes the two levels of a rate that changed from one to the other.
fn levels(result: &DirectionResult, warmup_ns: u64) -> Option<String> {
    let windows = result.series.whole();
    let measured = &windows[windows.partition_point(|window| window.start_ns < warmup_ns)..];
    let rates: Vec<f64> = measured.iter().filter_map(Window::iops).collect();
    let found = shift(&rates)?;
    let moment = measured.get(found.at)?.start_ns;
    let rate = |iops| figures::value(Metric::Iops, iops);
    let (before, after) = (rate(found.before), rate(found.after));
    Some(format!("{before} up to {}, {after} from then on", format_duration_ns(moment as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, assert_qualifies, check_rule, reserves};
    use iodyno_model::RateSeries;

    #[test]
    fn a_cliff_is_reported_with_both_levels() {
        let cliff = Bench::new(1).measured().measurement(1, |of| {
            of.total[0].steady = Some(false);
            of.warmup_ns = 200_000_000;
            of.total[0].series = RateSeries::default();
            for n in 0..100 {
                // The queue fills in the first two windows.
                let ios = if n < 2 {
                    5000
                } else if n < 41 {
                    400 + n % 3
                } else {
                    100 + n % 3
                };
                let (start_ns, duration_ns) = (n * 100_000_000, 100_000_000);
                let window = Window { start_ns, duration_ns, ios: Some(ios), ..Window::default() };
                of.total[0].series.push(window);
            }
        });
        let outcome = check_rule(&RULE, &cliff.record());
        let reported = &outcome.only(Severity::Info).evidence[0].value;
        assert!(
            reported.ends_with(": 4010 IOPS up to 4.1 s, 1010 IOPS from then on"),
            "{reported}"
        );
    }

    #[test]
    fn a_replay_changes_its_rate_as_its_trace_does() {
        let replay = Bench::new(1).measured().measurement(1, |of| {
            of.total[0].steady = Some(false);
            let replayed = Some(Box::default());
            of.account = Some(iodyno_model::JobStats { replayed, ..Default::default() });
        });
        assert_eq!(check_rule(&RULE, &replay.record()), Outcome::Clear);
        assert!(reserves(&RULE, &replay.record(), 1).is_none());
    }

    #[test]
    fn a_change_qualifies() {
        assert_qualifies(
            &RULE,
            |of| of.total[0].steady = Some(false),
            |of| of.total[0].steady = None,
        );
    }
}
