//! Mean of a correlated series, with an interval from batch means.
//!
//! The procedure:
//!
//! 1. [`crate::warmup`] cuts off the warm-up.
//! 2. The rest is divided into at most 100 batches of equal length: of 5 integrated
//!    autocorrelation times if 20 such batches fit. The batch length is doubled while the batch
//!    means are not a first-order autoregression (partial autocorrelation at lag 2: Quenouille,
//!    J. Royal Statistical Society B 9, 1947) and at least 20 batches remain. Means of longer
//!    batches are closer to one whatever the noise is, and closer to independent.
//! 3. The interval of the mean follows from the batch means with their remaining correlation
//!    integrated out (module `ar1`): with long batches it is the classical interval of batch means
//!    with Student's t; if the series is too short for that, it is wider by the uncertainty of the
//!    correlation.
//! 4. If a trend is significant, the noise is the residual about the line.
//!
//! A cliff is not a line: to an autoregression, a series that falls from one level to another looks
//! like one that wanders far and slowly. So it is detected separately (module `shift`). It makes
//! the series unsteady and leaves the interval as it is, which is then wide.
//!
//! The classical interval needs 20 batches of 5 integrated autocorrelation times. At 10 samples a
//! second, 10 s are enough for that with white noise only (tau = 0.5 samples, 50 samples); AR(0.8)
//! needs 45 s and AR(0.95) 195 s. Shorter series get a wide interval that still covers.
//!
//! A series that fluctuates as slowly as it is long, such as 1/f noise, has no long-run mean within
//! reach, and its interval is of the window only: it is marked (module `slow`) and never ends a
//! measurement early.
//!
//! Known coverage of 95 % intervals, through warm-up and stopper with the defaults of `check`
//! (tests/coverage.rs, 2000 seeds each): 93.5 to 96.5 % for white, AR(0.8), AR(0.95), two-level and
//! trending rates; docs/explanation/measuring.md has the table for these and slower kinds. There
//! are three exceptions:
//!
//! - Over-coverage, 98 to 99 %, if a batch is about as long as the correlation of the noise and the
//!   series too short for longer ones (AR(0.95) for 60 s): the means of such batches are less
//!   correlated at larger distance than a first-order autoregression would be.
//! - Under-coverage, 88 to 90 %, of 100 samples of a two-level rate under white noise half as large
//!   as the levels' distance from the mean: white noise hides how long the levels last.
//! - A rate that stays in one of two levels during the whole first look, except for a start that
//!   passes for warm-up, is taken for a steady one; nothing in the samples shows otherwise. Levels
//!   that last 1 s on average do so in 1 % of the measurements; levels of 2 s in 11 %, and the
//!   coverage falls to 83 %.
//!
//! Coverage is over all measurements of a kind. Measurements that stop early because the interval
//! is narrow have a lower coverage if this happens by luck (about 90 % for white noise of 5 %,
//! which reaches 1 % at 10 s in a third of the runs): the price of stopping by precision.

use crate::autocorrelation::{autocorrelation, integrated_time};
use crate::mean;
use crate::shift::shift;
use crate::trend::{Trend, trend};
use crate::{ar1, slow, warmup};

/// Minimum samples for an interval: from three or four, the correlation of the noise cannot be
/// estimated at all.
pub const LEAST_SAMPLES: usize = 5;

/// Minimum batches of the classical interval.
pub const LEAST_BATCHES: usize = 20;

/// Minimum length of a batch of the classical interval, in integrated autocorrelation times.
pub const BATCH_TIMES: f64 = 5.0;

/// Maximum number of batches.
const MOST_BATCHES: usize = 100;

/// Normal quantile of the one-sided test for an order above the first, at 5 %.
const ORDER_QUANTILE: f64 = 1.64;

/// Mean of a series with its interval and properties, in the samples' unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanInterval {
    /// Plain mean of the samples after the warm-up.
    pub mean: f64,
    /// Lower end of the interval; may be negative even if samples cannot be.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Level of the interval, for example 0.95.
    pub level: f64,
    /// Integrated autocorrelation time in samples, at least 0.5 (independent).
    pub tau: f64,
    /// Number of samples that were cut off as warm-up.
    pub warmup_len: usize,
    /// No relevant trend, [`Trend::is_steady`], and no [`shift`].
    pub steady: bool,
    /// It fluctuates, or may fluctuate, as slowly as the window is long: the interval is then of
    /// the window only, and the mean of a longer one may lie outside of it (module `slow`).
    pub slow: bool,
}

impl MeanInterval {
    /// Returns the half-width of the interval, in the samples' unit.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Returns the half-width of the interval as a share of the mean; not finite if the mean is 0.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        self.half_width() / self.mean.abs()
    }
}

/// Computes the mean of equally spaced `samples` with its interval at `level`.
///
/// For a steady series the interval is for the mean of the series continued for ever. A series with
/// a trend (`steady` is false) has no such mean; the interval is for the mean of the trend over the
/// window after the warm-up, without the noise. A series without any variation gets an interval of
/// width 0.
///
/// `None` for fewer than [`LEAST_SAMPLES`], for samples that are not finite, and for a level
/// outside of 0 to 1 (exclusive).
#[must_use]
pub fn mean_interval(samples: &[f64], level: f64) -> Option<MeanInterval> {
    let finite = samples.iter().all(|sample| sample.is_finite());
    if samples.len() < LEAST_SAMPLES || !finite || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let warmup_len = warmup::warmup_len(samples);
    window_interval(&samples[warmup_len..], level)
        .map(|interval| MeanInterval { warmup_len, ..interval })
}

/// As [`mean_interval`], for samples whose warm-up is already cut off: no more is cut, and
/// `warmup_len` is 0.
#[must_use]
pub fn window_interval(window: &[f64], level: f64) -> Option<MeanInterval> {
    let finite = window.iter().all(|sample| sample.is_finite());
    if window.len() < LEAST_SAMPLES || !finite || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let mean = mean(window);
    let tau = integrated_time(window);
    let means = batch(window, tau);
    let trend = trend(&means);
    let half_width = fit(&means, trend).map_or(0.0, |fit| {
        fit.half_width(level, |component| {
            component.sigma * ar1::variance_of_mean(component.phi, means.len()).sqrt()
        })
    });
    let steady = trend.is_none_or(|trend| trend.is_steady()) && shift(&means).is_none();
    Some(MeanInterval {
        mean,
        low: mean - half_width,
        high: mean + half_width,
        level,
        tau,
        warmup_len: 0,
        steady,
        slow: slow::is_slow(window, tau),
    })
}

/// Variance of the mean of `window` by the same procedure, and the number of batches that it is
/// estimated from; averaged over the possible autoregressions, which costs far less than an
/// interval.
pub(crate) fn variance_of_mean(window: &[f64]) -> Option<(f64, usize)> {
    let finite = window.iter().all(|sample| sample.is_finite());
    if window.len() < LEAST_SAMPLES || !finite {
        return None;
    }
    let means = batch(window, integrated_time(window));
    let variance = fit(&means, trend(&means)).map_or(0.0, |fit| {
        fit.average(|component| {
            component.sigma.powi(2) * ar1::variance_of_mean(component.phi, means.len())
        })
    });
    Some((variance, means.len()))
}

/// Autoregression of the batch means, about their line if the trend is significant.
fn fit(means: &[f64], trend: Option<Trend>) -> Option<ar1::Fit> {
    let line: Option<Vec<f64>> = trend
        .is_some_and(|trend| trend.is_significant())
        .then(|| (0..means.len()).map(|index| index as f64).collect());
    ar1::fit(means, line.as_deref())
}

/// Returns true if `n` samples make 20 batches of 5 autocorrelation times `tau` (in samples).
fn is_long_enough(n: usize, tau: f64) -> bool {
    n as f64 >= LEAST_BATCHES as f64 * BATCH_TIMES * tau
}

/// Means of the batches; samples that do not fill a batch are dropped at the start.
fn batch(window: &[f64], tau: f64) -> Vec<f64> {
    let n = window.len();
    let mut batch_len = n.div_ceil(MOST_BATCHES);
    if is_long_enough(n, tau) {
        // For batches of 2.5 samples, up to half a sample may be missing to 5 tau.
        let classical = (BATCH_TIMES * tau).ceil() as usize;
        batch_len = batch_len.max(classical.min(n / LEAST_BATCHES));
    }
    loop {
        let means: Vec<f64> = window.rchunks_exact(batch_len).rev().map(mean).collect();
        if means.len() < 2 * LEAST_BATCHES || is_first_order(&means) {
            return means;
        }
        batch_len *= 2;
    }
}

/// Returns true if the means have no significant positive partial autocorrelation at lag 2
/// (standard error `m^(-1/2)`). A straight line is removed first, since it would look like one.
fn is_first_order(means: &[f64]) -> bool {
    let residuals = without_line(means);
    let (first, second) = (autocorrelation(&residuals, 1), autocorrelation(&residuals, 2));
    let partial = (second - first * first) / (1.0 - first * first);
    partial * (means.len() as f64).sqrt() <= ORDER_QUANTILE
}

/// Residuals of the least squares line.
fn without_line(values: &[f64]) -> Vec<f64> {
    let middle = (values.len() - 1) as f64 / 2.0;
    let mean = mean(values);
    let times = || (0..values.len()).map(|index| index as f64 - middle);
    let covariance: f64 = values.iter().zip(times()).map(|(value, time)| value * time).sum();
    let slope = covariance / times().map(|time| time * time).sum::<f64>();
    values.iter().zip(times()).map(|(value, time)| value - mean - slope * time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_input_has_no_interval() {
        assert_eq!(mean_interval(&[], 0.95), None);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[2900.0, 3100.0, 2700.0], 0.95), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN, 2.0, 1.0, 2.0, 1.0], 0.95), None);
        assert_eq!(mean_interval(&[1.0, 2.0, 1.0, 2.0, 1.0], 1.0), None);
    }

    #[test]
    fn a_constant_series_has_an_interval_of_width_zero() {
        let interval = mean_interval(&[0.1; 60], 0.95).expect("enough samples");
        assert!(interval.half_width() < 1e-9 && interval.steady, "{interval:?}");
    }

    proptest! {
        #[test]
        fn any_series_has_an_ordered_interval_that_scales(
            samples in prop::collection::vec(1.0_f64..1e6, 5..150), factor in 0.001_f64..1e4,
        ) {
            let narrow = mean_interval(&samples, 0.9).expect("valid");
            let wide = mean_interval(&samples, 0.99).expect("valid");
            prop_assert!(narrow.low <= narrow.mean && narrow.mean <= narrow.high);
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
            prop_assert!(narrow.warmup_len * 4 <= samples.len());
            prop_assert!(narrow.tau >= 0.5);
            let scaled: Vec<f64> = samples.iter().map(|x| x * factor).collect();
            let scaled = mean_interval(&scaled, 0.9).expect("valid");
            prop_assert!((scaled.half_width() / factor - narrow.half_width()).abs() <= 1e-6 * narrow.half_width());
            prop_assert_eq!(scaled.slow, narrow.slow);
        }
    }
}
