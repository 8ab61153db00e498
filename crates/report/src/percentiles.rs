//! Selects the percentiles that may be shown, and computes their intervals.

use iodyno_judge::{clustering_of, quantile_of_result};
use iodyno_model::{DirectionResult, Histogram, LatencyKind, Spread};

/// Confidence level of the intervals.
pub(crate) const LEVEL: f64 = 0.95;

/// Percentile with its order-statistic interval, within the resolution of the bins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percentile {
    pub(crate) percent: f64,
    /// Value, ns.
    pub(crate) value_ns: u64,
    /// Lower and upper end of the [`LEVEL`] interval, ns.
    pub(crate) bounds_ns: Option<(u64, u64)>,
    /// True if measured here, but of unknown precision: slow I/Os came in too few clusters, or the
    /// measurement was too short.
    pub(crate) is_open: bool,
}

impl Percentile {
    /// True if the interval extends beyond the bin that holds the value.
    pub(crate) fn is_spread(&self) -> bool {
        let bin = Histogram::index(self.value_ns);
        self.bounds_ns.is_some_and(|(low, high)| {
            Histogram::index(low) != bin || Histogram::index(high) != bin
        })
    }
}

/// Returns those of `percents` with at least 30 I/Os beyond them on either side. They have no
/// intervals, because bins alone do not show how precise a percentile is: slow I/Os come in
/// clusters.
pub(crate) fn percentiles(histogram: &Histogram, percents: &[f64]) -> Vec<Percentile> {
    let shown = |percent: &f64| {
        let value_ns = histogram.percentile_ns(*percent)?;
        Some(Percentile { percent: *percent, value_ns, bounds_ns: None, is_open: false })
    };
    percents.iter().filter_map(shown).collect()
}

/// Returns the percentiles of the latencies of `kind` in `result`, with intervals if data over time
/// show how slow I/Os cluster.
pub(crate) fn percentiles_of_kind(
    result: &DirectionResult,
    kind: LatencyKind,
    percents: &[f64],
) -> Vec<Percentile> {
    let Some(bins) = result.bins(kind) else { return Vec::new() };
    let mut shown = percentiles(bins, percents);
    for one in &mut shown {
        let found = quantile_of_result(result, kind, one.percent, LEVEL);
        one.bounds_ns = found.map(|found| (found.low as u64, found.high as u64));
        one.is_open = found.is_none() && clustering_of(result, kind, one.percent).is_some();
    }
    shown
}

/// Returns the known ones of `percents` and their kind of latency: from the bins if there are any,
/// else as stated by a report.
pub(crate) fn percentiles_of(
    result: &DirectionResult,
    percents: &[f64],
) -> (LatencyKind, Vec<Percentile>) {
    if let Some((kind, _)) = result.total_or_completion_bins() {
        return (kind, percentiles_of_kind(result, kind, percents));
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
    let value = result.percentile_of(kind, percent)?;
    let whole = |ns: f64| ns.round() as u64;
    let bounds_ns = match value.spread {
        Spread::Confidence { low, high, .. } => Some((whole(low), whole(high))),
        Spread::Rounding { .. } | Spread::Unknown => None,
    };
    Some(Percentile { percent, value_ns: whole(value.value), bounds_ns, is_open: false })
}

/// Returns a percentile of a result's latencies, ns, and their kind.
pub(crate) fn known(result: &DirectionResult, percent: f64) -> Option<(LatencyKind, f64)> {
    result.known_percentile(percent).map(|(kind, of)| (kind, of.value.round()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Clustering, Direction, PERCENTILES};

    #[test]
    fn a_percentile_needs_thirty_beyond_it() {
        let of = |n: u64| {
            let mut histogram = Histogram::default();
            (0..n).for_each(|i| histogram.record(1000 + i));
            percentiles(&histogram, &PERCENTILES).iter().map(|p| p.percent).collect::<Vec<_>>()
        };
        assert_eq!(of(59), Vec::<f64>::new());
        assert_eq!(of(60), [50.0]);
        assert!(!of(29_999).contains(&99.9));
        assert!(of(30_000).contains(&99.9));
        assert!(!of(30_000).contains(&99.95));
    }

    #[test]
    fn an_interval_holds_the_value_and_clusters_may_leave_none() {
        let mut result = DirectionResult::unknown(Direction::Read);
        (0..100_000u64).for_each(|i| result.latency.record(50_000 + i * i / 10));
        let of = |result: &DirectionResult| percentiles_of(result, &PERCENTILES).1;
        // Without windows the interval is not known, and is not expected either.
        assert!(of(&result).iter().all(|p| p.bounds_ns.is_none() && !p.is_open));
        let known = |effect| {
            let one = |percent: &f64| Clustering { percent: *percent, effect };
            PERCENTILES.iter().map(one).collect()
        };
        result.clustering = known(Some(1.0));
        for p in of(&result) {
            let (low, high) = p.bounds_ns.expect("enough I/Os for an interval");
            assert!(low <= p.value_ns && p.value_ns <= high, "{p:?}");
        }
        let wide = |effect| of_percent(&of(&result_with(&result, known(effect))), 99.0);
        let width = |p: Percentile| p.bounds_ns.map(|(low, high)| high - low);
        assert!(width(wide(Some(100.0))) > width(of_percent(&of(&result), 99.0)));
        assert!(wide(None).is_open);
    }

    fn result_with(result: &DirectionResult, clustering: Vec<Clustering>) -> DirectionResult {
        DirectionResult { clustering, ..result.clone() }
    }

    fn of_percent(shown: &[Percentile], percent: f64) -> Percentile {
        *shown.iter().find(|one| one.percent == percent).expect("it is shown")
    }
}
