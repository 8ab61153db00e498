//! A small and fast seeded random generator.

const STEP: u64 = 0xa076_1d64_78bd_642f;
const FOLD: u64 = 0xe703_7ed1_a0b4_28db;

/// wyrand (Wang Yi, wyhash, public domain): a counter, multiplied and folded.
#[derive(Debug, Clone)]
pub(super) struct Rng {
    state: u64,
}

impl Rng {
    /// Starts from a seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: scramble(seed) }
    }

    /// 64 random bits.
    #[inline]
    pub(super) const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let product = self.state as u128 * (self.state ^ FOLD) as u128;
        (product >> 64) as u64 ^ product as u64
    }

    /// A uniform integer in 0..`end`; 0 if `end` is 0.
    #[inline]
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        ((self.bits() as u128 * end as u128) >> 64) as u64
    }

    /// A uniform number in 0..1.
    #[inline]
    pub(super) const fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with a probability of `percent`.
    #[inline]
    pub(super) const fn percent(&mut self, percent: u32) -> bool {
        self.bits() >> 32 < threshold(percent)
    }
}

/// The number that `percent` of all 32-bit numbers are below.
#[inline]
pub(super) const fn threshold(percent: u32) -> u64 {
    ((percent as u64) << 32) / 100
}

/// Mixes all bits of a seed (the finaliser of SplitMix64, Steele et al. 2014).
pub(super) const fn scramble(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
