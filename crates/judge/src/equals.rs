//! Compares drives that should perform alike, across many hosts.

use iodyno_model::{Estimate, Metric, Verdict};
use iodyno_stats::low_outliers;

use crate::yardsticks::{LEAST_PEERS, against, median_of};

/// False discovery rate for drives reported as slower than their equals.
pub const FALSE_DISCOVERY_RATE: f64 = 0.01;
/// Smallest slowdown that is reported, however significant.
const LEAST: f64 = 0.05;

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
}

impl Unlike {
    /// Returns the verdict after testing all figures of a fleet together: `is_sure` says if this
    /// one is significantly slow; `None`: too few figures to tell.
    pub fn fleet_verdict(self, metric: Metric, is_sure: Option<bool>) -> Verdict {
        match is_sure {
            None => self.verdict,
            Some(true) if slower(metric, self.ratio) > LEAST => self.verdict.max(Verdict::Warn),
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
        let chance = chances.as_ref().map(|chances| chances[at]);
        Some(Unlike { median, ratio: judgement.ratio, verdict: judgement.verdict, chance })
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
