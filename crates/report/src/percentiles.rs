//! Which percentiles of a histogram may be shown, and their intervals.

use iodyno_model::{DirectionResult, Estimate, Histogram, LatencyKind};

/// Level of the intervals.
pub(crate) const LEVEL: f64 = 0.95;

/// I/Os that must lie beyond a percentile for it to be shown: with fewer, one
/// straggler more or less moves it.
const BEYOND: f64 = 30.0;

/// Percentiles that the document gives, in percent.
pub(crate) const ALL: [f64; 15] =
    [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999, 99.9999];

/// A percentile with its order-statistic interval, within the bins' resolution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percentile {
    /// In percent.
    pub(crate) percent: f64,
    /// The value, ns.
    pub(crate) value_ns: u64,
    /// Lower and upper end of the interval at [`LEVEL`], ns.
    pub(crate) bounds_ns: Option<(u64, u64)>,
}

impl Percentile {
    /// Whether the interval is wider than the bin that holds the value.
    pub(crate) fn is_spread(&self) -> bool {
        let bin = Histogram::index(self.value_ns);
        self.bounds_ns.is_some_and(|(low, high)| {
            Histogram::index(low) != bin || Histogram::index(high) != bin
        })
    }
}

/// Those of `percents` with at least 30 I/Os beyond them on either side.
pub(crate) fn percentiles(histogram: &Histogram, percents: &[f64]) -> Vec<Percentile> {
    let n = histogram.count();
    percents
        .iter()
        .filter_map(|&percent| {
            let q = percent / 100.0;
            // A hair of tolerance: 30 000 x 0.001 is 30 to a person, not to a float.
            let tail = n as f64 * q.min(1.0 - q) + 1e-6;
            if tail < BEYOND {
                return None;
            }
            Some(Percentile {
                percent,
                value_ns: histogram.quantile_ns(q)?,
                bounds_ns: bounds(histogram, q),
            })
        })
        .collect()
}

/// Those of `percents` that are known of a result, and of which latencies they
/// are: from the bins, else as a report states them.
pub(crate) fn percentiles_of(
    result: &DirectionResult,
    percents: &[f64],
) -> (LatencyKind, Vec<Percentile>) {
    if let Some((kind, bins)) = result.known_bins() {
        return (kind, percentiles(bins, percents));
    }
    let stated =
        |kind| percents.iter().filter_map(|percent| stated(result, kind, *percent)).collect();
    let total: Vec<_> = stated(LatencyKind::Total);
    if total.is_empty() {
        (LatencyKind::Completion, stated(LatencyKind::Completion))
    } else {
        (LatencyKind::Total, total)
    }
}

fn stated(result: &DirectionResult, kind: LatencyKind, percent: f64) -> Option<Percentile> {
    let value: Estimate = result.percentile_of(kind, percent)?;
    let whole = |ns: f64| ns.round() as u64;
    Some(Percentile {
        percent,
        value_ns: whole(value.value),
        bounds_ns: value.bounds().map(|(low, high)| (whole(low), whole(high))),
    })
}

/// The percentile of a result's latencies, ns, and what they are.
pub(crate) fn known(result: &DirectionResult, percent: f64) -> Option<(LatencyKind, f64)> {
    let (kind, shown) = percentiles_of(result, &[percent]);
    shown.first().map(|shown| (kind, shown.value_ns as f64))
}

/// The values between which the quantile lies at [`LEVEL`].
fn bounds(histogram: &Histogram, q: f64) -> Option<(u64, u64)> {
    let found = iodyno_judge::tail(histogram, q, LEVEL)?;
    Some((found.low as u64, found.high as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_thirty_beyond_it() {
        let of = |n: u64| {
            let mut histogram = Histogram::default();
            (0..n).for_each(|i| histogram.record(1000 + i));
            percentiles(&histogram, &ALL).iter().map(|p| p.percent).collect::<Vec<_>>()
        };
        assert_eq!(of(59), Vec::<f64>::new());
        assert_eq!(of(60), [50.0]);
        assert!(!of(29_999).contains(&99.9));
        assert!(of(30_000).contains(&99.9));
        assert!(!of(30_000).contains(&99.95));
    }

    #[test]
    fn the_interval_holds_the_value() {
        let mut histogram = Histogram::default();
        (0..100_000u64).for_each(|i| histogram.record(50_000 + i * 7));
        for p in percentiles(&histogram, &ALL) {
            let (low, high) = p.bounds_ns.expect("enough I/Os for an interval");
            assert!(low <= p.value_ns && p.value_ns <= high, "{p:?}");
        }
    }
}
