//! Chi-square tests of random orders and distributions.

use std::collections::HashMap;

use super::super::permutation::Permutation;
use super::super::rng::Rng;
use super::super::sampler::Sampler;
use crate::{Distribution, Zone};

/// Chi-square of counts against probabilities, and its degrees of freedom. Rare outcomes are
/// merged, so that each class expects 10 or more.
fn chi_square(counts: &[u64], probabilities: &[f64]) -> (f64, f64) {
    let draws = counts.iter().sum::<u64>() as f64;
    let (mut sum, mut classes) = (0.0, 0.0);
    let (mut count, mut expected) = (0.0, 0.0);
    for (n, probability) in counts.iter().zip(probabilities) {
        count += *n as f64;
        expected += probability * draws;
        if expected >= 10.0 {
            sum += (count - expected).powi(2) / expected;
            classes += 1.0;
            (count, expected) = (0.0, 0.0);
        }
    }
    (sum, classes - 1.0)
}

/// Mean plus six standard deviations of a chi-square of `freedom` degrees of freedom.
fn bound(freedom: f64) -> f64 {
    freedom + 6.0 * (2.0 * freedom).sqrt()
}

fn draw(sampler: &Sampler, blocks: u64, draws: u64) -> Vec<u64> {
    let mut rng = Rng::new(7);
    let mut counts = vec![0; blocks as usize];
    for _ in 0..draws {
        counts[sampler.draw(&mut rng) as usize] += 1;
    }
    counts
}

/// Probabilities of blocks after fio's scattering of ranks.
fn scattered(ranks: &[f64], origin: u64) -> Vec<f64> {
    let blocks = ranks.len() as u64;
    let mut probabilities = vec![0.0; ranks.len()];
    for (rank, probability) in (0_u64..).zip(ranks) {
        let block = rank.wrapping_mul(0x61c8_8646_80b5_83eb).wrapping_add(origin) % blocks;
        probabilities[block as usize] += probability;
    }
    probabilities
}

#[test]
fn zipf_is_fios() {
    let (blocks, draws) = (1000_u64, 1_000_000);
    let n = blocks as f64;
    for (theta, center) in [(0.5, 0.0), (0.9, 0.3), (1.2, 0.5), (2.0, 0.99)] {
        // The cumulative share up to each rank, by inverting fio's formula.
        let zeta: f64 = (1..=blocks).map(|rank| (rank as f64).powf(-theta)).sum();
        let second = 0.5f64.powf(theta);
        let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - (1.0 + second) / zeta);
        let upto = |rank: u64| match rank {
            0 => 1.0 / zeta,
            1 => (1.0 + second) / zeta,
            _ => ((((rank + 1) as f64 / n).powf(1.0 - theta) - 1.0 + eta) / eta)
                .max((1.0 + second) / zeta),
        };
        let ranks: Vec<_> = (0..blocks)
            .map(|rank| upto(rank) - if rank == 0 { 0.0 } else { upto(rank - 1) })
            .collect();
        let distribution = Distribution::Zipf { theta, center: Some(center) };
        let sampler = Sampler::new(&distribution, blocks, 4096, 1).unwrap();
        let probabilities = scattered(&ranks, (n * center) as u64);
        let (sum, freedom) = chi_square(&draw(&sampler, blocks, draws), &probabilities);
        assert!(sum < bound(freedom), "theta {theta}: chi-square {sum} of {freedom}");
    }
}

#[test]
fn pareto_is_fios() {
    let (blocks, draws) = (1000_u64, 1_000_000);
    for h in [0.1f64, 0.2, 0.5, 0.8] {
        let power = h.ln() / (1.0 - h).ln();
        let upto = |rank: u64| (rank as f64 / (blocks - 1) as f64).min(1.0).powf(1.0 / power);
        let ranks: Vec<_> = (0..blocks).map(|rank| upto(rank + 1) - upto(rank)).collect();
        let distribution = Distribution::Pareto { h, center: Some(0.25) };
        let sampler = Sampler::new(&distribution, blocks, 4096, 1).unwrap();
        let counts = draw(&sampler, blocks, draws);
        let (sum, freedom) = chi_square(&counts, &scattered(&ranks, 250));
        assert!(sum < bound(freedom), "h {h}: chi-square {sum} of {freedom}");
    }
}

#[test]
fn normal_has_its_mean_and_deviation() {
    // With 4096 blocks the scattering is invertible.
    let blocks = 4096_u64;
    let undo = {
        let mut inverse = HashMap::new();
        for rank in 0..blocks {
            let block = rank.wrapping_mul(0x61c8_8646_80b5_83eb) % blocks;
            inverse.insert(block, rank);
        }
        inverse
    };
    for percent in [0.0, 20.0] {
        let distribution = Distribution::Normal { deviation: percent, center: None };
        let sampler = Sampler::new(&distribution, blocks, 4096, 1).unwrap();
        let mut rng = Rng::new(3);
        let draws = 100_000;
        let ranks: Vec<_> = (0..draws).map(|_| undo[&sampler.draw(&mut rng)] as f64).collect();
        let mean = ranks.iter().sum::<f64>() / f64::from(draws);
        let variance = ranks.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / f64::from(draws);
        // The mean of 12 uniform numbers, and a uniform number of the given width.
        let wide = 4096.0 * percent / 100.0;
        let expected = 4096.0f64.powi(2) / 144.0 + wide * wide / 12.0;
        assert!((mean - 2048.0).abs() < 10.0, "{percent}: mean {mean}");
        assert!((variance / expected - 1.0).abs() < 0.03, "{percent}: {variance} {expected}");
    }
}

#[test]
fn zones_get_their_shares() {
    let zones = vec![
        Zone { access_percent: 60.0, size: 10.0 },
        Zone { access_percent: 30.0, size: 20.0 },
        Zone { access_percent: 10.0, size: 70.0 },
    ];
    let relative = Sampler::new(&Distribution::Zoned(zones.clone()), 1000, 4096, 1).unwrap();
    let bytes = zones.iter().map(|zone| Zone { size: zone.size * 40_960.0, ..*zone }).collect();
    let absolute = Distribution::ZonedAbsolute(bytes);
    let absolute_sampler = Sampler::new(&absolute, 1000, 4096, 1).unwrap();
    let mut probabilities = Vec::new();
    for zone in &zones {
        let blocks = zone.size * 10.0;
        probabilities.extend(vec![zone.access_percent / 100.0 / blocks; blocks as usize]);
    }
    for sampler in [relative, absolute_sampler] {
        let (sum, freedom) = chi_square(&draw(&sampler, 1000, 500_000), &probabilities);
        assert!(sum < bound(freedom), "chi-square {sum} of {freedom}");
    }
    assert!(Sampler::new(&absolute, 999, 4096, 1).unwrap_err().contains("zoned_abs"));
}

#[test]
fn random_order_is_spread_evenly_in_space_and_time() {
    // The first blocks by 64 parts of the device; pairs of neighbours by 16 times 16 parts; the
    // share of ascending steps.
    for blocks in [10_000_019_u64, 1 << 24, (1 << 24) + 1, 24_414_062_500, 200_003] {
        for seed in 0..20 {
            let draws = 100_000;
            let mut permutation = Permutation::new(blocks, seed, (0, 1), false);
            let (mut parts, mut pairs) = (vec![0; 64], vec![0; 256]);
            let (mut rises, mut last) = (0, 0);
            let part = |block: u64, parts: u64| {
                (u128::from(block) * u128::from(parts) / u128::from(blocks)) as u64
            };
            for n in 0..draws {
                let block = permutation.next_block().unwrap();
                parts[part(block, 64) as usize] += 1;
                if n % 2 == 1 {
                    pairs[(part(last, 16) * 16 + part(block, 16)) as usize] += 1;
                }
                rises += usize::from(block > last);
                last = block;
            }
            for counts in [parts, pairs] {
                let even = vec![1.0 / counts.len() as f64; counts.len()];
                let (sum, freedom) = chi_square(&counts, &even);
                assert!(
                    sum < bound(freedom),
                    "{blocks} blocks, seed {seed}: chi-square {sum} of {freedom}"
                );
            }
            let rises = rises as f64 / f64::from(draws);
            assert!((rises - 0.5).abs() < 0.01, "{blocks} blocks, seed {seed}: {rises}");
        }
    }
}
