//! Gathers the intervals of a phase into seconds, and adds up what counts.

use std::collections::{BTreeMap, VecDeque};

use iodyno_campaign::Begin;
use iodyno_load::{Counting, DirectionInterval, Interval};
use iodyno_model::{DIRECTIONS, Measurement, PerDirection};
use iodyno_report::document::stream::{
    Bins, Directions, Done, JobSecond, MeasurementEnd, Second, State,
};

const SECOND_NS: u64 = 1_000_000_000;

/// What jobs did, by direction.
pub(crate) type Moved = PerDirection<DirectionInterval>;

/// Clones of one job on the same target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) measurement: Option<u32>,
    pub(crate) job: String,
    pub(crate) target: String,
}

/// A phase under way.
pub(crate) struct Phase {
    pub(crate) slots: Vec<Slot>,
    /// The slot of each job.
    of_job: Vec<usize>,
    /// Its measurements that are not over, in the order in which they will be.
    open: VecDeque<u32>,
    counting: Counting,
    now: Gathered,
    end_ns: u64,
    /// What counts, by measurement.
    counted: BTreeMap<u32, Moved>,
}

/// A second, gathered.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) start_ns: u64,
    pub(crate) duration_ns: u64,
    pub(crate) temperature_c: Option<f32>,
    /// By slot and state.
    pub(crate) jobs: BTreeMap<(usize, State), Moved>,
}

impl Phase {
    /// The phase that begins; `number` gives that of the measurement of each of its sections.
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
            now: Gathered::default(),
            end_ns: 0,
            counted: BTreeMap::new(),
        }
    }

    /// Adds an interval; the second that it ends, if it does. An interval is never divided.
    pub(crate) fn add(&mut self, interval: &Interval, celsius: Option<f32>) -> Option<Gathered> {
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
        is_over.then(|| self.rest()).flatten()
    }

    /// What was gathered since the last second that was over; `None`: nothing.
    pub(crate) fn rest(&mut self) -> Option<Gathered> {
        let next = Gathered { start_ns: self.end_ns, ..Gathered::default() };
        let duration_ns = self.end_ns - self.now.start_ns;
        let is_empty = self.now.jobs.is_empty();
        let gathered = Gathered { duration_ns, ..std::mem::replace(&mut self.now, next) };
        (!is_empty).then_some(gathered)
    }

    /// The record of its next measurement that is over.
    pub(crate) fn end(&mut self, measurement: &Measurement) -> Option<MeasurementEnd> {
        let number = self.open.pop_front()?;
        let counted = self.counted.remove(&number).unwrap_or_default().map(done);
        Some(MeasurementEnd::new(number, measurement, &counted))
    }

    /// The record of a second that ends at `time_s`, seconds since 1970.
    pub(crate) fn record(&self, of: &Gathered, time_s: f64) -> Second {
        let job = |(&(slot, state), moved): (&(usize, State), &Moved)| {
            let Slot { measurement, job, target } = self.slots[slot].clone();
            let direction =
                |one: &DirectionInterval| (one.ios > 0 || one.errors > 0).then(|| done(one));
            let PerDirection { read, write, trim } = moved.map(direction);
            JobSecond { measurement, job, target, state, done: Directions { read, write, trim } }
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

/// Adds all of `more`.
pub(crate) fn add(sum: &mut Moved, more: &Moved) {
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
