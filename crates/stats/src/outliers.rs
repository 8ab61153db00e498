//! Finds outliers among many equal items, by median and median absolute deviation, which a few
//! outliers do not move.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::two_sample::median;

/// Ratio of the standard deviation of a normal distribution to its median absolute deviation.
const NORMAL: f64 = 1.482_602_218_505_602;

/// Degrees of freedom of the deviation per value: its asymptotic efficiency is 37 % of the standard
/// deviation's (Rousseeuw and Croux, "Alternatives to the Median Absolute Deviation", Journal of
/// the American Statistical Association 88, 1993).
const FREEDOM: f64 = 0.37;

/// Minimum number of values to find outliers among.
pub const FEWEST: usize = 8;

/// Minimum spread, as a share of the median: repeated measurements of one drive differ by as much.
const LEAST_SPREAD: f64 = 0.002;

/// Returns for each of `values`, all positive, the distance of its logarithm from the median in
/// robust standard deviations, and the probability that one of its kind is that low or lower, by
/// Student's t. `None`: too few, or not positive.
#[must_use]
pub fn low_outliers(values: &[f64]) -> Option<Vec<(f64, f64)>> {
    if values.len() < FEWEST || values.iter().any(|value| !(value.is_finite() && *value > 0.0)) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let middle = median(&logs)?;
    let count = logs.len() as f64;
    // Small-sample correction of the deviation (Croux and Rousseeuw, COMPSTAT 1992).
    let few = count / (count - 0.8);
    let apart = median(&logs.iter().map(|log| (log - middle).abs()).collect::<Vec<_>>())?;
    let spread = (apart * NORMAL * few).max(LEAST_SPREAD);
    let student = StudentsT::new(0.0, 1.0, (FREEDOM * (count - 1.0)).max(1.0)).ok()?;
    let distances = logs.iter().map(|log| (log - middle) / spread);
    Some(distances.map(|distance| (distance, student.cdf(distance))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{benjamini_hochberg, scattered};

    fn low_outliers(values: &[f64]) -> Option<Vec<f64>> {
        Some(super::low_outliers(values)?.into_iter().map(|(_, chance)| chance).collect())
    }

    /// Pseudo-random standard normal values (Box-Muller).
    fn normal(t: u32) -> f64 {
        let (a, b) = (scattered(2 * t).max(1e-12), scattered(2 * t + 1));
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    #[test]
    fn few_or_senseless_values_are_not_judged() {
        assert!(low_outliers(&[1.0; FEWEST - 1]).is_none());
        assert!(low_outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]).is_none());
        assert!(low_outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, f64::NAN]).is_none());
        let alike = low_outliers(&[5.0; 9]).unwrap();
        assert!(alike.iter().all(|p| (p - 0.5).abs() < 1e-9));
    }

    #[test]
    fn half_of_the_others_do_not_hide_one() {
        let values: Vec<f64> = (0..100).map(|t| 1e6 * (0.02 * normal(t)).exp()).collect();
        let mut slow = values.clone();
        slow[3] *= 0.9;
        let p = low_outliers(&slow).unwrap();
        assert!(p[3] < 1e-3, "{}", p[3]);
        // Ten more that are far worse do not mask it.
        for value in &mut slow[50..60] {
            *value *= 0.3;
        }
        assert!(low_outliers(&slow).unwrap()[3] < 5e-3);
    }

    /// A thousand fleets with a normal spread of 1.5 %, from 24 to 6,000 drives, every third
    /// without a slow one: of those found at q ≤ 1 % at most 1 % are false, and of drives 10 % slow
    /// at least 95 % are found.
    #[test]
    fn a_thousand_fleets_keep_the_rate_of_false_discoveries() {
        let (mut false_share, mut found, mut planted, mut clock) = (0.0, 0, 0, 0);
        let fleets = 1000;
        for fleet in 0..fleets {
            let drives = [24, 96, 480, 960, 2400, 6000][fleet % 6];
            let slow = if fleet % 3 == 0 { 0 } else { 1 + drives / 500 };
            let values: Vec<f64> = (0..drives)
                .map(|drive| {
                    clock += 1;
                    let factor = if drive < slow { 0.9 } else { 1.0 };
                    factor * 1e6 * (0.015 * normal(clock)).exp()
                })
                .collect();
            let q = benjamini_hochberg(&low_outliers(&values).unwrap());
            let named: Vec<usize> = (0..drives).filter(|drive| q[*drive] <= 0.01).collect();
            let wrong = named.iter().filter(|drive| **drive >= slow).count();
            false_share += wrong as f64 / named.len().max(1) as f64;
            // A single host has too few drives for that.
            if drives >= 96 {
                planted += slow;
                found += named.len() - wrong;
            }
        }
        let (rate, power) = (false_share / fleets as f64, found as f64 / planted as f64);
        assert!(rate <= 0.01, "{:.2} % false discoveries", rate * 100.0);
        assert!(power >= 0.95, "{:.1} % of {planted} found", power * 100.0);
    }
}
