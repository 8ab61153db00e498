//! Detects rates that fall to a lower level and stay there.

use iodyno_model::{DirectionResult, Estimate, Measurement, RateSeries, Window};
use iodyno_stats::shift::{Shift, shift};
use iodyno_stats::window_interval;

/// Confidence level of the lower level.
const LEVEL: f64 = 0.95;
/// Maximum ratio of the lower level to the upper. Caches of drives whose sheets state both rates
/// end below a third; wear levelling and other noise do not reach this.
const MOST_RATIO: f64 = 0.7;
/// Minimum windows of each level.
const LEAST_WINDOWS: usize = 10;
/// Minimum duration of each level, ns: a pause of the drive is not a level.
const LEAST_LEVEL_NS: u64 = 1_000_000_000;
/// Share of each level's windows that are separate from the other level.
const SEPARATE_SHARE: f64 = 0.9;

/// Fall of a rate to another level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cliff {
    pub(crate) before_bytes_per_s: f64,
    /// The level that lasts, with the interval of its own windows; bytes per second.
    pub(crate) after: Estimate,
    /// Time since the start, warm-up included, ns.
    pub(crate) at_ns: u64,
    /// Bytes moved until then.
    pub(crate) moved_bytes: u64,
}

impl Cliff {
    /// Returns the first cliff in a result of `of`; `None`: there is none, or the rate over time is
    /// not known. The sum of several targets also falls when one of them is done, so one of them
    /// must fall itself.
    pub(crate) fn of(of: &Measurement, result: &DirectionResult) -> Option<Self> {
        let cliff = Self::in_series(&result.series)?;
        let own = of.parts.iter().flat_map(|part| &part.results);
        let own = own.filter(|own| own.direction == result.direction).map(|own| &own.series);
        let mut own = own.filter(|series| !series.windows().is_empty()).peekable();
        let falls = own.peek().is_none() || own.any(|series| Self::in_series(series).is_some());
        falls.then_some(cliff)
    }

    fn in_series(series: &RateSeries) -> Option<Self> {
        let windows = series.whole();
        let windows: Vec<&Window> =
            windows.iter().filter(|window| window.bytes.is_some()).collect();
        // Shorter series cannot show two levels.
        (windows.len() >= 2 * LEAST_WINDOWS).then(|| find_cliff(&windows)).flatten()
    }
}

/// Finds two levels of which the second is lower, both last, and they hardly overlap.
fn find_cliff(windows: &[&Window]) -> Option<Cliff> {
    let rates: Vec<f64> = windows.iter().filter_map(|window| window.bytes_per_s()).collect();
    let Shift { at, before, after } = shift(&rates)?;
    let (upper, lower) = windows.split_at_checked(at)?;
    let lasts = |part: &[&Window]| {
        part.len() >= LEAST_WINDOWS && sum_of(part, |window| window.duration_ns) >= LEAST_LEVEL_NS
    };
    let quantile = |part: &[f64], share: f64| {
        let mut sorted = part.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[((part.len() - 1) as f64 * share).round() as usize]
    };
    if after > MOST_RATIO * before || !lasts(upper) || !lasts(lower) {
        return None;
    }
    let apart =
        quantile(&rates[at..], SEPARATE_SHARE) < quantile(&rates[..at], 1.0 - SEPARATE_SHARE);
    let interval = window_interval(&rates[at..], LEVEL);
    let after = interval.map_or(Estimate::bare(after), |interval| {
        Estimate::confident(after, interval.low, interval.high, LEVEL)
    });
    apart.then(|| Cliff {
        before_bytes_per_s: before,
        after,
        at_ns: lower[0].start_ns,
        moved_bytes: sum_of(upper, |window| window.bytes.unwrap_or(0)),
    })
}

fn sum_of(windows: &[&Window], what: fn(&Window) -> u64) -> u64 {
    windows.iter().fold(0, |sum, window| sum.saturating_add(what(window)))
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Estimate, Metric, RateSeries, Verdict, Window};

    use crate::testing::{Bench, claims};
    use crate::{Question, assess};

    #[test]
    fn a_read_that_fell_is_held_to_the_level_that_lasts() {
        let judged = |lower: u64| {
            let bench = Bench::new(1).measured().measurement(0, |of| {
                let (mut series, mut sum) = (RateSeries::default(), 0);
                for n in 0..50 {
                    // The claim is 6.8 GB/s.
                    let bytes = (if n < 25 { 680 } else { lower } + n % 3) * 1_000_000;
                    let (start_ns, duration_ns) = (n * 100_000_000, 100_000_000);
                    let bytes_of = Window {
                        start_ns,
                        duration_ns,
                        ios: Some(1),
                        bytes: Some(bytes),
                        ..Window::default()
                    };
                    series.push(bytes_of);
                    sum += bytes;
                }
                let mean = sum as f64 / 5.0;
                of.conditions.scratch = true;
                of.total[0].series = series;
                // Two levels give an interval that contains both.
                of.total[0].bandwidth =
                    Some(Estimate::confident(mean, 0.7 * mean, 1.3 * mean, 0.95));
            });
            let (record, claims) = (bench.record(), claims());
            let question =
                Question { record: &record, claims: &claims, baseline: None, expect: None };
            let metric = assess(&question).measurements[0].metrics[0].clone();
            assert_eq!(metric.metric, Metric::Bandwidth);
            (metric.verdict, metric.reason.to_string())
        };
        let (verdict, reason) = judged(422);
        assert_eq!(verdict, Verdict::Warn);
        assert_eq!(reason, "62 % of the claim, from 2.5 s on (81 % overall)");
        assert_eq!(judged(680).0, Verdict::Pass);
    }
}
