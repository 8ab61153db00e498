//! Similarity of a model to its trace: the same counts of both, and a simulated drive.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::{Histogram, ModelLikeness, TraceLikeness};

use super::count::{MS, gap_bin};
use super::place::{Place, distances};
use crate::{Counter, Io, Names, Operation};

/// Slices for comparing rates, ms.
const RATE_MS: [u64; 2] = [10, 100];

/// Statistics of the trace and of the model alike.
#[derive(Debug, Default)]
struct Features {
    counter: Counter,
    sizes: BTreeMap<(Operation, u32), u64>,
    gaps: BTreeMap<u64, u64>,
    /// I/Os that continue no run, by re-use distance.
    again: BTreeMap<Option<u64>, u64>,
    continuing: u64,
    last_ns: u64,
    drive: Drive,
}

impl Features {
    fn count(&mut self, io: &Io, place: Option<Place>) {
        self.counter.count(io);
        *self.sizes.entry((io.operation, io.length)).or_default() += 1;
        // Octaves.
        *self.gaps.entry(gap_bin(io.at_ns - self.last_ns) / 8).or_default() += 1;
        self.last_ns = io.at_ns;
        if let Some(place) = place {
            if place.continues() {
                self.continuing += 1;
            } else {
                // Octaves.
                *self
                    .again
                    .entry(place.again().map(|bin| distances(bin).0.ilog2().into()))
                    .or_default() += 1;
            }
        }
        self.drive.serve(io);
    }

    /// Simulates independent I/Os with the same mean rate, sizes by operation and runs, and returns
    /// their p99, ns.
    fn p99_from_options(&self, duration_ns: u64) -> u64 {
        const MOST: u64 = 200_000;
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut drive, mut at_ns, mut offset) = (Drive::default(), 0.0, 0);
        let ios: u64 = self.sizes.values().sum();
        let jumps = self.again.values().sum::<u64>() as f64 / ios.max(1) as f64;
        let sizes: Vec<(Operation, u32, u64)> = self
            .sizes
            .iter()
            .scan(0, |up_to, ((operation, length), count)| {
                *up_to += count;
                Some((*operation, *length, *up_to))
            })
            .collect();
        for _ in 0..ios.min(MOST) {
            at_ns += -(1.0 - rng.f64()).ln() * duration_ns as f64 / ios as f64;
            let drawn = rng.u64(0..ios);
            let at = sizes.partition_point(|(_, _, up_to)| *up_to <= drawn);
            let (operation, length, _) = sizes[at];
            if rng.f64() < jumps {
                offset = rng.u64(0..1 << 40) & !4095;
            }
            drive.serve(&Io { at_ns: at_ns as u64, operation, offset, length, ..Io::default() });
            offset += u64::from(length);
        }
        drive.latency.quantile_ns(0.99).unwrap_or_default()
    }

    fn summary(&self, duration_ns: u64) -> TraceLikeness {
        let jumps: u64 = self.again.values().sum();
        let quantile = |q| self.drive.latency.quantile_ns(q).unwrap_or_default();
        let elsewhere = self.again.get(&None).copied().unwrap_or_default();
        TraceLikeness {
            ios: self.sizes.values().sum(),
            run: (jumps + self.continuing) as f64 / jumps.max(1) as f64,
            again: 1.0 - elsewhere as f64 / jumps.max(1) as f64,
            bursts: self.counter.summary(&Names::default(), duration_ns).bursts,
            simulated_p50_ns: quantile(0.5),
            simulated_p99_ns: quantile(0.99),
        }
    }
}

/// Compares both chunk by chunk.
#[derive(Debug, Default)]
pub(super) struct Likeness {
    trace: Features,
    model: Features,
    /// I/Os that are in other slices than in the trace.
    moved: [u64; RATE_MS.len()],
    ios: u64,
}

impl Likeness {
    /// Adds the same chunk of both.
    pub(super) fn chunk(
        &mut self,
        trace: (&[Io], &[Option<Place>]),
        model: (&[Io], &[Option<Place>]),
    ) {
        for (features, (ios, places)) in [(&mut self.trace, trace), (&mut self.model, model)] {
            ios.iter().zip(places).for_each(|(io, place)| features.count(io, *place));
        }
        self.ios += trace.0.len() as u64;
        for (moved, ms) in self.moved.iter_mut().zip(RATE_MS) {
            // Rate, operation and size in each slice.
            let counts = |ios: &[Io]| {
                let mut counts = BTreeMap::<_, u64>::new();
                for io in ios {
                    *counts.entry((io.at_ns / (ms * MS), io.operation, io.length)).or_default() +=
                        1;
                }
                counts
            };
            *moved += differing(&counts(trace.0), &counts(model.0));
        }
    }

    pub(super) fn end(&self, duration_ns: u64) -> ModelLikeness {
        let share = |count: u64| count as f64 / self.ios.max(1) as f64;
        ModelLikeness {
            trace: self.trace.summary(duration_ns),
            model: self.model.summary(duration_ns),
            sizes: share(differing(&self.trace.sizes, &self.model.sizes)),
            rate: share(self.moved[0]),
            gaps: share(differing(&self.trace.gaps, &self.model.gaps)),
            again: share(differing(&self.trace.again, &self.model.again)),
            options_p99_ns: self.trace.p99_from_options(duration_ns),
        }
    }
}

/// Returns how many of the counted I/Os would have to be different.
fn differing<K: Ord>(one: &BTreeMap<K, u64>, other: &BTreeMap<K, u64>) -> u64 {
    let keys: BTreeSet<&K> = one.keys().chain(other.keys()).collect();
    let of = |counts: &BTreeMap<K, u64>, key| counts.get(key).copied().unwrap_or_default();
    keys.into_iter().map(|key| of(one, key).abs_diff(of(other, key))).sum::<u64>().div_ceil(2)
}

/// A simulated drive with 16 dies, each of which serves pages of 16 KiB one after the other. Its
/// queueing shows whether bursts, sizes and runs are right; it has no cache.
#[derive(Debug, Default)]
struct Drive {
    free_ns: [u64; 16],
    latency: Histogram,
    served: u64,
}

impl Drive {
    fn serve(&mut self, io: &Io) {
        const PAGE: u64 = 16 << 10;
        let page_ns = match io.operation {
            Operation::Read => 60_000,
            Operation::Write => 120_000,
            _ => return,
        };
        let mut done_ns = io.at_ns;
        self.served += 1;
        for page in io.offset / PAGE..io.end().div_ceil(PAGE) {
            // Neighbouring pages are on different dies, distant ones on any.
            let mixed = (page / 16).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
            let free = &mut self.free_ns[((page + mixed) % 16) as usize];
            // Between half and one and a half times the page time.
            let varied =
                page_ns / 2 + (page + self.served).wrapping_mul(0xd6e8_feb8_6659_fd93) % page_ns;
            *free = (*free).max(io.at_ns) + varied;
            done_ns = done_ns.max(*free);
        }
        self.latency.record(done_ns - io.at_ns);
    }
}
