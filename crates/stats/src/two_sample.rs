//! Compares two estimates or two groups of repetitions.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::mean;

/// Returns true if two closed intervals (low, high) have no point in common; false if a bound is
/// NaN, because nothing is known.
#[must_use]
pub fn disjoint(a: (f64, f64), b: (f64, f64)) -> bool {
    let known = [a.0, a.1, b.0, b.1].iter().all(|bound| !bound.is_nan());
    known && (a.1 < b.0 || b.1 < a.0)
}

/// Returns the median: the mean of the middle two for an even count. `None` without values or if
/// one is NaN.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    })
}

/// Difference of two means with its interval, in the samples' unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Mean of a minus mean of b.
    pub difference: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Degrees of freedom (Welch, Satterthwaite).
    pub degrees_of_freedom: f64,
    /// Standard error of the difference; 0 for groups without any variation.
    pub standard_error: f64,
}

impl Difference {
    /// Returns the two-sided p-value of Welch's test that the true means differ by no more than
    /// `allowance`, an error that all values of a group may share (they were printed rounded). 0 if
    /// groups without any variation differ by more.
    #[must_use]
    pub fn p_value(&self, allowance: f64) -> f64 {
        let beyond = self.difference.abs() - allowance.max(0.0);
        match StudentsT::new(0.0, 1.0, self.degrees_of_freedom) {
            _ if beyond <= 0.0 => 1.0,
            Ok(student) if self.standard_error > 0.0 => {
                2.0 * student.sf(beyond / self.standard_error)
            }
            _ => 0.0,
        }
    }
}

/// Returns the interval at `level` of the difference of two means, for independent repetitions
/// (whole measurements, not the samples of one), without assuming equal variances: Welch, "The
/// generalization of Student's problem", Biometrika 34, 1947.
///
/// `None` if a group has fewer than 2 values, if a value is not finite, or for a level outside of 0
/// to 1. Two groups without any variation give an interval of width 0.
#[must_use]
pub fn welch(a: &[f64], b: &[f64], level: f64) -> Option<Difference> {
    let finite = a.iter().chain(b).all(|value| value.is_finite());
    if a.len() < 2 || b.len() < 2 || !finite || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let (mean_a, variance_a) = mean_and_its_variance(a);
    let (mean_b, variance_b) = mean_and_its_variance(b);
    let difference = mean_a - mean_b;
    let variance = variance_a + variance_b;
    let (dof_a, dof_b) = ((a.len() - 1) as f64, (b.len() - 1) as f64);
    if variance <= 0.0 {
        let degrees_of_freedom = dof_a + dof_b;
        return Some(Difference {
            difference,
            low: difference,
            high: difference,
            degrees_of_freedom,
            standard_error: 0.0,
        });
    }
    // As shares of the variance, so that no square overflows or underflows.
    let (share_a, share_b) = (variance_a / variance, variance_b / variance);
    let degrees_of_freedom = 1.0 / (share_a * share_a / dof_a + share_b * share_b / dof_b);
    let student = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?;
    let standard_error = variance.sqrt();
    let half = student.inverse_cdf(f64::midpoint(1.0, level)) * standard_error;
    Some(Difference {
        difference,
        low: difference - half,
        high: difference + half,
        degrees_of_freedom,
        standard_error,
    })
}

/// Returns the interval at `level` of the mean of independent values ("Student", "The probable
/// error of a mean", Biometrika 6, 1908). `None` as for [`welch`].
#[must_use]
pub fn student_interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    let finite = values.iter().all(|value| value.is_finite());
    if values.len() < 2 || !finite || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let (mean, variance) = mean_and_its_variance(values);
    let student = StudentsT::new(0.0, 1.0, (values.len() - 1) as f64).ok()?;
    let half = student.inverse_cdf(f64::midpoint(1.0, level)) * variance.sqrt();
    Some((mean - half, mean + half))
}

pub(crate) fn mean_and_its_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, squares / (n - 1.0) / n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn welch_agrees_with_a_worked_example() {
        let a = [3.0, 4.0, 5.0];
        let b = [1.0, 2.0, 6.0, 7.0];
        let d = welch(&a, &b, 0.95).expect("valid");
        assert!((d.difference - 0.0).abs() < 1e-12);
        // Variances of the means, by hand: 1/3 and (26/3)/4 = 13/6.
        let (va, vb) = (1.0 / 3.0, 13.0 / 6.0);
        let dof = (va + vb) * (va + vb) / (va * va / 2.0 + vb * vb / 3.0);
        assert!((d.degrees_of_freedom - dof).abs() < 1e-9);
        // t(0.975, 3.860) lies between those of 3 (3.182) and 4 (2.776) degrees of freedom.
        let t = d.high / (va + vb).sqrt();
        assert!((2.776..3.182).contains(&t), "{t}");
    }

    #[test]
    fn a_mean_of_few_values_has_a_wide_interval() {
        // t(0.975, 2) = 4.3027; standard error 1 / sqrt(3).
        let (low, high) = student_interval(&[1.0, 2.0, 3.0], 0.95).expect("valid");
        assert!((high - 2.0 - 4.3027 / 3_f64.sqrt()).abs() < 1e-3, "{high}");
        assert!((low + high - 4.0).abs() < 1e-9);
        assert_eq!(student_interval(&[1.0], 0.95), None);
    }

    #[test]
    fn p_values_are_those_of_the_interval() {
        let a = [3.1, 3.4, 3.2];
        let b = [2.8, 3.0, 2.9, 2.7];
        let at = |level| welch(&a, &b, level).expect("valid");
        let p = at(0.95).p_value(0.0);
        let edge = at(1.0 - p);
        assert!(edge.low.abs() < 1e-6 || edge.high.abs() < 1e-6, "{edge:?}");
        // t = 3.5075 with 3.9593 degrees of freedom, by hand; p by integrating the density.
        assert!((p - 0.02515).abs() < 1e-4, "{p}");
        assert!(at(0.95).p_value(0.1) > p);
        assert_eq!(at(0.95).p_value(1.0), 1.0);
        let apart = welch(&[5.0, 5.0], &[4.0, 4.0], 0.95).expect("valid");
        assert_eq!((apart.p_value(0.5), apart.p_value(1.0)), (0.0, 1.0));
    }

    #[test]
    fn incomparable_groups_give_none() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(welch(&[1.0, f64::NAN], &[1.0, 2.0], 0.95), None);
        assert_eq!(welch(&[1.0, 2.0], &[1.0, 2.0], 1.0), None);
        assert_eq!(median(&[]), None);
        assert!(!disjoint((f64::NAN, 1.0), (2.0, f64::NAN)));
    }

    #[test]
    fn simple_figures() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert!(disjoint((1.0, 2.0), (2.1, 3.0)) && !disjoint((1.0, 2.0), (2.0, 3.0)));
        let same = welch(&[5.0, 5.0], &[4.0, 4.0], 0.95).expect("valid");
        assert_eq!((same.low, same.high), (1.0, 1.0));
    }

    proptest! {
        #[test]
        fn welch_turns_with_its_groups_and_ignores_their_order(
            a in prop::collection::vec(-1e3_f64..1e3, 2..20),
            b in prop::collection::vec(-1e3_f64..1e3, 2..20),
        ) {
            let forth = welch(&a, &b, 0.95).expect("valid");
            let back = welch(&b, &a, 0.95).expect("valid");
            prop_assert!((forth.low + back.high).abs() < 1e-6);
            prop_assert!(forth.low <= forth.difference && forth.difference <= forth.high);
            let turned: Vec<f64> = a.iter().rev().copied().collect();
            let other = welch(&turned, &b, 0.95).expect("valid");
            prop_assert!((forth.low - other.low).abs() < 1e-6);
            let wider = welch(&a, &b, 0.99).expect("valid");
            prop_assert!(wider.low <= forth.low && forth.high <= wider.high);
        }

        #[test]
        fn disjoint_is_symmetric(a in -9.0_f64..9.0, b in -9.0_f64..9.0, w in 0.0_f64..5.0, v in 0.0_f64..5.0) {
            prop_assert_eq!(disjoint((a, a + w), (b, b + v)), disjoint((b, b + v), (a, a + w)));
            prop_assert!(!disjoint((a, a + w), (a, a + v)));
        }
    }
}
