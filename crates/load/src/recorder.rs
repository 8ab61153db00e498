//! Gathers a phase's intervals into what a measurement keeps: rates and
//! latencies, in constant memory.

use iodyno_model::{Histogram, RateSeries, Window};

use crate::Interval;

/// Histograms held at most: one for each interval at first, so that warm-up can
/// be cut off exactly where the rates say; then neighbours merge.
const SLICES: usize = 1024;

/// What was recorded of one job.
#[derive(Debug, Clone, Default)]
pub struct JobRecord {
    /// Rates over time.
    pub series: RateSeries,
    /// I/Os that failed.
    pub errors: u64,
    slices: Vec<Slice>,
    /// Slices are gathered until they are this long, ns; 0 = each for itself.
    slice_ns: u64,
}

/// Latencies of one stretch of time.
#[derive(Debug, Clone)]
struct Slice {
    start_ns: u64,
    end_ns: u64,
    bytes: u64,
    latency: Histogram,
}

/// What was completed from some time on.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// Where the count really starts, ns since the phase's start: the next
    /// slice's border.
    pub start_ns: u64,
    /// Its length, ns.
    pub duration_ns: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Latencies; their count is the number of I/Os.
    pub latency: Histogram,
}

/// Records every interval for each job.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    /// For each job, in the phase's order.
    pub jobs: Vec<JobRecord>,
}

impl Recorder {
    /// Adds an interval; `temperature_c` is the hottest drive's, where it was
    /// read. Of a draining one only the errors count.
    pub fn record(&mut self, interval: &Interval, temperature_c: Option<f32>) {
        self.jobs.resize_with(interval.jobs.len().max(self.jobs.len()), JobRecord::default);
        for (record, job) in self.jobs.iter_mut().zip(&interval.jobs) {
            record.errors += job.errors;
            if interval.draining {
                continue;
            }
            record.series.push(Window {
                start_ns: interval.start_ns,
                duration_ns: interval.duration_ns,
                ios: job.latency.count(),
                bytes: job.bytes,
                latency_sum_ns: job.latency.sum_ns(),
                temperature_c,
            });
            let end_ns = interval.start_ns + interval.duration_ns;
            record.add_slice(interval.start_ns, end_ns, job.bytes, &job.latency);
        }
    }
}

impl JobRecord {
    fn add_slice(&mut self, start_ns: u64, end_ns: u64, bytes: u64, latency: &Histogram) {
        match self.slices.last_mut() {
            Some(last) if end_ns - last.start_ns <= self.slice_ns => {
                last.end_ns = end_ns;
                last.bytes += bytes;
                last.latency.merge(latency);
            }
            _ => {
                if self.slices.len() == SLICES {
                    self.halve();
                }
                self.slices.push(Slice { start_ns, end_ns, bytes, latency: latency.clone() });
            }
        }
    }

    fn halve(&mut self) {
        let longest_ns = self.slices.iter().map(|slice| slice.end_ns - slice.start_ns).max();
        self.slice_ns = 2 * longest_ns.unwrap_or(0);
        let mut merged: Vec<Slice> = Vec::with_capacity(SLICES);
        for (n, slice) in self.slices.drain(..).enumerate() {
            match merged.last_mut() {
                Some(last) if n % 2 == 1 => {
                    last.end_ns = slice.end_ns;
                    last.bytes += slice.bytes;
                    last.latency.merge(&slice.latency);
                }
                _ => merged.push(slice),
            }
        }
        self.slices = merged;
    }

    /// What was completed in the slices that start at `warmup_ns` or later;
    /// where none does, the last slice.
    pub fn counted_from(&self, warmup_ns: u64) -> Counted {
        let first = self
            .slices
            .iter()
            .position(|slice| slice.start_ns >= warmup_ns)
            .unwrap_or(self.slices.len().saturating_sub(1));
        let mut counted = Counted::default();
        for (n, slice) in self.slices[first..].iter().enumerate() {
            if n == 0 {
                counted.start_ns = slice.start_ns;
            }
            counted.duration_ns = slice.end_ns - counted.start_ns;
            counted.bytes += slice.bytes;
            counted.latency.merge(&slice.latency);
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobInterval;

    fn interval(n: u64) -> Interval {
        let mut latency = Histogram::default();
        (0..=n % 7).for_each(|_| latency.record(1000 + n));
        Interval {
            start_ns: n * 100_000_000,
            duration_ns: 100_000_000,
            draining: false,
            jobs: vec![JobInterval { bytes: 4096 * latency.count(), errors: 0, latency }],
        }
    }

    #[test]
    fn the_count_after_warm_up_is_what_the_intervals_held() {
        let mut recorder = Recorder::default();
        (0..57).for_each(|n| recorder.record(&interval(n), None));
        let counted = recorder.jobs[0].counted_from(1_500_000_000);
        assert_eq!(counted.start_ns, 1_500_000_000);
        assert_eq!(counted.duration_ns, 4_200_000_000);
        let ios: u64 = (15..57).map(|n| n % 7 + 1).sum();
        assert_eq!(counted.latency.count(), ios);
        assert_eq!(counted.bytes, 4096 * ios);
    }

    #[test]
    fn memory_stays_bounded_and_nothing_is_lost() {
        let mut recorder = Recorder::default();
        let n = 25_000;
        (0..n).for_each(|i| recorder.record(&interval(i), None));
        let record = &recorder.jobs[0];
        assert!(record.slices.len() <= SLICES);
        assert!(record.series.windows().len() <= RateSeries::LIMIT);
        let all: u64 = (0..n).map(|i| i % 7 + 1).sum();
        assert_eq!(record.counted_from(0).latency.count(), all);
    }
}
