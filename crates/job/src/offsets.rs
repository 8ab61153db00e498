//! Orders of offsets: sequential, and random without repeats and without a
//! map in memory.
//!
//! Random order is a permutation of the block numbers: a linear congruential
//! generator of full period modulo 2^k (Hull and Dobell 1962: odd increment,
//! multiplier 1 modulo 4) whose state goes through a bijection of k bits
//! (xor-shift and odd multiplication, as in O'Neill's PCG, 2014), so that the
//! low bits are not regular; numbers beyond the last block are passed over,
//! fewer than half. Every block comes once before any comes again.

/// A stretch of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Start, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u64,
}

/// A stream of offsets for one thread.
#[derive(Debug, Clone)]
pub struct Offsets {
    order: Order,
    layout: Layout,
}

#[derive(Debug, Clone)]
enum Order {
    Sequential { next: u64, first: u64, end: u64 },
    Random(Permutation),
}

/// Block numbers to byte offsets.
#[derive(Debug, Clone)]
struct Layout {
    bs: u64,
    /// (first block number, byte offset) of each extent, by block number.
    extents: Vec<(u64, u64)>,
}

impl Offsets {
    /// The offsets of thread `thread` of `threads` over the whole blocks of
    /// `bs` bytes in `extents`: in sequence each thread has a contiguous share
    /// of its own, at random they take turns in one permutation. After the
    /// last block it begins again.
    ///
    /// `None` where fewer blocks are there than threads, or `bs` is 0.
    pub fn new(
        random: bool,
        bs: u64,
        extents: &[Extent],
        seed: u64,
        thread: u32,
        threads: u32,
    ) -> Option<Self> {
        let mut blocks = 0;
        let mut starts = Vec::with_capacity(extents.len());
        for extent in extents {
            let count = extent.length.checked_div(bs)?;
            if count > 0 {
                starts.push((blocks, extent.offset));
                blocks += count;
            }
        }
        let (thread, threads) = (u64::from(thread), u64::from(threads));
        if blocks < threads || threads == 0 {
            return None;
        }
        let order = if random {
            Order::Random(Permutation::new(blocks, seed, thread, threads))
        } else {
            let share = |n: u64| (u128::from(blocks) * u128::from(n) / u128::from(threads)) as u64;
            let first = share(thread);
            Order::Sequential { next: first, first, end: share(thread + 1) }
        };
        Some(Self { order, layout: Layout { bs, extents: starts } })
    }

    /// The next offset, bytes.
    #[inline]
    pub fn next_offset(&mut self) -> u64 {
        let block = match &mut self.order {
            Order::Sequential { next, first, end } => {
                let block = *next;
                *next = if block + 1 == *end { *first } else { block + 1 };
                block
            }
            Order::Random(permutation) => permutation.next_block(),
        };
        self.layout.offset(block)
    }

    /// The next offsets, bytes: fills `offsets`, with one dispatch for all.
    #[inline]
    pub fn fill(&mut self, offsets: &mut [u64]) {
        match &mut self.order {
            Order::Random(permutation) => {
                for offset in offsets {
                    *offset = self.layout.offset(permutation.next_block());
                }
            }
            Order::Sequential { .. } => offsets.iter_mut().for_each(|o| *o = self.next_offset()),
        }
    }
}

impl Layout {
    #[inline]
    fn offset(&self, block: u64) -> u64 {
        let (first, start) = if self.extents.len() == 1 {
            self.extents[0]
        } else {
            self.extents[self.extents.partition_point(|(first, _)| *first <= block) - 1]
        };
        start + (block - first) * self.bs
    }
}

/// A permutation of 0..blocks, every `threads`-th number of it.
#[derive(Debug, Clone)]
struct Permutation {
    state: u64,
    multiplier: u64,
    increment: u64,
    mask: u64,
    shift: u32,
    blocks: u64,
}

impl Permutation {
    fn new(blocks: u64, seed: u64, thread: u64, threads: u64) -> Self {
        let bits = (64 - (blocks - 1).leading_zeros()).max(2);
        let mask = u64::MAX >> (64 - bits);
        let step = (0x5851_f42d_4c95_7f2d_u64, scramble(seed) | 1);
        // The generator applied `n` times is again one: compose by squaring.
        let power = |n: u64| {
            let (mut result, mut base, mut n) = ((1_u64, 0_u64), step, n);
            while n > 0 {
                if n & 1 == 1 {
                    result = compose(base, result);
                }
                base = compose(base, base);
                n >>= 1;
            }
            result
        };
        let start = scramble(seed ^ 0x9e37_79b9_7f4a_7c15);
        let (multiplier, increment) = power(thread);
        let state = start.wrapping_mul(multiplier).wrapping_add(increment) & mask;
        let (multiplier, increment) = power(threads);
        Self { state, multiplier, increment, mask, shift: bits.div_ceil(2), blocks }
    }

    #[inline]
    fn next_block(&mut self) -> u64 {
        loop {
            let mut x = self.state;
            self.state =
                self.state.wrapping_mul(self.multiplier).wrapping_add(self.increment) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_mul(0xd6e8_feb8_6659_fd93) & self.mask;
            x ^= x >> self.shift;
            if x < self.blocks {
                return x;
            }
        }
    }
}

/// x -> a x + c of `outer` after `inner`.
const fn compose(outer: (u64, u64), inner: (u64, u64)) -> (u64, u64) {
    (outer.0.wrapping_mul(inner.0), outer.0.wrapping_mul(inner.1).wrapping_add(outer.1))
}

/// A seed with all of its bits mixed (the finaliser of SplitMix64, Steele et al. 2014).
const fn scramble(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(blocks: u64, bs: u64) -> [Extent; 1] {
        [Extent { offset: 0, length: blocks * bs }]
    }

    proptest! {
        #[test]
        fn threads_together_visit_every_block_once(
            blocks in 1u64..3000, threads in 1u32..8, seed: u64, random: bool, gap in 0u64..5,
        ) {
            prop_assume!(blocks >= u64::from(threads));
            let bs = 4096;
            let half = blocks / 2;
            let extents = [
                Extent { offset: gap * bs, length: half * bs },
                Extent { offset: (half + 2 * gap) * bs, length: (blocks - half) * bs + 100 },
            ];
            let mut streams: Vec<_> = (0..threads)
                .map(|t| Offsets::new(random, bs, &extents, seed, t, threads).unwrap())
                .collect();
            let mut seen = std::collections::HashSet::new();
            if random {
                // Threads that take turns may finish a few blocks apart where
                // numbers are passed over; together no block comes twice.
                let permutation_length = blocks.next_power_of_two().max(4);
                for (t, stream) in streams.iter_mut().enumerate() {
                    let turns = permutation_length / u64::from(threads);
                    let Order::Random(p) = &mut stream.order else { unreachable!() };
                    let mut state = p.clone();
                    for _ in 0..turns {
                        let before = state.state;
                        let mut one = state.clone();
                        one.blocks = u64::MAX;
                        let block = one.next_block();
                        state.state = one.state;
                        prop_assert_ne!(before, u64::MAX);
                        if block < blocks {
                            prop_assert!(seen.insert(stream.layout.offset(block)), "thread {}", t);
                        }
                    }
                }
                if threads == 1 {
                    prop_assert_eq!(seen.len() as u64, blocks);
                }
            } else {
                for (t, stream) in streams.iter_mut().enumerate() {
                    let t = t as u64;
                    let n = u64::from(threads);
                    let count = blocks * (t + 1) / n - blocks * t / n;
                    for _ in 0..count {
                        prop_assert!(seen.insert(stream.next_offset()));
                    }
                }
                prop_assert_eq!(seen.len() as u64, blocks);
            }
            for offset in &seen {
                let inside = extents.iter().any(|e| {
                    *offset >= e.offset && offset + bs <= e.offset + e.length
                });
                prop_assert!(inside);
            }
        }

        #[test]
        fn a_random_stream_repeats_only_after_all(blocks in 1u64..5000, seed: u64) {
            let mut stream = Offsets::new(true, 512, &whole(blocks, 512), seed, 0, 1).unwrap();
            let mut seen = std::collections::HashSet::new();
            for _ in 0..blocks {
                prop_assert!(seen.insert(stream.next_offset()));
            }
        }
    }

    #[test]
    fn random_order_is_spread_evenly_in_space_and_time() {
        // Chi-square of 64 equal parts of the device over the first 1 % of a
        // large permutation: 63 degrees of freedom, 99.99 % quantile 117.
        let blocks = 10_000_019;
        let draws = 100_000;
        for seed in 0..20 {
            let mut stream = Offsets::new(true, 4096, &whole(blocks, 4096), seed, 0, 1).unwrap();
            let mut parts = [0f64; 64];
            let mut rises = 0;
            let mut last = 0;
            for _ in 0..draws {
                let block = stream.next_offset() / 4096;
                parts[(block * 64 / blocks) as usize] += 1.0;
                rises += usize::from(block > last);
                last = block;
            }
            let expected = draws as f64 / 64.0;
            let chi2: f64 = parts.iter().map(|n| (n - expected).powi(2) / expected).sum();
            assert!(chi2 < 117.0, "seed {seed}: chi2 {chi2}");
            assert!((rises as f64 / draws as f64 - 0.5).abs() < 0.01, "seed {seed}: {rises}");
        }
    }

    #[test]
    fn too_little_room_is_refused() {
        assert!(Offsets::new(true, 4096, &whole(0, 4096), 1, 0, 1).is_none());
        assert!(Offsets::new(true, 4096, &whole(1, 4096), 1, 0, 2).is_none());
        assert!(Offsets::new(false, 0, &whole(1, 4096), 1, 0, 1).is_none());
    }
}
