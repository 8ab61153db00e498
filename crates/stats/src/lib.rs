//! Statistics of series of rates and samples of latencies, with their uncertainty. Numbers and
//! slices in, numbers out: no knowledge of storage, no clock, no randomness, no input or output.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod ar1;
pub mod autocorrelation;
pub mod batch_means;
mod fdr;
mod fisher;
mod holm;
mod local_linear;
mod outliers;
pub mod proportion;
mod pts;
pub mod quantile_interval;
pub mod rank_sum;
mod ratio;
pub mod shift;
mod slow;
mod steady;
pub mod stopper;
pub mod trend;
pub mod two_sample;
pub mod warmup;

pub use batch_means::{MeanInterval, mean_interval, window_interval};
pub use fdr::benjamini_hochberg;
pub use fisher::fisher_exact;
pub use holm::holm;
pub use local_linear::local_linear;
pub use outliers::{FEWEST, low_outliers};
pub use proportion::wilson_interval;
pub use pts::{PtsLimits, PtsRounds, PtsWindow};
pub use quantile_interval::{QuantileInterval, design_effect, quantile_interval};
pub use rank_sum::mann_whitney_less;
pub use ratio::ratio_interval;
pub use steady::{Steady, SteadyBy};
pub use stopper::{Decision, LONG, SHORT, StopReason, StopRule, Stopper};

/// Arithmetic mean; NaN without values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Slope of the least squares line through equally spaced `values`, whose mean is given; per value.
fn slope(values: &[f64], mean: f64) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let distances = || (0..values.len()).map(|index| index as f64 - middle);
    let products: f64 = distances().zip(values).map(|(x, y)| x * (y - mean)).sum();
    products / distances().map(|x| x * x).sum::<f64>()
}

/// Pseudo-random values for tests: uniform in 0 to 1, from a multiplicative hash of `t`.
#[cfg(test)]
fn scattered(t: u32) -> f64 {
    let mixed = (u64::from(t) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed ^ (mixed >> 29)) >> 11) as f64 / (1_u64 << 53) as f64
}
