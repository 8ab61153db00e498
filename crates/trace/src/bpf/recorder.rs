//! Attaches the programs, and makes a summary of what they counted.

use std::collections::BTreeMap;
use std::{fs, io};

use iodyno_model::{Histogram, TraceSummary};

use super::Unavailable;
use super::btf::Btf;
use super::layout::{
    BINS, COPIES, Count, Fields, MILLISECONDS, MOST_DEVICES, MOST_LENGTHS, Maps, Part,
    TIMES_HEADER, ZONES,
};
use super::programs::PROGRAMS;
use super::system::{Attached, load};
use super::writer::{Place, Setting};
use crate::event::SECTOR_BYTES;
use crate::summary::{Counter, Counts, MOST_SIZES};
use crate::tracefs::{Options, Watched, now_ns};
use crate::{Actor, Names, Operation};

const NS_PER_MILLISECOND: u64 = 1_000_000;
/// Intervals between two readings of what changes with time, ns: a share of the time so far.
const READ_NS: std::ops::RangeInclusive<u64> = 20_000_000..=1_000_000_000;
const READS: u64 = 512;
const OPERATIONS: usize = Operation::ALL.len();

/// A recording of counts in progress; ends when dropped.
#[derive(Debug)]
pub struct Recorder {
    programs: Vec<Attached>,
    maps: Maps,
    names: Names,
    counter: Counter,
    /// Size of a zone, bytes, and shift of the addresses, for each device.
    zones: Vec<(u64, u64)>,
    /// Numbers and bytes of zones when they were last read.
    zones_before: Vec<[u64; 2]>,
    is_anonymous: bool,
    started_ns: u64,
    read_ns: u64,
    /// Next millisecond to be read, of the kernel's clock.
    millisecond: u64,
    /// False if milliseconds were overwritten before they were read.
    knows_bursts: bool,
    /// Runs that the kernel left out, of programs that are gone.
    missed: u64,
    /// Completions before the last program was attached.
    unmatched_before: u64,
}

impl Recorder {
    /// Begins to count the I/Os of `devices`.
    ///
    /// # Errors
    /// This kernel cannot, or the user may not.
    pub fn start(devices: &[Watched], options: Options) -> Result<Self, Unavailable> {
        let types = fs::read("/sys/kernel/btf/vmlinux").map_err(Unavailable::NoTypes)?;
        let btf = Btf::parse(types).ok_or(Unavailable::Missing("known layout of types"))?;
        let fields = Fields::find(&btf).map_err(Unavailable::Missing)?;
        if devices.len() > MOST_DEVICES {
            return Err(Unavailable::TooManyDevices);
        }
        let mut places = Vec::new();
        let mut tags = 0_u32;
        for one in devices {
            let (queues, each) = queues(&one.device.name).ok_or(Unavailable::NoTags)?;
            let zone_shift = zone_shift(one.device.size_bytes);
            let number = one.number;
            places.push(Place { number, first_tag: tags, queues, tags: each, zone_shift });
            tags = queues
                .checked_mul(each)
                .and_then(|more| tags.checked_add(more))
                .ok_or(Unavailable::NoTags)?;
        }
        let maps = Maps::new(devices.len(), tags, possible_cpus()?)?;
        let setting = Setting { fields: &fields, maps: &maps, places: &places };
        let mut programs = Vec::new();
        for program in PROGRAMS {
            let (name, structure) = program.tracepoint();
            let missing = || Unavailable::Missing(name);
            let at = btf.tracepoint(name, structure).ok_or_else(missing)?;
            let code = program.code(setting, at.argument).ok_or_else(missing)?;
            programs.push(load(&code, at.id)?);
        }
        let programs = programs.into_iter().map(Attached::new).collect::<Result<Vec<_>, _>>()?;
        let mut names = Names::default();
        let shift = options.shift.unwrap_or(0);
        for (at, one) in devices.iter().enumerate() {
            names.device(&options.device(at, &one.device));
        }
        let zones: Vec<(u64, u64)> =
            places.iter().map(|one| (SECTOR_BYTES << one.zone_shift, shift)).collect();
        let largest = zones.iter().map(|(bytes, _)| *bytes).max().unwrap_or(SECTOR_BYTES);
        let unmatched_before = sum::<1>(&maps.counts.get(Count::Unmatched as u32)?, 0);
        let started_ns = now_ns();
        Ok(Self {
            programs,
            names,
            counter: Counter::with_zones(largest.max(1 << 20)),
            zones_before: vec![[0; 2]; zones.len() * 2 * ZONES as usize],
            zones,
            maps,
            is_anonymous: options.shift.is_some(),
            started_ns,
            read_ns: started_ns,
            millisecond: started_ns / NS_PER_MILLISECOND,
            knows_bursts: true,
            missed: 0,
            unmatched_before,
        })
    }

    /// Duration of the recording so far, ns.
    pub fn elapsed_ns(&self) -> u64 {
        now_ns().saturating_sub(self.started_ns)
    }

    /// Reads what changes with time, if it is due: to be called at least once a second.
    ///
    /// # Errors
    /// bpf(2) failed.
    pub fn poll(&mut self) -> Result<(), Unavailable> {
        let now_ns = now_ns();
        let interval_ns = (self.elapsed_ns() / READS).clamp(*READ_NS.start(), *READ_NS.end());
        if now_ns.saturating_sub(self.read_ns) >= interval_ns {
            self.read(now_ns)?;
        }
        Ok(())
    }

    fn read(&mut self, now_ns: u64) -> Result<(), Unavailable> {
        let at_ns = (self.read_ns + now_ns) / 2 - self.started_ns;
        self.read_ns = now_ns;
        let now = now_ns / NS_PER_MILLISECOND;
        self.knows_bursts &= now - self.millisecond < u64::from(MILLISECONDS) - 1;
        while self.knows_bursts && self.millisecond < now {
            let values = self.maps.milliseconds.get(self.millisecond as u32 % MILLISECONDS)?;
            let ios = values.chunks_exact(2).filter(|one| one[0] == self.millisecond);
            let ios = ios.map(|one| one[1]).sum();
            let since_ns = self.millisecond * NS_PER_MILLISECOND;
            self.counter.count_time(since_ns.saturating_sub(self.started_ns), ios);
            self.millisecond += 1;
        }
        for (index, (_, values)) in self.maps.zones.all()?.into_iter().enumerate() {
            let now = [0, 1].map(|column| sum::<2>(&values, column));
            let Some(before) = self.zones_before.get_mut(index) else { break };
            let [ios, bytes] = [0, 1].map(|n| now[n].saturating_sub(before[n]));
            *before = now;
            if ios == 0 {
                continue;
            }
            let zone = index % ZONES as usize;
            let place = index / ZONES as usize;
            let operation = Operation::ALL[place % 2];
            let (zone_bytes, shift) = self.zones[place / 2];
            let start = (zone as u64 * zone_bytes).saturating_add(shift);
            let range = start..start.saturating_add(zone_bytes);
            self.counter.heatmap.add(at_ns, operation, range, ios, bytes);
        }
        Ok(())
    }

    /// Summarizes the I/Os that are complete; the caller adds source and resolution.
    ///
    /// # Errors
    /// bpf(2) failed.
    pub fn summary(&mut self) -> Result<TraceSummary, Unavailable> {
        self.summarize(self.elapsed_ns())
    }

    /// Ends the recording: its summary, with the I/Os that are not complete.
    ///
    /// # Errors
    /// bpf(2) failed.
    pub fn end(mut self) -> Result<TraceSummary, Unavailable> {
        let duration_ns = self.elapsed_ns();
        self.missed = self.missed()?;
        // The last first: what was issued is seen to its end.
        while self.programs.pop().is_some() {}
        self.summarize(duration_ns)
    }

    fn missed(&self) -> Result<u64, Unavailable> {
        self.programs.iter().try_fold(self.missed, |sum, one| Ok(sum + one.misses()?))
    }

    fn summarize(&mut self, duration_ns: u64) -> Result<TraceSummary, Unavailable> {
        self.read(self.started_ns + duration_ns)?;
        let count = |index: u32| Ok::<_, Unavailable>(sum::<1>(&self.maps.counts.get(index)?, 0));
        let mut unmatched = count(Count::Unmatched as u32)? - self.unmatched_before;
        let lost = count(Count::Untracked as u32)? + self.missed()?;
        let mut pending = vec![BTreeMap::<u32, u64>::new(); OPERATIONS];
        if self.programs.is_empty() {
            for (operation, length) in self.in_flight()? {
                *pending[operation].entry(length).or_default() += 1;
                unmatched += 1;
            }
        }
        let mut lengths = self.lengths()?;
        for (operation, pending) in pending.into_iter().enumerate() {
            let mut parts = Vec::new();
            for part in Part::ALL {
                let index = operation * Part::ALL.len() + part as usize;
                parts.push(Times::new(&self.maps.parts.get(index as u32)?));
            }
            let [queue, device, latency] = [0, 1, 2].map(|n: usize| parts[n].histogram());
            let sizes = std::mem::take(&mut lengths[operation]);
            let mut counts = by_size(sizes, self.other_lengths(operation)?);
            for (length, ios) in pending {
                counts.sizes.entry(length).or_default().0 += ios;
            }
            let count = |first: Count| count(first as u32 + operation as u32);
            (counts.ios, counts.bytes) = (count(Count::Ios)?, count(Count::Bytes)?);
            counts.sequential = count(Count::Sequential)?;
            (counts.queue, counts.device, counts.latency) = (queue, device, latency);
            self.counter.operations[operation] = counts;
        }
        self.counter.metadata = count(Count::Metadata as u32)?;
        self.counter.fua = count(Count::Fua as u32)?;
        let mut names = self.names.clone();
        self.counter.actors.clear();
        for (number, (name, values)) in self.maps.actors.all()?.into_iter().enumerate() {
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = Some(String::from_utf8_lossy(name).into_owned());
            names.actor(&match self.is_anonymous {
                false => Actor { process: name, ..Actor::default() },
                true => Actor { pid: u32::try_from(number).ok(), ..Actor::default() },
            });
            self.counter.actors.push((sum::<2>(&values, 0), sum::<2>(&values, 1)));
        }
        let mut summary = self.counter.summary(&names, duration_ns);
        if !self.knows_bursts {
            summary.bursts.clear();
        }
        Ok(TraceSummary { lost, unmatched, ..summary })
    }

    /// Returns latencies of each operation, by length in bytes.
    fn lengths(&self) -> Result<Vec<Vec<(u32, Histogram)>>, Unavailable> {
        let mut lengths = vec![Vec::new(); OPERATIONS];
        for (key, number) in self.maps.lengths.all()? {
            let Ok(key) = key.try_into().map(u64::from_ne_bytes) else { continue };
            if let Some(lengths) = lengths.get_mut((key >> 32) as usize) {
                lengths.push((key as u32, self.latencies(number[0] as u32)?));
            }
        }
        Ok(lengths)
    }

    fn other_lengths(&self, operation: usize) -> Result<Histogram, Unavailable> {
        self.latencies(MOST_LENGTHS + operation as u32)
    }

    fn latencies(&self, number: u32) -> Result<Histogram, Unavailable> {
        let mut values = Vec::new();
        for copy in 0..COPIES {
            values.extend(self.maps.latencies.get(number * COPIES + copy)?);
        }
        Ok(Times::new(&values).histogram())
    }

    /// Returns operation and length of what is in flight.
    fn in_flight(&self) -> Result<Vec<(usize, u32)>, Unavailable> {
        let all = self.maps.in_flight.all()?.into_iter().map(|(_, values)| values);
        let io = |values: Vec<u64>| {
            let [request, _, _, length, operation] = values[..] else { return None };
            let operation = usize::try_from(operation).ok().filter(|one| *one < OPERATIONS)?;
            (request != 0).then_some((operation, length as u32))
        };
        Ok(all.filter_map(io).collect())
    }
}

/// Times in bins.
#[derive(Debug, Clone)]
struct Times {
    counts: Vec<u64>,
    sum_ns: u64,
    /// 0 if not known.
    max_ns: u64,
    min_ns: u64,
}

impl Times {
    /// Adds up histograms as they are in the kernel.
    fn new(values: &[u64]) -> Self {
        let length = TIMES_HEADER + BINS as usize;
        let mut times =
            Self { counts: vec![0; BINS as usize], sum_ns: 0, max_ns: 0, min_ns: u64::MAX };
        for one in values.chunks_exact(length) {
            times.sum_ns += one[0];
            times.max_ns = times.max_ns.max(one[1]);
            times.min_ns = times.min_ns.min(!one[2]);
            let counts = &one[TIMES_HEADER..];
            times.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        times
    }

    fn histogram(&self) -> Histogram {
        let counts = || self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0);
        let bounds =
            |found: Option<(usize, u64)>| Histogram::bounds(found.map_or(0, |(bin, _)| bin));
        // Extremes and squares to the bins' precision, if they are not known.
        let (min_ns, max_ns) = match self.max_ns {
            0 => (bounds(counts().next()).0, bounds(counts().next_back()).1),
            max_ns => (self.min_ns, max_ns),
        };
        let square = |(bin, count)| {
            let (low, high) = Histogram::bounds(bin);
            count as f64 * ((low + high) as f64 / 2.0).powi(2)
        };
        let mut histogram = Histogram::default();
        let squares = counts().map(square).sum();
        histogram.add_counts(counts(), self.sum_ns as f64, squares, min_ns, max_ns);
        histogram
    }
}

/// Makes the most frequent sizes of an operation, and one of the others.
fn by_size(mut lengths: Vec<(u32, Histogram)>, other: Histogram) -> Counts {
    let mut counts = Counts { other_sizes: (other.count(), other), ..Counts::default() };
    lengths.sort_by_key(|(_, latencies)| std::cmp::Reverse(latencies.count()));
    for (length, latencies) in lengths {
        let size = match counts.sizes.len() < MOST_SIZES {
            true => counts.sizes.entry(length).or_default(),
            false => &mut counts.other_sizes,
        };
        size.0 += latencies.count();
        size.1.merge(&latencies);
    }
    counts
}

/// Adds up one of the `N` numbers that each CPU has.
fn sum<const N: usize>(values: &[u64], column: usize) -> u64 {
    values.iter().skip(column).step_by(N).sum()
}

/// Returns the size of a zone, sectors as bits.
fn zone_shift(size_bytes: Option<u64>) -> u32 {
    let sectors = size_bytes.unwrap_or(u64::MAX) / SECTOR_BYTES;
    sectors.div_ceil(ZONES.into()).max(1).next_power_of_two().trailing_zeros()
}

/// Returns the number of hardware queues, and the most tags of one.
fn queues(device: &str) -> Option<(u32, u32)> {
    let queues = fs::read_dir(format!("/sys/class/block/{device}/mq")).ok()?;
    let tags = queues.flatten().map(|queue| {
        let text = fs::read_to_string(queue.path().join("nr_tags")).ok()?;
        text.trim().parse().ok()
    });
    let tags = tags.collect::<Option<Vec<u32>>>()?;
    Some((u32::try_from(tags.len()).ok()?, tags.into_iter().max()?))
}

/// Number of CPUs for which the kernel keeps values: `0-127`, `0,2-3`.
fn possible_cpus() -> io::Result<usize> {
    let text = fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let count = text.split(',').map(|part| match part.split_once('-') {
        Some((first, last)) => Some(number(last)?.checked_sub(number(first)?)? + 1),
        None => number(part).map(|_| 1),
    });
    count.sum::<Option<usize>>().ok_or_else(|| io::ErrorKind::InvalidData.into())
}
