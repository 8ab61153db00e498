//! What an interval holds beside its header, and how it differs from that.

use iodyno_job::{Contents, PatternPart};

use super::mismatch::Damage;
use crate::contents::{Recipe, repeat, spread};

/// Bytes that are made again and compared at a time.
const COMPARED: usize = 512;

/// Bytes of a pattern's period at the least: where it is shorter, it is
/// repeated, so that few copies fill a block.
const PERIOD: usize = 64;

/// How payloads are made.
#[derive(Debug, Clone)]
pub(super) enum Payload {
    /// `verify_pattern`.
    Pattern(Pattern),
    /// As the options about contents say, from the header's seed.
    Recipe(Recipe),
}

impl Payload {
    pub(super) fn new(pattern: &[PatternPart], contents: &Contents) -> Self {
        match Pattern::new(pattern) {
            Some(pattern) => Self::Pattern(pattern),
            None => Self::Recipe(Recipe::new(contents)),
        }
    }

    /// Fills the interval at `offset`.
    pub(super) fn fill(&self, interval: &mut [u8], offset: u64, seed: u64) {
        self.fill_at(interval, 0, interval.len(), offset, seed);
    }

    fn fill_at(&self, part: &mut [u8], position: usize, length: usize, offset: u64, seed: u64) {
        match self {
            Self::Pattern(pattern) => pattern.fill_at(part, position, offset),
            Self::Recipe(recipe) => recipe.fill_at(part, position as u64, length as u64, seed),
        }
    }

    /// How `interval` differs from what belongs at `offset`, beside its first
    /// `skip.1` bytes from `skip.0` on, which are the header.
    pub(super) fn damage(
        &self,
        interval: &[u8],
        skip: (usize, usize),
        offset: u64,
        seed: u64,
    ) -> Option<Damage> {
        let mut damage: Option<Damage> = None;
        let mut scratch = [0; COMPARED];
        let header = skip.0..skip.0 + skip.1;
        for (index, found) in interval.chunks(COMPARED).enumerate() {
            let position = index * COMPARED;
            let expected = &mut scratch[..found.len()];
            self.fill_at(expected, position, interval.len(), offset, seed);
            if expected == found {
                continue;
            }
            for (place, (&expected, &found)) in expected.iter().zip(found).enumerate() {
                let place = position + place;
                if expected != found && !header.contains(&place) {
                    let bits = (expected ^ found).count_ones();
                    let first = || Damage::first(place, expected, found, interval.len());
                    damage.get_or_insert_with(first).add(place, bits);
                }
            }
        }
        damage
    }
}

/// `verify_pattern`.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// One period, with zeros where offsets belong.
    period: Vec<u8>,
    /// Where offsets belong.
    offsets: Vec<usize>,
}

impl Pattern {
    /// `None`: it is empty.
    fn new(parts: &[PatternPart]) -> Option<Self> {
        let mut pattern = Self { period: Vec::new(), offsets: Vec::new() };
        while pattern.period.len() < PERIOD {
            for part in parts {
                match part {
                    PatternPart::Bytes(bytes) => pattern.period.extend_from_slice(bytes),
                    PatternPart::Offset => {
                        pattern.offsets.push(pattern.period.len());
                        pattern.period.extend_from_slice(&[0; size_of::<u64>()]);
                    }
                }
            }
            if pattern.period.is_empty() {
                return None;
            }
        }
        Some(pattern)
    }

    fn fill_at(&self, part: &mut [u8], position: usize, offset: u64) {
        let length = self.period.len();
        let (position, done) = (position % length, part.len().min(length));
        let first = &mut part[..done];
        repeat(&self.period, first, position as u64);
        // What is filled is the end of one period and the start of the next.
        for start in self.offsets.iter().flat_map(|place| [*place, place + length]) {
            let from = start.max(position);
            let to = (start + size_of::<u64>()).min(position + done);
            if from < to {
                let bytes = &offset.to_le_bytes()[from - start..to - start];
                first[from - position..to - position].copy_from_slice(bytes);
            }
        }
        spread(part, done);
    }
}
