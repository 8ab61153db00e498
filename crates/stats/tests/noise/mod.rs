//! Noise with known truth, repeatable from a seed alone: rates relative to a mean of 1.

/// SplitMix64 (Steele, Lea, Flood 2014): uniform, normal by Box and Muller.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In (0, 1].
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }
}

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
