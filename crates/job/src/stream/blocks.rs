//! Which random block of a file comes next.

use super::permutation::Permutation;
use super::rng::Rng;
use super::shape::Shape;
use super::sprandom::Regions;

/// Where the random blocks of a file come from.
#[derive(Debug, Clone)]
pub(super) enum Blocks {
    /// Independent of each other, for each direction: fio without a random map.
    Free(Box<[Shape; 3]>),
    /// Each once.
    Once(Permutation),
    /// Each once, where a request takes several of them: those taken are
    /// marked, a bit for each.
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
            Self::Marked(permutation, marks) => loop {
                let block = permutation.next_block()?;
                if !is_marked(marks, block) {
                    return Some(block);
                }
            },
        }
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

fn is_marked(marks: &[u64], block: u64) -> bool {
    marks[(block / 64) as usize] >> (block % 64) & 1 == 1
}
