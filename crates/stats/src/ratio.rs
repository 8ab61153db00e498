//! Ratio of two sums over the windows of a series: a mean latency, a share of I/Os.

use crate::batch_means::{MeanInterval, window_interval};

/// Returns `R = sum(numerators) / sum(denominators)` over equally spaced windows, with its interval
/// at `level`, such as the latencies' sum divided by their number: the ratio estimator (Cochran,
/// "Sampling Techniques", 3rd edition, 1977, chapter 6). Its error is, to first order, that of the
/// mean of the residuals `numerator - R denominator` divided by the mean denominator; so that
/// series, about R, goes through the same procedure as rates do ([`window_interval`]).
///
/// A window with few counts has little weight. A mean of the windows' means would be wrong by
/// orders of magnitude if windows with few, slow I/Os stand among others.
///
/// `None` for different lengths, for denominators without a positive sum, and if
/// [`window_interval`] is.
#[must_use]
pub fn ratio_interval(
    numerators: &[f64],
    denominators: &[f64],
    level: f64,
) -> Option<MeanInterval> {
    window_interval(&linearised(numerators, denominators)?, level)
}

/// Linearised values of each window: ratio plus scaled residual, so that their mean is the ratio;
/// `None` as for [`ratio_interval`].
pub(crate) fn linearised(numerators: &[f64], denominators: &[f64]) -> Option<Vec<f64>> {
    let total: f64 = denominators.iter().sum();
    if numerators.len() != denominators.len() || total.is_nan() || total <= 0.0 {
        return None;
    }
    let ratio = numerators.iter().sum::<f64>() / total;
    let mean_denominator = total / denominators.len() as f64;
    let pairs = numerators.iter().zip(denominators);
    let linearised = pairs.map(|(numerator, denominator)| {
        ratio + (numerator - ratio * denominator) / mean_denominator
    });
    Some(linearised.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scattered;

    #[test]
    fn it_is_the_ratio_of_the_sums_and_weighs_by_what_was_counted() {
        // One window in ten stalls: 10 I/Os of 10 ms among windows of 100,000 of 1 us.
        let stalls = |t: u32| t.is_multiple_of(10);
        let ios: Vec<f64> = (0..100).map(|t| if stalls(t) { 10.0 } else { 1e5 }).collect();
        let sums: Vec<f64> = (0..100).map(|t| 1e8 * (1.0 + 0.01 * scattered(t))).collect();
        let found = ratio_interval(&sums, &ios, 0.95).expect("enough windows");
        let ratio = sums.iter().sum::<f64>() / ios.iter().sum::<f64>();
        assert!((found.mean / ratio - 1.0).abs() < 1e-9);
        assert!(found.relative_half_width() < 0.1, "{found:?}");
        let means: Vec<f64> = sums.iter().zip(&ios).map(|(sum, ios)| sum / ios).collect();
        let of_means = window_interval(&means, 0.95).expect("enough windows");
        assert!(of_means.half_width() > 100.0 * found.mean, "{of_means:?}");
    }

    #[test]
    fn invalid_input_has_no_ratio() {
        assert_eq!(ratio_interval(&[1.0; 9], &[0.0; 9], 0.95), None);
        assert_eq!(ratio_interval(&[1.0; 9], &[1.0; 8], 0.95), None);
        assert_eq!(ratio_interval(&[], &[], 0.95), None);
        assert_eq!(ratio_interval(&[1.0; 3], &[1.0; 3], 0.95), None);
    }
}
