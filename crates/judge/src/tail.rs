//! Percentiles of binned latencies with their intervals.

use iodyno_model::{Clustering, DirectionResult, Histogram, LatencyKind};
use iodyno_stats::quantile_interval::{is_shown, ranks_of_clustered};
use iodyno_stats::{QuantileInterval, design_effect};

/// Confidence level at which the design effect is estimated from the windows.
const LEVEL: f64 = 0.95;

/// Returns the quantile `q` of `bins`, ns, with its interval from order statistics at `level`;
/// `effect` latencies carry as much information as one independent one
/// (`iodyno_stats::quantile_interval`). The interval goes from the lower end of the bin with the
/// lower rank to the upper end of the bin with the upper rank, within the extremes.
///
/// `None` if there are too few latencies for an interval.
pub fn tail(bins: &Histogram, effect: f64, q: f64, level: f64) -> Option<QuantileInterval> {
    let (low, high) = ranks_of_clustered(bins.count(), effect, q, level)?;
    let low_ns = Histogram::bounds(Histogram::index(bins.value_at_rank(low)?)).0;
    Some(QuantileInterval {
        value: bins.quantile_ns(q)? as f64,
        low: low_ns.max(bins.min_ns()?) as f64,
        high: bins.value_at_rank(high)? as f64,
    })
}

/// As [`tail`], for the latencies of `kind` in `result`, with its recorded clustering, else that of
/// its latencies over time.
///
/// `None` also if neither is known.
pub fn quantile_of_result(
    result: &DirectionResult,
    kind: LatencyKind,
    percent: f64,
    level: f64,
) -> Option<QuantileInterval> {
    let effect = clustering_of(result, kind, percent)?.effect?;
    tail(result.bins(kind)?, effect, percent / 100.0, level)
}

/// Returns how strongly the latencies of `kind` in `result` cluster at a percentile; `None`: not
/// recorded by windows of time.
pub fn clustering_of(
    result: &DirectionResult,
    kind: LatencyKind,
    percent: f64,
) -> Option<Clustering> {
    let known = result.clustering.iter().find(|one| (one.percent - percent).abs() < 1e-9);
    let series = &result.latency_series;
    match known {
        Some(known) if kind == LatencyKind::Total => Some(*known),
        _ if series.kind == kind && !series.windows().is_empty() => {
            let windows: Vec<Vec<&Histogram>> =
                series.windows().iter().map(|window| vec![&window.latency]).collect();
            clustering(result.bins(kind)?, &windows, &[percent]).pop()
        }
        _ => None,
    }
}

/// Computes how strongly latencies cluster at each of `percents` for which `bins` has enough
/// latencies, from consecutive `windows` of equal length, each of some histograms.
pub fn clustering(
    bins: &Histogram,
    windows: &[Vec<&Histogram>],
    percents: &[f64],
) -> Vec<Clustering> {
    let counted =
        |window: &Vec<&Histogram>| window.iter().map(|one| one.count() as f64).sum::<f64>();
    let counts: Vec<f64> = windows.iter().map(counted).collect();
    let effect = |percent: f64| {
        let share = percent / 100.0;
        let bin = Histogram::index(bins.quantile_ns(share)?);
        // The bin of the quantile counts as beyond it if that is nearer to the share.
        let beyond = |from: usize| bins.count_from(from) as f64 / bins.count() as f64;
        let off = |from: usize| (beyond(from) - (1.0 - share)).abs();
        let is_split = |from: &usize| beyond(*from) > 0.0 && beyond(*from) < 1.0;
        let nearest = [bin, bin + 1].into_iter().filter(is_split);
        let Some(from) = nearest.min_by(|a, b| off(*a).total_cmp(&off(*b))) else {
            // All are in one bin, as is every rank.
            return Some(1.0);
        };
        let slow = |window: &Vec<&Histogram>| {
            window.iter().map(|one| one.count_from(from) as f64).sum::<f64>()
        };
        design_effect(&windows.iter().map(slow).collect::<Vec<f64>>(), &counts, LEVEL)
    };
    let shown = percents.iter().filter(|percent| is_shown(bins.count(), **percent / 100.0));
    shown.map(|percent| Clustering { percent: *percent, effect: effect(*percent) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 windows of 1000 latencies each, a mean of 20 being slow: evenly, or 200 in every tenth
    /// window.
    fn windows(in_clusters: bool) -> Vec<Histogram> {
        let slow = |n: u64| match in_clusters {
            true if n % 10 == 3 => 200,
            true => 0,
            false => 15 + (n * 7) % 11,
        };
        let window = |n: u64| {
            let mut bins = Histogram::default();
            (0..1000 - slow(n)).for_each(|i| bins.record(80_000 + i * 10));
            (0..slow(n)).for_each(|i| bins.record(1_000_000 + (i * 7919 % 200) * 10_000));
            bins
        };
        (0..100).map(window).collect()
    }

    fn merged(windows: &[Histogram]) -> Histogram {
        let mut all = Histogram::default();
        windows.iter().for_each(|one| all.merge(one));
        all
    }

    #[test]
    fn the_interval_holds_the_value_and_few_latencies_have_none() {
        let mut bins = Histogram::default();
        (0..100_u64).for_each(|i| bins.record(50_000 + i));
        assert_eq!(tail(&bins, 1.0, 0.99, 0.95), None);
        (0..100_000_u64).for_each(|i| bins.record(50_000 + i * 7));
        let found = tail(&bins, 1.0, 0.99, 0.95).unwrap();
        assert!(found.low <= found.value && found.value <= found.high, "{found:?}");
        assert!(found.relative_half_width() < 0.02, "{found:?}");
        assert_eq!(tail(&bins, 1e6, 0.99, 0.95), None);
    }

    #[test]
    fn clusters_widen_the_percentile_that_they_make() {
        let found = |in_clusters| {
            let windows = windows(in_clusters);
            let groups: Vec<Vec<&Histogram>> = windows.iter().map(|one| vec![one]).collect();
            let bins = merged(&windows);
            let [half, p99] = clustering(&bins, &groups, &[50.0, 99.0])[..] else { panic!() };
            let effect = p99.effect.unwrap();
            (half.effect.unwrap(), effect, tail(&bins, effect, 0.99, 0.95).unwrap())
        };
        let ((_, even, narrow), (_, clustered, wide)) = (found(false), found(true));
        assert!(even < 2.0 && clustered > 20.0, "{even} {clustered}");
        assert!(wide.relative_half_width() > 2.0 * narrow.relative_half_width(), "{wide:?}");
        assert!(narrow.low <= narrow.value && narrow.value <= narrow.high);
    }

    #[test]
    fn without_windows_nothing_is_known_and_with_them_something() {
        let windows = windows(false);
        let mut result = DirectionResult::unknown(iodyno_model::Direction::Read);
        result.latency = merged(&windows);
        assert_eq!(quantile_of_result(&result, LatencyKind::Total, 99.0, 0.95), None);
        for (n, one) in (0..).zip(&windows) {
            result.latency_series.push(n * 1_000_000_000, 1_000_000_000, one);
        }
        let found = quantile_of_result(&result, LatencyKind::Total, 99.0, 0.95).unwrap();
        assert!(found.low <= found.value && found.value <= found.high);
        // The measurement's own recorded clustering takes precedence.
        result.clustering = vec![Clustering { percent: 99.0, effect: None }];
        assert_eq!(quantile_of_result(&result, LatencyKind::Total, 99.0, 0.95), None);
        // One bin holds all.
        let mut same = Histogram::default();
        (0..5000).for_each(|_| same.record(1000));
        assert_eq!(clustering(&same, &[vec![&same]], &[99.0])[0].effect, Some(1.0));
    }
}
