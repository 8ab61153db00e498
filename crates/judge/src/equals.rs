//! Compares drives that should perform alike, across many hosts.

use iodyno_model::{Estimate, Metric, Verdict};
use iodyno_stats::low_outliers;

use crate::yardsticks::{LEAST_PEERS, against, median_of};

/// False discovery rate for drives reported as slower than their equals.
pub const FALSE_DISCOVERY_RATE: f64 = 0.01;
/// Smallest slowdown that is reported, however significant.
const LEAST: f64 = 0.05;

/// From this number of drives on, insignificance says that a drive is like its equals: the robust
/// spread of fewer is hardly known, so that their test finds little once it is corrected for a
/// fleet.
const ENOUGH: usize = 24;
/// Among fewer, robust standard deviations from the median from which a drive is not like its equals.
const FAR: f64 = 4.0;

/// A drive's figure compared with those of its equals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unlike {
    /// Median of all, in the metric's unit.
    pub median: f64,
    /// Figure divided by the median.
    pub ratio: f64,
    /// WARN: more than 10 % worse than the median with disjoint intervals; FAIL: more than 25 %,
    /// latencies never; UNJUDGED: the intervals are unknown or too wide to tell.
    pub verdict: Verdict,
    /// Probability that a drive of its kind is as slow or slower; `None`: too few drives to tell.
    pub chance: Option<f64>,
    /// Among too few drives to acquit it, it is far from the others.
    stands_out: bool,
}

impl Unlike {
    /// Returns the verdict after testing all figures of a fleet together: `is_sure` says if this
    /// one is significantly slow; `None`: too few figures to tell.
    pub fn fleet_verdict(self, metric: Metric, is_sure: Option<bool>) -> Verdict {
        match is_sure {
            None => self.verdict,
            Some(true) if slower(metric, self.ratio) > LEAST => self.verdict.max(Verdict::Warn),
            Some(_) if self.stands_out => self.verdict,
            Some(_) => Verdict::Pass,
        }
    }
}

/// Compares each of the figures of equal drives with the others by the rule `unlike-peers`, and
/// gives its probability; none if there are too few (see [`LEAST_PEERS`]).
pub fn compare_with_peers(metric: Metric, all: &[Estimate]) -> Vec<Option<Unlike>> {
    let reference = (all.len() >= LEAST_PEERS).then(|| median_of(all)).flatten();
    let Some((median, bounds)) = reference else { return vec![None; all.len()] };
    // For latencies, high values are slow.
    let speed = |of: &Estimate| match metric {
        Metric::LatencyMean => 1.0 / of.value,
        _ => of.value,
    };
    let chances = low_outliers(&all.iter().map(speed).collect::<Vec<_>>());
    let one = |(at, of): (usize, &Estimate)| {
        let judgement = against(metric, *of, median, bounds)?;
        let (distance, chance) = chances.as_ref().map(|chances| chances[at]).unzip();
        let stands_out = all.len() < ENOUGH && distance.is_some_and(|distance| distance <= -FAR);
        Some(Unlike {
            median,
            ratio: judgement.ratio,
            verdict: judgement.verdict,
            chance,
            stands_out,
        })
    };
    all.iter().enumerate().map(one).collect()
}

/// Slowdown as a share of the median's rate.
fn slower(metric: Metric, ratio: f64) -> f64 {
    match metric {
        Metric::LatencyMean => 1.0 - 1.0 / ratio,
        _ => 1.0 - ratio,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of `drives` with a spread of `deviation`, the last one slower by `factor`.
    fn class(
        random: &mut fastrand::Rng,
        drives: usize,
        deviation: f64,
        factor: f64,
    ) -> Vec<Estimate> {
        let rate = |drive: usize| {
            let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * random.f64()).cos();
            let own = if drive + 1 == drives { factor } else { 1.0 };
            let rate = 1e6 * own * (deviation * normal).exp();
            Estimate::confident(rate, rate * 0.998, rate * 1.002, 0.95)
        };
        (0..drives).map(rate).collect()
    }

    /// Share of classes with a named drive, in a fleet so large that nothing of theirs is
    /// significant.
    fn named(drives: usize, deviation: f64, factor: f64) -> f64 {
        let mut random = fastrand::Rng::with_seed(drives as u64);
        let mut is_any = || {
            let all = class(&mut random, drives, deviation, factor);
            let found = compare_with_peers(Metric::Iops, &all).into_iter().flatten();
            let verdict = |one: Unlike| one.fleet_verdict(Metric::Iops, Some(false));
            found.map(verdict).any(|verdict| verdict >= Verdict::Warn)
        };
        (0..1000).filter(|_| is_any()).count() as f64 / 1000.0
    }

    /// Stated in docs/howto/fleet.md.
    #[test]
    fn a_slow_drive_among_few_is_named_and_hardly_another() {
        for drives in [8, 12, 16, 23] {
            for (deviation, most, least) in
                [(0.015, 0.0, 0.99), (0.03, 0.01, 0.8), (0.05, 0.06, 0.4)]
            {
                let [none, slow] = [1.0, 0.8].map(|factor| named(drives, deviation, factor));
                assert!(none <= most, "{drives} drives, {deviation}: {none}");
                assert!(slow >= least, "{drives} drives, {deviation}: {slow}");
            }
        }
    }

    #[test]
    fn an_eighth_drive_hides_none() {
        for drives in [7, 8, 23] {
            let mut random = fastrand::Rng::with_seed(1);
            for (factor, verdict) in [(0.85, Verdict::Warn), (0.5, Verdict::Fail)] {
                let all = class(&mut random, drives, 0.01, factor);
                let found = compare_with_peers(Metric::Iops, &all).pop().flatten().unwrap();
                let is_sure = (drives > 7).then_some(false);
                assert_eq!(found.fleet_verdict(Metric::Iops, is_sure), verdict, "{drives}");
            }
        }
    }
}
