//! Chooses the next random block of a file.

use super::permutation::Permutation;
use super::rng::Rng;
use super::sampler::Sampler;
use super::sprandom::SprandomOrder;

/// Blocks to search for a free run, from a random block on: 64 words of the map.
const SEARCHED_BLOCKS: u64 = 4096;

/// The source of random blocks of a file.
#[derive(Debug, Clone)]
pub(super) enum BlockSource {
    /// Independent blocks, for each direction: fio without a random map.
    Independent(Box<[Sampler; 3]>),
    /// Each block once.
    EachOnce(Permutation),
    /// Each block once, for requests of several blocks: a map marks the blocks taken. Each turn of
    /// the permutation takes at least one free block, so that its turns suffice.
    Mapped(Permutation, Vec<u64>),
    /// Blocks in the order of `sprandom`.
    Sprandom(Box<SprandomOrder>),
}

impl BlockSource {
    /// Starts over with all blocks free.
    pub(super) fn restart(&mut self) {
        match self {
            Self::Independent(_) => {}
            Self::EachOnce(permutation) => permutation.restart(),
            Self::Sprandom(order) => order.restart(),
            Self::Mapped(permutation, marks) => {
                permutation.restart();
                marks.fill(0);
            }
        }
    }

    /// The next block for `direction`, or `None` after all have been visited.
    pub(super) fn next_block(&mut self, direction: usize, rng: &mut Rng) -> Option<u64> {
        match self {
            Self::Independent(samplers) => Some(samplers[direction].draw(rng)),
            Self::EachOnce(permutation) => permutation.next_block(),
            Self::Sprandom(order) => order.next_block(rng),
            Self::Mapped(permutation, marks) => {
                let block = permutation.next_block()?;
                let blocks = permutation.blocks();
                find(marks, block..blocks, false).or_else(|| find(marks, 0..block, false))
            }
        }
    }

    /// Finds a run of `count` free blocks at or shortly after `first`, or else the longest free run
    /// within the search.
    pub(super) fn find_free_run(&self, first: u64, count: u64) -> u64 {
        let Self::Mapped(permutation, marks) = self else { return first };
        let end = first.saturating_add(SEARCHED_BLOCKS.max(count)).min(permutation.blocks());
        let (mut at, mut best, mut most) = (first, first, 0);
        while let Some(start) = find(marks, at..end, false) {
            at = find(marks, start..end, true).unwrap_or(end);
            if at - start > most {
                (best, most) = (start, at - start);
                if most >= count {
                    break;
                }
            }
        }
        best
    }

    /// Marks up to `count` free blocks from `first` on, and returns their number, up to the first
    /// one already taken: fio's `mark_random_map`.
    pub(super) fn mark(&mut self, first: u64, count: u64) -> u64 {
        let Self::Mapped(permutation, marks) = self else {
            return count;
        };
        let end = first.saturating_add(count).min(permutation.blocks());
        let taken = (first..end).take_while(|block| !is_marked(marks, *block)).count() as u64;
        for block in first..first + taken {
            marks[(block / 64) as usize] |= 1 << (block % 64);
        }
        taken
    }
}

/// Finds the first block of `range` that is marked, or that is not.
fn find(marks: &[u64], range: std::ops::Range<u64>, marked: bool) -> Option<u64> {
    let mut at = range.start;
    while at < range.end {
        let word = marks[(at / 64) as usize];
        let sought = if marked { word } else { !word } & (u64::MAX << (at % 64));
        if sought != 0 {
            let found = at / 64 * 64 + u64::from(sought.trailing_zeros());
            return (found < range.end).then_some(found);
        }
        at = (at / 64 + 1) * 64;
    }
    None
}

fn is_marked(marks: &[u64], block: u64) -> bool {
    marks[(block / 64) as usize] >> (block % 64) & 1 == 1
}
