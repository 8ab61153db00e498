//! Rates over time as fio reports them: 500 ms samples.

use iodyno_model::{RateSeries, Window};

/// fio's `bwavgtime` and `iopsavgtime`.
const SAMPLE_NS: u64 = 500_000_000 - TOLERANCE_NS;
/// A job begins slightly after its first window.
const TOLERANCE_NS: u64 = 10_000_000;

/// Statistics of rate samples.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Samples {
    pub(super) count: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: f64,
    /// Sum of squared distances from the mean (Welford 1962).
    squares: f64,
}

impl Samples {
    fn add(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        let distance = value as f64 - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value as f64 - self.mean);
    }

    /// Standard deviation of the sample.
    pub(super) fn deviation(&self) -> f64 {
        if self.count > 1 { (self.squares / (self.count - 1) as f64).sqrt() } else { 0.0 }
    }

    /// Adds those of another job of the same group: fio sums rates.
    pub(super) fn sum(&mut self, other: &Self) {
        self.count += other.count;
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.squares += other.squares;
    }
}

/// KiB/s and IOPS of each half second of `series` from `warmup_ns` on; an incomplete sample at the
/// end is dropped, as in fio.
pub(super) fn samples(series: &RateSeries, warmup_ns: u64) -> (Samples, Samples) {
    let (mut bandwidth, mut iops) = (Samples::default(), Samples::default());
    let (mut duration_ns, mut bytes, mut ios) = (0, 0, 0);
    let counted = |window: &&Window| window.start_ns >= warmup_ns;
    for window in series.windows().iter().filter(counted) {
        duration_ns += window.duration_ns;
        bytes += window.bytes.unwrap_or(0);
        ios += window.ios.unwrap_or(0);
        if duration_ns >= SAMPLE_NS {
            let per_s = |amount: u64| amount as f64 * 1e9 / duration_ns as f64;
            bandwidth.add((per_s(bytes) / 1024.0) as u64);
            iops.add(per_s(ios) as u64);
            (duration_ns, bytes, ios) = (0, 0, 0);
        }
    }
    (bandwidth, iops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_first_window_costs_no_sample() {
        let mut series = RateSeries::default();
        for n in 0..20 {
            let late_ns = if n == 0 { 100_000 } else { 0 };
            series.push(Window {
                start_ns: n * 100_000_000,
                duration_ns: 100_000_000 - late_ns,
                ios: Some(50),
                ..Window::default()
            });
        }
        assert_eq!(samples(&series, 0).1.count, 4);
    }

    #[test]
    fn windows_are_merged_to_half_seconds() {
        let mut series = RateSeries::default();
        for n in 0..23 {
            series.push(Window {
                start_ns: n * 100_000_000,
                duration_ns: 100_000_000,
                ios: Some(100 + n / 10),
                bytes: Some(1024 * (100 + n / 10)),
                latency_sum_ns: 0.0,
                ..Window::default()
            });
        }
        let (bandwidth, iops) = samples(&series, 1_000_000_000);
        assert_eq!((iops.count, iops.min, iops.max), (2, 1010, 1010));
        assert_eq!((bandwidth.count, bandwidth.mean, bandwidth.deviation()), (2, 1010.0, 0.0));
        let (_, all) = samples(&series, 0);
        assert_eq!((all.count, all.min, all.max, all.mean), (4, 1000, 1010, 1005.0));
        assert!((all.deviation() - 5.7735).abs() < 1e-3);
    }
}
