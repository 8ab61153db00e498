//! Random data: unguessable bytes come from the kernel, incompressible ones that never repeat from
//! a generator faster than a drive.

use std::fs::File;
use std::io::Read;

use crate::TargetError;
use crate::error::RANDOM_SOURCE;

/// Returns `N` unguessable bytes.
///
/// # Errors
/// /dev/urandom cannot be read.
pub(crate) fn unguessable<const N: usize>() -> Result<[u8; N], TargetError> {
    let mut bytes = [0; N];
    File::open(RANDOM_SOURCE).and_then(|mut source| source.read_exact(&mut bytes)).map_err(
        |error| TargetError::Io { name: RANDOM_SOURCE.into(), action: "read it", error },
    )?;
    Ok(bytes)
}

/// xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number
/// generators", 2021), seeded through SplitMix64 as its authors advise.
#[derive(Debug)]
pub(crate) struct Random([u64; 4]);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed;
        Self(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Fills `buffer`, including a tail of less than 8 bytes.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // First outputs for the state {1, 2, 3, 4}, from the test of the rand_xoshiro crate, which
        // has them from the authors' C code.
        let mut random = Random([1, 2, 3, 4]);
        let first: Vec<u64> = (0..4).map(|_| random.next()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn splitmix_seeds_it() {
        // SplitMix64's first output for the seed 0.
        assert_eq!(Random::new(0).0[0], 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn every_byte_is_filled_and_blocks_differ() {
        let mut random = Random::new(7);
        let (mut a, mut b) = (vec![0; 4099], vec![0; 4099]);
        random.fill(&mut a);
        random.fill(&mut b);
        assert_ne!(a, b);
        let mut seen = [0_u32; 256];
        a.iter().for_each(|byte| seen[usize::from(*byte)] += 1);
        // 16 of each expected; a generator with a stuck byte shows hundreds.
        assert!(seen.iter().all(|count| *count < 60), "{seen:?}");
        assert_ne!(a[4096..], [0, 0, 0]);
    }

    #[test]
    fn the_kernels_bytes_differ_from_call_to_call() {
        assert_ne!(unguessable::<16>().unwrap(), unguessable::<16>().unwrap());
    }
}
