//! Noise with known truth, repeatable from a seed alone: rates relative to a mean of 1.

mod random;

pub(crate) use random::Random;

/// `1 + e_t`; `e_0 = sigma * w_0`, `e_t = phi * e_{t-1} + sigma * sqrt(1 - phi^2) * w_t`:
/// stationary from the start, standard deviation `sigma` whatever phi is; phi = 0 is white.
pub(crate) fn ar1(seed: u64, n: usize, phi: f64, sigma: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut e = sigma * random.normal();
    (0..n)
        .map(|t| {
            if t > 0 {
                e = phi * e + sigma * (1.0 - phi * phi).sqrt() * random.normal();
            }
            1.0 + e
        })
        .collect()
}

/// Two levels `1 - gap` and `1 + gap`, each equally likely at the start; before every further
/// sample the level changes with probability `switch` (autocorrelation `(1 - 2 switch)^k`), plus
/// white noise of standard deviation `sigma`.
pub(crate) fn bimodal(seed: u64, n: usize, gap: f64, switch: f64, sigma: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut high = random.uniform() <= 0.5;
    (0..n)
        .map(|t| {
            if t > 0 && random.uniform() <= switch {
                high = !high;
            }
            1.0 + if high { gap } else { -gap } + sigma * random.normal()
        })
        .collect()
}
