//! Rates over time: added up, and cut where the measurement begins.

use iodyno_load::Recorder;
use iodyno_model::{RateSeries, Window};
use iodyno_stats::mean_interval;

/// What of a measurement's start is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing: all that was recorded counts.
    Nothing,
    /// So much, ns, and behind it whatever is unlike the rest.
    WarmUp(u64),
    /// So much, ns, and no more: what is behind it is known to be steady, or was to be.
    Before(u64),
}

impl Cut {
    /// It ends then in `series`, ns; `level` is of the interval of the mean.
    pub(crate) fn ns(self, series: &RateSeries, level: f64) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::WarmUp(ramp_ns) => warmup_ns(series, ramp_ns, level),
            Self::Before(ns) => ns,
        }
    }
}

/// The windows of all series added up; the jobs of a phase report the same windows.
pub(crate) fn summed<'s>(all: impl Iterator<Item = &'s RateSeries>) -> RateSeries {
    let mut sum: Vec<Window> = Vec::new();
    for series in all {
        for (n, window) in series.windows().iter().enumerate() {
            match sum.get_mut(n) {
                Some(total) => {
                    total.duration_ns = total.duration_ns.max(window.duration_ns);
                    total.add(window);
                }
                None => sum.push(*window),
            }
        }
    }
    let mut series = RateSeries::default();
    sum.into_iter().for_each(|window| series.push(window));
    series
}

/// The rates of windows, I/Os per second.
pub(crate) fn rates(windows: &[Window]) -> Vec<f64> {
    windows.iter().filter_map(Window::iops).collect()
}

/// How much of the series is warm-up, ns: its ramp, and what is unlike the
/// rest behind that.
fn warmup_ns(series: &RateSeries, ramp_ns: u64, level: f64) -> u64 {
    let windows = series.whole();
    let windows = &windows[windows.partition_point(|window| window.start_ns < ramp_ns)..];
    mean_interval(&rates(windows), level)
        .and_then(|interval| windows.get(interval.warmup_len))
        .map_or(ramp_ns, |window| window.start_ns)
}

/// The rate of the first job that was recorded, I/Os per second, without the first tenth of its
/// time, in which the queue fills.
pub(crate) fn rate_behind_start(recorder: &Recorder) -> Option<f64> {
    let series = recorder.jobs.first()?.directions.iter();
    let series = summed(series.map(|(_, one)| &one.series));
    let windows = series.windows();
    let settled = windows[windows.len() / 10..].iter();
    let (ios, ns) = settled
        .fold((0, 0), |(ios, ns), window| (ios + window.ios.unwrap_or(0), ns + window.duration_ns));
    (ns > 0).then(|| ios as f64 * 1e9 / ns as f64)
}
