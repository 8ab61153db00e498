//! Records the last write to each block, for jobs that overwrite blocks; others can be replayed
//! from their seed.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::Expected;
use crate::contents::mix;

/// Entry of an unwritten block.
const NONE: u32 = 0;
/// Entry of a trimmed block.
const TRIMMED: u32 = u32::MAX;
/// Entry of a written block whose last write is unknown, or whose number exceeds an entry.
const WRITTEN: u32 = u32::MAX - 1;

/// Memory per slot of the hash map, bytes: key and entry, control byte, and a copy of the key while
/// sorting.
const PLACE_BYTES: u64 = 16 + 1 + 8;

/// Invalid dimensions of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("verify: {blocks} blocks of {block} bytes are no blocks, or have no end")]
pub(crate) struct LedgerError {
    blocks: u64,
    block: u64,
}

/// The last write to each block of a range of one file.
///
/// An array of four bytes per block if that fits into the memory limit, otherwise a hash map of the
/// written blocks; writes beyond its capacity are counted and not verified.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Start of the first block, bytes.
    start: u64,
    /// Block length, bytes.
    block: u64,
    /// Number of blocks.
    blocks: u64,
    entries: Entries,
    /// The writes are another run's.
    foreign: bool,
    /// Bounds of the blocks with an entry, so that checking the last few writes need not scan all
    /// blocks.
    touched: Range<u64>,
    untracked: u64,
}

#[derive(Debug)]
enum Entries {
    Dense(Vec<u32>),
    Sparse { map: HashMap<u64, u32, BuildHasherDefault<Mixer>>, limit: usize },
}

impl Ledger {
    /// A ledger for `blocks` blocks of `block` bytes (the verifier's interval) from offset `start`,
    /// in at most `memory_bytes`, all allocated here.
    ///
    /// # Errors
    /// If `block` is 0 or the end exceeds 2^64.
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
            Entries::Dense(vec![NONE; blocks as usize])
        } else {
            // A map of 2^n slots holds 7/8 as many entries.
            let places = memory_bytes / PLACE_BYTES;
            let places = places.checked_ilog2().map_or(0, |n| 1_u64 << n);
            let limit = (places * 7 / 8) as usize;
            Entries::Sparse { map: HashMap::with_capacity_and_hasher(limit, <_>::default()), limit }
        };
        Ok(Self { start, block, blocks, entries, foreign: false, touched: 0..0, untracked: 0 })
    }

    /// Marks the writes as another run's.
    pub(crate) const fn of_another_run(mut self) -> Self {
        self.foreign = true;
        self
    }

    /// Records write `number` of `length` bytes to `offset`.
    #[inline]
    pub(crate) fn record_write(&mut self, offset: u64, length: u64, number: u64) {
        let entry =
            u32::try_from(number.saturating_add(1)).map_or(WRITTEN, |entry| entry.min(WRITTEN));
        self.set(offset, length, entry);
    }

    /// Records that one of several writes in flight reaches `length` bytes at `offset` last.
    pub(crate) fn record_some_write(&mut self, offset: u64, length: u64) {
        self.set(offset, length, WRITTEN);
    }

    /// Records a trim of `length` bytes at `offset`.
    #[inline]
    pub(crate) fn record_trim(&mut self, offset: u64, length: u64) {
        self.set(offset, length, TRIMMED);
    }

    /// Forgets `length` bytes at `offset`, whose contents are unknown after a failed write.
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
            Entries::Dense(entries) => entries[first as usize..end as usize].fill(entry),
            Entries::Sparse { map, limit } => {
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

    /// Clears the ledger after verification: as in fio, each write is verified once.
    pub(crate) fn clear(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        match &mut self.entries {
            Entries::Dense(entries) => {
                entries[touched.start as usize..touched.end as usize].fill(NONE);
            }
            Entries::Sparse { map, .. } => map.clear(),
        }
    }

    /// Expected contents of the block at `offset`; unknown for blocks never written or not
    /// recorded.
    #[inline]
    pub(crate) fn expected(&self, offset: u64) -> Expected {
        let Some(block) = self.block_of(offset) else { return Expected::Unknown };
        let entry = match &self.entries {
            Entries::Dense(entries) => entries[block as usize],
            Entries::Sparse { map, .. } => map.get(&block).copied().unwrap_or(NONE),
        };
        let own = !self.foreign;
        match entry {
            NONE => Expected::Unknown,
            TRIMMED => Expected::Zeros,
            WRITTEN => Expected::Write { number: None, own },
            entry => Expected::Write { number: Some(u64::from(entry) - 1), own },
        }
    }

    /// Blocks that were not recorded for lack of memory, and so are not verified.
    pub(crate) const fn untracked(&self) -> u64 {
        self.untracked
    }

    /// Offsets of the blocks with known contents, in ascending order.
    pub(crate) fn known_offsets(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let offset = |block: u64| self.start + block * self.block;
        match &self.entries {
            Entries::Dense(entries) => Box::new(
                self.touched
                    .clone()
                    .zip(&entries[self.touched.start as usize..self.touched.end as usize])
                    .filter(|(_, entry)| **entry != NONE)
                    .map(move |(b, _)| offset(b)),
            ),
            Entries::Sparse { map, .. } => {
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

/// Hashes block numbers, which need no protection from attackers.
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
