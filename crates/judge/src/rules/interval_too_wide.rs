//! Finds measurements that ended before they were precise.

use iodyno_model::{
    DirectionResult, EndReason, LatencyKind, Measurement, Metric, Severity, WIDTH_NOT_KNOWN,
    format_width,
};

use super::{Checks, Reservation, Rule, Tally, qualify};
use crate::measured::metric;
use crate::rule_context::RuleContext;
use crate::tail::quantile_of_result;

/// Confidence level of the p99's interval.
const LEVEL: f64 = 0.95;

pub(super) static RULE: Rule = Rule {
    id: "interval-too-wide",
    severity: Severity::Info,
    summary: "measurements that reached the maximum time before the target precision",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let affected_by = |of: &Measurement| match widths(of) {
        None => Err("its interval or target precision is not recorded".into()),
        Some(wide) => Ok((!wide.is_empty()).then(|| {
            let said = wide.iter().map(|Wide { of, reached, asked }| {
                format!("{of}{}, asked {}", said(*reached), format_width(*asked))
            });
            said.collect::<Vec<_>>().join("; ")
        })),
    };
    let words = [
        "the interval is wider than asked for",
        "The figure is right within its wide interval: small differences are not significant.",
        "Measure longer: --budget and --max-time, runtime of jobs",
    ];
    qualify(tally, context, affected_by, words);
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let wide = widths(of)?;
    let said = wide.iter().map(|Wide { of, reached, asked }| {
        let of = if of.is_empty() { "uncertainty " } else { of };
        format!("{of}{} (target {})", said(*reached), format_width(*asked))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| Reservation::qualified(said.join("; ")))
}

/// An interval wider than asked for.
struct Wide {
    /// Its quantity, as the sentence begins; empty: the quantity that is judged.
    of: &'static str,
    /// Relative half-width.
    reached: f64,
    /// Relative half-width that was asked for.
    asked: f64,
}

/// Returns the intervals that were too wide at the maximum time; `None`: not known.
fn widths(of: &Measurement) -> Option<Vec<Wide>> {
    if of.end != EndReason::MaxTime {
        return Some(Vec::new());
    }
    let wide = |of, reached, asked| (reached > asked).then_some(Wide { of, reached, asked });
    let rate = own_width(of)?;
    let p99 = of.conditions.p99_precision_asked.zip(p99_width(of));
    let p99 = p99.and_then(|(asked, reached)| wide("p99 ", reached, asked));
    Some(wide("", rate.0, rate.1).into_iter().chain(p99).collect())
}

/// Formats a width.
fn said(width: f64) -> String {
    match width.is_finite() {
        true => format_width(width),
        false => format!("{WIDTH_NOT_KNOWN} (too few windows or I/Os)"),
    }
}

/// Relative half-width of the p99's interval, in the direction with the widest; infinite if there
/// are too few I/Os.
fn p99_width(of: &Measurement) -> Option<f64> {
    let width = |result: &DirectionResult| {
        quantile_of_result(result, LatencyKind::Total, 99.0, LEVEL)
            .map_or(f64::INFINITY, |p99| p99.relative_half_width())
    };
    let stamped = of.total.iter().filter(|result| result.latency.count() > 0);
    stamped.map(width).max_by(f64::total_cmp)
}

/// Relative half-width of the interval of the figure that is judged, reached and asked for;
/// infinite if there are too few windows. The stop rule used the rate; at a fixed depth the mean
/// latency is its reciprocal, so a second width would only confuse.
fn own_width(of: &Measurement) -> Option<(f64, f64)> {
    let asked = of.conditions.precision_asked?;
    let result = of.total.first()?;
    let estimate = match metric(of) {
        Metric::Bandwidth => result.bandwidth,
        Metric::Iops => result.iops,
        Metric::LatencyMean => result.latency_mean.or(result.iops),
    };
    Some((estimate?.relative_half_width().unwrap_or(f64::INFINITY), asked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves};
    use iodyno_model::{Clustering, Estimate, Histogram};

    #[test]
    fn a_wide_interval_qualifies() {
        let bench = Bench::new(1).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&RULE, &bench.record(), 1), None);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
        let wide = bench.clone().measurement(1, |of| {
            of.end = EndReason::MaxTime;
            let value = of.total[0].iops.unwrap().value;
            of.total[0].iops = Some(Estimate::confident(value, value * 0.9, value * 1.1, 0.95));
        });
        check_rule(&RULE, &wide.record()).only(Severity::Info);
        assert!(reserves(&RULE, &wide.record(), 1).unwrap().why.contains("10 %"));
        let few = bench.clone().measurement(1, |of| {
            of.end = EndReason::MaxTime;
            of.conditions.p99_precision_asked = Some(0.1);
            of.total[0].latency = Histogram::default();
            (0..200).for_each(|n| of.total[0].latency.record(50_000 + n * n));
        });
        check_rule(&RULE, &few.record()).only(Severity::Info);
        let why = reserves(&RULE, &few.record(), 1).unwrap().why;
        assert!(why.starts_with("p99 ±"), "{why}");
        let enough = few.measurement(1, |of| {
            (0..500_000).for_each(|n| of.total[0].latency.record(50_000 + n % 500));
            of.total[0].clustering = vec![Clustering { percent: 99.0, effect: Some(2.0) }];
        });
        assert_eq!(reserves(&RULE, &enough.record(), 1), None);
        // Slow I/Os in clusters so large that there are only a few.
        let clustered = enough.measurement(1, |of| of.total[0].clustering[0].effect = Some(1e5));
        let why = reserves(&RULE, &clustered.record(), 1).unwrap().why;
        assert!(why.contains("not known"), "{why}");
        let short = bench.clone().measurement(1, |of| {
            of.end = EndReason::MaxTime;
            of.total[0].iops = of.total[0].iops.map(|iops| Estimate::bare(iops.value));
            of.total[0].bandwidth = of.total[0].bandwidth.map(|bw| Estimate::bare(bw.value));
        });
        let why = reserves(&RULE, &short.record(), 1).unwrap().why;
        assert!(why.contains("uncertainty ± not known"), "{why}");
        let blind = (0..3).fold(bench, |bench, n| {
            bench.measurement(n, |of| {
                of.end = EndReason::MaxTime;
                of.conditions.precision_asked = None;
            })
        });
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
        assert_eq!(reserves(&RULE, &blind.record(), 1), None);
    }
}
