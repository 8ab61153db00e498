//! Sums the intervals of a phase into seconds, and totals what counts for the results.

use std::collections::{BTreeMap, VecDeque};

use iodyno_campaign::Begin;
use iodyno_load::{Counting, DirectionInterval, Interval};
use iodyno_model::{DIRECTIONS, Measurement, PerDirection};
use iodyno_report::document::bins::Bins;
use iodyno_report::document::stream::{Directions, Done, JobSecond, MeasurementEnd, Second, State};

const SECOND_NS: u64 = 1_000_000_000;

/// I/O of jobs, by direction.
pub(crate) type IoByDirection = PerDirection<DirectionInterval>;

/// Clones of one job on the same target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) measurement: Option<u32>,
    pub(crate) job: String,
    pub(crate) target: String,
}

/// A running phase.
pub(crate) struct Phase {
    pub(crate) slots: Vec<Slot>,
    /// Slot of each job.
    of_job: Vec<usize>,
    /// Unfinished measurements, in the order in which they will finish.
    open: VecDeque<u32>,
    counting: Counting,
    now: SecondData,
    end_ns: u64,
    /// I/O that counts for the results, by measurement.
    counted: BTreeMap<u32, IoByDirection>,
}

/// Data of one second.
#[derive(Default)]
pub(crate) struct SecondData {
    pub(crate) start_ns: u64,
    pub(crate) duration_ns: u64,
    pub(crate) temperature_c: Option<f32>,
    /// By slot and state.
    pub(crate) jobs: BTreeMap<(usize, State), IoByDirection>,
}

impl Phase {
    /// Starts a phase; `number` gives the measurement of each of its sections.
    pub(crate) fn new(begin: &Begin<'_>, number: &BTreeMap<usize, u32>) -> Self {
        let (mut slots, mut of_job) = (Vec::<Slot>::new(), Vec::new());
        for (n, job) in begin.jobs.iter().enumerate() {
            let section = begin.sections.get(n);
            let slot = Slot {
                measurement: section.and_then(|section| number.get(section)).copied(),
                job: job.job.name.clone(),
                target: job.target(),
            };
            of_job.push(slots.iter().position(|known| *known == slot).unwrap_or(slots.len()));
            if of_job[n] == slots.len() {
                slots.push(slot);
            }
        }
        Self {
            slots,
            of_job,
            open: number.values().copied().collect(),
            counting: begin.counting,
            now: SecondData::default(),
            end_ns: 0,
            counted: BTreeMap::new(),
        }
    }

    /// Adds an interval; returns the second if this completes it. Intervals are never divided.
    pub(crate) fn add(&mut self, interval: &Interval, celsius: Option<f32>) -> Option<SecondData> {
        for (job, slot) in interval.jobs.iter().zip(&self.of_job) {
            let state = match () {
                () if interval.cut => State::Lapse,
                () if interval.draining && self.counting == Counting::Steady => State::Drain,
                () if job.ramping => State::Ramp,
                () => State::Measured,
            };
            let moved = |(_, one): (_, &DirectionInterval)| one.ios > 0 || one.errors > 0;
            if job.active_ns == 0 && !job.directions.iter().any(moved) {
                continue;
            }
            add(self.now.jobs.entry((*slot, state)).or_default(), &job.directions);
            if let (State::Measured, Some(number)) = (state, self.slots[*slot].measurement) {
                add(self.counted.entry(number).or_default(), &job.directions);
            }
        }
        self.now.temperature_c = celsius.or(self.now.temperature_c);
        // The clock of a phase stands still in a lapse.
        let counted_ns = if interval.cut { 0 } else { interval.duration_ns };
        self.end_ns = self.end_ns.max(interval.start_ns + counted_ns);
        let is_over = self.end_ns / SECOND_NS > self.now.start_ns / SECOND_NS;
        is_over.then(|| self.flush()).flatten()
    }

    /// Data since the last complete second; `None`: there is none.
    pub(crate) fn flush(&mut self) -> Option<SecondData> {
        let next = SecondData { start_ns: self.end_ns, ..SecondData::default() };
        let duration_ns = self.end_ns - self.now.start_ns;
        let is_empty = self.now.jobs.is_empty();
        let gathered = SecondData { duration_ns, ..std::mem::replace(&mut self.now, next) };
        (!is_empty).then_some(gathered)
    }

    /// Record of its next finished measurement.
    pub(crate) fn end(&mut self, measurement: &Measurement) -> Option<MeasurementEnd> {
        let number = self.open.pop_front()?;
        let counted = self.counted.remove(&number).unwrap_or_default().map(done);
        Some(MeasurementEnd::new(number, measurement, &counted))
    }

    /// Record of a second that ends at `time_s`, seconds since 1970.
    pub(crate) fn record(&self, of: &SecondData, time_s: f64) -> Second {
        let job = |(&(slot, state), moved): (&(usize, State), &IoByDirection)| {
            let Slot { measurement, job, target } = self.slots[slot].clone();
            let of = |direction| Some(moved.of(direction)).filter(|one| one.ios + one.errors > 0);
            let done = Directions::each(|direction| of(direction).map(done));
            JobSecond { measurement, job, target, state, done }
        };
        Second {
            time_s,
            start_ns: of.start_ns,
            duration_ns: of.duration_ns,
            temperature_c: of.temperature_c,
            jobs: of.jobs.iter().map(job).collect(),
        }
    }
}

/// Adds `more` to `sum`.
pub(crate) fn add(sum: &mut IoByDirection, more: &IoByDirection) {
    for direction in DIRECTIONS {
        let (sum, more) = (sum.of_mut(direction), more.of(direction));
        sum.ios += more.ios;
        sum.bytes += more.bytes;
        sum.errors += more.errors;
        sum.latency.merge(&more.latency);
    }
}

fn done(of: &DirectionInterval) -> Done {
    let DirectionInterval { ios, bytes, errors, latency, .. } = of;
    Done { ios: *ios, bytes: *bytes, errors: *errors, latency: Bins::from(latency) }
}

#[cfg(test)]
mod tests {
    use iodyno_load::{JobInterval, Recorder};
    use iodyno_model::{Direction, DirectionResult, Histogram};
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    /// I/O of a job in an interval: active, ramping, latencies of reads and writes in us, errors.
    type Doing = (bool, bool, Vec<u64>, Vec<u64>, u64);

    fn interval(start_ns: u64, ms: u64, kind: u8, jobs: &[Doing]) -> Interval {
        let of = |latencies: &[u64], errors| {
            let mut latency = Histogram::default();
            latencies.iter().for_each(|us| latency.record(us * 1000));
            let ios = latency.count();
            DirectionInterval { ios, bytes: ios * 4096, errors, latency, split: None }
        };
        let job = |(active, ramping, reads, writes, errors): &Doing| JobInterval {
            active_ns: if *active { ms * MS } else { 0 },
            ramping: *ramping,
            directions: PerDirection {
                read: of(if *active { reads } else { &[] }, 0),
                write: of(if *active { writes } else { &[] }, *errors),
                ..PerDirection::default()
            },
            ..JobInterval::default()
        };
        Interval {
            start_ns,
            duration_ns: ms * MS,
            draining: kind == 1,
            cut: kind == 2,
            warnings: Vec::new(),
            jobs: jobs.iter().map(job).collect(),
        }
    }

    fn doing() -> impl Strategy<Value = Vec<Doing>> {
        let us = || prop::collection::vec(1_u64..100_000, 0..4);
        let job = (prop::bool::weighted(0.9), prop::bool::weighted(0.2), us(), us(), 0_u64..3);
        prop::collection::vec(job, 3)
    }

    fn merged(into: &mut BTreeMap<u64, u64>, bins: &Bins) {
        bins.bins.iter().for_each(|(low, count)| *into.entry(*low).or_default() += count);
    }

    proptest! {
        /// For any intervals, the state `measured` sums to the result plus the warm-up, and seconds
        /// follow each other without gaps. The third job runs beside the measurements.
        #[test]
        fn seconds_add_up_to_the_result(
            steps in prop::collection::vec((20_u64..2500, 0_u8..8, doing()), 1..40),
            steady: bool,
            warm_up_ms in 0_u64..5000,
        ) {
            let counting = if steady { Counting::Steady } else { Counting::Whole };
            let slot = |measurement| Slot { measurement, job: "j".into(), target: "t".into() };
            let mut phase = Phase {
                slots: [Some(1), Some(2), None].map(slot).into(),
                of_job: vec![0, 1, 2],
                open: [1, 2].into(),
                counting,
                now: SecondData::default(),
                end_ns: 0,
                counted: BTreeMap::new(),
            };
            let (mut recorder, mut seconds) = (Recorder::counting(counting), Vec::new());
            let (mut now_ns, mut errors) = (0, 0);
            for (ms, kind, jobs) in &steps {
                let interval = interval(now_ns, *ms, *kind, jobs);
                recorder.record(&interval, None);
                errors += interval.jobs.iter().map(|job| job.directions.write.errors).sum::<u64>();
                now_ns += if interval.cut { 0 } else { interval.duration_ns };
                seconds.extend(phase.add(&interval, None).map(|over| phase.record(&over, 0.0)));
            }
            seconds.extend(phase.flush().map(|over| phase.record(&over, 0.0)));
            prop_assert!(phase.flush().is_none());
            for pair in seconds.windows(2) {
                let end_ns = pair[0].start_ns + pair[0].duration_ns;
                prop_assert!(end_ns <= pair[1].start_ns && pair[0].duration_ns > 0);
                prop_assert!(end_ns / SECOND_NS > pair[0].start_ns / SECOND_NS);
            }
            let all = || seconds.iter().flat_map(|second| &second.jobs);
            let failed = |job: &JobSecond| job.done.write.as_ref().map_or(0, |done| done.errors);
            prop_assert_eq!(all().map(failed).sum::<u64>(), errors);
            for number in 1..=2_u32 {
                let mut measurement = Measurement::unknown("j");
                let record = &recorder.jobs[number as usize - 1];
                for direction in [Direction::Read, Direction::Write] {
                    let counted = record.directions.of(direction).counted_from(warm_up_ms * MS);
                    measurement.total.push(DirectionResult {
                        ios: Some(counted.ios),
                        bytes: Some(counted.bytes),
                        latency: counted.latency,
                        ..DirectionResult::unknown(direction)
                    });
                }
                let end = phase.end(&measurement).unwrap();
                prop_assert_eq!(end.measurement, number);
                let is_its = |job: &&JobSecond| {
                    job.measurement == Some(number) && job.state == State::Measured
                };
                let (mut sum, mut expected) = ((0, 0), (0, 0));
                let (mut bins, mut expected_bins) = (BTreeMap::new(), BTreeMap::new());
                for done in all().filter(is_its).filter_map(|job| job.done.write.as_ref()) {
                    sum = (sum.0 + done.ios, sum.1 + done.bytes);
                    merged(&mut bins, &done.latency);
                }
                let result = measurement.result(Direction::Write).unwrap();
                expected = (expected.0 + result.ios.unwrap(), expected.1 + result.bytes.unwrap());
                merged(&mut expected_bins, &end.measured.write.unwrap().latency);
                if let Some(before) = &end.warm_up.write {
                    expected = (expected.0 + before.ios, expected.1 + before.bytes);
                    merged(&mut expected_bins, &before.latency);
                }
                prop_assert_eq!(sum, expected);
                prop_assert_eq!(bins, expected_bins);
            }
            prop_assert!(phase.end(&Measurement::unknown("j")).is_none());
        }
    }
}
