//! Percentiles of binned latencies with their intervals.

use iodyno_model::Histogram;
use iodyno_stats::QuantileInterval;
use iodyno_stats::quantile_interval::ranks;

/// The quantile `q` of `bins`, ns, with its interval from order statistics at `level`
/// (`iodyno_stats::quantile_interval`): lower end of the bin that holds the lower rank, upper end
/// of the one that holds the upper rank, within the extremes.
///
/// `None` where there are too few latencies for an interval.
pub fn tail(bins: &Histogram, q: f64, level: f64) -> Option<QuantileInterval> {
    let (low, high) = ranks(bins.count(), q, level)?;
    let low_ns = Histogram::bounds(Histogram::index(bins.value_at_rank(low)?)).0;
    Some(QuantileInterval {
        value: bins.quantile_ns(q)? as f64,
        low: low_ns.max(bins.min_ns()?) as f64,
        high: bins.value_at_rank(high)? as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_value_and_few_latencies_have_none() {
        let mut bins = Histogram::default();
        (0..100_u64).for_each(|i| bins.record(50_000 + i));
        assert_eq!(tail(&bins, 0.99, 0.95), None);
        (0..100_000_u64).for_each(|i| bins.record(50_000 + i * 7));
        let found = tail(&bins, 0.99, 0.95).unwrap();
        assert!(found.low <= found.value && found.value <= found.high, "{found:?}");
        assert!(found.relative_half_width() < 0.02, "{found:?}");
    }
}
