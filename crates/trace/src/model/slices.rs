//! The content of a model: a chunk's I/Os as counts in slices of time.

use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::file::column::{self, take};
use crate::{CHUNK_IOS, Device, Operation};

/// Maximum rows of a table: four for an I/O.
const MOST_ROWS: usize = 4 * CHUNK_IOS;
const MOST_JSON: usize = 1 << 20;

/// A chunk of a model. Tables consist of rows of numbers, since most columns compress alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Slices {
    pub(super) devices: Vec<Extent>,
    /// Bits of an address below its zone.
    pub(super) shift: u64,
    /// Number of I/Os.
    pub(super) ios: u64,
    /// Operation and flags (from bit 3), device, length in bytes, trailing zero bits of the offset.
    pub(super) classes: Vec<[u64; 4]>,
    /// Class, whether it continues an earlier I/O, level of the gap before it.
    pub(super) symbols: Vec<[u64; 3]>,
    /// Symbol, gap in eighths of an octave of ns, I/Os.
    pub(super) gaps: Vec<[u64; 3]>,
    /// Symbol, its successor, count.
    pub(super) pairs: Vec<[u64; 3]>,
    /// Two symbols, their successor, count; empty if there are too many of these.
    pub(super) triples: Vec<[u64; 4]>,
    /// Twice the class plus whether it continues; place; count.
    pub(super) places: Vec<[u64; 3]>,
    /// Start of a long run, bytes; whether it began before this chunk.
    pub(super) runs: Vec<[u64; 2]>,
    /// Distance from the start of the previous slice, ms; width, ms; first and last I/O, 2^-16 of
    /// the width; the first's symbol; rows of `entries`.
    pub(super) slices: Vec<[u64; 6]>,
    /// Symbol, I/Os in the slice.
    pub(super) entries: Vec<[u64; 2]>,
}

/// A device, and the end of its highest I/O, bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extent {
    pub(super) device: Device,
    pub(super) end: u64,
}

impl Slices {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_vec(&self.devices).unwrap_or_default();
        let mut to = Vec::new();
        to.extend((json.len() as u32).to_le_bytes());
        to.extend(json);
        [self.shift, self.ios].iter().for_each(|word| to.extend(word.to_le_bytes()));
        write(&mut to, &self.classes);
        write(&mut to, &self.symbols);
        write(&mut to, &self.gaps);
        write(&mut to, &self.pairs);
        write(&mut to, &self.triples);
        write(&mut to, &self.places);
        write(&mut to, &self.runs);
        write(&mut to, &self.slices);
        write(&mut to, &self.entries);
        to
    }

    /// Decodes a block; `None` if it is inconsistent.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let length = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?) as usize;
        let json = take(bytes, length).filter(|json| json.len() <= MOST_JSON)?;
        let mut words = [0_u64; 2];
        let devices = serde_json::from_slice(json).ok()?;
        for word in &mut words {
            *word = u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?);
        }
        let slices = Self {
            devices,
            shift: words[0],
            ios: words[1],
            classes: read(bytes)?,
            symbols: read(bytes)?,
            gaps: read(bytes)?,
            pairs: read(bytes)?,
            triples: read(bytes)?,
            places: read(bytes)?,
            runs: read(bytes)?,
            slices: read(bytes)?,
            entries: read(bytes)?,
        };
        (bytes.is_empty() && slices.is_valid()).then_some(slices)
    }

    /// True if all indexes are valid, no sum exceeds a chunk, and no table has more rows than there
    /// are I/Os, since each row counts at least one.
    fn is_valid(&self) -> bool {
        let (classes, symbols) = (self.classes.len() as u64, self.symbols.len() as u64);
        let runs = self.runs.len() as u64;
        let sum = |rows: &[[u64; 3]]| {
            let sum = rows.iter().try_fold(0_u64, |sum, row| sum.checked_add(row[2]));
            sum.is_some_and(|sum| sum <= CHUNK_IOS as u64)
        };
        let rows = self.slices.iter().try_fold(0_u64, |sum, slice| sum.checked_add(slice[5]));
        let ios = self.entries.iter().try_fold(0_u64, |sum, entry| sum.checked_add(entry[1]));
        let is_class = |[kind, device, length, align]: &[u64; 4]| {
            (kind & 7) < Operation::ALL.len() as u64
                && *device < self.devices.len() as u64
                && u32::try_from(*length).is_ok()
                && *align < 64
        };
        let rows_of = [
            self.classes.len(),
            self.symbols.len(),
            self.gaps.len(),
            self.pairs.len(),
            self.triples.len(),
            self.places.len(),
            self.runs.len(),
            self.slices.len(),
            self.entries.len(),
        ];
        self.shift < 54
            && self.ios <= CHUNK_IOS as u64
            && rows_of.iter().all(|rows| *rows as u64 <= self.ios)
            && self.classes.iter().all(is_class)
            && self.symbols.iter().all(|[class, on, _]| *class < classes && *on < 2)
            && self.gaps.iter().all(|[symbol, gap, _]| *symbol < symbols && *gap < 8 * 64)
            && sum(&self.gaps)
            && self.pairs.iter().all(|[from, to, _]| *from < symbols && *to < symbols)
            && sum(&self.pairs)
            && self.triples.iter().all(|row| row[..3].iter().all(|one| *one < symbols))
            && self
                .places
                .iter()
                .all(|[key, place, _]| *key < 2 * classes && Place(*place).is_valid(runs))
            && sum(&self.places)
            && self.slices.iter().all(|[_, width, into, until, first, _]| {
                (1..=10).contains(width) && into <= until && *until < 1 << 16 && *first < symbols
            })
            && rows == Some(self.entries.len() as u64)
            && ios == Some(self.ios)
            && self.entries.iter().all(|[symbol, _]| *symbol < symbols)
    }
}

fn write<const N: usize>(to: &mut Vec<u8>, rows: &[[u64; N]]) {
    to.extend((rows.len() as u32).to_le_bytes());
    for number in 0..N {
        let values: Vec<u64> = rows.iter().map(|row| row[number]).collect();
        column::write(to, &values);
    }
}

fn read<const N: usize>(bytes: &mut &[u8]) -> Option<Vec<[u64; N]>> {
    let count = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?) as usize;
    if count > MOST_ROWS {
        return None;
    }
    let mut rows = vec![[0; N]; count];
    for number in 0..N {
        let values = column::read(bytes, count)?;
        rows.iter_mut().zip(values).for_each(|(row, value)| row[number] = value);
    }
    Some(rows)
}
