//! Repetitions of two sides, and whether they differ.

use iodyno_model::{Estimate, LatencyKind, Spread};
use iodyno_stats::two_sample::{student_interval, welch};
use schemars::JsonSchema;
use serde::Serialize;

use super::quantity::Quantity;
use super::sample::Sample;

/// Level of the intervals; what is left of 1 is how often a difference that
/// does not exist may be called real.
pub const LEVEL: f64 = 0.95;

/// Repetitions of each side from which on a difference is tested.
pub const REPETITIONS: usize = 3;

/// One side against the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Its value over the first one's. The interval is one of repetitions
    /// (confidence), of how the figures were printed (rounding), or unknown.
    pub ratio: Estimate,
    /// The difference in percent.
    pub percent: f64,
    /// Of Welch's test on the logarithms of the repetitions.
    pub p_value: Option<f64>,
    /// The same, corrected for the number of comparisons (Holm).
    #[serde(rename = "p_adjusted")]
    pub adjusted: Option<f64>,
    /// Whether it is real.
    #[serde(rename = "real")]
    pub reality: Reality,
}

/// Whether a difference is real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reality {
    /// It is more than repetitions differ by chance, which were made in turns.
    #[serde(rename = "yes")]
    Real,
    /// It is more than repetitions differ by chance, but one side was measured behind the other,
    /// or nobody knows: what changed meanwhile may be all of it.
    NotInTurns,
    /// It is not more than repetitions may differ by chance.
    #[serde(rename = "no")]
    NotShown,
    /// It is not more than the figures were rounded by.
    WithinRounding,
    /// Too few repetitions to know how much they differ by chance.
    SpreadUnknown,
    /// The workloads differ, so that nothing else was to be expected.
    Unlike,
}

/// The values of a side's repetitions.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    values: Vec<Estimate>,
}

impl Group {
    pub(crate) const fn new(values: Vec<Estimate>) -> Self {
        Self { values }
    }

    /// `None` where not all repetitions have a value.
    pub(super) fn of(
        samples: &[&Sample<'_>],
        quantity: Quantity,
        kind: LatencyKind,
    ) -> Option<Self> {
        let values: Option<Vec<Estimate>> =
            samples.iter().map(|sample| sample.value(quantity, kind)).collect();
        values.filter(|values| !values.is_empty()).map(Self::new)
    }

    /// Logarithms, and what rounding may have added to or taken from all of
    /// them alike; `None` for what is not positive.
    fn logs(&self) -> Option<(Vec<f64>, f64)> {
        let mut logs = Vec::with_capacity(self.values.len());
        let mut rounding: f64 = 0.0;
        for estimate in &self.values {
            if estimate.value <= 0.0 {
                return None;
            }
            logs.push(estimate.value.ln());
            if let Spread::Rounding { low, high } = estimate.spread {
                // Printed as 0.0 something, nothing below is known.
                let low = low.max(f64::MIN_POSITIVE);
                rounding =
                    rounding.max((estimate.value / low).ln().max((high / estimate.value).ln()));
            }
        }
        Some((logs, rounding))
    }

    /// One value as it was measured; of several the geometric mean, whose
    /// interval is known from [`REPETITIONS`] on.
    pub(crate) fn estimate(&self) -> Estimate {
        if let [only] = self.values.as_slice() {
            return *only;
        }
        let Some((logs, rounding)) = self.logs() else {
            let sum: f64 = self.values.iter().map(|estimate| estimate.value).sum();
            return Estimate::bare(sum / self.values.len() as f64);
        };
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        match student_interval(&logs, LEVEL).filter(|_| logs.len() >= REPETITIONS) {
            Some((low, high)) => {
                let (low, high) = ((low - rounding).exp(), (high + rounding).exp());
                Estimate::confident(mean.exp(), low, high, LEVEL)
            }
            None => Estimate::bare(mean.exp()),
        }
    }

    /// Against the first side; `None` where a value is 0, which has no ratio.
    pub(crate) fn against(&self, first: &Self) -> Option<Difference> {
        let ((own, own_rounding), (theirs, their_rounding)) = (self.logs()?, first.logs()?);
        let rounding = own_rounding + their_rounding;
        let enough = own.len() >= REPETITIONS && theirs.len() >= REPETITIONS;
        if let Some(test) = welch(&own, &theirs, LEVEL).filter(|_| enough) {
            let (low, high) = ((test.low - rounding).exp(), (test.high + rounding).exp());
            let ratio = Estimate::confident(test.difference.exp(), low, high, LEVEL);
            let reality = match test.difference.abs() <= rounding && rounding > 0.0 {
                true => Reality::WithinRounding,
                false => Reality::NotShown,
            };
            return Difference::new(ratio, Some(test.p_value(rounding)), reality);
        }
        let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
        let difference = mean(&own) - mean(&theirs);
        let spread = match rounding > 0.0 {
            true => Spread::Rounding {
                low: (difference - rounding).exp(),
                high: (difference + rounding).exp(),
            },
            false => Spread::Unknown,
        };
        let reality = match difference.abs() <= rounding && rounding > 0.0 {
            true => Reality::WithinRounding,
            false => Reality::SpreadUnknown,
        };
        Difference::new(Estimate { value: difference.exp(), spread }, None, reality)
    }
}

impl Difference {
    /// `None`: the ratio is beyond all numbers.
    fn new(ratio: Estimate, p_value: Option<f64>, reality: Reality) -> Option<Self> {
        let percent = (ratio.finite()?.value - 1.0) * 100.0;
        Some(Self { ratio, percent, p_value, adjusted: None, reality })
    }

    /// Takes the corrected p-value, which decides; `in_turns`: repetitions of both sides lie among
    /// each other in time. Runs that follow each other are more alike than those an hour apart, so a
    /// test that supposes them independent calls drift a difference.
    pub(super) fn adjust(&mut self, adjusted: f64, in_turns: bool) {
        self.adjusted = Some(adjusted);
        if adjusted < 1.0 - LEVEL && self.reality == Reality::NotShown {
            self.reality = if in_turns { Reality::Real } else { Reality::NotInTurns };
        }
    }
}
