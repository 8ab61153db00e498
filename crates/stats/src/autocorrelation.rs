//! Autocorrelation of a series, and its integrated time.

use crate::mean;

/// Width of the summation window in integrated times: Sokal's `c`, 5 for exponential decay.
const WINDOW: f64 = 5.0;

/// The integrated autocorrelation time of independent samples, in samples.
pub const INDEPENDENT: f64 = 0.5;

/// Returns the autocorrelation of `samples` at `lag`, dimensionless, -1 to 1.
///
/// The biased estimate (sum over n - lag products divided by the full sum of squares), which keeps
/// the sequence positive definite. 0 if the lag is not smaller than the length, or if the samples
/// do not vary.
#[must_use]
pub fn autocorrelation(samples: &[f64], lag: usize) -> f64 {
    deviations(samples).map_or(0.0, |deviations| at_lag(&deviations, lag))
}

/// Samples minus their mean, scaled to a sum of squares of 1; `None` if they do not vary.
fn deviations(samples: &[f64]) -> Option<Vec<f64>> {
    let n = samples.len() as f64;
    let mean = mean(samples);
    let norm = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>().sqrt();
    // Rounding error of this size remains without any variation.
    let scale = samples.iter().fold(0.0_f64, |top, x| top.max(x.abs()));
    let varies = norm > n.sqrt() * scale * 1e-12;
    varies.then(|| samples.iter().map(|x| (x - mean) / norm).collect())
}

fn at_lag(deviations: &[f64], lag: usize) -> f64 {
    let later = deviations.get(lag..).unwrap_or_default();
    deviations.iter().zip(later).map(|(a, b)| a * b).sum()
}

/// Returns the integrated autocorrelation time in samples, `1/2 + sum of rho(k)` for k = 1, 2, ...:
/// the mean of n samples varies as that of `n / (2 tau)` independent ones. Never below
/// [`INDEPENDENT`]: negative correlation is not used to claim more than independent samples do.
///
/// The sum ends at the first lag `M >= 5 tau(M)` (automatic windowing: Sokal, "Monte Carlo methods
/// in statistical mechanics", 1997, section 3). Because the mean is estimated from the same
/// samples, each rho is too small by about `2 tau / n` (Marriott, Pope, Biometrika 41, 1954); this
/// is corrected. A series of fewer than some `20 tau` samples still gives too small a value, at
/// most about n / 10; that is enough to show that the series is too short.
#[must_use]
pub fn integrated_time(samples: &[f64]) -> f64 {
    let n = samples.len();
    let Some(deviations) = deviations(samples) else { return INDEPENDENT };
    let mut tau = INDEPENDENT;
    let mut lag = 0;
    while lag + 1 < n && (lag as f64) < WINDOW * tau.max(INDEPENDENT) {
        lag += 1;
        tau += at_lag(&deviations, lag);
    }
    let tau = tau.max(INDEPENDENT);
    // tau = biased + lag * 2 tau / n, solved for tau; at most doubled.
    let share = (2.0 * lag as f64 / n as f64).min(0.5);
    if tau > INDEPENDENT { tau / (1.0 - share) } else { tau }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_computed_by_hand() {
        // Deviations -1.5, -0.5, 0.5, 1.5: squares 5, lag-1 products 0.75 - 0.25 + 0.75.
        let samples = [1.0, 2.0, 3.0, 4.0];
        assert!((autocorrelation(&samples, 0) - 1.0).abs() < 1e-12);
        assert!((autocorrelation(&samples, 1) - 0.25).abs() < 1e-12);
        assert_eq!(autocorrelation(&samples, 4), 0.0);
        assert_eq!(autocorrelation(&[0.1; 9], 1), 0.0);
        assert_eq!(integrated_time(&[]), INDEPENDENT);
    }

    #[test]
    fn alternation_claims_no_more_than_independence() {
        let samples: Vec<f64> = (0..100).map(|t| f64::from(t % 2)).collect();
        assert_eq!(integrated_time(&samples), INDEPENDENT);
    }

    #[test]
    fn runs_of_equal_values_take_half_their_length() {
        // Each of 400 scattered values repeated 10 times: rho falls linearly to 0 at lag 10, and
        // 1/2 + sum (1 - k / 10) = 5.
        let samples: Vec<f64> = (0..4000).map(|t| crate::scattered(t / 10)).collect();
        let tau = integrated_time(&samples);
        assert!((4.0..6.0).contains(&tau), "{tau}");
    }

    proptest! {
        #[test]
        fn it_does_not_depend_on_unit_or_direction(
            samples in prop::collection::vec(1.0_f64..100.0, 2..200), factor in 0.01_f64..100.0,
        ) {
            let tau = integrated_time(&samples);
            let changed: Vec<f64> = samples.iter().rev().map(|x| x * factor).collect();
            prop_assert!((integrated_time(&changed) - tau).abs() < 1e-6 * tau);
            prop_assert!((INDEPENDENT..=samples.len() as f64).contains(&tau));
        }
    }
}
