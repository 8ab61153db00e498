//! Counts I/Os as they pass: sizes, mixes, rates, bursts, latencies.

use std::collections::BTreeMap;

use iodyno_model::{Histogram, TraceBurst, TraceSummary, TracedActor, TracedOperation, TracedSize};

use crate::heatmap::Heatmap;
use crate::{Flags, Io, Names, Operation};

/// Intervals in which I/Os are counted for bursts, ns.
const SLOTS_NS: [u64; 4] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
/// Maximum of sizes counted separately, for each operation.
pub(crate) const MOST_SIZES: usize = 64;
/// Maximum of actors listed.
const MOST_ACTORS: usize = 16;

/// Statistics of the I/Os so far.
#[derive(Debug, Clone, Default)]
pub struct Counter {
    pub(crate) operations: [Counts; Operation::ALL.len()],
    /// I/Os and bytes of each actor, by its number.
    pub(crate) actors: Vec<(u64, u64)>,
    pub(crate) metadata: u64,
    pub(crate) fua: u64,
    slots: [Slots; SLOTS_NS.len()],
    last_ns: u64,
    pub(crate) heatmap: Heatmap,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    pub(crate) sequential: u64,
    /// End of the last I/O on each device, by its number.
    pub(crate) ends: Vec<Option<u64>>,
    pub(crate) sizes: BTreeMap<u32, (u64, Histogram)>,
    pub(crate) other_sizes: (u64, Histogram),
    pub(crate) queue: Histogram,
    pub(crate) device: Histogram,
    pub(crate) latency: Histogram,
}

/// I/Os in intervals of equal length.
#[derive(Debug, Clone, Copy, Default)]
struct Slots {
    number: u64,
    count: u64,
    sum: f64,
    squares: f64,
    most: u64,
}

impl Slots {
    fn count(&mut self, number: u64, ios: u64) {
        if number != self.number {
            self.close();
            self.number = number;
        }
        self.count += ios;
    }

    fn close(&mut self) {
        let count = self.count as f64;
        self.sum += count;
        self.squares += count * count;
        self.most = self.most.max(self.count);
        self.count = 0;
    }

    /// Returns index of dispersion and maximum over the first `slots` slots, empty ones included:
    /// the whole ones. A last slot in which less time passed has fewer I/Os at the same rate.
    fn dispersion(mut self, slots: u64) -> Option<(f64, u64)> {
        if self.number < slots {
            self.close();
        }
        let slots = slots as f64;
        let mean = self.sum / slots;
        let variance = (self.squares - self.sum * mean) / (slots - 1.0);
        (slots >= 2.0 && mean > 0.0).then_some((variance / mean, self.most))
    }
}

impl Counter {
    /// Counts the next I/O.
    pub fn count(&mut self, io: &Io) {
        let counts = &mut self.operations[io.operation as usize];
        counts.ios += 1;
        counts.bytes += u64::from(io.length);
        if io.operation != Operation::Flush {
            let end = at(&mut counts.ends, io.device.into()).replace(io.end());
            counts.sequential += u64::from(end == Some(io.offset));
        }
        let is_counted = counts.sizes.len() < MOST_SIZES || counts.sizes.contains_key(&io.length);
        let size = match is_counted {
            true => counts.sizes.entry(io.length).or_default(),
            false => &mut counts.other_sizes,
        };
        size.0 += 1;
        if let Some(ns) = io.latency.total() {
            counts.latency.record(ns);
            size.1.record(ns);
        }
        if let Some(ns) = io.latency.queue() {
            counts.queue.record(ns);
        }
        if let Some(ns) = io.latency.device() {
            counts.device.record(ns);
        }
        if let Some(actor) = io.actor {
            let actor = at(&mut self.actors, actor as usize);
            actor.0 += 1;
            actor.1 += u64::from(io.length);
        }
        self.metadata += u64::from(io.flags.has(Flags::META));
        self.fua += u64::from(io.flags.has(Flags::FUA));
        self.count_time(io.at_ns, 1);
        self.heatmap.count(io);
        self.last_ns = self.last_ns.max(io.at_ns);
    }

    /// Makes a counter that tells apart zones of this size, bytes, or of less.
    pub(crate) fn with_zones(zone_bytes: u64) -> Self {
        Self { heatmap: Heatmap::with_zones(zone_bytes), ..Self::default() }
    }

    /// Counts I/Os of one time, ns, for bursts.
    pub(crate) fn count_time(&mut self, at_ns: u64, ios: u64) {
        for (slots, slot_ns) in self.slots.iter_mut().zip(SLOTS_NS) {
            slots.count(at_ns / slot_ns, ios);
        }
    }

    /// Summarizes all I/Os so far; the caller adds source, lost events and the like.
    pub fn summary(&self, names: &Names, duration_ns: u64) -> TraceSummary {
        let duration_ns = duration_ns.max(self.last_ns);
        let operations = Operation::ALL.into_iter().zip(&self.operations);
        let bursts = self.slots.iter().zip(SLOTS_NS).filter_map(|(slots, slot_ns)| {
            let (dispersion, most) = slots.dispersion(duration_ns / slot_ns)?;
            Some(TraceBurst { slot_ns, dispersion, most })
        });
        TraceSummary {
            devices: names.devices().iter().map(|one| one.name.clone()).collect(),
            duration_ns,
            operations: operations
                .filter(|(_, counts)| counts.ios > 0)
                .map(|(operation, counts)| counts.summary(operation))
                .collect(),
            metadata: self.metadata,
            fua: self.fua,
            bursts: bursts.collect(),
            actors: self.actors(names),
            course: self.heatmap.table(),
            ..TraceSummary::default()
        }
    }

    /// Combines processes of the same name.
    fn actors(&self, names: &Names) -> Vec<TracedActor> {
        let mut by_name: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (actor, (ios, bytes)) in names.actors().iter().zip(&self.actors) {
            if *ios == 0 {
                continue;
            }
            let pid = || actor.pid.map_or("unknown".into(), |pid| format!("pid {pid}"));
            let of = by_name.entry(actor.process.clone().unwrap_or_else(pid)).or_default();
            *of = (of.0 + ios, of.1 + bytes);
        }
        let actor = |(name, (ios, bytes))| TracedActor { name, ios, bytes };
        let mut actors: Vec<TracedActor> = by_name.into_iter().map(actor).collect();
        actors.sort_by_key(|actor| std::cmp::Reverse(actor.ios));
        actors.truncate(MOST_ACTORS);
        actors
    }
}

/// Returns the entry of a number, growing the list as needed.
fn at<T: Clone + Default>(all: &mut Vec<T>, number: usize) -> &mut T {
    if all.len() <= number {
        all.resize(number + 1, T::default());
    }
    &mut all[number]
}

impl Counts {
    fn summary(&self, operation: Operation) -> TracedOperation {
        let size = |(bytes, (ios, latency)): (&u32, &(u64, Histogram))| TracedSize {
            bytes: Some(*bytes),
            ios: *ios,
            latency: latency.clone(),
        };
        let mut sizes: Vec<TracedSize> = self.sizes.iter().map(size).collect();
        sizes.sort_by_key(|size| std::cmp::Reverse(size.ios));
        if self.other_sizes.0 > 0 {
            let (ios, latency) = self.other_sizes.clone();
            sizes.push(TracedSize { bytes: None, ios, latency });
        }
        TracedOperation {
            operation: operation.name().into(),
            ios: self.ios,
            bytes: self.bytes,
            sequential: self.sequential,
            sizes,
            queue: self.queue.clone(),
            device: self.device.clone(),
            latency: self.latency.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Device, Latency};

    #[test]
    fn sizes_runs_bursts_and_actors_are_counted() {
        let mut names = Names::default();
        names.device(&Device::named("nvme0n1"));
        let named = |name: &str, pid| Actor { pid, process: Some(name.into()), cgroup: None };
        for (name, pid) in [("a", Some(1)), ("a", Some(2)), ("b", Some(3))] {
            names.actor(&named(name, pid));
        }
        let mut counter = Counter::default();
        // Bursts of ten, ten times a second, sequential within a burst.
        for n in 0..100_u64 {
            counter.count(&Io {
                at_ns: n / 10 * 100_000_000,
                operation: if n % 10 == 9 { Operation::Write } else { Operation::Read },
                flags: if n % 10 == 9 { Flags::FUA } else { Flags::default() },
                offset: n * 4096,
                length: 4096,
                latency: Latency::Split { queue: 10, device: 90 },
                actor: Some((n % 3) as u32),
                ..Io::default()
            });
        }
        let summary = counter.summary(&names, 1_000_000_000);
        assert_eq!((summary.ios(), summary.bytes(), summary.fua), (100, 409_600, 10));
        let [read, write] = &summary.operations[..] else { panic!("{:?}", summary.operations) };
        assert_eq!((read.ios, read.sequential, write.sequential), (90, 80, 0));
        assert_eq!((read.sizes[0].bytes, read.sizes[0].ios), (Some(4096), 90));
        assert_eq!((read.latency.max_ns(), read.queue.max_ns()), (Some(100), Some(10)));
        let who: Vec<(&str, u64)> =
            summary.actors.iter().map(|one| (one.name.as_str(), one.ios)).collect();
        assert_eq!(who, [("a", 67), ("b", 33)]);
        let at = |slot_ns| summary.bursts.iter().find(|one| one.slot_ns == slot_ns).copied();
        let tenth = at(100_000_000).unwrap();
        assert!(tenth.dispersion.abs() < 1e-9 && tenth.most == 10, "{tenth:?}");
        let hundredth = at(10_000_000).unwrap();
        assert!((hundredth.dispersion - 9.0).abs() < 0.2 && hundredth.most == 10, "{hundredth:?}");
        assert_eq!(at(1_000_000_000), None);
        // The last I/O may begin a slot.
        let cut = counter.summary(&names, 0);
        assert!(cut.bursts.iter().all(|one| one.dispersion > -1e-9), "{:?}", cut.bursts);
    }

    /// An I/O each millisecond is as steady as can be, wherever it ends within a slot.
    #[test]
    fn a_constant_rate_has_no_bursts_in_a_last_part_of_a_slot() {
        for duration_ms in [2500, 3001, 3999] {
            let mut counter = Counter::default();
            for n in 0..duration_ms {
                counter.count(&Io { at_ns: n * 1_000_000, ..Io::default() });
            }
            let bursts = counter.summary(&Names::default(), duration_ms * 1_000_000).bursts;
            assert_eq!(bursts.len(), 4);
            assert!(bursts.iter().all(|one| one.dispersion.abs() < 1e-9), "{bursts:?}");
            assert_eq!(bursts[3].most, 1000);
        }
    }

    #[test]
    fn many_sizes_are_bounded() {
        let mut counter = Counter::default();
        (0..1000).for_each(|n| counter.count(&Io { length: n * 512, ..Io::default() }));
        let summary = counter.summary(&Names::default(), 0);
        let sizes = &summary.operations[0].sizes;
        assert_eq!((sizes.len(), sizes[64].bytes, sizes[64].ios), (65, None, 936));
    }
}
