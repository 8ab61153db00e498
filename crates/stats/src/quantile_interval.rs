//! Confidence interval of a quantile from order statistics: no assumption on the distribution.
//!
//! Order statistics assume independent observations. Slow I/Os come in clusters, and a cluster of
//! ten carries as much information as one: so the number of observations is divided by a design
//! effect, which is estimated from the number beyond the quantile in each window of time
//! ([`design_effect`]).

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

use crate::batch_means::variance_of_mean;
use crate::mean;
use crate::ratio::linearised;
use crate::two_sample::mean_and_its_variance;

/// Minimum observations beyond a percentile that is shown.
pub const LEAST_BEYOND: u64 = 30;

/// Quantile of a sample with its interval, in the samples' unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileInterval {
    /// Sample quantile: the observation of rank `ceil(q n)`.
    pub value: f64,
    /// Lower end: an observation.
    pub low: f64,
    /// Upper end: an observation.
    pub high: f64,
}

impl QuantileInterval {
    /// Returns the half-width of the interval as a share of the quantile; not finite if that is 0.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value.abs()
    }
}

/// Returns the rank, 1 to n, of the sample quantile `q` of `n` observations: `ceil(q n)`.
///
/// `None` for n = 0 and for q outside of 0 < q < 1.
#[must_use]
pub fn rank(n: u64, q: f64) -> Option<u64> {
    let inside = n > 0 && q > 0.0 && q < 1.0;
    // 0.99 * 100 is slightly above 99 in binary: such a rank must not be rounded up.
    inside.then(|| ((q * n as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).clamp(1, n))
}

/// Returns true if enough observations lie beyond the quantile `q` to show it: 30 above it for q of
/// one half or more, 30 below it otherwise.
#[must_use]
pub fn is_shown(n: u64, q: f64) -> bool {
    rank(n, q).is_some_and(|rank| {
        let beyond = if q < 0.5 { rank - 1 } else { n - rank };
        beyond >= LEAST_BEYOND
    })
}

/// Returns the ranks (1 to n, in ascending order of the observations) that enclose the quantile `q`
/// of the distribution with a probability of at least `level`.
///
/// The number of observations below the quantile is binomial with n and q; each rank leaves at most
/// `(1 - level) / 2` outside on its side (Conover, "Practical nonparametric statistics", 3rd
/// edition, section 3.2). On a histogram, the ends of the interval are the lower bound of the bin
/// with the lower rank and the upper bound of the bin with the upper one. The observations are
/// assumed independent; see [`ranks_of_clustered`] for others.
///
/// `None` if n observations cannot bracket the quantile at this level, and for q or level outside
/// of 0 to 1 (exclusive).
#[must_use]
pub fn ranks(n: u64, q: f64, level: f64) -> Option<(u64, u64)> {
    if !(q > 0.0 && q < 1.0 && level > 0.0 && level < 1.0) {
        return None;
    }
    let below = Binomial::new(q, n).ok()?;
    let tail = (1.0 - level) / 2.0;
    // P(x_(l) > quantile) = P(count <= l - 1) <= tail, for the greatest such l.
    let lower = first_where(0, n, |count| below.cdf(count) > tail);
    // P(x_(u) < quantile) = P(count >= u) = 1 - P(count <= u - 1) <= tail, for the least such u.
    let upper = first_where(0, n, |count| below.sf(count) <= tail) + 1;
    (lower >= 1 && upper <= n).then_some((lower, upper))
}

/// Returns the number of observations that carry as much information about a quantile as one
/// independent observation: 1 or more; for slow I/Os in clusters of ten about 10 at the quantiles
/// that these determine.
///
/// For each window of time, `beyond` is the number of its `counts` observations beyond the sample
/// quantile. The share beyond is a ratio of sums, whose variance accounts for correlated windows
/// ([`crate::ratio_interval`]); divided by that of as many independent observations it is the
/// design effect, with Student's t accounting for the small number of windows (Korn, Graubard,
/// "Confidence intervals for proportions with small expected number of positive counts", Survey
/// Methodology 24, 1998; batched indicators for quantiles: Nakayama, "Confidence intervals for
/// quantiles using sectioning", ACM TOMACS 24, 2014).
///
/// `None` if none or all are beyond, and if the windows are too few for an interval.
#[must_use]
pub fn design_effect(beyond: &[f64], counts: &[f64], level: f64) -> Option<f64> {
    let windows = linearised(beyond, counts)?;
    effect(&windows, variance_of_mean(&windows)?, counts, level)
}

/// The same for a few independent groups, such as measurements with pauses between them: the
/// variance between the groups is that of the share (Cochran, "Sampling techniques", ch. 9).
///
/// `None` as for [`design_effect`], and for fewer than three groups.
#[must_use]
pub fn design_effect_of_groups(beyond: &[f64], counts: &[f64], level: f64) -> Option<f64> {
    let groups = linearised(beyond, counts).filter(|groups| groups.len() >= 3)?;
    let (_, variance) = mean_and_its_variance(&groups);
    effect(&groups, (variance, groups.len()), counts, level)
}

fn effect(
    shares: &[f64],
    (variance, batches): (f64, usize),
    counts: &[f64],
    level: f64,
) -> Option<f64> {
    let share = mean(shares);
    let n: f64 = counts.iter().sum();
    let independent = share * (1.0 - share) / n;
    let at = f64::midpoint(1.0, level);
    let few = StudentsT::new(0.0, 1.0, batches as f64 - 1.0).ok()?.inverse_cdf(at)
        / Normal::standard().inverse_cdf(at);
    let effect = few * few * variance / independent;
    (independent > 0.0 && effect.is_finite()).then(|| effect.max(1.0))
}

/// As [`ranks`], for `n` observations of which `effect` carry as much information as an independent
/// one ([`design_effect`]; 1 or more): the ranks of that many fewer, spread over all of them
/// (Woodruff, "Confidence intervals for medians and other position measures", JASA 47, 1952).
#[must_use]
pub fn ranks_of_clustered(n: u64, effect: f64, q: f64, level: f64) -> Option<(u64, u64)> {
    let independent = (n as f64 / effect.max(1.0)).floor();
    let (lower, upper) = ranks(independent as u64, q, level)?;
    let spread = n as f64 / independent;
    let lower = ((lower - 1) as f64 * spread).floor() as u64 + 1;
    Some((lower, ((upper as f64 * spread).ceil() as u64).min(n)))
}

/// Returns the interval of a positive quantile, `of_all` observations, from the quantiles `of_each`
/// of a few independent groups: from their distances to it, as ratios (sectioning: Nakayama, as at
/// [`design_effect`]). Wider than that of [`ranks_of_clustered`], and available if clusters leave
/// no rank high enough.
///
/// `None` for fewer than three groups, and for quantiles that are not positive.
#[must_use]
pub fn sectioned(of_all: f64, of_each: &[f64], level: f64) -> Option<(f64, f64)> {
    let groups = of_each.len() as f64;
    if of_each.len() < 3 || of_each.iter().chain([&of_all]).any(|one| *one <= 0.0) {
        return None;
    }
    let squares: f64 = of_each.iter().map(|one| (one / of_all).ln().powi(2)).sum();
    let t = StudentsT::new(0.0, 1.0, groups - 1.0).ok()?.inverse_cdf(f64::midpoint(1.0, level));
    let factor = (t * (squares / (groups - 1.0) / groups).sqrt()).exp();
    Some((of_all / factor, of_all * factor))
}

/// Returns the least number from `low` to `high` for which `is` holds; `high` if it holds for none
/// below.
fn first_where(mut low: u64, mut high: u64, is: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if is(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Returns the quantile `q` of samples in ascending order, with the interval of [`ranks`].
///
/// `None` if [`ranks`] is.
#[must_use]
pub fn quantile_interval(sorted: &[f64], q: f64, level: f64) -> Option<QuantileInterval> {
    let n = sorted.len() as u64;
    let (lower, upper) = ranks(n, q, level)?;
    let at = |rank: u64| sorted[usize::try_from(rank - 1).expect("a rank is at most the length")];
    Some(QuantileInterval { value: at(rank(n, q)?), low: at(lower), high: at(upper) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Median: n = 6 is the smallest sample whose extremes enclose it with 95 %; n = 10 and n =
        // 100 are the classical tables of the sign test.
        assert_eq!(ranks(5, 0.5, 0.95), None);
        assert_eq!(ranks(6, 0.5, 0.95), Some((1, 6)));
        assert_eq!(ranks(10, 0.5, 0.95), Some((2, 9)));
        assert_eq!(ranks(100, 0.5, 0.95), Some((40, 61)));
        assert_eq!(ranks(0, 0.5, 0.95), None);
        assert_eq!(ranks(100, 1.0, 0.95), None);
        assert_eq!(ranks(100, f64::NAN, 0.95), None);
    }

    #[test]
    fn thirty_must_lie_beyond() {
        assert_eq!(rank(100, 0.99), Some(99));
        assert!(is_shown(3_000, 0.99));
        assert!(!is_shown(2_999, 0.99));
        assert!(!is_shown(0, 0.5));
        assert!(is_shown(3_100, 0.01));
        assert!(!is_shown(3_000, 0.01));
    }

    #[test]
    fn large_counts_agree_with_the_normal_approximation() {
        let (n, q) = (100_000_000_u64, 0.999);
        let (lower, upper) = ranks(n, q, 0.95).expect("enough observations");
        let half = 1.959_964 * (n as f64 * q * (1.0 - q)).sqrt();
        assert!((lower as f64 - (n as f64 * q - half)).abs() < 3.0, "{lower}");
        assert!((upper as f64 - (n as f64 * q + half)).abs() < 3.0, "{upper}");
    }

    #[test]
    fn clusters_count_as_one_each() {
        // 100 windows of 1000; slow ones come in tens, evenly scattered.
        let counts = vec![1000.0; 100];
        let clusters = |t| (crate::scattered(t) * 3.0).floor();
        let single: Vec<f64> = (0..100).map(|t| 10.0 + clusters(t)).collect();
        let tens: Vec<f64> = (0..100).map(|t| 10.0 * clusters(t)).collect();
        let effect = |beyond: &[f64]| design_effect(beyond, &counts, 0.95).expect("it varies");
        assert_eq!(effect(&single), 1.0);
        assert!((5.0..15.0).contains(&effect(&tens)), "{}", effect(&tens));
        assert_eq!(design_effect(&[0.0; 100], &counts, 0.95), None);
        assert_eq!(design_effect(&counts, &counts, 0.95), None);
        assert_eq!(design_effect(&[1.0; 3], &[9.0; 3], 0.95), None);
    }

    #[test]
    fn ranks_of_clusters_are_further_apart() {
        assert_eq!(ranks_of_clustered(1000, 1.0, 0.5, 0.95), ranks(1000, 0.5, 0.95));
        let (lower, upper) = ranks_of_clustered(1000, 10.0, 0.5, 0.95).expect("enough");
        // As in the tables for 100, 40 and 61, times 10.
        assert_eq!((lower, upper), (391, 610));
        assert_eq!(ranks_of_clustered(1000, 10.0, 0.99, 0.95), None);
        assert_eq!(ranks_of_clustered(10, 100.0, 0.5, 0.95), None);
    }

    #[test]
    fn sections_lie_as_far_apart_as_their_quantiles() {
        // ln 2 from each: t of 4 degrees of freedom 2.776, divided by the root of 5, times the root
        // of 5/4 because the centre is not their mean.
        let (low, high) = sectioned(10.0, &[20.0, 5.0, 20.0, 5.0, 20.0], 0.95).expect("five");
        let factor = (2.776_f64 * 2_f64.ln() / 4_f64.sqrt()).exp();
        assert!((high / 10.0 / factor - 1.0).abs() < 1e-3, "{high}");
        assert!((low * high - 100.0).abs() < 1e-6);
        assert_eq!(sectioned(10.0, &[10.0; 3], 0.95), Some((10.0, 10.0)));
        assert_eq!(sectioned(10.0, &[10.0; 2], 0.95), None);
        assert_eq!(sectioned(10.0, &[10.0, 0.0, 10.0], 0.95), None);
    }

    proptest! {
        #[test]
        fn ranks_bracket_the_sample_quantile(n in 1_u64..5_000, q in 0.001_f64..0.999) {
            if let Some((lower, upper)) = ranks(n, q, 0.95) {
                let rank = rank(n, q).expect("in range");
                prop_assert!(1 <= lower && lower <= rank && rank <= upper && upper <= n);
            }
        }

        #[test]
        fn ranks_hold_the_level_and_no_narrower_ones_do(n in 10_u64..2_000, q in 0.05_f64..0.95) {
            if let Some((lower, upper)) = ranks(n, q, 0.95) {
                let below = Binomial::new(q, n).expect("valid");
                prop_assert!(below.cdf(lower - 1) <= 0.025 && below.cdf(lower) > 0.025);
                prop_assert!(below.sf(upper - 1) <= 0.025 && (upper < 2 || below.sf(upper - 2) > 0.025));
            }
        }

        #[test]
        fn a_higher_level_is_wider_and_a_higher_quantile_higher(
            n in 50_u64..5_000, q in 0.2_f64..0.7, more in 0.0_f64..0.1,
        ) {
            let (lower, upper) = ranks(n, q, 0.9).expect("enough observations");
            if let Some((wide_lower, wide_upper)) = ranks(n, q, 0.99) {
                prop_assert!(wide_lower <= lower && upper <= wide_upper);
            }
            if let Some((next_lower, next_upper)) = ranks(n, q + more, 0.9) {
                prop_assert!(lower <= next_lower && upper <= next_upper);
            }
        }
    }
}
