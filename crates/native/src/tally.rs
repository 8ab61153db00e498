//! Counters of one thread, readable while it counts.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

use iodyno_model::{Direction, Histogram, PerDirection};

/// Attempts of a reader to get consistent sums.
const MAX_ATTEMPTS: u32 = 1000;

/// Counters of one worker, all monotonic except the extremes.
///
/// Only the worker writes (plain loads and stores, no locked instruction: 1.5 ns per I/O); the
/// reporter reads at any time. Nothing is lost: counts are taken as differences, and the last
/// reading follows the worker's end.
#[derive(Debug)]
#[repr(align(128))] // No two threads share a (pair of) cache line(s).
pub(crate) struct Tally {
    bins: [AtomicU64; Histogram::BINS],
    /// Wraps around; differences stay right.
    sum_ns: AtomicU64,
    /// Bits of an f64: the square of 5 s in ns is more than a u64 holds.
    sum_squares: AtomicU64,
    /// Extremes since the reporter last took them.
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    /// Wraps around, as `sum_ns`.
    bytes: AtomicU64,
    errors: AtomicU64,
    short: AtomicU64,
    /// I/Os whose counting has begun, and has ended: equal while nothing is being counted, and then
    /// the sum of all bins. They wrap around, too.
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Default for Tally {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            bins: std::array::from_fn(|_| zero()),
            sum_ns: zero(),
            sum_squares: zero(),
            min_ns: AtomicU64::new(u64::MAX),
            max_ns: zero(),
            bytes: zero(),
            errors: zero(),
            short: zero(),
            begun: zero(),
            ended: zero(),
        }
    }
}

impl Tally {
    /// Counts `times` I/Os, each of `bytes` and `ns`. For the worker alone.
    #[inline]
    pub(crate) fn record(&self, ns: u64, bytes: u64, times: u64) {
        let ios = self.begin(times);
        add(&self.bytes, bytes * times);
        add(&self.bins[Histogram::index(ns)], times);
        add(&self.sum_ns, ns.wrapping_mul(times));
        // One instruction from i64, eight from u64.
        let (float, times) = (ns as i64 as f64, times as i64 as f64);
        let squares = f64::from_bits(self.sum_squares.load(Relaxed)) + float * float * times;
        self.sum_squares.store(squares.to_bits(), Relaxed);
        self.ended.store(ios, Release);
        if ns < self.min_ns.load(Relaxed) {
            self.min_ns.store(ns, Relaxed);
        }
        if ns > self.max_ns.load(Relaxed) {
            self.max_ns.store(ns, Relaxed);
        }
    }

    /// Begins to count `times` I/Os. Returns the value for [`Self::ended`] afterwards.
    #[inline]
    fn begin(&self, times: u64) -> u64 {
        let ios = self.begun.load(Relaxed).wrapping_add(times);
        self.begun.store(ios, Relaxed);
        // Readers must see `begun` before any of the following stores.
        fence(Release);
        ios
    }

    /// Reads sums that belong together. Yields to a worker that was preempted while counting.
    fn sums(&self) -> Sums {
        let mut attempts = 0;
        loop {
            let ended = self.ended.load(Acquire);
            let sums = Sums {
                bytes: self.bytes.load(Relaxed),
                ios: ended,
                ns: self.sum_ns.load(Relaxed),
                squares: f64::from_bits(self.sum_squares.load(Relaxed)),
            };
            fence(Acquire);
            attempts += 1;
            if self.begun.load(Relaxed) == ended || attempts > MAX_ATTEMPTS {
                return sums;
            }
            if self.ended.load(Relaxed) == ended {
                std::thread::yield_now();
            }
        }
    }

    /// Counts a failed I/O. For the worker alone.
    #[inline]
    pub(crate) fn count_error(&self) {
        add(&self.errors, 1);
    }

    /// Counts a short I/O. For the worker alone.
    #[inline]
    pub(crate) fn count_short(&self) {
        add(&self.short, 1);
    }

    /// Counts `times` I/Os without their latency. For the worker alone.
    #[inline]
    pub(crate) fn count(&self, bytes: u64, times: u64) {
        let ios = self.begin(times);
        add(&self.bins[0], times);
        add(&self.bytes, bytes * times);
        self.ended.store(ios, Release);
    }
}

/// Adds without a locked instruction: there is a single writer.
#[inline]
fn add(to: &AtomicU64, more: u64) {
    to.store(to.load(Relaxed).wrapping_add(more), Relaxed);
}

/// The counters of a worker: per direction, and for syncs.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) directions: PerDirection<Option<Box<Tally>>>,
    pub(crate) sync: Option<Box<Tally>>,
    /// Submission and completion latencies, for averaged logs.
    pub(crate) split: PerDirection<Option<Box<[Tally; 2]>>>,
}

impl Tallies {
    /// Counters for a job with these directions, and syncs.
    pub(crate) fn new(has: impl Fn(Direction) -> bool, syncs: bool) -> Self {
        let tally = |wanted: bool| wanted.then(Box::<Tally>::default);
        Self {
            directions: PerDirection {
                read: tally(has(Direction::Read)),
                write: tally(has(Direction::Write)),
                trim: tally(has(Direction::Trim)),
            },
            sync: tally(syncs),
            split: PerDirection::default(),
        }
    }

    /// Adds split latencies.
    pub(crate) fn split(self) -> Self {
        let split = self.directions.map(|tally| tally.is_some().then(Box::default));
        Self { split, ..self }
    }

    /// Counters by operation. Operations that a job lacks share those of another.
    pub(crate) fn table(&self) -> [&Tally; 5] {
        let PerDirection { read, write, trim } = &self.directions;
        let mut all = [read, write, trim, &self.sync].into_iter().flatten();
        let any: &Tally = all.next().expect("a job does something");
        [
            read.as_deref().unwrap_or(any),
            write.as_deref().unwrap_or(any),
            trim.as_deref().unwrap_or(any),
            self.sync.as_deref().unwrap_or(any),
            self.sync.as_deref().unwrap_or(any),
        ]
    }
}

/// Counts between two readings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) latency: Histogram,
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
    pub(crate) short: u64,
}

/// Reads a tally incrementally.
#[derive(Debug)]
pub(crate) struct TallyReader {
    bins: Box<[u64]>,
    sums: Sums,
    errors: u64,
    short: u64,
}

/// The sums that belong to the bins.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    bytes: u64,
    ios: u64,
    ns: u64,
    squares: f64,
}

impl Default for TallyReader {
    fn default() -> Self {
        let bins = vec![0; Histogram::BINS].into();
        Self { bins, sums: Sums::default(), errors: 0, short: 0 }
    }
}

impl TallyReader {
    /// Adds the counts since the last call to `sum`.
    pub(crate) fn read_into(&mut self, tally: &Tally, sum: &mut Counts) {
        let (counts, sums) = self.new_counts(tally);
        // Without a new count, the sums are left to the next call, so that none is lost.
        if let (Some(&(lowest, _)), Some(&(highest, _))) = (counts.first(), counts.last()) {
            for &(bin, count) in &counts {
                self.bins[bin] += count;
            }
            // The worker may have been between comparison and store while the extremes were taken:
            // the bins bound them to 1.6 %.
            let within = |ns: u64, bin| {
                let (low, high) = Histogram::bounds(bin);
                ns.clamp(low, high)
            };
            let before = std::mem::replace(&mut self.sums, sums);
            sum.bytes += sums.bytes.wrapping_sub(before.bytes);
            sum.latency.add_counts(
                counts,
                sums.ns.wrapping_sub(before.ns) as f64,
                sums.squares - before.squares,
                within(tally.min_ns.swap(u64::MAX, Relaxed), lowest),
                within(tally.max_ns.swap(0, Relaxed), highest),
            );
        }
        let errors = tally.errors.load(Relaxed);
        sum.errors += errors - std::mem::replace(&mut self.errors, errors);
        let short = tally.short.load(Relaxed);
        sum.short += short - std::mem::replace(&mut self.short, short);
    }

    /// The bins that grew, with their increments, and the matching sums.
    ///
    /// I/Os counted after the sums were read are left to the next call: they are subtracted from
    /// the fullest bins, since their own bins are unknown.
    fn new_counts(&self, tally: &Tally) -> (Vec<(usize, u64)>, Sums) {
        let sums = tally.sums();
        let mut counts = Vec::new();
        for (bin, (seen, now)) in self.bins.iter().zip(&tally.bins).enumerate() {
            let now = now.load(Relaxed);
            if now != *seen {
                counts.push((bin, now - *seen));
            }
        }
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        let mut later = all.saturating_sub(sums.ios.wrapping_sub(self.sums.ios));
        while later > 0 {
            let Some((_, fullest)) = counts.iter_mut().max_by_key(|(_, count)| *count) else {
                break;
            };
            let taken = later.min(*fullest);
            *fullest -= taken;
            later -= taken;
        }
        counts.retain(|(_, count)| *count > 0);
        (counts, sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_belong_to_the_ios_that_are_read_with_them() {
        let (tally, done) = (Tally::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while done.load(Relaxed) == 0 {
                    tally.record(100, 512, 3);
                    (0..200).for_each(|_| std::hint::spin_loop());
                }
            });
            let (mut reading, mut all) = (TallyReader::default(), Counts::default());
            while all.latency.count() < 3_000 {
                reading.read_into(&tally, &mut all);
                assert_eq!(all.bytes, 512 * all.latency.count());
            }
            done.store(1, Relaxed);
        });
    }

    #[test]
    fn readings_are_what_was_recorded_between_them() {
        let (tally, mut reading) = (Tally::default(), TallyReader::default());
        for values in [vec![100, 9_000_000_000, 250], vec![], vec![777; 5], vec![1, u64::MAX / 4]] {
            let mut expected = Histogram::default();
            for (n, &ns) in values.iter().enumerate() {
                let times = n as u64 + 1;
                tally.record(ns, 512, times);
                (0..times).for_each(|_| expected.record(ns));
            }
            tally.count_error();
            let mut counts = Counts::default();
            reading.read_into(&tally, &mut counts);
            assert_eq!((counts.errors, counts.short), (1, 0));
            assert_eq!(counts.bytes, 512 * expected.count());
            let got = counts.latency;
            assert!(got.bins().eq(expected.bins()));
            assert_eq!((got.min_ns(), got.max_ns()), (expected.min_ns(), expected.max_ns()));
            assert!((got.sum_ns() - expected.sum_ns()).abs() <= expected.sum_ns() * 1e-12);
        }
    }

    #[test]
    fn nothing_is_lost_while_a_worker_writes() {
        let (tally, n) = (Tally::default(), 300_000_u64);
        let (mut all, mut reading) = (Counts::default(), TallyReader::default());
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| (0..n).for_each(|i| tally.record(i % 5000, 1, 1)));
            while !worker.is_finished() {
                reading.read_into(&tally, &mut all);
                if let (Some(min), Some(max)) = (all.latency.min_ns(), all.latency.max_ns()) {
                    assert!(min <= max && max < 5056, "{min}..{max}");
                }
            }
        });
        reading.read_into(&tally, &mut all);
        assert_eq!((all.latency.count(), all.bytes), (n, n));
        assert_eq!(all.latency.sum_ns(), (0..n).map(|i| i % 5000).sum::<u64>() as f64);
    }
}
