//! Rates over time, in constant memory.

use serde::{Deserialize, Serialize};

/// What was completed in one stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Start, ns since the measurement's start.
    pub start_ns: u64,
    /// Real length, ns.
    pub duration_ns: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sum of their latencies, ns.
    pub latency_sum_ns: f64,
    /// Composite temperature read near its end, °C; no command is sent for it
    /// while latencies are measured.
    pub temperature_c: Option<f32>,
}

impl Window {
    /// I/Os per second; 0 for an empty stretch.
    pub fn iops(&self) -> f64 {
        if self.duration_ns == 0 { 0.0 } else { self.ios as f64 * 1e9 / self.duration_ns as f64 }
    }

    /// Bytes per second; 0 for an empty stretch.
    pub fn bytes_per_s(&self) -> f64 {
        if self.duration_ns == 0 { 0.0 } else { self.bytes as f64 * 1e9 / self.duration_ns as f64 }
    }

    /// Mean latency of the I/Os that ended in it, ns.
    pub fn latency_mean_ns(&self) -> Option<f64> {
        (self.ios > 0).then(|| self.latency_sum_ns / self.ios as f64)
    }

    fn absorb(&mut self, next: &Self) {
        self.duration_ns += next.duration_ns;
        self.ios += next.ios;
        self.bytes += next.bytes;
        self.latency_sum_ns += next.latency_sum_ns;
        self.temperature_c = match (self.temperature_c, next.temperature_c) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }
}

/// Windows one behind the other. At most [`RateSeries::LIMIT`] are held:
/// then neighbours merge and new windows are gathered until they are as long.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RateSeries {
    windows: Vec<Window>,
    /// How many pushed windows make one held window.
    gathered_per_window: u32,
    /// How many pushed windows the last held one holds.
    gathered: u32,
}

impl RateSeries {
    /// Windows held at most.
    pub const LIMIT: usize = 4096;

    /// Adds the next window.
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
        self.windows = self
            .windows
            .chunks(2)
            .map(|pair| {
                let mut merged = pair[0];
                pair[1..].iter().for_each(|next| merged.absorb(next));
                merged
            })
            .collect();
        self.gathered_per_window *= 2;
    }

    /// The windows, in order of time.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_stays_small_and_loses_nothing() {
        let mut series = RateSeries::default();
        let n = 3 * RateSeries::LIMIT as u64 + 17;
        for i in 0..n {
            series.push(Window {
                start_ns: i * 100,
                duration_ns: 100,
                ios: i,
                bytes: 4096 * i,
                latency_sum_ns: 1.0,
                temperature_c: None,
            });
        }
        assert!(series.windows().len() <= RateSeries::LIMIT);
        let sum = |f: fn(&Window) -> u64| series.windows().iter().map(f).sum::<u64>();
        assert_eq!(sum(|w| w.duration_ns), 100 * n);
        assert_eq!(sum(|w| w.ios), n * (n - 1) / 2);
        for pair in series.windows().windows(2) {
            assert_eq!(pair[0].start_ns + pair[0].duration_ns, pair[1].start_ns);
        }
    }
}
