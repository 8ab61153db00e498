//! Result of one direction, with its intervals, from its counts.

use iodyno_judge::clustering;
use iodyno_load::{Counted, DirectionRecord, Whole};
use iodyno_model::{
    Direction, DirectionResult, Estimate, Histogram, PERCENTILES, PriorityLatencies, SplitLatency,
    Window,
};
use iodyno_stats::{MeanInterval, ratio_interval, window_interval};

use super::series::rates;

/// Result of `counted`; `over_time` are the rates, warm-up included, and the latencies by windows,
/// warm-up excluded; `level` is the confidence level.
pub(crate) fn result(
    direction: Direction,
    counted: &Counted,
    over_time: (&DirectionRecord, &[Vec<&Histogram>]),
    whole: &Whole,
    split: Option<&SplitLatency>,
    level: f64,
) -> DirectionResult {
    let (record, by_windows) = over_time;
    let measured: Vec<Window> = record
        .series
        .whole()
        .into_iter()
        .filter(|window| window.start_ns >= counted.start_ns)
        .collect();
    let ios = counted.ios;
    let seconds = counted.duration_ns as f64 / 1e9;
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    let rate_interval = window_interval(&rates(&measured), level);
    let iops = around(per_second(ios as f64), rate_interval.as_ref());
    let byte_rates: Vec<f64> = measured.iter().filter_map(Window::bytes_per_s).collect();
    let byte_rate_interval = window_interval(&byte_rates, level);
    let bandwidth = around(per_second(counted.bytes as f64), byte_rate_interval.as_ref());
    let latency_sums: Vec<f64> = measured.iter().map(|window| window.latency_sum_ns).collect();
    let counts: Vec<f64> = measured.iter().filter_map(|one| Some(one.ios? as f64)).collect();
    let latency_interval = ratio_interval(&latency_sums, &counts, level);
    DirectionResult {
        direction,
        ios: Some(ios),
        bytes: Some(counted.bytes),
        whole_ios: Some(whole.ios),
        whole_bytes: Some(whole.bytes),
        errors: Some(whole.errors),
        short_ios: Some(whole.short_ios),
        iops: Some(iops),
        bandwidth: Some(bandwidth),
        latency_mean: counted.latency.mean_ns().map(|mean| around(mean, latency_interval.as_ref())),
        latency: counted.latency.clone(),
        stated: None,
        sampled: None,
        split: split.cloned(),
        by_priority: PriorityLatencies::default(),
        series: record.series.clone(),
        latency_series: record.latencies.clone(),
        steady: rate_interval.map(|interval| interval.steady),
        slow: rate_interval.map(|interval| interval.slow),
        clustering: clustering(&counted.latency, by_windows, &PERCENTILES),
    }
}

/// Exact mean of the counted I/Os, with the interval from the windows.
fn around(mean: f64, interval: Option<&MeanInterval>) -> Estimate {
    match interval {
        Some(found) if found.mean > 0.0 && found.low.is_finite() && found.high.is_finite() => {
            let low = mean - (found.mean - found.low);
            let high = mean + (found.high - found.mean);
            Estimate::confident(mean, low.max(0.0), high, found.level)
        }
        _ => Estimate::bare(mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 100 ms at depth 1, full of I/Os of the given latencies, ns.
    fn of_windows(latencies_ns: impl Iterator<Item = u64>) -> DirectionResult {
        of_blocks(latencies_ns.map(|latency_ns| (latency_ns, 4096)))
    }

    /// The same with the mean length of their I/Os, bytes.
    fn of_blocks(windows: impl Iterator<Item = (u64, u64)>) -> DirectionResult {
        let (mut record, mut counted) = (DirectionRecord::default(), Counted::default());
        for (n, (latency_ns, length)) in (0..).zip(windows) {
            let (start_ns, duration_ns) = (n * 100_000_000, 100_000_000);
            let ios = duration_ns / latency_ns;
            let mut latency = Histogram::default();
            let bin = Histogram::index(latency_ns);
            let sum_ns = (ios * latency_ns) as f64;
            let squares = sum_ns * latency_ns as f64;
            latency.add_counts([(bin, ios)], sum_ns, squares, latency_ns, latency_ns);
            record.series.push(Window {
                start_ns,
                duration_ns,
                ios: Some(ios),
                bytes: Some(length * ios),
                latency_sum_ns: latency.sum_ns(),
                ..Window::default()
            });
            counted.duration_ns = start_ns + duration_ns;
            counted.ios += ios;
            counted.bytes += length * ios;
            counted.latency.merge(&latency);
        }
        let over_time = (&record, &[][..]);
        result(Direction::Read, &counted, over_time, &Whole::default(), None, 0.95)
    }

    #[test]
    fn a_window_of_few_slow_ios_does_not_throw_the_mean_latency_off() {
        // 1.7 us, and one window in twelve stalls with I/Os of 10 ms.
        let found = of_windows((0..96).map(|n| if n % 12 == 5 { 10_000_000 } else { 1700 }));
        let width = |of: Option<Estimate>| of.unwrap().relative_half_width().unwrap();
        assert!(width(found.latency_mean) < 0.2, "{:?}", found.latency_mean);
        assert!(width(found.latency_mean) < 2.0 * width(found.iops));
    }

    #[test]
    fn bandwidth_of_several_block_sizes_has_its_own_interval() {
        // I/Os come evenly, but the share of large ones varies.
        let found = of_blocks((0..96_u64).map(|n| {
            let uneven = n * 7919 % 101;
            (100_000 + uneven * 10, 4096 * (1 + uneven))
        }));
        let width = |of: Option<Estimate>| of.unwrap().relative_half_width().unwrap();
        let (iops, bandwidth) = (width(found.iops), width(found.bandwidth));
        assert!(bandwidth > 10.0 * iops, "{bandwidth} {iops}");
        // With one block size they are the same.
        let found = of_windows((0..96_u64).map(|n| 100_000 + n * 7919 % 101 * 10));
        let (iops, bandwidth) = (width(found.iops), width(found.bandwidth));
        assert!((bandwidth / iops - 1.0).abs() < 1e-3, "{bandwidth} {iops}");
    }

    #[test]
    fn three_windows_have_figures_without_an_interval() {
        let found = of_windows([340_000, 345_000, 335_000].into_iter());
        assert!(found.iops.unwrap().value > 2900.0);
        assert_eq!(found.iops.unwrap().bounds(), None);
        assert_eq!(found.latency_mean.unwrap().bounds(), None);
        assert_eq!((found.steady, found.slow), (None, None));
    }

    #[test]
    fn a_slow_wave_is_slow() {
        let wave = |n: i32| (100_000.0 * (1.2 + (f64::from(n) / 15.0).sin())) as u64;
        assert_eq!(of_windows((0..95).map(wave)).slow, Some(true));
        let even = |n: u32| 100_000 + u64::from(n * 7919 % 101) * 10;
        assert_eq!(of_windows((0..95).map(even)).slow, Some(false));
    }
}
