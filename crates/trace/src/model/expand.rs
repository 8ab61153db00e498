//! Generates I/Os from the counts of a model.

use std::collections::HashMap;

use fastrand::Rng;

use super::count::{MS, gap_range};
use super::place::{History, Place};
use super::slices::Slices;
use crate::{Flags, Io, Names, Operation};

/// Generates I/Os according to a model; the same seed gives the same I/Os.
#[derive(Debug)]
pub(crate) struct Generator {
    rng: Rng,
    history: History,
    last_ns: u64,
}

/// Lookup tables of a chunk for generating its I/Os.
struct Tables {
    /// By symbol: its successors, and how much more frequent each is than if order did not matter.
    follow: Vec<Vec<(usize, f64)>>,
    /// As `follow`, by two symbols, if known.
    follow_two: HashMap<[usize; 2], Vec<(usize, f64)>>,
    /// By symbol: gaps, with cumulative counts.
    gaps: Vec<Vec<(u64, u64)>>,
    /// By class and whether it continues: places of its I/Os, each once, in random order.
    places: Vec<Vec<u64>>,
    /// By the same key: the long runs that its I/Os continue, and how often.
    runs: Vec<Vec<(u64, u64)>>,
    /// By long run: address of its next I/O, and whether it has begun.
    next: Vec<(u64, bool)>,
}

impl Tables {
    fn new(slices: &Slices, rng: &mut Rng) -> Self {
        let mut counts = vec![0_u64; slices.symbols.len()];
        slices.entries.iter().for_each(|[symbol, count]| counts[*symbol as usize] += count);
        let mut follow = vec![Vec::new(); slices.symbols.len()];
        for [from, to, count] in &slices.pairs {
            let share = *count as f64 / counts[*to as usize].max(1) as f64;
            follow[*from as usize].push((*to as usize, share));
        }
        let mut follow_two = HashMap::<_, Vec<_>>::new();
        for [one, other, to, count] in &slices.triples {
            let share = *count as f64 / counts[*to as usize].max(1) as f64;
            let of = follow_two.entry([*one as usize, *other as usize]).or_default();
            of.push((*to as usize, share));
        }
        let mut gaps: Vec<Vec<(u64, u64)>> = vec![Vec::new(); slices.symbols.len()];
        for [symbol, gap, count] in &slices.gaps {
            let of = &mut gaps[*symbol as usize];
            of.push((*gap, of.last().map_or(0, |last| last.1) + count));
        }
        let mut places = vec![Vec::new(); 2 * slices.classes.len()];
        let mut runs = vec![Vec::new(); 2 * slices.classes.len()];
        for [key, place, count] in &slices.places {
            places[*key as usize].extend((0..*count).map(|_| *place));
            if let Some(run) = Place(*place).run() {
                runs[*key as usize].push((run, *count));
            }
        }
        for places in &mut places {
            rng.shuffle(places);
            // Long runs begin in their order: the last is popped first.
            let is_run = |place: &&mut u64| Place(**place).run().is_some();
            let mut begins: Vec<u64> =
                places.iter().copied().filter(|place| Place(*place).run().is_some()).collect();
            begins.sort_unstable_by(|a, b| b.cmp(a));
            places.iter_mut().filter(is_run).zip(begins).for_each(|(place, run)| *place = run);
        }
        let next = slices.runs.iter().map(|[start, begun]| (*start, *begun == 1)).collect();
        Self { follow, follow_two, gaps, places, runs, next }
    }

    /// Draws the place of the next I/O of a class, and its exact address if known.
    fn place(&mut self, key: usize, length: u64, rng: &mut Rng) -> (Place, Option<u64>) {
        let place = Place(self.places[key].pop().unwrap_or_default());
        let Some(mut run) = place.run() else { return (place, None) };
        if key % 2 == 1 {
            // Choose among the runs that have begun, weighted by what is left of them; else the
            // next one.
            let is_open = |one: &&mut (u64, u64)| one.1 > 0 && self.next[one.0 as usize].1;
            let left: u64 = self.runs[key].iter_mut().filter(is_open).map(|one| one.1).sum();
            let mut drawn = rng.u64(0..left.max(1));
            let mut open = self.runs[key].iter_mut().filter(is_open);
            let found = open.find(|one| {
                let is_it = drawn < one.1;
                drawn = drawn.saturating_sub(one.1);
                is_it
            });
            let found = match found {
                Some(found) => Some(found),
                None => self.runs[key].iter_mut().find(|one| one.1 > 0),
            };
            if let Some(found) = found {
                found.1 -= 1;
                run = found.0;
            }
        }
        let next = &mut self.next[run as usize];
        let offset = next.0;
        *next = (offset.saturating_add(length), true);
        (place, Some(offset))
    }

    fn gap(&self, symbol: usize, rng: &mut Rng) -> u64 {
        let Some(all) = self.gaps[symbol].last().map(|last| last.1).filter(|all| *all > 0) else {
            return 0;
        };
        let drawn = rng.u64(0..all);
        let at = self.gaps[symbol].partition_point(|(_, up_to)| *up_to <= drawn);
        let (from, many) = gap_range(self.gaps[symbol][at].0);
        from.saturating_add(rng.u64(0..many))
    }
}

/// Remaining I/Os of a slice, by symbol.
#[derive(Default)]
struct Remaining {
    counts: Vec<u64>,
    symbols: Vec<usize>,
}

impl Remaining {
    fn fill(&mut self, entries: &[[u64; 2]], symbols: usize) -> u64 {
        // Reset only the previous slice's: there may be as many symbols as I/Os, and as many
        // slices.
        self.symbols.drain(..).for_each(|symbol| self.counts[symbol] = 0);
        self.counts.resize(symbols, 0);
        for [symbol, count] in entries {
            self.counts[*symbol as usize] += count;
            self.symbols.push(*symbol as usize);
        }
        entries.iter().map(|entry| entry[1]).sum()
    }

    /// Draws one of the remaining symbols, given the two `before`.
    fn next(
        &mut self,
        before: [Option<usize>; 2],
        tables: &Tables,
        rng: &mut Rng,
    ) -> Option<usize> {
        let weight = |(symbol, share): &(usize, f64)| self.counts[*symbol] as f64 * share;
        let mut drawn_of = |follow: &[(usize, f64)]| {
            let all: f64 = follow.iter().map(weight).sum();
            let mut drawn = rng.f64() * all;
            let found = follow.iter().filter(|one| weight(one) > 0.0).find(|one| {
                drawn -= weight(one);
                drawn <= 0.0
            });
            found.map(|(symbol, _)| *symbol)
        };
        let two = before[0].zip(before[1]).and_then(|(a, b)| tables.follow_two.get(&[a, b]));
        let found = two.and_then(|follow| drawn_of(follow));
        let found = found.or_else(|| drawn_of(&tables.follow[before[1]?]));
        let symbol = match found {
            Some(symbol) => symbol,
            // Unknown order: any of them.
            None => {
                let left = self.symbols.iter().map(|symbol| self.counts[*symbol]).sum::<u64>();
                let mut drawn = rng.u64(0..left.max(1));
                *self.symbols.iter().find(|symbol| {
                    let count = self.counts[**symbol];
                    let is_it = drawn < count;
                    drawn = drawn.saturating_sub(count);
                    is_it
                })?
            }
        };
        self.take(symbol)
    }

    fn take(&mut self, symbol: usize) -> Option<usize> {
        let count = &mut self.counts[symbol];
        *count = count.checked_sub(1)?;
        Some(symbol)
    }
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), history: History::default(), last_ns: 0 }
    }

    /// Returns the I/Os of a chunk, their devices numbered in `names`, and their places; `None` if
    /// there are too many devices.
    pub(crate) fn expand(
        &mut self,
        slices: &Slices,
        names: &mut Names,
    ) -> Option<(Vec<Io>, Vec<Option<Place>>)> {
        let devices: Vec<u16> =
            slices.devices.iter().map(|one| names.device(&one.device)).collect::<Option<_>>()?;
        let mut tables = Tables::new(slices, &mut self.rng);
        let (mut ios, mut places) = (Vec::with_capacity(slices.ios as usize), Vec::new());
        let (mut remaining, mut before, mut start, mut entries) =
            (Remaining::default(), [None; 2], 0_u64, &slices.entries[..]);
        for [after, width, into, until, begins, rows] in &slices.slices {
            let (own, others) = entries.split_at_checked(*rows as usize)?;
            entries = others;
            start = start.checked_add(*after)?;
            let from_ns = start.checked_mul(MS)?;
            let width_ns = width * MS;
            let first_ns = from_ns.checked_add((width_ns * into) >> 16)?;
            let last_ns = from_ns.checked_add((width_ns * until) >> 16)?;
            let many = remaining.fill(own, slices.symbols.len());
            let (first, mut at_ns) = (ios.len(), first_ns);
            for number in 0..many {
                let symbol = match number {
                    0 => remaining.take(*begins as usize),
                    _ => remaining.next(before, &tables, &mut self.rng),
                };
                let Some(symbol) = symbol else { break };
                before = [before[1], Some(symbol)];
                if number > 0 {
                    at_ns = at_ns.saturating_add(tables.gap(symbol, &mut self.rng));
                }
                let [class, on, _] = slices.symbols[symbol];
                let [kind, device, length, align] = slices.classes[class as usize];
                let mut io = Io {
                    at_ns,
                    device: devices[device as usize],
                    operation: Operation::ALL[(kind & 7) as usize],
                    flags: Flags::from_bits((kind >> 3) as u8),
                    length: length as u32,
                    ..Io::default()
                };
                let mut place = None;
                if io.operation != Operation::Flush {
                    let (to, offset) =
                        tables.place((2 * class + on) as usize, length, &mut self.rng);
                    let most = slices.devices[device as usize].end;
                    let known = offset.filter(|offset| offset.saturating_add(length) <= most);
                    io.offset = known.unwrap_or_else(|| {
                        self.history.address(&io, to, slices.shift, align, most, &mut self.rng)
                    });
                    place = Some(self.history.place(&io, slices.shift).0);
                }
                ios.push(io);
                places.push(place);
            }
            stretch(&mut ios[first..], last_ns);
            for io in &mut ios[first..] {
                self.last_ns = self.last_ns.max(io.at_ns);
                io.at_ns = self.last_ns;
            }
        }
        Some((ios, places))
    }
}

/// Stretches the gaps so that the last I/O is at its time: long gaps change most, since short ones
/// separate I/Os that belong together.
fn stretch(ios: &mut [Io], last_ns: u64) {
    let [first, .., last] = ios else { return };
    let (first_ns, made_ns) = (first.at_ns, last.at_ns);
    let taken = (made_ns - first_ns) as f64;
    let room = last_ns.saturating_sub(first_ns) as f64;
    let squares: f64 =
        ios.windows(2).map(|two| ((two[1].at_ns - two[0].at_ns) as f64).powi(2)).sum();
    let share = (room - taken) / squares.max(1.0);
    let gap = |gap: f64| (gap + share * gap * gap).max(0.0);
    let (mut before_ns, mut at) = (first_ns, 0.0);
    for io in &mut *ios {
        at += gap((io.at_ns - before_ns) as f64);
        before_ns = io.at_ns;
        io.at_ns = first_ns + at as u64;
    }
    // No gap could become short enough.
    if at > room {
        for io in ios {
            io.at_ns = first_ns + ((io.at_ns - first_ns) as f64 * room / at) as u64;
        }
    }
}
