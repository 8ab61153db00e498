//! Detects if a series changed from one level to another, as a drive does at its write cliff or
//! when it is too hot.

use crate::ar1;
use crate::mean;

/// Significance level of a shift, over all possible moments.
const SIGNIFICANCE: f64 = 0.01;

/// Minimum difference of a shift as a share of the mean, as in [`crate::trend`].
const NEGLIGIBLE_CHANGE: f64 = 0.01;

/// Minimum samples of a level.
const LEAST_SAMPLES: usize = 5;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Index of the first sample of the second level.
    pub at: usize,
    /// Mean of the samples before it, in their unit.
    pub before: f64,
    /// Mean of the samples from it on.
    pub after: f64,
}

/// Returns the shift of equally spaced `samples`; `None` if there is no relevant one: the change is
/// not more than chance and correlation explain (p < 0.01), or less than 1 % of the mean.
///
/// Its moment is where the sum of squares about both means is smallest (the maximum likelihood
/// estimate: Hinkley, "Inference about the change-point in a sequence of random variables",
/// Biometrika 57, 1970), with 5 samples or more on either side. The noise is a first-order
/// autoregression about the two levels, its coefficient integrated out, so a slow wander is not
/// taken for a shift; the probability is multiplied by the number of candidate moments
/// (Bonferroni).
#[must_use]
pub fn shift(samples: &[f64]) -> Option<Shift> {
    let n = samples.len();
    if n < 2 * LEAST_SAMPLES || samples.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let found = levels(samples);
    let change = found.after - found.before;
    let mean = mean(samples);
    if change.abs() < NEGLIGIBLE_CHANGE * mean.abs() {
        return None;
    }
    let second: Vec<f64> = (0..n).map(|t| f64::from(u8::from(t >= found.at))).collect();
    let p_value = match ar1::fit(samples, Some(&second)) {
        // There is no noise about the levels.
        None => f64::from(u8::from(change == 0.0)),
        Some(fit) => fit.p_value(|component| (component.effect, component.effect_se)),
    };
    let moments = (n + 1 - 2 * LEAST_SAMPLES) as f64;
    (p_value * moments < SIGNIFICANCE).then_some(found)
}

/// Returns the two levels with the best fit to the samples.
fn levels(samples: &[f64]) -> Shift {
    let n = samples.len();
    let total: f64 = samples.iter().sum();
    let mut sum: f64 = samples[..LEAST_SAMPLES].iter().sum();
    let mut best = (f64::NEG_INFINITY, Shift { at: LEAST_SAMPLES, before: 0.0, after: 0.0 });
    for (at, next) in (LEAST_SAMPLES..).zip(&samples[LEAST_SAMPLES..=n - LEAST_SAMPLES]) {
        let (first, second) = (at as f64, (n - at) as f64);
        let (before, after) = (sum / first, (total - sum) / second);
        // Sum of squares explained by the two means.
        let explained = first * second * (before - after).powi(2);
        if explained > best.0 {
            best = (explained, Shift { at, before, after });
        }
        sum += next;
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scattered;
    use proptest::prelude::*;

    /// 100 samples that fall from 100 to `level` at `at`, with noise of 3 %.
    fn cliff(at: u32, level: f64) -> Vec<f64> {
        let noise = |t| 1.0 + 0.1 * (scattered(t) - 0.5);
        (0..100).map(|t| noise(t) * if t < at { 100.0 } else { level }).collect()
    }

    #[test]
    fn a_cliff_and_a_rise_are_found_where_they_are() {
        for at in [5, 30, 50, 80, 95] {
            for level in [25.0, 85.0, 200.0] {
                let found = shift(&cliff(at, level)).expect("it is there");
                assert_eq!(found.at, at as usize);
                assert!((found.before - 100.0).abs() < 5.0, "{found:?}");
                assert!((found.after / level - 1.0).abs() < 0.05, "{found:?}");
            }
        }
    }

    #[test]
    fn without_noise_it_is_certain() {
        let exact: Vec<f64> = (0..20).map(|t| if t < 8 { 10.0 } else { 4.0 }).collect();
        assert_eq!(shift(&exact), Some(Shift { at: 8, before: 10.0, after: 4.0 }));
        assert_eq!(shift(&[7.0; 20]), None);
    }

    #[test]
    fn an_even_rate_a_slight_change_and_too_few_samples_are_none() {
        assert_eq!(shift(&cliff(50, 100.0)), None);
        assert_eq!(shift(&[100.0, 100.0, 100.0, 100.0, 1.0, 1.0, 1.0, 1.0]), None);
        let slight: Vec<f64> = (0..100).map(|t| if t < 50 { 1000.0 } else { 1009.0 }).collect();
        assert_eq!(shift(&slight), None);
    }

    proptest! {
        #[test]
        fn any_samples_have_levels_within_them(samples in prop::collection::vec(-1e6_f64..1e6, 0..150)) {
            if let Some(found) = shift(&samples) {
                prop_assert!((LEAST_SAMPLES..=samples.len() - LEAST_SAMPLES).contains(&found.at));
                let low = samples.iter().copied().fold(f64::INFINITY, f64::min);
                let high = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                for level in [found.before, found.after] {
                    prop_assert!((low - 1e-6..=high + 1e-6).contains(&level));
                }
            }
        }
    }
}
