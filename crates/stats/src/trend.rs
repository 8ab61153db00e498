//! Trend: does a series still rise or fall?

use crate::ar1;
use crate::mean;

/// Significance level of a trend.
const SIGNIFICANCE: f64 = 0.01;

/// Minimum change over the window as a share of the mean to be called a trend, however certain: no
/// precision used in practice would show less.
const NEGLIGIBLE_CHANGE: f64 = 0.01;

/// Straight line through a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Change from the first to the last sample along the line, in the samples' unit.
    pub change: f64,
    /// Change as a share of the mean; infinite if the mean is 0.
    pub relative_change: f64,
    /// Probability that a steady series with the same correlation shows so large a change.
    pub p_value: f64,
}

impl Trend {
    /// Returns true if chance and correlation do not explain the line (p < 0.01).
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.p_value < SIGNIFICANCE
    }

    /// Returns true if the series is steady: the line is not significant, or changes by less than 1
    /// % of the mean over the whole window.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        !self.is_significant() || self.relative_change.abs() < NEGLIGIBLE_CHANGE
    }
}

/// Returns the trend of equally spaced `samples`, in their unit; `None` for fewer than 5 samples,
/// for values that are not finite, and for a series that lies exactly on a line with no noise to
/// compare it with (also a constant one).
///
/// Generalised least squares with first-order autoregressive errors whose coefficient is integrated
/// out: a slow wander of correlated noise is not taken for a trend.
#[must_use]
pub fn trend(samples: &[f64]) -> Option<Trend> {
    let n = samples.len();
    if n < 5 || samples.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let time: Vec<f64> = (0..n).map(|t| t as f64 / (n - 1) as f64).collect();
    let fit = ar1::fit(samples, Some(&time))?;
    let change = fit.average(|component| component.effect);
    let mean = mean(samples);
    Some(Trend {
        change,
        relative_change: change / mean.abs(),
        p_value: fit.p_value(|component| (component.effect, component.effect_se)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(change: f64) -> Vec<f64> {
        (0..100).map(|t| 100.0 + change * f64::from(t) / 99.0 + crate::scattered(t)).collect()
    }

    #[test]
    fn a_falling_rate_is_a_trend_and_its_change_is_found() {
        let trend = trend(&line(-10.0)).expect("enough samples");
        assert!(trend.is_significant() && !trend.is_steady(), "{trend:?}");
        assert!((-11.0..-9.0).contains(&trend.change), "{trend:?}");
    }

    #[test]
    fn an_even_rate_and_a_negligible_change_are_steady() {
        assert!(!trend(&line(0.0)).expect("enough samples").is_significant());
        let slight = trend(&line(0.9)).expect("enough samples");
        assert!(slight.is_steady(), "{slight:?}");
    }

    #[test]
    fn rising_and_falling_are_alike() {
        let rising = line(5.0);
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        let (up, down) = (trend(&rising).expect("valid"), trend(&falling).expect("valid"));
        assert!((up.change + down.change).abs() < 1e-9);
        assert!((up.p_value - down.p_value).abs() < 1e-9);
    }

    #[test]
    fn invalid_input_has_no_trend() {
        assert_eq!(trend(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(trend(&[1.0, 2.0, f64::INFINITY, 4.0, 5.0]), None);
        assert_eq!(trend(&[3.0; 50]), None);
    }
}
