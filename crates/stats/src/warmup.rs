//! Detects warm-up: samples at the start that do not belong to the rest.

use crate::ar1;
use crate::mean;

/// Samples in one batch of MSER-5.
const BATCH: usize = 5;

/// A cut removes at most one part in this many.
const MOST_SHARE: usize = 4;

/// Significance level of a cut.
const SIGNIFICANCE: f64 = 0.001;

/// Returns the number of warm-up samples at the start: a multiple of 5, at most a quarter of all.
///
/// MSER-5 proposes the cut: of the means of 5 samples each, as many are dropped at the start as
/// minimise the standard error of the mean of the rest, `S / (k - d)` (White, "An effective
/// truncation heuristic for bias reduction in simulation output", Simulation 69, 1997; in batches
/// of 5: White, Cobb, Spratt, Winter Simulation Conference 2000). A minimum at the end of the
/// search means that the series is too short to tell a warm-up from a trend (the same sources,
/// which search half of the series), and nothing is cut.
///
/// MSER chooses the calmest stretch even of a stationary series, and an interval computed from that
/// alone covers too little. So the cut is made only if the mean of the samples before it differs
/// from the rest by more than their correlation explains (p < 0.001, for the first-order
/// autoregression fitted to the rest). And no more than a quarter is cut: otherwise a drive that
/// switches between two rates would be considered warm whenever it stays in one of them.
#[must_use]
pub fn warmup_len(samples: &[f64]) -> usize {
    let batches: Vec<f64> = samples.chunks_exact(BATCH).map(mean).collect();
    let cut = mser(&batches) * BATCH;
    if cut > 0 && differs(&samples[..cut], &samples[cut..]) { cut } else { 0 }
}

/// Returns the number of batches to drop, at most a quarter; 0 if the minimum lies beyond.
fn mser(batches: &[f64]) -> usize {
    let beyond = batches.len() / MOST_SHARE + 1;
    // From the end to the start, so that each sum of squares follows from the previous one.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (left_out, value) in batches.iter().enumerate().rev() {
        count += 1.0;
        let delta = value - mean;
        mean += delta / count;
        squares += delta * (value - mean);
        let statistic = squares / (count * count);
        if left_out <= beyond && statistic <= best.0 {
            best = (statistic, left_out);
        }
    }
    if best.1 == beyond { 0 } else { best.1 }
}

fn differs(start: &[f64], rest: &[f64]) -> bool {
    let difference = mean(start) - mean(rest);
    match ar1::fit(rest, None) {
        // The rest does not vary at all.
        None => difference != 0.0,
        Some(fit) => {
            let p_value = fit.p_value(|component| {
                let variance = ar1::variance_of_mean(component.phi, start.len())
                    + ar1::variance_of_mean(component.phi, rest.len());
                (difference, component.sigma * variance.sqrt())
            });
            p_value < SIGNIFICANCE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scattered;
    use proptest::prelude::*;

    #[test]
    fn a_slow_start_is_cut_and_an_even_series_is_not() {
        let even: Vec<f64> = (0..100).map(|t| 100.0 + scattered(t)).collect();
        assert_eq!(warmup_len(&even), 0);
        let mut slow = even.clone();
        slow.iter_mut().take(10).for_each(|x| *x -= 30.0);
        assert!((10..=25).contains(&warmup_len(&slow)), "{}", warmup_len(&slow));
        let decaying: Vec<f64> =
            (0..100).map(|t| 100.0 + scattered(t) + 50.0 * (-f64::from(t) / 4.0).exp()).collect();
        assert!((5..=25).contains(&warmup_len(&decaying)), "{}", warmup_len(&decaying));
    }

    #[test]
    fn a_change_late_in_the_series_is_not_warm_up() {
        let late: Vec<f64> =
            (0..100).map(|t| scattered(t) + if t < 40 { 70.0 } else { 100.0 }).collect();
        assert_eq!(warmup_len(&late), 0);
        assert_eq!(warmup_len(&[]), 0);
        assert_eq!(warmup_len(&[1.0; 4]), 0);
    }

    proptest! {
        #[test]
        fn at_most_a_quarter_is_cut(samples in prop::collection::vec(0.0_f64..1e6, 0..150)) {
            let cut = warmup_len(&samples);
            prop_assert!(cut.is_multiple_of(5) && cut * 4 <= samples.len());
        }
    }
}
