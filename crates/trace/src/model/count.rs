//! Counts the I/Os of a chunk into slices.

use std::collections::{BTreeMap, HashMap};

use super::place::{History, Place, zone_shift};
use super::slices::{Extent, Slices};
use crate::{Io, Names, Operation};

pub(super) const MS: u64 = 1_000_000;
/// Width of slices, ms; of those in bursts below.
const WIDE: u64 = 10;
const NARROW: u64 = 1;
/// A slice of at least this many I/Os is split if its counts per ms vary more than those of
/// independent I/Os, by the factor below.
const FEW: usize = 16;
const BURSTY: f64 = 2.0;
/// Gaps up to 1 us are one level, each of the others is two octaves, the last is longer than 4 ms.
const LEVELS: u64 = 7;
/// Triples of symbols are stored if there are this many I/Os for each row of them.
const TRIPLES: usize = 8;
/// Runs of at least this many I/Os are stored with address and length.
const LONG: u64 = 8;

/// Returns the level of a gap.
fn level(gap_ns: u64) -> u64 {
    let octave = (gap_ns / 1000).checked_ilog2();
    octave.map_or(0, |octave| (1 + u64::from(octave) / 2).min(LEVELS))
}

/// Converts a gap to eighths of octaves.
pub(super) fn gap_bin(gap_ns: u64) -> u64 {
    let Some(octave) = gap_ns.checked_ilog2() else { return 0 };
    let eighth =
        if octave >= 3 { (gap_ns >> (octave - 3)) & 7 } else { (gap_ns << (3 - octave)) & 7 };
    8 * u64::from(octave) + eighth
}

/// Returns the shortest gap of a [`gap_bin`] value, and the number of gaps with that value.
pub(super) fn gap_range(bin: u64) -> (u64, u64) {
    let (octave, eighth) = (bin / 8, bin % 8);
    let at = |eighth: u64| (u128::from(8 + eighth) << octave >> 3) as u64;
    (at(eighth), at(eighth + 1).saturating_sub(at(eighth)).max(1))
}

/// Numbers values in order of first occurrence.
struct Interner<T> {
    of: HashMap<T, u64>,
}

impl<T: std::hash::Hash + Eq> Interner<T> {
    fn of(&mut self, one: T) -> (u64, bool) {
        let next = self.of.len() as u64;
        let number = *self.of.entry(one).or_insert(next);
        (number, number == next)
    }
}

/// Returns the slices of `ios`, and the place of each I/O. `before_ns` is the time of the previous
/// I/O.
pub(super) fn count(
    ios: &[Io],
    names: &Names,
    history: &mut History,
    before_ns: u64,
) -> (Slices, Vec<Option<Place>>) {
    let most = ios.iter().map(|io| io.offset).max().unwrap_or(0);
    let mut slices = Slices { shift: zone_shift(most), ios: ios.len() as u64, ..Slices::default() };
    let mut devices = Interner { of: HashMap::new() };
    let mut classes = Interner { of: HashMap::new() };
    let mut symbols = Interner { of: HashMap::new() };
    let [mut gaps, mut pairs, mut places] = [const { BTreeMap::<(u64, u64), u64>::new() }; 3];
    let (mut of, mut io_places) = (Vec::with_capacity(ios.len()), Vec::with_capacity(ios.len()));
    let (mut before_ns, mut before) = (before_ns, None);
    let (mut keys, mut runs) = (Vec::with_capacity(ios.len()), HashMap::<u64, u64>::new());
    for io in ios {
        let (device, is_new) = devices.of(io.device);
        if is_new {
            let device = names.devices().get(usize::from(io.device)).cloned().unwrap_or_default();
            slices.devices.push(Extent { device, end: 0 });
        }
        let kind = io.operation as u64 | u64::from(io.flags.bits()) << 3;
        let (class, is_new) = classes.of((kind, device, io.length));
        if is_new {
            slices.classes.push([kind, device, io.length.into(), 63]);
        }
        let place = (io.operation != Operation::Flush).then(|| {
            let extent = &mut slices.devices[device as usize];
            extent.end = extent.end.max(io.end());
            let align = &mut slices.classes[class as usize][3];
            *align = (*align).min(io.offset.trailing_zeros().min(63).into());
            let (place, began) = history.place(io, slices.shift);
            *runs.entry(began).or_default() += 1;
            keys.push((class, io.offset, place, began));
            place
        });
        let on = u64::from(place.is_some_and(Place::continues));
        let gap_ns = io.at_ns.saturating_sub(before_ns);
        before_ns = io.at_ns;
        let (symbol, is_new) = symbols.of((class, on, level(gap_ns)));
        if is_new {
            slices.symbols.push([class, on, level(gap_ns)]);
        }
        *gaps.entry((symbol, gap_bin(gap_ns))).or_default() += 1;
        if let Some(before) = before.replace(symbol) {
            *pairs.entry((before, symbol)).or_default() += 1;
        }
        of.push(symbol);
        io_places.push(place);
    }
    let mut long = Interner { of: HashMap::new() };
    for (class, offset, place, began) in keys {
        let mut code = place;
        if runs[&began] >= LONG {
            let (run, is_new) = long.of(began);
            if is_new {
                slices.runs.push([offset, u64::from(place.continues())]);
            }
            code = Place::of_run(run);
        }
        let key = 2 * class + u64::from(place.continues());
        *places.entry((key, code.0)).or_default() += 1;
    }
    let mut triples = BTreeMap::<[u64; 3], u64>::new();
    for three in of.windows(3) {
        *triples.entry([three[0], three[1], three[2]]).or_default() += 1;
    }
    if triples.len() * TRIPLES <= ios.len() {
        slices.triples = triples.into_iter().map(|([a, b, c], count)| [a, b, c, count]).collect();
    }
    let rows = |counts: BTreeMap<(u64, u64), u64>| {
        counts.into_iter().map(|((a, b), count)| [a, b, count]).collect()
    };
    (slices.gaps, slices.pairs, slices.places) = (rows(gaps), rows(pairs), rows(places));
    let mut last = 0;
    let both: Vec<(&Io, u64)> = ios.iter().zip(of).collect();
    for wide in both.chunk_by(|a, b| a.0.at_ns / (WIDE * MS) == b.0.at_ns / (WIDE * MS)) {
        if is_bursty(wide) {
            for narrow in wide.chunk_by(|a, b| a.0.at_ns / MS == b.0.at_ns / MS) {
                slices.slice(narrow, NARROW, &mut last);
            }
        } else {
            slices.slice(wide, WIDE, &mut last);
        }
    }
    (slices, io_places)
}

fn is_bursty(ios: &[(&Io, u64)]) -> bool {
    let mut counts = [0.0_f64; WIDE as usize];
    ios.iter().for_each(|(io, _)| counts[(io.at_ns / MS % WIDE) as usize] += 1.0);
    let mean = ios.len() as f64 / WIDE as f64;
    let variance =
        counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (WIDE - 1) as f64;
    ios.len() >= FEW && variance > BURSTY * mean
}

impl Slices {
    fn slice(&mut self, ios: &[(&Io, u64)], width: u64, last: &mut u64) {
        let Some((first, symbol)) = ios.first() else { return };
        let start = first.at_ns / (width * MS) * width;
        let into = |io: &Io| (io.at_ns - start * MS) * (1 << 16) / (width * MS);
        let until = ios.last().map_or(0, |last| into(last.0));
        let mut counts = BTreeMap::<u64, u64>::new();
        ios.iter().for_each(|(_, symbol)| *counts.entry(*symbol).or_default() += 1);
        // A chunk may end within a slice.
        self.slices.push([
            start.saturating_sub(*last),
            width,
            into(first),
            until,
            *symbol,
            counts.len() as u64,
        ]);
        *last = start;
        self.entries.extend(counts.into_iter().map(|(symbol, count)| [symbol, count]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_comes_back_within_an_eighth_of_an_octave() {
        for ns in (0..2000).chain([65_535, 65_536, 1 << 40, u64::MAX >> 1]) {
            let (from, many) = gap_range(gap_bin(ns));
            assert!(from <= ns.max(1) && ns.max(1) < from + many, "{ns}: {from} {many}");
            assert!(many as f64 <= (ns as f64 / 8.0).max(1.0), "{ns}: {many}");
        }
        assert_eq!([0, 999, 1000, 3999, 4000, 10_000_000].map(level), [0, 0, 1, 1, 2, 7]);
    }
}
