//! Slow noise: fluctuations that last as long as the window in which they are seen.
//!
//! The variance of the means of batches falls as 1/m with their length m once they are longer than
//! the correlation of the noise. If it does not, as with 1/f noise, the mean of the window wanders
//! with it, and no interval computed from the window shows how far.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::ar1;
use crate::autocorrelation::autocorrelation;
use crate::mean;

/// Minimum length of a window, in integrated autocorrelation times, to show where the correlation
/// ends.
const LEAST_TIMES: f64 = 40.0;

/// Numbers of batches into which the window is divided in turn.
const SCALES: [usize; 3] = [4, 8, 16];

/// Significance level of the batches' variance at one scale.
const SIGNIFICANCE: f64 = 0.02;

/// Maximum coefficient of the autoregression, short of a random walk.
const MOST_PHI: f64 = 0.98;

/// Returns true if `window`, with an integrated autocorrelation time of `tau` samples, fluctuates
/// more slowly than it can show: it is shorter than 40 times that, or the means of a fourth, an
/// eighth or a sixteenth of it vary by more than those of a first-order autoregression with the
/// same correlation of neighbours (p < 0.02 each, F test).
///
/// For 100 samples of white, AR(0.5) or AR(0.8) noise the test is significant in at most 1 %, for
/// 600 in 2 %; for 600 samples of 1/f noise in 80 %. With 100 it detects a quarter at best, and
/// never what did not happen in the window.
pub(crate) fn is_slow(window: &[f64], tau: f64) -> bool {
    let n = window.len();
    let (_, variance) = variance_of_batches(window, 1);
    let mean = mean(window);
    // Rounding error of this size remains without any variation.
    if variance.is_nan() || variance <= (mean * 1e-12).powi(2) {
        return false;
    }
    if (n as f64) < LEAST_TIMES * tau {
        return true;
    }
    let neighbours = autocorrelation(window, 1);
    // Bias correction of Marriott and Pope, Biometrika 41, 1954.
    let phi = (neighbours + (1.0 + 3.0 * neighbours) / n as f64).clamp(0.0, MOST_PHI);
    let independent = n as f64 * (1.0 - phi * phi) / (1.0 + phi * phi);
    SCALES.into_iter().filter(|batches| n >= 4 * batches).any(|batches| {
        let batch_len = n / batches;
        let (count, found) = variance_of_batches(window, batch_len);
        let of_mean = |len| ar1::variance_of_mean(phi, len) * (1.0 - phi * phi) * variance;
        let k = count as f64;
        let expected = k / (k - 1.0) * (of_mean(batch_len) - of_mean(batch_len * count));
        FisherSnedecor::new(k - 1.0, independent.max(1.0))
            .is_ok_and(|f| f.sf(found / expected) < SIGNIFICANCE)
    })
}

/// Number of batches of this length, and the variance of their means.
fn variance_of_batches(window: &[f64], batch_len: usize) -> (usize, f64) {
    let means = window.rchunks_exact(batch_len).map(mean).collect::<Vec<f64>>();
    let k = means.len() as f64;
    let mean = mean(&means);
    (means.len(), means.iter().map(|of| (of - mean) * (of - mean)).sum::<f64>() / (k - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autocorrelation::integrated_time;
    use crate::scattered;

    fn looks(window: &[f64]) -> bool {
        is_slow(window, integrated_time(window))
    }

    #[test]
    fn even_noise_is_not_slow_and_a_constant_is_not() {
        let even: Vec<f64> = (0..100).map(|t| 100.0 + scattered(t)).collect();
        assert!(!looks(&even));
        assert!(!looks(&[0.1; 60]));
    }

    #[test]
    fn a_slow_wave_below_even_noise_is_slow() {
        let wave = |t: u32| 0.3 * (f64::from(t) / 30.0).sin();
        let slow: Vec<f64> = (0..200).map(|t| 100.0 + scattered(t) + wave(t)).collect();
        assert!(looks(&slow));
    }

    #[test]
    fn series_shorter_than_their_correlation_are_slow() {
        let steps: Vec<f64> = (0..60).map(|t| 100.0 + scattered(t / 10)).collect();
        assert!(looks(&steps));
    }
}
