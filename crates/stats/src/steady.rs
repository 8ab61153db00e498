//! fio's `steadystate` (man fio; steadystate.c of 3.33).

use crate::{mean, slope};

/// Criterion for the last samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// Statistic.
    pub by: SteadyBy,
    /// Upper limit (exclusive), in the samples' unit (for a slope: per sample), or in percent of
    /// their mean.
    pub limit: f64,
    /// The limit is in percent.
    pub percent: bool,
    /// Number of last samples to check; 2 or more.
    pub samples: usize,
}

/// Statistic of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyBy {
    /// Maximum distance from their mean.
    Deviation,
    /// Absolute slope of the least squares line.
    Slope,
}

impl Steady {
    /// Returns true if the last of `samples`, equally spaced, are steady. False if there are too
    /// few, or some are not finite.
    #[must_use]
    pub fn is_attained(&self, samples: &[f64]) -> bool {
        let Some(first) = samples.len().checked_sub(self.samples.max(2)) else { return false };
        let samples = &samples[first..];
        let mean = mean(samples);
        let found = match self.by {
            SteadyBy::Deviation => samples.iter().map(|x| (x - mean).abs()).fold(0.0, f64::max),
            SteadyBy::Slope => slope(samples, mean).abs(),
        };
        // Also false for NaN.
        mean.is_finite() && (if self.percent { 100.0 * found / mean } else { found }) < self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(by: SteadyBy, limit: f64, percent: bool) -> Steady {
        Steady { by, limit, percent, samples: 4 }
    }

    #[test]
    fn the_greatest_deviation_is_what_counts() {
        let samples = [5000.0, 100.0, 102.0, 98.0, 100.0];
        assert!(steady(SteadyBy::Deviation, 2.1, false).is_attained(&samples));
        assert!(!steady(SteadyBy::Deviation, 2.0, false).is_attained(&samples));
        assert!(steady(SteadyBy::Deviation, 2.1, true).is_attained(&samples));
        assert!(!steady(SteadyBy::Deviation, 1.9, true).is_attained(&samples));
        assert!(!steady(SteadyBy::Deviation, 9e9, false).is_attained(&samples[2..]), "too few");
    }

    #[test]
    fn a_slope_is_by_the_sample_and_has_no_sign() {
        for samples in [[10.0, 20.0, 30.0, 40.0], [40.0, 30.0, 20.0, 10.0]] {
            assert!(steady(SteadyBy::Slope, 10.1, false).is_attained(&samples));
            assert!(!steady(SteadyBy::Slope, 9.9, false).is_attained(&samples));
            // 10 of a mean of 25.
            assert!(steady(SteadyBy::Slope, 40.1, true).is_attained(&samples));
            assert!(!steady(SteadyBy::Slope, 39.9, true).is_attained(&samples));
        }
    }

    #[test]
    fn strange_samples_are_never_steady() {
        for by in [SteadyBy::Deviation, SteadyBy::Slope] {
            for strange in [[f64::NAN; 4], [f64::INFINITY; 4], [0.0; 4]] {
                assert!(!steady(by, 10.0, true).is_attained(&strange));
            }
            assert!(!steady(by, 10.0, false).is_attained(&[]));
        }
    }
}
