//! Samples random blocks from the distributions of fio's lib/zipf.c, lib/gauss.c and zones
//! (io_u.c), in constant memory.

use super::rng::Rng;
use crate::Distribution;

/// Most ranks over which fio sums zeta.
const ZETA_RANKS: u64 = 10_000_000;
/// 2^64 divided by the golden ratio, negated: fio's factor for scattering blocks (hash.h).
const GOLDEN_RATIO: u64 = 0x61c8_8646_80b5_83eb;
/// Uniform numbers whose mean is nearly normal: fio's `GAUSS_ITERS`.
const NORMAL_DRAWS: u64 = 12;

/// A distribution over the blocks 0..blocks.
#[derive(Debug, Clone)]
pub(super) enum Sampler {
    Uniform { blocks: u64 },
    Zipf { blocks: u64, origin: u64, alpha: f64, eta: f64, zeta: f64, second: f64 },
    Pareto { blocks: u64, origin: u64, power: f64 },
    Normal { blocks: u64, origin: u64, deviation: u64 },
    Zoned { blocks: u64, zones: Vec<Zone> },
}

/// A zone: its cumulative share of all draws, and its blocks.
#[derive(Debug, Clone)]
pub(super) struct Zone {
    below: f64,
    first: u64,
    blocks: u64,
}

impl Sampler {
    /// A distribution over `blocks` of `block_bytes`; without a center, the most frequent block is
    /// derived from `seed`.
    ///
    /// # Errors
    /// The job does not fit; the message says what would.
    pub(super) fn new(
        distribution: &Distribution,
        blocks: u64,
        block_bytes: u64,
        seed: u64,
    ) -> Result<Self, String> {
        let n = blocks as f64;
        let at = |center: Option<f64>| match center {
            Some(center) => (n * center) as u64,
            None => Rng::new(seed).below(blocks),
        };
        Ok(match distribution {
            Distribution::Random => Self::Uniform { blocks },
            // A sequence is not drawn; see `Stream::next_offset`.
            Distribution::Sequence(listed) => {
                if let Some(block) = listed.iter().find(|block| u64::from(**block) >= blocks) {
                    return Err(format!(
                        "random_distribution=sequence does not fit: it names block {block} of \
                         {blocks}, counted from 0"
                    ));
                }
                Self::Uniform { blocks }
            }
            _ if blocks < 2 => Self::Uniform { blocks },
            Distribution::Zipf { theta, center } => {
                if !(*theta > 0.0 && *theta != 1.0) {
                    return Err(format!(
                        "random_distribution=zipf:{theta} does not fit: theta is above 0 and not 1"
                    ));
                }
                let zeta = zeta(blocks.min(ZETA_RANKS), *theta);
                let second = 0.5f64.powf(*theta);
                let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - (1.0 + second) / zeta);
                let alpha = 1.0 / (1.0 - theta);
                Self::Zipf { blocks, origin: at(*center), alpha, eta, zeta, second }
            }
            Distribution::Pareto { h, center } => {
                if !(*h > 0.0 && *h < 1.0) {
                    return Err(format!(
                        "random_distribution=pareto:{h} does not fit: h is between 0 and 1"
                    ));
                }
                Self::Pareto { blocks, origin: at(*center), power: h.ln() / (1.0 - h).ln() }
            }
            Distribution::Normal { deviation, center } => {
                if !(0.0..=100.0).contains(deviation) {
                    return Err(format!(
                        "random_distribution=normal:{deviation} does not fit: the deviation is \
                         0 to 100 percent"
                    ));
                }
                let shift = n * (center.unwrap_or(0.5) - 0.5);
                let origin = (shift as i64).rem_euclid(blocks as i64) as u64;
                let deviation = ((n * deviation / 100.0).ceil() as u64).min(blocks / 2);
                Self::Normal { blocks, origin, deviation }
            }
            Distribution::Zoned(zones) => {
                let part = |percent: f64| (n * percent / 100.0 + 1e-6) as u64;
                let mut before = 0.0;
                let zones = zones.iter().map(|zone| {
                    let first = part(before);
                    before += zone.size;
                    (zone.access_percent, first, part(zone.size))
                });
                Self::zoned(blocks, zones.collect())
            }
            Distribution::ZonedAbsolute(zones) => {
                let mut before = 0.0;
                let mut listed = Vec::with_capacity(zones.len());
                for zone in zones {
                    let first = (before / block_bytes as f64) as u64;
                    before += zone.size;
                    let end = (before / block_bytes as f64) as u64;
                    if end > blocks {
                        return Err(format!(
                            "random_distribution=zoned_abs does not fit: its zones end at \
                             {before} bytes, and the region has {}",
                            blocks.saturating_mul(block_bytes)
                        ));
                    }
                    listed.push((zone.access_percent, first, end - first));
                }
                Self::zoned(blocks, listed)
            }
        })
    }

    fn zoned(blocks: u64, zones: Vec<(f64, u64, u64)>) -> Self {
        let mut below = 0.0;
        let zones = zones.into_iter().map(|(percent, first, blocks)| {
            below += percent / 100.0;
            Zone { below, first, blocks }
        });
        Self::Zoned { blocks, zones: zones.collect() }
    }

    /// Draws the next block.
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Uniform { blocks } => rng.below(*blocks),
            Self::Zipf { blocks, origin, alpha, eta, zeta, second } => {
                let part = rng.unit();
                let rank = part * zeta;
                let rank = if rank < 1.0 {
                    0
                } else if rank < 1.0 + second {
                    1
                } else {
                    (*blocks as f64 * (eta * part - eta + 1.0).powf(*alpha)) as u64
                };
                scatter(rank, *origin, *blocks)
            }
            Self::Pareto { blocks, origin, power } => {
                let rank = ((blocks - 1) as f64 * rng.unit().powf(*power)) as u64;
                scatter(rank, *origin, *blocks)
            }
            Self::Normal { blocks, origin, deviation } => {
                let sum: u128 = (0..NORMAL_DRAWS).map(|_| u128::from(rng.below(blocks + 1))).sum();
                let mean = sum.div_ceil(NORMAL_DRAWS.into()) as i64;
                let half = (deviation / 2) as i64;
                let mut stray = rng.below(*deviation) as i64 - half;
                while stray != 0 && !(0..*blocks as i64).contains(&(mean + stray)) {
                    stray /= 2;
                }
                scatter((mean + stray) as u64, *origin, *blocks)
            }
            Self::Zoned { blocks, zones } => {
                let part = rng.unit();
                match zones.iter().find(|zone| part < zone.below) {
                    Some(zone) => (zone.first + rng.below(zone.blocks)).min(blocks - 1),
                    None => rng.below(*blocks),
                }
            }
        }
    }
}

/// Scatters neighbouring ranks over blocks far apart, from `origin` on.
const fn scatter(rank: u64, origin: u64, blocks: u64) -> u64 {
    rank.wrapping_mul(GOLDEN_RATIO).wrapping_add(origin) % blocks
}

/// The sum of rank^-theta over the ranks 1..=n: the first 1000 one by one, the others by the
/// Euler-Maclaurin formula with two corrections (relative error below 1e-12).
fn zeta(n: u64, theta: f64) -> f64 {
    let single = n.min(1000);
    let mut sum: f64 = (1..=single).map(|rank| (rank as f64).powf(-theta)).sum();
    if n > single {
        let (a, b) = (single as f64, n as f64);
        let integral = (b.powf(1.0 - theta) - a.powf(1.0 - theta)) / (1.0 - theta);
        let ends = (b.powf(-theta) - a.powf(-theta)) / 2.0;
        let slopes = theta * (a.powf(-theta - 1.0) - b.powf(-theta - 1.0)) / 12.0;
        sum += integral + ends + slopes;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_is_the_sum() {
        for theta in [0.2, 0.9, 1.2, 2.5] {
            let exact: f64 = (1..=200_000).map(|n| f64::from(n).powf(-theta)).sum();
            let made = zeta(200_000, theta);
            assert!((made / exact - 1.0).abs() < 1e-10, "{theta}: {made} {exact}");
        }
    }
}
