//! The last write to each block, for jobs that overwrite blocks: those that do
//! not can be replayed from their seed.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::Expected;
use crate::contents::mix;

/// Entry of a block that was not written.
const NONE: u32 = 0;
/// Entry of a block that was trimmed.
const TRIMMED: u32 = u32::MAX;
/// Entry of a block that was written, by a write whose number is too high for
/// an entry.
const WRITTEN: u32 = u32::MAX - 1;

/// Bytes of memory for each place of the hash map: key and entry, its control
/// byte, and the key once more while they are sorted.
const PLACE_BYTES: u64 = 16 + 1 + 8;

/// Cannot keep the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("verify: {blocks} blocks of {block} bytes are no blocks, or have no end")]
pub(crate) struct LedgerError {
    blocks: u64,
    block: u64,
}

/// The last write to each block of a stretch of one file.
///
/// Four bytes for each block where all of them fit into the memory that it may
/// use, else a hash map of those that were written; what that cannot hold is
/// counted, and not verified.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Where the first block starts, bytes.
    start: u64,
    /// Bytes.
    block: u64,
    /// Number of them.
    blocks: u64,
    entries: Entries,
    /// Another run wrote them.
    foreign: bool,
    /// The blocks with an entry are among these, so that a look at the last few
    /// writes is no look at all blocks.
    touched: Range<u64>,
    untracked: u64,
}

#[derive(Debug)]
enum Entries {
    All(Vec<u32>),
    Some { map: HashMap<u64, u32, BuildHasherDefault<Mixer>>, limit: usize },
}

impl Ledger {
    /// Books for `blocks` blocks of `block` bytes (the verifier's interval)
    /// from offset `start`, in at most `memory_bytes`, all of which is
    /// allocated here.
    ///
    /// # Errors
    /// Where `block` is 0, or the end lies beyond 2^64.
    pub(crate) fn new(
        start: u64,
        block: u64,
        blocks: u64,
        memory_bytes: u64,
    ) -> Result<Self, LedgerError> {
        let error = LedgerError { blocks, block };
        let length = blocks.checked_mul(block).filter(|_| block > 0).ok_or(error)?;
        start.checked_add(length).ok_or(error)?;
        let entries = if blocks <= memory_bytes / size_of::<u32>() as u64 {
            Entries::All(vec![NONE; blocks as usize])
        } else {
            // A map of 2^n places takes 7 / 8 of that many entries.
            let places = memory_bytes / PLACE_BYTES;
            let places = places.checked_ilog2().map_or(0, |n| 1_u64 << n);
            let limit = (places * 7 / 8) as usize;
            Entries::Some { map: HashMap::with_capacity_and_hasher(limit, <_>::default()), limit }
        };
        Ok(Self { start, block, blocks, entries, foreign: false, touched: 0..0, untracked: 0 })
    }

    /// The same, of what another run wrote.
    pub(crate) const fn of_another_run(mut self) -> Self {
        self.foreign = true;
        self
    }

    /// Write `number` of `length` bytes to `offset` was made.
    #[inline]
    pub(crate) fn note(&mut self, offset: u64, length: u64, number: u64) {
        let entry =
            u32::try_from(number.saturating_add(1)).map_or(WRITTEN, |entry| entry.min(WRITTEN));
        self.set(offset, length, entry);
    }

    /// `length` bytes at `offset` were trimmed.
    #[inline]
    pub(crate) fn note_trim(&mut self, offset: u64, length: u64) {
        self.set(offset, length, TRIMMED);
    }

    /// `length` bytes at `offset` hold nobody knows what: a write to them
    /// failed.
    pub(crate) fn forget(&mut self, offset: u64, length: u64) {
        self.set(offset, length, NONE);
    }

    #[inline]
    fn set(&mut self, offset: u64, length: u64, entry: u32) {
        let Some(first) = self.block_of(offset) else { return };
        let end = (first + length.div_ceil(self.block)).min(self.blocks);
        self.touched = match self.touched.is_empty() {
            true => first..end,
            false => self.touched.start.min(first)..self.touched.end.max(end),
        };
        match &mut self.entries {
            Entries::All(entries) => entries[first as usize..end as usize].fill(entry),
            Entries::Some { map, limit } => {
                for block in first..end {
                    if map.len() < *limit || map.contains_key(&block) {
                        map.insert(block, entry);
                    } else {
                        self.untracked += 1;
                    }
                }
            }
        }
    }

    /// Everything in the books is verified: it is not expected any more, as
    /// fio verifies a write once.
    pub(crate) fn settle(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        match &mut self.entries {
            Entries::All(entries) => {
                entries[touched.start as usize..touched.end as usize].fill(NONE);
            }
            Entries::Some { map, .. } => map.clear(),
        }
    }

    /// What the block at `offset` should hold; what was never written, or is
    /// not in the books, is not known.
    #[inline]
    pub(crate) fn expected(&self, offset: u64) -> Expected {
        let Some(block) = self.block_of(offset) else { return Expected::Unknown };
        let entry = match &self.entries {
            Entries::All(entries) => entries[block as usize],
            Entries::Some { map, .. } => map.get(&block).copied().unwrap_or(NONE),
        };
        let own = !self.foreign;
        match entry {
            NONE => Expected::Unknown,
            TRIMMED => Expected::Zeros,
            WRITTEN => Expected::Write { number: None, own },
            entry => Expected::Write { number: Some(u64::from(entry) - 1), own },
        }
    }

    /// Where the first block starts, bytes.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// Writes that are not in the books, because its memory was full: blocks
    /// that are not verified.
    pub(crate) const fn untracked(&self) -> u64 {
        self.untracked
    }

    /// Offsets of the blocks of which something is expected, from low to high.
    pub(crate) fn in_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let offset = |block: u64| self.start + block * self.block;
        match &self.entries {
            Entries::All(entries) => Box::new(
                self.touched
                    .clone()
                    .zip(&entries[self.touched.start as usize..self.touched.end as usize])
                    .filter(|(_, entry)| **entry != NONE)
                    .map(move |(b, _)| offset(b)),
            ),
            Entries::Some { map, .. } => {
                let known = map.iter().filter(|(_, entry)| **entry != NONE);
                let mut blocks: Vec<u64> = known.map(|(block, _)| *block).collect();
                blocks.sort_unstable();
                Box::new(blocks.into_iter().map(offset))
            }
        }
    }

    fn block_of(&self, offset: u64) -> Option<u64> {
        let block = offset.checked_sub(self.start)? / self.block;
        (block < self.blocks).then_some(block)
    }
}

/// Hashes block numbers: they are not chosen by an enemy.
#[derive(Debug, Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0, number);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
