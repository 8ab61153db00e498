//! Tests two sides' repetitions for a difference.

use iodyno_model::{Estimate, LatencyKind, Spread};
use iodyno_stats::two_sample::{student_interval, welch};
use schemars::JsonSchema;
use serde::Serialize;

use super::quantity::Quantity;
use super::sample::Sample;

/// Confidence level of the intervals; 1 minus it is the rate of false positives.
pub const LEVEL: f64 = 0.95;

/// Minimum repetitions of each side for a test.
pub const REPETITIONS: usize = 3;

/// One side compared with the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Value divided by the first side's. The interval comes from the repetitions (confidence),
    /// from the rounding of printed figures (rounding), or is unknown.
    pub ratio: Estimate,
    /// Difference in percent.
    pub percent: f64,
    /// p-value of Welch's test on the logarithms of the repetitions.
    pub p_value: Option<f64>,
    /// p-value corrected for the number of comparisons (Holm).
    #[serde(rename = "p_adjusted")]
    pub adjusted: Option<f64>,
    /// Significance of the difference.
    #[serde(rename = "real")]
    pub reality: Reality,
}

/// Significance of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reality {
    /// Significant, with interleaved repetitions.
    #[serde(rename = "yes")]
    Real,
    /// Significant, but one side was measured after the other, or the order is not known: drift may
    /// explain all of it.
    NotInTurns,
    /// Not significant: repetitions may differ as much by chance.
    #[serde(rename = "no")]
    NotShown,
    /// No more than the rounding of the figures.
    WithinRounding,
    /// Too few repetitions to know the variation between them.
    SpreadUnknown,
    /// The workloads differ, so a difference was to be expected.
    Unlike,
}

/// Values of a side's repetitions.
#[derive(Debug, Clone)]
pub(crate) struct Repetitions {
    values: Vec<Estimate>,
}

impl Repetitions {
    pub(crate) const fn new(values: Vec<Estimate>) -> Self {
        Self { values }
    }

    /// Returns `None` if a repetition has no value.
    pub(super) fn of(
        samples: &[&Sample<'_>],
        quantity: Quantity,
        kind: LatencyKind,
    ) -> Option<Self> {
        let values: Option<Vec<Estimate>> =
            samples.iter().map(|sample| sample.value(quantity, kind)).collect();
        values.filter(|values| !values.is_empty()).map(Self::new)
    }

    /// Logarithms, and the largest rounding error of one of them; `None` if a value is not
    /// positive.
    fn logs(&self) -> Option<(Vec<f64>, f64)> {
        let mut logs = Vec::with_capacity(self.values.len());
        let mut rounding: f64 = 0.0;
        for estimate in &self.values {
            if estimate.value <= 0.0 {
                return None;
            }
            logs.push(estimate.value.ln());
            if let Spread::Rounding { low, high } = estimate.spread {
                // A value printed as 0.0... has no known lower bound.
                let low = low.max(f64::MIN_POSITIVE);
                rounding =
                    rounding.max((estimate.value / low).ln().max((high / estimate.value).ln()));
            }
        }
        Some((logs, rounding))
    }

    /// Returns a single value as measured; of several, the geometric mean, with an interval from
    /// [`REPETITIONS`] on.
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

    /// Compares rates that are all 0 with the first side's; `None` if one of either is not.
    pub(super) fn stopped(&self, first: &Self) -> Option<Difference> {
        first.logs().filter(|_| self.values.iter().all(|estimate| estimate.value == 0.0))?;
        let (p_value, reality) = match self.are_enough(first) {
            // Welch's test gives this for rates that approach 0.
            true => (Some(0.0), Reality::NotShown),
            false => (None, Reality::SpreadUnknown),
        };
        Difference::new(Estimate::bare(0.0), p_value, reality)
    }

    fn are_enough(&self, first: &Self) -> bool {
        self.values.len().min(first.values.len()) >= REPETITIONS
    }

    /// Compares with the first side; `None` if a value is 0, which has no ratio.
    pub(crate) fn against(&self, first: &Self) -> Option<Difference> {
        let ((own, own_rounding), (theirs, their_rounding)) = (self.logs()?, first.logs()?);
        let rounding = own_rounding + their_rounding;
        let enough = self.are_enough(first);
        if let Some(test) = welch(&own, &theirs, LEVEL).filter(|_| enough) {
            let (low, high) = ((test.low - rounding).exp(), (test.high + rounding).exp());
            let ratio = Estimate::confident(test.difference.exp(), low, high, LEVEL);
            let reality = match is_within(test.difference, rounding) {
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
        let reality = match is_within(difference, rounding) {
            true => Reality::WithinRounding,
            false => Reality::SpreadUnknown,
        };
        Difference::new(Estimate { value: difference.exp(), spread }, None, reality)
    }
}

impl Difference {
    /// Returns `None` if the ratio is not finite.
    fn new(ratio: Estimate, p_value: Option<f64>, reality: Reality) -> Option<Self> {
        let percent = (ratio.finite()?.value - 1.0) * 100.0;
        Some(Self { ratio, percent, p_value, adjusted: None, reality })
    }

    /// Sets the corrected p-value, which decides; `in_turns`: the repetitions of both sides are
    /// interleaved in time. Consecutive runs are more alike than runs an hour apart, so a test that
    /// assumes independence reports drift as a difference.
    pub(super) fn adjust(&mut self, adjusted: f64, in_turns: bool) {
        self.adjusted = Some(adjusted);
        if adjusted < 1.0 - LEVEL && self.reality == Reality::NotShown {
            self.reality = if in_turns { Reality::Real } else { Reality::NotInTurns };
        }
    }
}

/// Returns true if a difference of logarithms is no more than the rounding of both figures, a tie
/// included: the logarithms are rounded, too.
fn is_within(difference: f64, rounding: f64) -> bool {
    rounding > 0.0 && difference.abs() <= rounding * (1.0 + 1e-9)
}
