//! Rates and latencies over time, in bounded memory.

use serde::{Deserialize, Serialize};

use crate::{Histogram, LatencyKind};

/// Completed I/O in one time window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Window {
    /// Start, ns since the start of the measurement.
    pub start_ns: u64,
    /// Actual length, ns.
    pub duration_ns: u64,
    /// I/Os completed; null: not in the log.
    pub ios: Option<u64>,
    /// Bytes transferred; null: not in the log.
    pub bytes: Option<u64>,
    /// Sum of latencies, ns.
    pub latency_sum_ns: f64,
    /// Number of latencies in the sum, if different from `ios`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_count: Option<u64>,
    /// Composite temperature near the end of the window, °C; read without a command to the drive
    /// while latencies are measured.
    pub temperature_c: Option<f32>,
}

impl Window {
    /// I/Os per second; 0 for an empty window.
    pub fn iops(&self) -> Option<f64> {
        self.ios.map(|ios| self.per_s(ios))
    }

    /// Bytes per second; 0 for an empty window.
    pub fn bytes_per_s(&self) -> Option<f64> {
        self.bytes.map(|bytes| self.per_s(bytes))
    }

    /// Mean latency of the I/Os completed in the window, ns.
    pub fn latency_mean_ns(&self) -> Option<f64> {
        let count = self.latency_count.or(self.ios).filter(|count| *count > 0)?;
        Some(self.latency_sum_ns / count as f64)
    }

    fn per_s(&self, amount: u64) -> f64 {
        if self.duration_ns == 0 { 0.0 } else { amount as f64 * 1e9 / self.duration_ns as f64 }
    }

    /// Adds what was completed elsewhere in the same window, or in the next one; the caller sets
    /// the length.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.latency_count = match (self.latency_count, other.latency_count) {
            (None, None) => None,
            (a, b) => sum(a.or(self.ios), b.or(other.ios)),
        };
        self.ios = sum(self.ios, other.ios);
        self.bytes = sum(self.bytes, other.bytes);
        self.latency_sum_ns += other.latency_sum_ns;
        self.temperature_c = match (self.temperature_c, other.temperature_c) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }

    /// Adds the next window and extends this one by its length.
    pub fn absorb(&mut self, next: &Self) {
        self.duration_ns += next.duration_ns;
        self.add(next);
    }
}

/// Consecutive windows. At most [`RateSeries::LIMIT`] are kept: beyond it neighbours are merged,
/// and new windows are merged to the same length.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RateSeries {
    windows: Vec<Window>,
    /// Number of pushed windows per kept window.
    gathered_per_window: u32,
    /// Number of pushed windows in the last kept one.
    gathered: u32,
    /// Kind of latency in the windows' sums.
    #[serde(default)]
    pub latency_kind: LatencyKind,
}

impl RateSeries {
    /// Maximum number of windows.
    pub const LIMIT: usize = 4096;

    /// Appends the next window.
    pub fn push(&mut self, window: Window) {
        self.gathered_per_window = self.gathered_per_window.max(1);
        match self.windows.last_mut() {
            Some(last) if self.gathered < self.gathered_per_window => {
                last.absorb(&window);
                self.gathered += 1;
            }
            _ => {
                if self.windows.len() == Self::LIMIT {
                    self.halve();
                }
                self.windows.push(window);
                self.gathered = 1;
            }
        }
    }

    fn halve(&mut self) {
        self.windows = joined(&self.windows, 2);
        self.gathered_per_window *= 2;
    }

    /// Number of pushed windows per kept window; 0: no windows.
    pub const fn pushed_per_window(&self) -> u32 {
        self.gathered_per_window
    }

    /// Returns the windows merged until each holds `pushed` pushed ones, where they hold fewer.
    pub fn joined(&self, pushed: u32) -> Vec<Window> {
        let at_once = pushed / self.gathered_per_window.max(1);
        joined(&self.windows, at_once.max(1) as usize)
    }

    /// Keeps only the windows for which `kept` yields true, in order.
    pub fn keep(&mut self, mut kept: impl Iterator<Item = bool>) {
        self.windows.retain(|_| kept.next().unwrap_or(true));
    }

    /// Windows, in time order.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Returns the windows without those shorter than a quarter of the median length, such as the
    /// last one of a job: I/Os in flight complete in it, at a rate that is not real.
    pub fn whole(&self) -> Vec<Window> {
        let mut lengths_ns: Vec<u64> = self.windows.iter().map(|one| one.duration_ns).collect();
        let middle = lengths_ns.len() / 2;
        if lengths_ns.is_empty() {
            return Vec::new();
        }
        let usual_ns = *lengths_ns.select_nth_unstable(middle).1;
        self.windows.iter().filter(|one| one.duration_ns >= usual_ns / 4).copied().collect()
    }
}

/// Merges every `at_once` neighbouring windows.
fn joined(windows: &[Window], at_once: usize) -> Vec<Window> {
    let neighbours = windows.chunks(at_once).map(|neighbours| {
        let mut first = neighbours[0];
        neighbours[1..].iter().for_each(|next| first.absorb(next));
        first
    });
    neighbours.collect()
}

/// Latencies in one time window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LatencyWindow {
    /// Start, ns since the start of the measurement.
    pub start_ns: u64,
    /// Length, ns.
    pub duration_ns: u64,
    /// Latencies of the I/Os completed in the window.
    pub latency: Histogram,
}

/// Latencies in consecutive windows of one second, or longer if there would be more than
/// [`LatencySeries::LIMIT`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencySeries {
    windows: Vec<LatencyWindow>,
    /// Length to which pushed windows are merged, ns; 0: the shortest.
    window_ns: u64,
    /// Kind of latency.
    pub kind: LatencyKind,
}

impl LatencySeries {
    /// Maximum number of windows.
    pub const LIMIT: usize = 1024;
    /// Minimum length of a window, ns.
    pub const SHORTEST_NS: u64 = 1_000_000_000;

    /// Adds latencies of the next window, or of one that was added before.
    pub fn push(&mut self, start_ns: u64, duration_ns: u64, latency: &Histogram) {
        self.window_ns = self.window_ns.max(Self::SHORTEST_NS);
        let end_ns = start_ns.saturating_add(duration_ns);
        // A tenth of tolerance: intervals are never exactly 100 ms.
        let longest_ns = self.window_ns + self.window_ns / 10;
        match self.windows.last_mut() {
            Some(last) if end_ns.saturating_sub(last.start_ns) <= longest_ns => {
                last.duration_ns = last.duration_ns.max(end_ns.saturating_sub(last.start_ns));
                last.latency.merge(latency);
            }
            _ => {
                if self.windows.len() == Self::LIMIT {
                    self.halve();
                }
                self.windows.push(LatencyWindow {
                    start_ns,
                    duration_ns,
                    latency: latency.clone(),
                });
            }
        }
    }

    fn halve(&mut self) {
        self.window_ns *= 2;
        let mut merged: Vec<LatencyWindow> = Vec::with_capacity(Self::LIMIT);
        for (n, window) in self.windows.drain(..).enumerate() {
            match merged.last_mut() {
                Some(last) if n % 2 == 1 => {
                    last.duration_ns = window.start_ns + window.duration_ns - last.start_ns;
                    last.latency.merge(&window.latency);
                }
                _ => merged.push(window),
            }
        }
        self.windows = merged;
    }

    /// Adds the latencies of another series to the windows in which they were completed.
    pub fn merge(&mut self, other: &Self) {
        for window in &other.windows {
            let next = self.windows.partition_point(|mine| mine.start_ns <= window.start_ns);
            let holds = |mine: &LatencyWindow| window.start_ns < mine.start_ns + mine.duration_ns;
            let into = match next.checked_sub(1) {
                Some(last) if holds(&self.windows[last]) => last,
                _ => next,
            };
            match self.windows.get_mut(into) {
                Some(mine) => mine.latency.merge(&window.latency),
                None => self.push(window.start_ns, window.duration_ns, &window.latency),
            }
        }
    }

    /// Windows, in time order.
    pub fn windows(&self) -> &[LatencyWindow] {
        &self.windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_series_is_bounded_and_keeps_all_counts() {
        let mut series = RateSeries::default();
        let n = 3 * RateSeries::LIMIT as u64 + 17;
        for i in 0..n {
            series.push(Window {
                start_ns: i * 100,
                duration_ns: 100,
                ios: Some(i),
                bytes: Some(4096 * i),
                latency_sum_ns: 1.0,
                ..Window::default()
            });
        }
        assert!(series.windows().len() <= RateSeries::LIMIT);
        let sum = |f: fn(&Window) -> u64| series.windows().iter().map(f).sum::<u64>();
        assert_eq!(sum(|w| w.duration_ns), 100 * n);
        assert_eq!(sum(|w| w.ios.unwrap()), n * (n - 1) / 2);
        for pair in series.windows().windows(2) {
            assert_eq!(pair[0].start_ns + pair[0].duration_ns, pair[1].start_ns);
        }
    }

    #[test]
    fn short_last_windows_are_dropped() {
        let mut series = RateSeries::default();
        assert!(series.whole().is_empty());
        for (start_ns, duration_ns) in [(0, 40), (40, 60), (100, 101), (201, 99), (300, 1)] {
            series.push(Window { start_ns, duration_ns, ios: Some(8), ..Window::default() });
        }
        let starts: Vec<u64> = series.whole().iter().map(|window| window.start_ns).collect();
        assert_eq!(starts, [0, 40, 100, 201]);
    }

    #[test]
    fn latency_series_is_bounded_and_keeps_all_counts() {
        let mut one = Histogram::default();
        one.record(1000);
        let mut series = LatencySeries::default();
        let n = 30_011;
        (0..n).for_each(|i| series.push(i * 100_000_000, 100_000_000, &one));
        let windows = series.windows();
        assert!(windows.len() <= LatencySeries::LIMIT && windows.len() > LatencySeries::LIMIT / 3);
        assert_eq!(windows.iter().map(|w| w.latency.count()).sum::<u64>(), n);
        assert!(windows.windows(2).all(|w| w[0].start_ns + w[0].duration_ns <= w[1].start_ns));
        let mut both = series.clone();
        both.merge(&series);
        assert_eq!(both.windows().len(), windows.len());
        assert_eq!(both.windows().iter().map(|w| w.latency.count()).sum::<u64>(), 2 * n);
    }
}
