//! Every block once, in random order, without a map in memory.
//!
//! A counter goes through a bijection of k bits: rounds of xor-shift and odd
//! multiplication as in the finaliser of SplitMix64 (Steele et al. 2014), with
//! keys of the seed. Numbers beyond the last block
//! are passed over, fewer than half. Since each number follows from the
//! counter alone, threads take turns in one permutation by counting in steps,
//! and a processor works on several at once.

use super::Request;
use super::rng::scramble;

/// A permutation of 0..blocks, every `threads`-th number of it.
#[derive(Debug, Clone)]
pub(super) struct Permutation {
    turn: u64,
    first_turn: u64,
    turns: u64,
    threads: u64,
    blocks: u64,
    shift: u32,
    keys: [u64; 3],
    seed: u64,
    /// It is the same one each time.
    repeats: bool,
}

impl Permutation {
    /// Of `blocks` (no more than 2^62) in turns of `threads`, of which this is
    /// `thread`.
    pub(super) fn new(
        blocks: u64,
        seed: u64,
        (thread, threads): (u32, u32),
        repeats: bool,
    ) -> Self {
        let blocks = blocks.min(1 << 62);
        let bits = (64 - blocks.saturating_sub(1).leading_zeros()).max(2);
        let mut new = Self {
            turn: 0,
            first_turn: thread.into(),
            turns: 1 << bits,
            threads: threads.into(),
            blocks,
            shift: bits.div_ceil(2),
            keys: [0; 3],
            seed,
            repeats: false,
        };
        new.again();
        new.repeats = repeats;
        new
    }

    /// Begins another permutation of the same blocks, or the same one again.
    pub(super) fn again(&mut self) {
        if !self.repeats {
            self.seed = scramble(self.seed);
        }
        self.keys = [1, 2, 3].map(|n| scramble(self.seed ^ n) | 1);
        self.turn = self.first_turn;
    }

    /// How many blocks there are, or come in the turns of one of the threads
    /// where they are several: nearly.
    pub(super) const fn in_turn(&self) -> u64 {
        self.blocks / self.threads
    }

    /// How many blocks there are.
    pub(super) const fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Where `turn` is in the sequence that is mixed.
    const fn place(&self, turn: u64) -> u64 {
        turn.wrapping_mul(self.keys[0]).wrapping_add(self.keys[1])
    }

    /// The number at a place; it may be beyond the last block.
    #[inline]
    const fn at(&self, place: u64) -> u64 {
        let mask = self.turns - 1;
        let mut x = place & mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(self.keys[2]) & mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(0x94d0_49bb_1331_11eb) & mask;
        x ^= x >> self.shift;
        x.wrapping_mul(0xd6e8_feb8_6659_fd93) & mask
    }

    /// The next block; `None` when all were had.
    #[inline]
    pub(super) fn next_block(&mut self) -> Option<u64> {
        while self.turn < self.turns {
            let block = self.at(self.place(self.turn));
            self.turn += self.threads;
            if block < self.blocks {
                return Some(block);
            }
        }
        None
    }

    /// Makes requests like `like` for the next blocks, which are `align` bytes
    /// apart, from the offset of `like` on; fewer than asked for when all were had.
    /// Numbers that are passed over are overwritten by the next: a branch on
    /// them could not be predicted.
    #[inline]
    pub(super) fn fill(&mut self, requests: &mut [Request], like: Request, align: u64) -> usize {
        let this = self.clone();
        let stride = this.keys[0].wrapping_mul(this.threads);
        let (mut turn, mut place, mut made) = (this.turn, this.place(this.turn), 0);
        while made < requests.len() && turn < this.turns {
            let block = this.at(place);
            (turn, place) = (turn + this.threads, place.wrapping_add(stride));
            let offset = like.offset.wrapping_add(block.wrapping_mul(align));
            requests[made] = Request { offset, ..like };
            made += usize::from(block < this.blocks);
        }
        self.turn = turn;
        made
    }
}
