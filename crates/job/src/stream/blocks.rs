//! Which random block of a file comes next.

use super::permutation::Permutation;
use super::rng::Rng;
use super::shape::Shape;
use super::sprandom::Regions;

/// Blocks from a random one on in which room for a request is looked for: 64 words of marks.
const LOOKED_AT: u64 = 4096;

/// Where the random blocks of a file come from.
#[derive(Debug, Clone)]
pub(super) enum Blocks {
    /// Independent of each other, for each direction: fio without a random map.
    Free(Box<[Shape; 3]>),
    /// Each once.
    Once(Permutation),
    /// Each once, where a request takes several of them: those taken are
    /// marked, a bit for each. Each turn of the permutation takes one or more that are
    /// free, so that its turns suffice.
    Marked(Permutation, Vec<u64>),
    /// As an SSD is preconditioned.
    Regions(Box<Regions>),
}

impl Blocks {
    /// Begins again: all are free.
    pub(super) fn again(&mut self) {
        match self {
            Self::Free(_) => {}
            Self::Once(permutation) => permutation.again(),
            Self::Regions(regions) => regions.begin_again(),
            Self::Marked(permutation, marks) => {
                permutation.again();
                marks.fill(0);
            }
        }
    }

    /// The next block for `direction`; `None` when all were had.
    pub(super) fn next_block(&mut self, direction: usize, rng: &mut Rng) -> Option<u64> {
        match self {
            Self::Free(shapes) => Some(shapes[direction].draw(rng)),
            Self::Once(permutation) => permutation.next_block(),
            Self::Regions(regions) => regions.next_block(rng),
            Self::Marked(permutation, marks) => {
                let block = permutation.next_block()?;
                let blocks = permutation.blocks();
                next(marks, block..blocks, false).or_else(|| next(marks, 0..block, false))
            }
        }
    }

    /// Where `count` blocks are free side by side: from `first` on, or not far behind; else where
    /// there are the most of those that were looked at.
    pub(super) fn room(&self, first: u64, count: u64) -> u64 {
        let Self::Marked(permutation, marks) = self else { return first };
        let end = first.saturating_add(LOOKED_AT.max(count)).min(permutation.blocks());
        let (mut at, mut best, mut most) = (first, first, 0);
        while let Some(start) = next(marks, at..end, false) {
            at = next(marks, start..end, true).unwrap_or(end);
            if at - start > most {
                (best, most) = (start, at - start);
                if most >= count {
                    break;
                }
            }
        }
        best
    }

    /// Marks up to `count` free blocks from `first` on, and says how many
    /// there were before one that was had already: fio's `mark_random_map`.
    pub(super) fn mark(&mut self, first: u64, count: u64) -> u64 {
        let Self::Marked(permutation, marks) = self else {
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

/// The first block of `range` that is marked, or is not.
fn next(marks: &[u64], range: std::ops::Range<u64>, marked: bool) -> Option<u64> {
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
