//! Records a phase's intervals as rates and latencies, in constant memory.

use iodyno_model::{Histogram, LatencySeries, PerDirection, RateSeries, Window};

use crate::{DirectionInterval, Interval};

/// Most histograms kept: one for each interval at first, so that warm-up can be cut off exactly
/// where the rates say; then neighbours merge.
const SLICES: usize = 1024;

/// Part of a phase that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// Rates under full load, without the drain after the stop. Latencies are kept over time, so
    /// that a warm-up can be cut off afterwards.
    #[default]
    Steady,
    /// Every I/O from the end of the ramp to the last, as fio counts.
    Whole,
}

/// Records every interval for each job.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    /// For each job, in the phase's order.
    pub jobs: Vec<JobRecord>,
    counting: Counting,
}

/// Recording of one job.
#[derive(Debug, Clone, Default)]
pub struct JobRecord {
    /// For each direction.
    pub directions: PerDirection<DirectionRecord>,
}

/// Recording of one direction of a job.
#[derive(Debug, Clone, Default)]
pub struct DirectionRecord {
    /// Rates over time.
    pub series: RateSeries,
    /// Latencies over time.
    pub latencies: LatencySeries,
    slices: Vec<Slice>,
    /// Intervals are gathered into slices of up to this length, ns; 0 = one slice per interval.
    slice_ns: u64,
}

/// Latencies of one slice of time.
#[derive(Debug, Clone)]
struct Slice {
    start_ns: u64,
    end_ns: u64,
    ios: u64,
    bytes: u64,
    latency: Histogram,
}

/// I/O completed from some time on.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// Real start of the count, ns since the phase's start: the next border of a slice.
    pub start_ns: u64,
    /// Its length, ns.
    pub duration_ns: u64,
    /// I/Os that succeeded.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Latencies of all of them, or of none.
    pub latency: Histogram,
}

impl Recorder {
    /// New recorder.
    pub fn counting(counting: Counting) -> Self {
        Self { jobs: Vec::new(), counting }
    }

    /// Adds an interval; `temperature_c` is the hottest drive's, if it was read.
    pub fn record(&mut self, interval: &Interval, temperature_c: Option<f32>) {
        self.jobs.resize_with(interval.jobs.len().max(self.jobs.len()), JobRecord::default);
        let whole = self.counting == Counting::Whole;
        if interval.cut || interval.draining && !whole {
            return;
        }
        for (record, job) in self.jobs.iter_mut().zip(&interval.jobs) {
            if job.active_ns == 0 && job.ios() == 0 {
                continue;
            }
            for (direction, one) in job.directions.iter() {
                let record = record.directions.of_mut(direction);
                record.series.push(Window {
                    start_ns: interval.start_ns,
                    duration_ns: job.active_ns,
                    ios: Some(one.ios),
                    bytes: Some(one.bytes),
                    latency_sum_ns: one.latency.sum_ns(),
                    latency_count: None,
                    temperature_c,
                });
                record.latencies.push(interval.start_ns, job.active_ns, &one.latency);
                if job.ramping {
                    continue;
                }
                record.add_slice(interval.start_ns, interval.start_ns + job.active_ns, one);
            }
        }
    }
}

impl JobRecord {
    /// Splits the windows of a job that verifies what it wrote into stages: a direction has no rate
    /// during the stage of the other one. A stall belongs to the stage that it interrupts. If the
    /// job is `mixed`, with reads of its own, its reads have no stage.
    pub fn split_stages(&mut self, mixed: bool) {
        let PerDirection { read, write, .. } = &self.directions;
        let moved = |one: &Window| one.ios > Some(0);
        let mut stage = (mixed, true);
        let windows = read.series.windows().iter().zip(write.series.windows());
        let stages = windows.map(|(read, write)| {
            if moved(read) || moved(write) {
                stage = (mixed || moved(read), moved(write));
            }
            stage
        });
        let stages: Vec<(bool, bool)> = stages.collect();
        self.directions.read.series.keep(stages.iter().map(|(reads, _)| *reads));
        self.directions.write.series.keep(stages.iter().map(|(_, writes)| *writes));
    }
}

impl DirectionRecord {
    fn add_slice(&mut self, start_ns: u64, end_ns: u64, interval: &DirectionInterval) {
        let DirectionInterval { ios, bytes, latency, .. } = interval;
        match self.slices.last_mut() {
            Some(last) if end_ns - last.start_ns <= self.slice_ns => {
                last.end_ns = end_ns;
                last.ios += ios;
                last.bytes += bytes;
                last.latency.merge(latency);
            }
            _ => {
                if self.slices.len() == SLICES {
                    self.halve();
                }
                let latency = latency.clone();
                self.slices.push(Slice { start_ns, end_ns, ios: *ios, bytes: *bytes, latency });
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
                    last.ios += slice.ios;
                    last.bytes += slice.bytes;
                    last.latency.merge(&slice.latency);
                }
                _ => merged.push(slice),
            }
        }
        self.slices = merged;
    }

    /// I/O completed in the slices that start at `warmup_ns` or later; if there are none, in the
    /// last slice.
    pub fn counted_from(&self, warmup_ns: u64) -> Counted {
        let slices = self.slices_from(warmup_ns);
        let mut counted = Counted::default();
        for (n, slice) in slices.iter().enumerate() {
            if n == 0 {
                counted.start_ns = slice.start_ns;
            }
            counted.duration_ns = slice.end_ns - counted.start_ns;
            counted.ios += slice.ios;
            counted.bytes += slice.bytes;
            counted.latency.merge(&slice.latency);
        }
        counted
    }

    /// Length of these slices, ns, whatever was completed in them.
    pub fn counted_ns(&self, warmup_ns: u64) -> u64 {
        let slices = self.slices_from(warmup_ns);
        let end_ns = slices.last().map_or(0, |last| last.end_ns);
        end_ns - slices.first().map_or(0, |first| first.start_ns)
    }

    /// Latencies of these slices one by one, each with its start, ns.
    pub fn latencies_from(&self, warmup_ns: u64) -> impl Iterator<Item = (u64, &Histogram)> {
        self.slices_from(warmup_ns).iter().map(|slice| (slice.start_ns, &slice.latency))
    }

    fn slices_from(&self, warmup_ns: u64) -> &[Slice] {
        let first = self.slices.iter().position(|slice| slice.start_ns >= warmup_ns);
        &self.slices[first.unwrap_or(self.slices.len().saturating_sub(1))..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DirectionInterval, JobInterval};

    fn interval(n: u64) -> Interval {
        let mut latency = Histogram::default();
        (0..=n % 7).for_each(|_| latency.record(1000 + n));
        Interval {
            start_ns: n * 100_000_000,
            duration_ns: 100_000_000,
            draining: false,
            cut: false,
            warnings: Vec::new(),
            jobs: vec![JobInterval {
                active_ns: 100_000_000,
                ramping: n < 3,
                directions: PerDirection {
                    read: DirectionInterval {
                        ios: latency.count(),
                        bytes: 4096 * latency.count(),
                        latency,
                        ..DirectionInterval::default()
                    },
                    ..PerDirection::default()
                },
                ..JobInterval::default()
            }],
        }
    }

    #[test]
    fn count_after_warm_up_matches_the_intervals() {
        let mut recorder = Recorder::default();
        (0..57).for_each(|n| recorder.record(&interval(n), None));
        let counted = recorder.jobs[0].directions.read.counted_from(1_500_000_000);
        assert_eq!(counted.start_ns, 1_500_000_000);
        assert_eq!(counted.duration_ns, 4_200_000_000);
        let record = &recorder.jobs[0].directions;
        assert_eq!(record.write.counted_ns(1_500_000_000), counted.duration_ns);
        let ios: u64 = (15..57).map(|n| n % 7 + 1).sum();
        assert_eq!(counted.latency.count(), ios);
        assert_eq!(counted.bytes, 4096 * ios);
    }

    #[test]
    fn verified_writes_have_two_stages() {
        // Returns which windows reads and writes have, of windows with writes, reads, both or none.
        let stages = |course: &str, mixed: bool| {
            let mut recorder = Recorder::default();
            for (n, what) in (0..).zip(course.chars()) {
                let one = DirectionInterval { ios: 5, ..DirectionInterval::default() };
                let mut interval = interval(n);
                let directions = &mut interval.jobs[0].directions;
                *directions = PerDirection::default();
                if "rb".contains(what) {
                    directions.read = one.clone();
                }
                if "wb".contains(what) {
                    directions.write = one;
                }
                recorder.record(&interval, None);
            }
            recorder.jobs[0].split_stages(mixed);
            let of = |record: &DirectionRecord| -> Vec<u64> {
                record.series.windows().iter().map(|one| one.start_ns / 100_000_000).collect()
            };
            let PerDirection { read, write, .. } = &recorder.jobs[0].directions;
            (of(read), of(write))
        };
        // Two loops; a stall does not end a stage.
        let (reads, writes) = stages(".ww..wrr.rwwr", false);
        assert_eq!((reads, writes), (vec![6, 7, 8, 9, 12], vec![0, 1, 2, 3, 4, 5, 10, 11]));
        assert_eq!(stages("wbr", false), (vec![1, 2], vec![0, 1]));
        assert_eq!(stages("bwbrr", true), (vec![0, 1, 2, 3, 4], vec![0, 1, 2]));
    }

    #[test]
    fn memory_stays_bounded_and_nothing_is_lost() {
        let mut recorder = Recorder::default();
        let n = 25_000;
        (0..n).for_each(|i| recorder.record(&interval(i), None));
        let record = &recorder.jobs[0].directions.read;
        assert!(record.slices.len() <= SLICES);
        assert!(record.series.windows().len() <= RateSeries::LIMIT);
        // All but the ramp.
        let all: u64 = (3..n).map(|i| i % 7 + 1).sum();
        assert_eq!(record.counted_from(0).latency.count(), all);
    }

    #[test]
    fn all_from_the_ramp_to_the_drain_is_counted() {
        let mut recorder = Recorder::counting(Counting::Whole);
        (0..20).for_each(|n| recorder.record(&interval(n), None));
        recorder.record(&Interval { draining: true, ..interval(20) }, None);
        let record = &recorder.jobs[0].directions.read;
        assert_eq!(record.latencies_from(0).count(), 18);
        let counted = record.counted_from(0);
        assert_eq!((counted.start_ns, counted.duration_ns), (300_000_000, 1_800_000_000));
        assert_eq!(counted.latency.count(), (3..21).map(|i| i % 7 + 1).sum::<u64>());
    }
}
