//! First-order autoregression with an unknown coefficient: inference on the mean of a short
//! correlated series, and on one effect (a trend) in it.
//!
//! Model: `y_t = mean + effect * z_t + e_t`, `e_t = phi * e_{t-1} + sigma * w_t`, `w` standard
//! normal, `e` stationary, `|phi| < 1`.
//!
//! With a hundred correlated samples, `phi` and with it the variance of the mean are poorly known,
//! and an interval that plugs in one estimate of them is too narrow. So `phi` is not estimated but
//! integrated out: for each `phi` of a grid, sigma and effect follow from generalised least squares
//! and a Student t distribution is exact; the distributions are then weighted by the restricted
//! (residual) likelihood of `phi`,
//!
//! `L(phi) = |Q|^(1/2) |X'QX|^(-1/2) RSS(phi)^(-(m-k)/2)`, `|Q| = 1 - phi^2`,
//!
//! (Q: the tridiagonal inverse correlation matrix up to sigma, X: the k regressors, m: values)
//! times a prior `(1 - phi^2)^(-1/4)`: the geometric mean of the reference prior `(1 -
//! phi^2)^(-1/2)`, which over-covers for short series, and of the uniform one, which under-covers
//! near phi = 1. The grid is uniform in `theta`, `phi = sin theta`. Sources: Zellner, Tiao,
//! "Bayesian analysis of the regression model with autocorrelated errors", JASA 59 (1964); Berger,
//! Yang, "Noninformative priors and Bayesian testing for the AR(1) model", Econometric Theory 10
//! (1994). These do not show that the result has the coverage of a confidence interval; simulation
//! does (tests/coverage.rs).

use std::f64::consts::PI;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::mean;

/// Number of grid points over theta. The likelihood of m values has a standard deviation of about
/// `m^(-1/2)` in theta; with at most 100 batch means that is one step of the grid, and the midpoint
/// rule is accurate to 1e-8 for a bell of that width.
const GRID: usize = 32;

/// Exponent of `1 - phi^2` in the prior over the grid, which is uniform in theta: 0 is the
/// reference prior, 1/2 the uniform one.
const PRIOR_EXPONENT: f64 = 0.25;

/// Components below this share of the greatest weight do not affect any relevant probability.
const NEGLIGIBLE: f64 = 1e-7;

/// Conditional fit for one value of `phi`, and its probability.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Component {
    /// Probability of this value of phi; all components sum to 1.
    pub(crate) weight: f64,
    /// Correlation of neighbours.
    pub(crate) phi: f64,
    /// Standard deviation of the innovations.
    pub(crate) sigma: f64,
    /// Generalised least squares estimate of the effect; 0 without a regressor.
    pub(crate) effect: f64,
    /// Its standard error; 0 without a regressor.
    pub(crate) effect_se: f64,
}

/// The fitted model: a mixture over phi.
#[derive(Debug, Clone)]
pub(crate) struct Fit {
    components: Vec<Component>,
    student: StudentsT,
}

/// `u' Q v` for every phi, from three sums: `a - 2 phi c + phi^2 b`.
#[derive(Debug, Clone, Copy)]
struct QuadraticForm {
    a: f64,
    b: f64,
    c: f64,
}

impl QuadraticForm {
    fn new(u: &[f64], v: &[f64]) -> Self {
        let n = u.len();
        let dot = |from: usize, to: usize| (from..to).map(|t| u[t] * v[t]).sum::<f64>();
        let c = (1..n).map(|t| u[t] * v[t - 1] + u[t - 1] * v[t]).sum::<f64>() / 2.0;
        Self { a: dot(0, n), b: dot(1, n - 1), c }
    }

    fn at(self, phi: f64) -> f64 {
        self.a - 2.0 * phi * self.c + phi * phi * self.b
    }
}

/// Fits the model to `values`, with an effect along `regressor` if given (same length, not
/// constant).
///
/// `None` if there are fewer values than the regressors plus one, or no variation remains after
/// them.
pub(crate) fn fit(values: &[f64], regressor: Option<&[f64]>) -> Option<Fit> {
    let m = values.len();
    let regressors = 1 + usize::from(regressor.is_some());
    if m < regressors + 1 {
        return None;
    }
    let dof = (m - regressors) as f64;
    let y = centred(values);
    let ones = vec![1.0; m];
    let z = regressor.map(centred);
    let (yy, y1, one) = (
        QuadraticForm::new(&y, &y),
        QuadraticForm::new(&y, &ones),
        QuadraticForm::new(&ones, &ones),
    );
    let effect = z.as_ref().map(|z| {
        (QuadraticForm::new(z, z), QuadraticForm::new(z, &y), QuadraticForm::new(z, &ones))
    });
    // Rounding error of this size remains without any variation.
    let scale = values.iter().fold(0.0_f64, |top, value| top.max(value.abs()));
    let nothing = m as f64 * (scale * 1e-12).powi(2);

    let mut log_weights = Vec::with_capacity(GRID);
    let mut components = Vec::with_capacity(GRID);
    for step in 0..GRID {
        let phi = (PI * ((step as f64 + 0.5) / GRID as f64 - 0.5)).sin();
        // Sweep the mean out of y and z first, then z out of y.
        let one_one = one.at(phi);
        let y_one = y1.at(phi);
        let mut rss = yy.at(phi) - y_one * y_one / one_one;
        let mut determinant = one_one;
        let mut effect_value = 0.0;
        let mut effect_information = f64::INFINITY;
        if let Some((zz, zy, z1)) = effect {
            let z_one = z1.at(phi);
            effect_information = zz.at(phi) - z_one * z_one / one_one;
            effect_value = (zy.at(phi) - z_one * y_one / one_one) / effect_information;
            rss -= effect_value * effect_value * effect_information;
            determinant *= effect_information;
        }
        if rss.is_nan() || rss <= nothing {
            return None;
        }
        let prior = PRIOR_EXPONENT * (1.0 - phi * phi).ln();
        let likelihood = 0.5 * ((1.0 - phi * phi) / determinant).ln() - 0.5 * dof * rss.ln();
        log_weights.push(prior + likelihood);
        let sigma = (rss / dof).sqrt();
        components.push(Component {
            weight: 0.0,
            phi,
            sigma,
            effect: effect_value,
            effect_se: sigma / effect_information.sqrt(),
        });
    }
    let top = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (component, log_weight) in components.iter_mut().zip(&log_weights) {
        component.weight = (log_weight - top).exp();
    }
    components.retain(|component| component.weight > NEGLIGIBLE);
    let total: f64 = components.iter().map(|component| component.weight).sum();
    components.iter_mut().for_each(|component| component.weight /= total);
    Some(Fit { components, student: StudentsT::new(0.0, 1.0, dof).ok()? })
}

impl Fit {
    /// Returns the half-width of the interval at `level` around an estimate with standard error
    /// `se`, given a component.
    pub(crate) fn half_width(&self, level: f64, se: impl Fn(&Component) -> f64) -> f64 {
        let scales: Vec<(f64, f64)> = self.components.iter().map(|c| (c.weight, se(c))).collect();
        let tail = (1.0 - level) / 2.0;
        let excess = |half_width: f64| {
            let beyond: f64 = scales.iter().map(|(w, s)| w * self.student.sf(half_width / s)).sum();
            (beyond / tail).ln()
        };
        let t = self.student.inverse_cdf(1.0 - tail);
        let least = scales.iter().map(|(_, s)| *s).fold(f64::INFINITY, f64::min);
        let most = scales.iter().map(|(_, s)| *s).fold(0.0, f64::max);
        falling_root((least * t).ln(), (most * t).ln(), |log| excess(log.exp())).exp()
    }

    /// Returns the two-sided p-value of an estimate against 0; `estimate` gives value and standard
    /// error for a component.
    pub(crate) fn p_value(&self, estimate: impl Fn(&Component) -> (f64, f64)) -> f64 {
        let above: f64 = self
            .components
            .iter()
            .map(|component| {
                let (value, se) = estimate(component);
                component.weight * self.student.cdf(value / se)
            })
            .sum();
        (2.0 * above.min(1.0 - above)).clamp(0.0, 1.0)
    }

    /// Returns the weighted mean of `of` over the components.
    pub(crate) fn average(&self, of: impl Fn(&Component) -> f64) -> f64 {
        self.components.iter().map(|component| component.weight * of(component)).sum()
    }
}

/// Variance of the plain mean of `n` values with innovations of variance 1, exact for any n.
pub(crate) fn variance_of_mean(phi: f64, n: usize) -> f64 {
    let n_values = n as f64;
    let short = 2.0 * phi * (1.0 - phi.powi(i32::try_from(n).unwrap_or(i32::MAX)));
    let factor = (1.0 + phi) / (1.0 - phi) / n_values
        - short / (n_values * n_values * (1.0 - phi) * (1.0 - phi));
    factor / (1.0 - phi * phi)
}

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = mean(values);
    values.iter().map(|value| value - mean).collect()
}

/// Returns the root of a falling function between `low` and `high`, to 1e-3 (regula falsi,
/// Illinois).
fn falling_root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut at_low, mut at_high) = (f(low), f(high));
    if at_low <= 0.0 {
        return low;
    }
    if at_high >= 0.0 {
        return high;
    }
    let mut last_side = 0;
    for _ in 0..60 {
        let middle = (low * at_high - high * at_low) / (at_high - at_low);
        let value = f(middle);
        if value.abs() < 1e-3 || high - low < 1e-4 {
            return middle;
        }
        if value > 0.0 {
            (low, at_low) = (middle, value);
            if last_side == 1 {
                at_high /= 2.0;
            }
            last_side = 1;
        } else {
            (high, at_high) = (middle, value);
            if last_side == -1 {
                at_low /= 2.0;
            }
            last_side = -1;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_of_the_mean_is_the_sum_over_all_pairs() {
        for (phi, n) in [(0.0, 5_usize), (0.8, 7), (-0.5, 4), (0.99, 30), (0.6, 1)] {
            let sum: f64 =
                (0..n).flat_map(|i| (0..n).map(move |j| phi_power(phi, i.abs_diff(j)))).sum();
            let direct = sum / (n * n) as f64 / (1.0 - phi * phi);
            assert!((variance_of_mean(phi, n) / direct - 1.0).abs() < 1e-9, "{phi} {n}");
        }
    }

    fn phi_power(phi: f64, lag: usize) -> f64 {
        (0..lag).fold(1.0, |power, _| power * phi)
    }

    #[test]
    fn weights_are_probabilities_and_follow_the_correlation() {
        let scattered: Vec<f64> = (0..80).map(crate::scattered).collect();
        let slow: Vec<f64> = (0..80).map(|t| (f64::from(t) / 12.0).sin()).collect();
        let phi = |values: &[f64]| {
            let fit = fit(values, None).expect("it varies");
            assert!((fit.average(|_| 1.0) - 1.0).abs() < 1e-6);
            fit.average(|component| component.phi)
        };
        assert!(phi(&scattered) < 0.3, "{}", phi(&scattered));
        assert!(phi(&slow) > 0.8, "{}", phi(&slow));
    }

    #[test]
    fn the_half_width_leaves_the_tail_that_was_asked_for() {
        let values: Vec<f64> = (0..40).map(crate::scattered).collect();
        let fit = fit(&values, None).expect("it varies");
        let se = |c: &Component| c.sigma * variance_of_mean(c.phi, 40).sqrt();
        let half_width = fit.half_width(0.95, se);
        let outside = fit.p_value(|component| (half_width, se(component)));
        assert!((outside - 0.05).abs() < 1e-3, "{outside}");
    }
}
