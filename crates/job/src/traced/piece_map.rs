//! Maps the touched pieces of recorded devices onto a smaller target.
//!
//! Devices are divided into pieces of at least 1 MiB. Those that were read or written are placed
//! one after the other on the target, in order: this keeps reuse of addresses, and sequential runs
//! over neighbouring pieces. If there are more pieces than places, neighbours share a place.

use std::collections::BTreeMap;

use iodyno_model::PackedAddresses;

/// Base-2 logarithm of the smallest piece in bytes.
const PIECE_SHIFT: u32 = 20;
/// Most words of 64 pieces to keep: beyond this, pieces are doubled in size.
const MOST_WORDS: usize = 1 << 17;

/// A word of 64 pieces: its device, and its index in the device.
type Key = (u16, u64);

/// The set of touched pieces.
#[derive(Debug, Clone)]
pub(crate) struct TouchedPieces {
    shift: u32,
    words: BTreeMap<Key, u64>,
}

impl Default for TouchedPieces {
    fn default() -> Self {
        Self { shift: PIECE_SHIFT, words: BTreeMap::new() }
    }
}

impl TouchedPieces {
    /// Marks `length` bytes (at least one) at `offset` as touched.
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

    /// Packs them into `room_bytes` (`None`: unlimited), where an I/O has at most `largest` bytes.
    /// Returns `None` if not even one piece fits.
    pub(crate) fn packed(self, room_bytes: Option<u64>, largest: u32) -> Option<PieceMap> {
        let mut pieces = 0;
        let words = self.words.into_iter().map(|(key, bits)| {
            let before = pieces;
            pieces += u64::from(bits.count_ones());
            (key, bits, before)
        });
        let words = words.collect();
        let room = room_bytes.map_or(u64::MAX, |bytes| bytes >> self.shift);
        // An I/O that starts in the last shared place may continue behind it.
        let behind = if room < pieces { u64::from(largest).div_ceil(1 << self.shift) } else { 0 };
        let places = pieces.min(room.saturating_sub(behind));
        (places > 0).then_some(PieceMap { shift: self.shift, words, pieces, places, behind })
    }
}

/// Maps touched pieces to places on the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PieceMap {
    shift: u32,
    /// Words of touched pieces, each with the number of pieces in all words before it.
    words: Box<[(Key, u64, u64)]>,
    pieces: u64,
    places: u64,
    /// Additional pieces of the target behind the last place.
    behind: u64,
}

impl PieceMap {
    /// Number and size of the pieces.
    pub const fn summary(&self) -> PackedAddresses {
        let piece_bytes = 1 << self.shift;
        PackedAddresses { piece_bytes, pieces: self.pieces, places: self.places }
    }

    /// Bytes used on the target.
    pub const fn bytes(&self) -> u64 {
        (self.places + self.behind) << self.shift
    }

    /// Maps `length` bytes at `offset` of a device: returns the offset on the target, and the
    /// length up to the first untouched piece. `None` if not even the first piece is touched.
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

    /// The rank of a touched piece among all touched pieces.
    fn number(&self, device: u16, piece: u64) -> Option<u64> {
        let key = (device, piece / 64);
        let found = self.words.binary_search_by_key(&key, |(key, ..)| *key).ok()?;
        let (_, bits, before) = self.words[found];
        let bit = piece % 64;
        let below = bits & ((1 << bit) - 1);
        (bits >> bit & 1 == 1).then(|| before + u64::from(below.count_ones()))
    }
}
