//! fio's `sprandom`: random writes that leave an SSD as a long random load would, after writing
//! its physical capacity once.
//!
//! The drive is divided into regions that are written one after the other. In each region, as many
//! blocks are rewritten as would be invalid in steady state: most in the first region, few in the
//! last one.

use std::collections::VecDeque;

use super::permutation::Permutation;
use super::rng::Rng;
use crate::Sprandom;

/// The order of blocks of `sprandom`.
#[derive(Debug, Clone)]
pub(super) struct SprandomOrder {
    fresh: Permutation,
    /// Share of the blocks of each region that is rewritten.
    invalid: Box<[f64]>,
    blocks_of_region: u64,
    region: usize,
    /// Fresh blocks left in the region.
    left: u64,
    /// Blocks of this region to rewrite after it.
    chosen: Vec<u64>,
    /// Blocks to rewrite now.
    rewrites: VecDeque<u64>,
    /// Rewrites only after the fresh blocks of a region, so that a cache holds no block twice.
    deferred: bool,
}

impl SprandomOrder {
    /// Divides the blocks of `fresh`, of `bs` bytes each, into regions.
    ///
    /// # Errors
    /// The job does not fit; the message says what would.
    pub(super) fn new(options: &Sprandom, fresh: Permutation, bs: u64) -> Result<Self, String> {
        let physical = physical_bytes(options, fresh.blocks().saturating_mul(bs), bs);
        let region_bytes = physical / u64::from(options.regions).max(1);
        if options.cache_bytes > region_bytes {
            return Err(format!(
                "spr_cs={} does not fit: a region has {region_bytes} bytes; up to {} regions \
                 (spr_num_regions) are as large as the cache",
                options.cache_bytes,
                physical / options.cache_bytes
            ));
        }
        let blocks_of_region = region_bytes / bs;
        if blocks_of_region == 0 {
            return Err(format!(
                "spr_num_regions={} does not fit: a region has no block of {bs} bytes",
                options.regions
            ));
        }
        let invalid = invalid_shares(options);
        let most = blocks_of_region as f64 * invalid.first().copied().unwrap_or(0.0);
        // Six standard deviations, so that the queues seldom grow.
        let capacity = (most + 6.0 * most.sqrt()) as usize + 1;
        Ok(Self {
            fresh,
            invalid,
            blocks_of_region,
            region: 0,
            left: blocks_of_region,
            chosen: Vec::with_capacity(capacity),
            rewrites: VecDeque::with_capacity(capacity),
            deferred: options.cache_bytes > 0,
        })
    }

    /// Starts over with the first region.
    pub(super) fn restart(&mut self) {
        self.fresh.restart();
        self.chosen.clear();
        self.rewrites.clear();
        (self.region, self.left) = (0, self.blocks_of_region);
    }

    /// The next block, or `None` when all are written.
    pub(super) fn next_block(&mut self, rng: &mut Rng) -> Option<u64> {
        if (self.left == 0 || !self.deferred)
            && let Some(block) = self.rewrites.pop_front()
        {
            return Some(self.choose(rng, block));
        }
        if self.left == 0 {
            if self.region >= self.invalid.len() {
                return None;
            }
            self.region += 1;
            self.left = self.blocks_of_region.saturating_sub(self.chosen.len() as u64);
            self.rewrites.extend(self.chosen.drain(..));
        }
        let Some(block) = self.fresh.next_block() else {
            return self.rewrites.pop_front().filter(|_| self.deferred);
        };
        self.left = self.left.saturating_sub(1);
        Some(self.choose(rng, block))
    }

    /// Chooses by chance whether `block` is to be rewritten, and returns it.
    fn choose(&mut self, rng: &mut Rng, block: u64) -> u64 {
        let share = self.invalid.get(self.region).copied().unwrap_or(0.0);
        if rng.unit() < share {
            self.chosen.push(block);
        }
        block
    }
}

/// Bytes to write in total for a drive of `logical_bytes`, in whole blocks of `bs` bytes.
pub(super) fn physical_bytes(options: &Sprandom, logical_bytes: u64, bs: u64) -> u64 {
    let more = (logical_bytes as f64 * options.over_provisioning).ceil() as u64;
    let physical = logical_bytes.saturating_add(more);
    physical - physical % bs.max(1)
}

/// Share of invalid blocks of each region in steady state, by fio's model: the over-provisioning
/// determines the write amplification, and that the share of valid blocks where garbage is
/// collected. Up to there, validity falls in even steps, which last longer the lower it is.
fn invalid_shares(options: &Sprandom) -> Box<[f64]> {
    let amplification = 0.5 / options.over_provisioning + 0.7;
    let lowest = 1.0 - 1.0 / amplification;
    let count = options.regions as usize;
    let steps = count.saturating_sub(1).max(1) as f64;
    let even = |from: f64, to: f64, number: usize| from + (to - from) * number as f64 / steps;
    // The end of each step, and its validity.
    let mut reach = 0.0;
    let curve: Vec<(f64, f64)> = (0..count)
        .map(|number| {
            let validity = even(1.0, lowest, number);
            reach += 1.0 / validity;
            (reach, validity)
        })
        .collect();
    let (first, last) = (1.0, reach);
    let mut upper = 1;
    let valid = (0..count).map(|number| {
        let at = even(first, last, number);
        while upper + 1 < count && curve[upper].0 < at {
            upper += 1;
        }
        match (curve.get(upper - 1), curve.get(upper)) {
            (Some((x, y)), Some((next_x, next_y))) => {
                y + (next_y - y) * ((at - x) / (next_x - x)).clamp(0.0, 1.0)
            }
            (only, _) => only.map_or(1.0, |(_, validity)| *validity),
        }
    });
    let mut invalid: Vec<f64> = valid.map(|validity| 1.0 - validity).collect();
    invalid.reverse();
    invalid.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: Sprandom = Sprandom { regions: 50, over_provisioning: 0.25, cache_bytes: 0 };

    fn written(options: &Sprandom, blocks: u64) -> Vec<u64> {
        let fresh = Permutation::new(blocks, 7, (0, 1), false);
        let mut regions = SprandomOrder::new(options, fresh, 4096).unwrap();
        let mut rng = Rng::new(3);
        std::iter::from_fn(|| regions.next_block(&mut rng)).collect()
    }

    #[test]
    fn the_physical_capacity_is_written_and_every_block_is() {
        let blocks = 100_000;
        for cache_bytes in [0, 32 << 10] {
            let options = Sprandom { cache_bytes, ..OPTIONS };
            let written = written(&options, blocks);
            let distinct: std::collections::HashSet<u64> = written.iter().copied().collect();
            let physical = physical_bytes(&options, blocks * 4096, 4096) as f64 / 4096.0;
            assert!((written.len() as f64 / physical - 1.0).abs() < 0.03, "{}", written.len());
            assert!(distinct.len() as f64 > 0.97 * blocks as f64, "{}", distinct.len());
            assert!(distinct.iter().all(|block| *block < blocks));
        }
    }

    #[test]
    fn most_of_what_is_written_again_is_of_the_first_regions() {
        let shares = invalid_shares(&OPTIONS);
        // 0.5 / 0.25 + 0.7 = 2.7
        assert!((shares[0] - 1.0 / 2.7).abs() < 1e-9 && shares[49].abs() < 1e-9, "{shares:?}");
        assert!(shares.is_sorted_by(|more, less| more >= less), "{shares:?}");
        assert_eq!(invalid_shares(&Sprandom { regions: 1, ..OPTIONS })[..], [0.0]);
    }

    #[test]
    fn what_is_written_again_follows_on_its_region_or_with_a_cache_on_the_next() {
        let (blocks, region) = (100_000, 2500);
        for (cache_bytes, distances) in [(0, 1..=2 * region), (4096, region / 3..=3 * region)] {
            let mut last = std::collections::HashMap::new();
            let order = written(&Sprandom { cache_bytes, ..OPTIONS }, blocks);
            let again = order.iter().enumerate().filter_map(|(at, block)| {
                last.insert(*block, at).map(|before| (at - before) as u64)
            });
            let again: Vec<u64> = again.collect();
            assert!(again.len() > 10_000);
            let within = again.iter().filter(|distance| distances.contains(*distance)).count();
            assert!(within * 100 > again.len() * 99, "{within} of {}", again.len());
        }
    }

    #[test]
    fn regions_smaller_than_the_cache_or_a_block_are_errors() {
        let new = |options: &Sprandom| {
            SprandomOrder::new(options, Permutation::new(8192, 7, (0, 1), false), 4096)
        };
        let large = Sprandom { cache_bytes: 32 << 20, ..OPTIONS };
        assert!(new(&large).unwrap_err().contains("up to 1 regions"));
        assert!(new(&Sprandom { regions: 1 << 20, ..OPTIONS }).is_err());
        assert!(new(&OPTIONS).is_ok());
    }
}
