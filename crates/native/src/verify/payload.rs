//! Generates and compares the payload of intervals.

use iodyno_job::{Contents, PatternPart, Verify};

use super::mismatch::Damage;
use crate::contents::{Recipe, fill_by_doubling, repeat};

/// Bytes regenerated and compared at a time.
const COMPARED: usize = 512;

/// Shortest period of a pattern, bytes: shorter patterns are repeated, so that few copies fill a
/// block.
const PERIOD: usize = 64;

/// The source of payloads.
#[derive(Debug, Clone)]
pub(super) enum Payload {
    /// `verify_pattern`.
    Pattern(Pattern),
    /// Contents options of the job, seeded by the header.
    Recipe(Recipe),
}

impl Payload {
    pub(super) fn new(verify: &Verify, contents: &Contents) -> Self {
        match Pattern::new(&verify.pattern, verify.pattern_interval) {
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

    /// Differences between `interval` and the expected payload at `offset`, except in the header,
    /// which is `skip.1` bytes at `skip.0`.
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
                    let first = || Damage::at(place, expected, found, interval.len());
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
    /// One period, with zeros in place of offsets.
    period: Vec<u8>,
    /// Positions of offsets.
    offsets: Vec<usize>,
    /// Length after which the pattern restarts with another offset, bytes; 0: restarts with each
    /// interval.
    every: u64,
}

impl Pattern {
    /// `None` if the pattern is empty.
    fn new(parts: &[PatternPart], every: u32) -> Option<Self> {
        let every = every.into();
        let mut pattern = Self { period: Vec::new(), offsets: Vec::new(), every };
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
        if self.every == 0 {
            return self.fill_once(part, position, offset);
        }
        // Counted from the interval's start, as fio counts from its block's.
        let (mut place, mut rest) = (position as u64, part);
        while !rest.is_empty() {
            let within = place % self.every;
            let max = usize::try_from(self.every - within).unwrap_or(usize::MAX);
            let (piece, after) = rest.split_at_mut(max.min(rest.len()));
            self.fill_once(piece, within as usize, offset + (place - within));
            (place, rest) = (place + piece.len() as u64, after);
        }
    }

    fn fill_once(&self, part: &mut [u8], position: usize, offset: u64) {
        let length = self.period.len();
        let (position, done) = (position % length, part.len().min(length));
        let first = &mut part[..done];
        repeat(&self.period, first, position as u64);
        // The filled part consists of the end of one period and the start of the next.
        for start in self.offsets.iter().flat_map(|place| [*place, place + length]) {
            let from = start.max(position);
            let to = (start + size_of::<u64>()).min(position + done);
            if from < to {
                let bytes = &offset.to_le_bytes()[from - start..to - start];
                first[from - position..to - position].copy_from_slice(bytes);
            }
        }
        fill_by_doubling(part, done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_begins_again_with_its_own_offset() {
        let parts = [PatternPart::Bytes(vec![0xaa]), PatternPart::Offset];
        let filled = |every, offset| {
            let mut block = vec![0; 4096];
            Pattern::new(&parts, every).unwrap().fill_at(&mut block, 0, offset);
            block
        };
        let whole = filled(0, 8192);
        // As in fio, each piece equals a block of its own.
        let pieces = filled(512, 8192);
        for (n, piece) in pieces.chunks(512).enumerate() {
            assert_eq!(piece, &filled(0, 8192 + 512 * n as u64)[..512], "{n}");
        }
        assert_eq!(pieces[..512], whole[..512]);
        assert_ne!(pieces[512..], whole[512..]);
        // From within a piece, as in comparisons.
        let mut part = [0; 100];
        Pattern::new(&parts, 512).unwrap().fill_at(&mut part, 1000, 8192);
        assert_eq!(part, pieces[1000..1100]);
        // The end of a block holds a partial piece; the next block starts with a whole one.
        let pieces = filled(129, 4096);
        assert_eq!(pieces[31 * 129..], filled(0, 4096 + 31 * 129)[..4096 - 31 * 129]);
    }
}
