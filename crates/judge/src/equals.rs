//! Figures of drives that should be alike, on many hosts.

use iodyno_model::{Estimate, Metric, Verdict};
use iodyno_stats::low_outliers;

use crate::yardsticks::{PEERS, against, median_of};

/// Of drives that are named as slower than their equals, at most this share is wrong.
pub const FALSE_DISCOVERIES: f64 = 0.01;
/// What is less slow than this is no finding, however sure it is.
const LEAST: f64 = 0.05;

/// A drive's figure beside those of its equals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unlike {
    /// Median of all, in the metric's unit.
    pub median: f64,
    /// The figure over the median.
    pub ratio: f64,
    /// WARN: more than 10 % worse than the median with disjoint intervals;
    /// FAIL: more than 25 %, latencies never.
    pub verdict: Verdict,
    /// The chance that one of its kind is as slow or slower; `None`: the drives are too few to tell.
    pub chance: Option<f64>,
}

impl Unlike {
    /// The verdict where all figures of a fleet were looked at together, and this one is surely slow or is not;
    /// `None`: they are too few to tell.
    pub fn verdict_where(self, metric: Metric, is_sure: Option<bool>) -> Verdict {
        match is_sure {
            None => self.verdict,
            Some(true) if slower(metric, self.ratio) > LEAST => self.verdict.max(Verdict::Warn),
            Some(_) => Verdict::Pass,
        }
    }
}

/// Each of the figures `all` of equal drives beside them by the rule of `unlike-peers`, and how
/// likely it is; none where they are too few (see [`PEERS`]).
pub fn unlike_equals(metric: Metric, all: &[Estimate]) -> Vec<Option<Unlike>> {
    let reference = (all.len() >= PEERS).then(|| median_of(all)).flatten();
    let Some((median, bounds)) = reference else { return vec![None; all.len()] };
    // Of latencies the high ones are slow.
    let speed = |of: &Estimate| match metric {
        Metric::LatencyMean => 1.0 / of.value,
        _ => of.value,
    };
    let chances = low_outliers(&all.iter().map(speed).collect::<Vec<_>>());
    let one = |(at, of): (usize, &Estimate)| {
        let held = against(metric, *of, median, bounds)?;
        let chance = chances.as_ref().map(|chances| chances[at]);
        Some(Unlike { median, ratio: held.ratio, verdict: held.verdict, chance })
    };
    all.iter().enumerate().map(one).collect()
}

/// How much slower it is, as a share of the median's rate.
fn slower(metric: Metric, ratio: f64) -> f64 {
    match metric {
        Metric::LatencyMean => 1.0 - 1.0 / ratio,
        _ => 1.0 - ratio,
    }
}
