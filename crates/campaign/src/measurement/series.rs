//! Rates over time: sums them, and cuts off the warm-up.

use std::collections::BTreeMap;

use iodyno_load::Recorder;
use iodyno_model::{RateSeries, Window};
use iodyno_stats::mean_interval;

/// Part of a measurement's start that is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing: all that was recorded counts.
    Nothing,
    /// This much, ns, and then whatever differs from the rest.
    WarmUp(u64),
    /// This much, ns, and no more: the rest is known to be steady, or should have been.
    Before(u64),
}

impl Cut {
    /// Its end in `series`, ns; `level` is the confidence level of the mean.
    pub(crate) fn ns(self, series: &RateSeries, level: f64) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::WarmUp(ramp_ns) => warmup_ns(series, ramp_ns, level),
            Self::Before(ns) => ns,
        }
    }
}

/// Sum of all series by the start of their windows: the jobs of a phase report the same windows,
/// but each only those in which it ran, and a job that ran longer has merged more of them.
pub(crate) fn summed<'s>(all: impl Iterator<Item = &'s RateSeries>) -> RateSeries {
    let mut all: Vec<&RateSeries> = all.collect();
    // Merged windows of a series that began later start within those of one that began first.
    all.sort_by_key(|series| series.windows().first().map(|window| window.start_ns));
    let pushed = all.iter().map(|series| series.pushed_per_window()).max().unwrap_or(0);
    let mut sum: BTreeMap<u64, Window> = BTreeMap::new();
    for window in all.iter().flat_map(|series| series.joined(pushed)) {
        let before = sum.range_mut(..=window.start_ns).next_back().map(|(_, total)| total);
        let holds = |total: &Window| window.start_ns - total.start_ns < total.duration_ns.max(1);
        match before.filter(|total| holds(total)) {
            Some(total) => {
                total.duration_ns = total.duration_ns.max(window.duration_ns);
                total.add(&window);
            }
            None => {
                sum.insert(window.start_ns, window);
            }
        }
    }
    let mut series = RateSeries::default();
    sum.into_values().for_each(|window| series.push(window));
    series
}

/// Rates of windows, I/Os per second.
pub(crate) fn rates(windows: &[Window]) -> Vec<f64> {
    windows.iter().filter_map(Window::iops).collect()
}

/// Warm-up of the series, ns: its ramp, and then whatever differs from the rest.
fn warmup_ns(series: &RateSeries, ramp_ns: u64, level: f64) -> u64 {
    let windows = series.whole();
    let windows = &windows[windows.partition_point(|window| window.start_ns < ramp_ns)..];
    mean_interval(&rates(windows), level)
        .and_then(|interval| windows.get(interval.warmup_len))
        .map_or(ramp_ns, |window| window.start_ns)
}

/// Rate of the first recorded job, I/Os per second, without the first tenth of its time, in which
/// the queue fills.
pub(crate) fn settled_rate(recorder: &Recorder) -> Option<f64> {
    let series = recorder.jobs.first()?.directions.iter();
    let series = summed(series.map(|(_, one)| &one.series));
    let windows = series.windows();
    let settled = windows[windows.len() / 10..].iter();
    let (ios, ns) = settled
        .fold((0, 0), |(ios, ns), window| (ios + window.ios.unwrap_or(0), ns + window.duration_ns));
    (ns > 0).then(|| ios as f64 * 1e9 / ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` windows of 100 ms from the `first` one on, with this many I/Os each.
    fn even(first: u64, count: u64, ios: u64) -> RateSeries {
        let mut series = RateSeries::default();
        for n in first..first + count {
            let (start_ns, duration_ns) = (n * 100_000_000, 100_000_000);
            series.push(Window { start_ns, duration_ns, ios: Some(ios), ..Window::default() });
        }
        series
    }

    /// Start of each window, s, and its rate.
    fn rates_of(all: &[RateSeries]) -> Vec<(f64, f64)> {
        let sum = summed(all.iter());
        let each = sum.windows().iter();
        each.map(|one| (one.start_ns as f64 / 1e9, one.iops().unwrap())).collect()
    }

    #[test]
    fn jobs_are_summed_while_they_run() {
        let rates = rates_of(&[even(5, 10, 20), even(0, 10, 10), even(20, 1, 10)]);
        let expected = |n: u32| match n {
            0..5 => 100.0,
            5..10 => 300.0,
            _ => 200.0,
        };
        let mut all: Vec<(f64, f64)> =
            (0..15).map(|n| (f64::from(n) / 10.0, expected(n))).collect();
        all.push((2.0, 100.0));
        assert_eq!(rates, all);
    }

    #[test]
    fn longer_jobs_have_longer_windows() {
        // 4096 windows are kept: one series has merged its pairs. The other began a window later.
        let rates = rates_of(&[even(1, 4000, 10), even(0, 4200, 30)]);
        assert_eq!(rates.len(), 2100);
        assert!(rates[..2000].iter().all(|(_, rate)| *rate == 400.0));
        assert!(rates[2000..].iter().all(|(_, rate)| *rate == 300.0));
        assert_eq!(rates[2099].0, 419.8);
    }
}
