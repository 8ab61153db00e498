//! Buffer contents of writes.
//!
//! As in fio, buffers are filled once at set-up, and before each write only a few bytes of each
//! sector are changed, so that no two blocks are alike (`scramble_buffers`); or they are refilled
//! for each write (`refill_buffers`, also implied by compression and dedupe). If a job reads into
//! the same buffers, they are refilled for each write, too: fio would write back what it read,
//! which on a never-written drive is zeros.

mod random;
mod recipe;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use iodyno_job::{Contents, DedupeMode};

pub(crate) use random::mix;
pub(crate) use recipe::{Recipe, fill_by_doubling, repeat};

/// Unit of `scramble_buffers`, bytes: the finest granularity of deduplication.
const SECTOR: usize = 512;

/// Cache line, bytes: the changes of a sector lie in a single one.
const CACHE_LINE: usize = 64;

/// Fills the buffers of one thread.
#[derive(Debug)]
pub(crate) struct Filler {
    initial: InitialContents,
    refill_mode: RefillMode,
    /// Refilled buffers are scrambled as well, so that the guard recognizes the blocks as test data
    /// later (`target/src/contents.rs`).
    scrambles_refills: bool,
    dedupe: Dedupe,
}

/// Initial contents of buffers.
#[derive(Debug)]
enum InitialContents {
    Pattern(Vec<u8>),
    Zeros,
    Recipe(Recipe),
}

/// Work before each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefillMode {
    Nothing,
    Scramble,
    Refill,
}

/// Selects the seed of each block.
#[derive(Debug)]
struct Dedupe {
    percent: u64,
    mode: DedupeMode,
    /// Working sets that repeated blocks are drawn from: seed and number of blocks.
    sets: Arc<[(u64, u64)]>,
    seed: u64,
    /// Blocks with a new seed so far.
    unique: u64,
    /// All blocks so far.
    blocks_made: u64,
}

impl Filler {
    /// A filler as `contents` describes. `mixed`: the job reads into the same buffers. `blocks`:
    /// the job's size in smallest blocks, of which `dedupe_mode=working_set` takes a share. All
    /// contents are a function of `seed`: threads with equal seeds write equal data.
    pub(crate) fn new(contents: &Contents, mixed: bool, blocks: u64, seed: u64) -> Self {
        let compress = contents.buffer_compress_percentage;
        let dedupes = contents.dedupe_percentage > 0;
        let partly = compress.is_some_and(|percent| percent < 100);
        let initial = if dedupes || partly && compress != Some(0) {
            InitialContents::Recipe(Recipe::new(contents))
        } else if !contents.buffer_pattern.is_empty() {
            InitialContents::Pattern(contents.buffer_pattern.clone())
        } else if contents.zero_buffers || compress == Some(100) {
            InitialContents::Zeros
        } else {
            InitialContents::Recipe(Recipe::new(contents))
        };
        let random = matches!(initial, InitialContents::Recipe(_));
        let scrambles = random && contents.scramble_buffers;
        let refills = random && (contents.refill_buffers || dedupes || partly);
        let refill_mode = if mixed || refills {
            RefillMode::Refill
        } else if scrambles {
            RefillMode::Scramble
        } else {
            RefillMode::Nothing
        };
        let share = u128::from(blocks) * u128::from(contents.dedupe_working_set_percentage) / 100;
        let dedupe = Dedupe {
            percent: u64::from(contents.dedupe_percentage.min(100)),
            mode: contents.dedupe_mode,
            sets: [(seed, u64::try_from(share).unwrap_or(u64::MAX).max(1))].into(),
            seed,
            unique: 0,
            blocks_made: 0,
        };
        Self { initial, refill_mode, scrambles_refills: scrambles && !dedupes && !partly, dedupe }
    }

    /// Lets each of these threads draw repeated blocks from the working sets of all (fio's
    /// `dedupe_global`).
    pub(crate) fn share_working_sets<'a>(fillers: impl Iterator<Item = &'a mut Self>) {
        let fillers: Vec<&mut Self> = fillers.collect();
        let sets: Arc<[_]> =
            fillers.iter().flat_map(|filler| filler.dedupe.sets.iter().copied()).collect();
        fillers.into_iter().for_each(|filler| filler.dedupe.sets = Arc::clone(&sets));
    }

    /// Fills `buffer`; called once per buffer at set-up.
    pub(crate) fn prepare(&mut self, buffer: &mut [u8]) {
        match &self.initial {
            InitialContents::Pattern(pattern) => repeat(pattern, buffer, 0),
            InitialContents::Zeros => buffer.fill(0),
            InitialContents::Recipe(recipe) => recipe.fill(buffer, self.dedupe.next_seed()),
        }
    }

    /// True if writes need no work.
    pub(crate) fn is_static(&self) -> bool {
        self.refill_mode == RefillMode::Nothing
    }

    /// Prepares `buffer` for a write to `offset`, bytes. `now` is any counter that advances between
    /// two writes to the same offset.
    #[inline]
    pub(crate) fn refill(&mut self, buffer: &mut [u8], offset: u64, now: u64) {
        match self.refill_mode {
            RefillMode::Nothing => {}
            RefillMode::Scramble => scramble(buffer, offset, now),
            RefillMode::Refill => {
                self.prepare(buffer);
                if self.scrambles_refills {
                    scramble(buffer, offset, now);
                }
            }
        }
    }
}

impl Dedupe {
    fn next_seed(&mut self) -> u64 {
        self.blocks_made += 1;
        let chance = mix(self.seed, !self.blocks_made);
        let again = match self.percent {
            0 => false,
            100 => self.unique > 0,
            percent => {
                chance % 100 < percent && (self.unique > 0 || self.mode == DedupeMode::WorkingSet)
            }
        };
        if !again {
            self.unique += 1;
            return mix(self.seed, self.unique);
        }
        match self.mode {
            DedupeMode::Repeat => mix(self.seed, self.unique),
            DedupeMode::WorkingSet => {
                // A set consists of the first unique blocks of a thread, written yet or not.
                let sizes = self.sets.iter().map(|(_, blocks)| *blocks);
                let all = sizes.fold(0, u64::saturating_add);
                let mut block = mix(chance, self.blocks_made) % all;
                let mut sets = self.sets.iter();
                let found = sets.find(|(_, blocks)| match block.checked_sub(*blocks) {
                    Some(behind) => {
                        block = behind;
                        false
                    }
                    None => true,
                });
                mix(found.map_or(self.seed, |(seed, _)| *seed), 1 + block)
            }
        }
    }
}

/// Writes offset and time into 16 bytes of each sector, all in the same cache line. A tail shorter
/// than a sector stays unchanged.
#[inline]
fn scramble(buffer: &mut [u8], offset: u64, now: u64) {
    let line = ((now ^ (offset / SECTOR as u64)) % (SECTOR / CACHE_LINE) as u64) as usize;
    let (sectors, _) = buffer.as_chunks_mut::<SECTOR>();
    let mut sector_offset = offset;
    for sector in sectors {
        let place = line * CACHE_LINE;
        sector[place..place + 8].copy_from_slice(&sector_offset.to_le_bytes());
        sector[place + 8..place + 16].copy_from_slice(&now.to_le_bytes());
        sector_offset = sector_offset.wrapping_add(SECTOR as u64);
    }
}
