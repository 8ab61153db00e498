//! Measurements that ended before they were precise.

use iodyno_model::{EndReason, Measurement, Metric, RuleReport, Severity};

use super::{Reservation, Rule, qualify};
use crate::compare::percent;
use crate::facts::Facts;
use crate::facts::metric;

pub(super) struct IntervalTooWide;

impl Rule for IntervalTooWide {
    fn id(&self) -> &'static str {
        "interval-too-wide"
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        "measurements that reached the longest time before the precision asked for"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let look = |of: &Measurement| match width(of) {
            None => Err("its interval or the precision asked for is not recorded".into()),
            Some(wide) => Ok(wide.map(|(reached, asked)| {
                format!("± {}, asked ± {}", percent(reached), percent(asked))
            })),
        };
        let words = [
            "the interval is wider than asked for",
            "The figure is right within its interval, which is wider than usual: small differences mean nothing.",
            "Measure longer: iodyno check --max-time 60",
        ];
        qualify(self, facts, look, words)
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let (reached, asked) = width(of)??;
        Some(Reservation::qualified(format!(
            "its interval is ± {}, asked for were ± {}",
            percent(reached),
            percent(asked)
        )))
    }
}

/// Half the interval's width reached and asked for, where the longest time was
/// over before it was narrow enough; the outer `None`: not known.
fn width(of: &Measurement) -> Option<Option<(f64, f64)>> {
    if of.end != EndReason::MaxTime {
        return Some(None);
    }
    let asked = of.conditions.precision_asked?;
    let result = of.total.first()?;
    // What it was stopped on is the rate, also where the latency is judged.
    let estimate = match metric(of) {
        Metric::Bandwidth => result.bandwidth,
        Metric::Iops | Metric::LatencyMean => result.iops,
    };
    let reached = estimate?.relative_half_width()?;
    Some((reached > asked).then_some((reached, asked)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, look, reserves};
    use iodyno_model::Estimate;

    #[test]
    fn a_wide_interval_qualifies() {
        let bench = Bench::new(1).measured();
        assert_eq!(look(&IntervalTooWide, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&IntervalTooWide, &bench.record(), 1), None);
        assert_eq!(look(&IntervalTooWide, &Bench::new(1).record()), Outcome::NotApplicable);
        let wide = bench.clone().measurement(1, |of| {
            of.end = EndReason::MaxTime;
            let value = of.total[0].iops.unwrap().value;
            of.total[0].iops = Some(Estimate::confident(value, value * 0.9, value * 1.1, 0.95));
        });
        look(&IntervalTooWide, &wide.record()).only(Severity::Info);
        assert!(reserves(&IntervalTooWide, &wide.record(), 1).unwrap().why.contains("10 %"));
        let blind = (0..3).fold(bench, |bench, n| {
            bench.measurement(n, |of| {
                of.end = EndReason::MaxTime;
                of.conditions.precision_asked = None;
            })
        });
        assert_eq!(look(&IntervalTooWide, &blind.record()), Outcome::CannotTell);
        assert_eq!(reserves(&IntervalTooWide, &blind.record(), 1), None);
    }
}
