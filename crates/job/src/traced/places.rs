//! Where the touched pieces of recorded devices go on a smaller target.
//!
//! Devices are cut into pieces of at least 1 MiB. Those that were read or written stand one behind
//! the other on the target, in their order: what is touched again and again stays so, and runs
//! over neighbouring pieces go on. Where there are more pieces than places, neighbours share one.

use std::collections::BTreeMap;

use iodyno_model::PackedAddresses;

/// Log of the size of the smallest piece, bytes.
const PIECE_SHIFT: u32 = 20;
/// Words of 64 pieces that are kept at most: with more, pieces are made twice as large.
const MOST_WORDS: usize = 1 << 17;

/// A word of pieces: of which device, and how far in it.
type Key = (u16, u64);

/// Which pieces are touched.
#[derive(Debug, Clone)]
pub(crate) struct Touched {
    shift: u32,
    words: BTreeMap<Key, u64>,
}

impl Default for Touched {
    fn default() -> Self {
        Self { shift: PIECE_SHIFT, words: BTreeMap::new() }
    }
}

impl Touched {
    /// Notes `length` bytes at `offset`; at least one.
    pub(crate) fn note(&mut self, device: u16, offset: u64, length: u64) {
        let last = offset.saturating_add(length.max(1) - 1) >> self.shift;
        for piece in (offset >> self.shift)..=last {
            *self.words.entry((device, piece / 64)).or_default() |= 1 << (piece % 64);
        }
        while self.words.len() > MOST_WORDS {
            self.double();
        }
    }

    fn double(&mut self) {
        self.shift += 1;
        for ((device, word), bits) in std::mem::take(&mut self.words) {
            let pieces = (0..64).filter(|bit| bits >> bit & 1 == 1);
            for piece in pieces.map(|bit| (word * 64 + bit) / 2) {
                *self.words.entry((device, piece / 64)).or_default() |= 1 << (piece % 64);
            }
        }
    }

    /// Puts them into `room_bytes`, if that is limited, where an I/O has `largest` bytes at most;
    /// none: there is no place for even one.
    pub(crate) fn packed(self, room_bytes: Option<u64>, largest: u32) -> Option<Places> {
        let mut pieces = 0;
        let words = self.words.into_iter().map(|(key, bits)| {
            let before = pieces;
            pieces += u64::from(bits.count_ones());
            (key, bits, before)
        });
        let words = words.collect();
        let room = room_bytes.map_or(u64::MAX, |bytes| bytes >> self.shift);
        // What begins in the last of shared places goes on behind it.
        let behind = if room < pieces { u64::from(largest).div_ceil(1 << self.shift) } else { 0 };
        let places = pieces.min(room.saturating_sub(behind));
        (places > 0).then_some(Places { shift: self.shift, words, pieces, places, behind })
    }
}

/// Where pieces go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    shift: u32,
    /// Words of touched pieces, and how many there are in those before.
    words: Box<[(Key, u64, u64)]>,
    pieces: u64,
    places: u64,
    /// Pieces of the target behind the last place.
    behind: u64,
}

impl Places {
    /// How many there are, and how large.
    pub const fn summary(&self) -> PackedAddresses {
        let piece_bytes = 1 << self.shift;
        PackedAddresses { piece_bytes, pieces: self.pieces, places: self.places }
    }

    /// What they take on the target, bytes.
    pub const fn bytes(&self) -> u64 {
        (self.places + self.behind) << self.shift
    }

    /// Where `length` bytes at `offset` of a device go, and how many of them: those in pieces that
    /// are touched, one behind the other. None: not even the first is touched.
    pub fn place(&self, device: u16, offset: u64, length: u64) -> Option<(u64, u64)> {
        let piece = offset >> self.shift;
        let number = self.number(device, piece)?;
        let within = offset - (piece << self.shift);
        let end = offset.saturating_add(length);
        let mut room = (1 << self.shift) - within;
        let mut next = piece + 1;
        while room < length && self.number(device, next).is_some() {
            room += (end - (next << self.shift)).min(1 << self.shift);
            next += 1;
        }
        let place = match self.places < self.pieces {
            true => (u128::from(number) * u128::from(self.places) / u128::from(self.pieces)) as u64,
            false => number,
        };
        let start = (place << self.shift) + within;
        Some((start, length.min(room).min(self.bytes() - start)))
    }

    /// The number of a touched piece.
    fn number(&self, device: u16, piece: u64) -> Option<u64> {
        let key = (device, piece / 64);
        let found = self.words.binary_search_by_key(&key, |(key, ..)| *key).ok()?;
        let (_, bits, before) = self.words[found];
        let bit = piece % 64;
        let below = bits & ((1 << bit) - 1);
        (bits >> bit & 1 == 1).then(|| before + u64::from(below.count_ones()))
    }
}
