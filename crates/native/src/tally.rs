//! What one thread has counted, readable while it counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iodyno_model::Histogram;

/// Counts of one worker, all of them only ever growing but for the extremes.
///
/// The worker alone writes (plain loads and stores, no locked instruction:
/// 1.5 ns an I/O), the reporter reads whenever it likes. Its bins and sums may
/// be apart by what completes while it reads (some µs); nothing is lost, since
/// both are taken as differences and the last reading is made after the worker.
#[derive(Debug)]
#[repr(align(128))] // No two threads' counts in one (pair of) cache line(s).
pub(crate) struct Tally {
    bins: [AtomicU64; Histogram::BINS],
    /// Wraps around; differences are right all the same.
    sum_ns: AtomicU64,
    /// Bits of an f64: the square of 5 s in ns is more than a u64 holds.
    sum_squares: AtomicU64,
    /// Extremes since the reporter took them last.
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    errors: AtomicU64,
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
            errors: zero(),
        }
    }
}

impl Tally {
    /// Counts an I/O that took `ns`. For the worker alone.
    #[inline]
    pub(crate) fn record(&self, ns: u64) {
        let bin = &self.bins[Histogram::index(ns)];
        bin.store(bin.load(Relaxed) + 1, Relaxed);
        self.sum_ns.store(self.sum_ns.load(Relaxed).wrapping_add(ns), Relaxed);
        let squares = f64::from_bits(self.sum_squares.load(Relaxed)) + ns as f64 * ns as f64;
        self.sum_squares.store(squares.to_bits(), Relaxed);
        if ns < self.min_ns.load(Relaxed) {
            self.min_ns.store(ns, Relaxed);
        }
        if ns > self.max_ns.load(Relaxed) {
            self.max_ns.store(ns, Relaxed);
        }
    }

    /// Counts an I/O that failed. For the worker alone.
    #[inline]
    pub(crate) fn fail(&self) {
        self.errors.store(self.errors.load(Relaxed) + 1, Relaxed);
    }
}

/// Reads a tally piece by piece.
#[derive(Debug)]
pub(crate) struct Reading {
    bins: Box<[u64]>,
    sum_ns: u64,
    sum_squares: f64,
    errors: u64,
}

impl Default for Reading {
    fn default() -> Self {
        Self { bins: vec![0; Histogram::BINS].into(), sum_ns: 0, sum_squares: 0.0, errors: 0 }
    }
}

impl Reading {
    /// Adds what was counted since the last call to `latency`; returns the errors.
    pub(crate) fn take(&mut self, tally: &Tally, latency: &mut Histogram) -> u64 {
        let mut counts = Vec::new();
        for (index, (seen, bin)) in self.bins.iter_mut().zip(&tally.bins).enumerate() {
            let now = bin.load(Relaxed);
            if now != *seen {
                counts.push((index, now - *seen));
                *seen = now;
            }
        }
        // Without a new count the sums wait for the next call, so that none is lost.
        if let (Some(&(lowest, _)), Some(&(highest, _))) = (counts.first(), counts.last()) {
            let sum_ns = tally.sum_ns.load(Relaxed);
            let sum_squares = f64::from_bits(tally.sum_squares.load(Relaxed));
            // The worker may have been between a comparison and its store
            // while the extremes were taken: the bins know them to 1.6 %.
            let within = |ns: u64, bin| {
                let (low, high) = Histogram::bounds(bin);
                ns.clamp(low, high)
            };
            latency.add_counts(
                counts.iter().copied(),
                sum_ns.wrapping_sub(self.sum_ns) as f64,
                sum_squares - self.sum_squares,
                within(tally.min_ns.swap(u64::MAX, Relaxed), lowest),
                within(tally.max_ns.swap(0, Relaxed), highest),
            );
            (self.sum_ns, self.sum_squares) = (sum_ns, sum_squares);
        }
        let errors = tally.errors.load(Relaxed);
        errors - std::mem::replace(&mut self.errors, errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_what_was_recorded_between_them() {
        let (tally, mut reading) = (Tally::default(), Reading::default());
        for values in [vec![100, 9_000_000_000, 250], vec![], vec![777; 5], vec![1, u64::MAX / 4]] {
            let mut expected = Histogram::default();
            for &ns in &values {
                tally.record(ns);
                expected.record(ns);
            }
            tally.fail();
            let mut got = Histogram::default();
            assert_eq!(reading.take(&tally, &mut got), 1);
            assert!(got.bins().eq(expected.bins()));
            assert_eq!((got.min_ns(), got.max_ns()), (expected.min_ns(), expected.max_ns()));
            assert!((got.sum_ns() - expected.sum_ns()).abs() <= expected.sum_ns() * 1e-12);
        }
    }

    #[test]
    fn nothing_is_lost_while_a_worker_writes() {
        let (tally, n) = (Tally::default(), 300_000_u64);
        let (mut all, mut reading) = (Histogram::default(), Reading::default());
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| (0..n).for_each(|i| tally.record(i % 5000)));
            while !worker.is_finished() {
                reading.take(&tally, &mut all);
                if let (Some(min), Some(max)) = (all.min_ns(), all.max_ns()) {
                    assert!(min <= max && max < 5056, "{min}..{max}");
                }
            }
        });
        reading.take(&tally, &mut all);
        assert_eq!(all.count(), n);
        assert_eq!(all.sum_ns(), (0..n).map(|i| i % 5000).sum::<u64>() as f64);
    }
}
