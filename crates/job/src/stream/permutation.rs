//! Visits every block once in random order, without a map in memory.
//!
//! A counter passes through a bijection of k bits: rounds of xor-shift and odd multiplication as in
//! the finaliser of SplitMix64 (Steele et al. 2014), with keys derived from the seed. Numbers
//! beyond the last block, fewer than half, are skipped. Since each number depends on the counter
//! alone, threads share one permutation by counting in steps, and a processor works on several
//! numbers at once.

use super::Request;
use super::rng::scramble;

/// Every `threads`-th number of a permutation of 0..blocks.
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
    /// Each restart gives the same permutation.
    repeats: bool,
}

impl Permutation {
    /// The share of `thread` in a permutation of `blocks` (at most 2^62) that `threads` share.
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
        new.restart();
        new.repeats = repeats;
        new
    }

    /// Starts another permutation of the same blocks, or the same one if it repeats.
    pub(super) fn restart(&mut self) {
        if !self.repeats {
            self.seed = scramble(self.seed);
        }
        self.keys = [1, 2, 3].map(|n| scramble(self.seed ^ n) | 1);
        self.turn = self.first_turn;
    }

    /// Number of blocks per thread; approximate for several threads.
    pub(super) const fn blocks_per_thread(&self) -> u64 {
        self.blocks / self.threads
    }

    /// Number of blocks.
    pub(super) const fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The input of the bijection for a turn.
    const fn input(&self, turn: u64) -> u64 {
        turn.wrapping_mul(self.keys[0]).wrapping_add(self.keys[1])
    }

    /// The bijection; its result may be beyond the last block.
    #[inline]
    const fn mix(&self, input: u64) -> u64 {
        let mask = self.turns - 1;
        let mut x = input & mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(self.keys[2]) & mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(0x94d0_49bb_1331_11eb) & mask;
        x ^= x >> self.shift;
        x.wrapping_mul(0xd6e8_feb8_6659_fd93) & mask
    }

    /// The next block, or `None` after all have been visited.
    #[inline]
    pub(super) fn next_block(&mut self) -> Option<u64> {
        while self.turn < self.turns {
            let block = self.mix(self.input(self.turn));
            self.turn += self.threads;
            if block < self.blocks {
                return Some(block);
            }
        }
        None
    }

    /// Makes requests for the next blocks, `align` bytes apart from the offset of `template` on,
    /// and returns their number: fewer than `requests` has once all blocks have been visited. A
    /// skipped number is overwritten by the next one, since a branch could not be predicted.
    #[inline]
    pub(super) fn fill(
        &mut self,
        requests: &mut [Request],
        template: Request,
        align: u64,
    ) -> usize {
        let this = self.clone();
        let stride = this.keys[0].wrapping_mul(this.threads);
        let (mut turn, mut input, mut made) = (this.turn, this.input(this.turn), 0);
        while made < requests.len() && turn < this.turns {
            let block = this.mix(input);
            (turn, input) = (turn + this.threads, input.wrapping_add(stride));
            let offset = template.offset.wrapping_add(block.wrapping_mul(align));
            requests[made] = Request { offset, ..template };
            made += usize::from(block < this.blocks);
        }
        self.turn = turn;
        made
    }
}
