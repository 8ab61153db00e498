//! Seeded noise of known kinds for rates.

/// Noise of a simulated drive's rate from interval to interval, as a factor of its mean. Every kind
/// has mean 1, except for the trend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Independent normal factors with this standard deviation.
    White(f64),
    /// A stationary AR(1) process.
    Ar1 {
        /// Coefficient, 0 to below 1.
        phi: f64,
        /// Standard deviation of the process.
        sigma: f64,
    },
    /// Two levels, 1 - gap and 1 + gap, with white noise on them.
    Bimodal {
        /// Distance of each level from the mean.
        gap: f64,
        /// Probability of a change in each interval, 0..1.
        switch: f64,
        /// Standard deviation of the white noise.
        sigma: f64,
    },
    /// White noise on a linear trend.
    Trend {
        /// Standard deviation of the noise.
        sigma: f64,
        /// Change of the factor per second.
        per_s: f64,
    },
}

pub(super) struct NoiseState {
    noise: Noise,
    state: f64,
}

impl NoiseState {
    pub(super) fn new(noise: Noise, rng: &mut Rng) -> Self {
        let state = match noise {
            Noise::Ar1 { sigma, .. } => sigma * rng.normal(),
            Noise::Bimodal { .. } if rng.uniform() < 0.5 => -1.0,
            _ => 1.0,
        };
        Self { noise, state }
    }

    pub(super) fn next(&mut self, now_ns: u64, rng: &mut Rng) -> f64 {
        match self.noise {
            Noise::White(sigma) => 1.0 + sigma * rng.normal(),
            Noise::Ar1 { phi, sigma } => {
                let factor = 1.0 + self.state;
                self.state = phi * self.state + sigma * (1.0 - phi * phi).sqrt() * rng.normal();
                factor
            }
            Noise::Bimodal { gap, switch, sigma } => {
                let factor = 1.0 + gap * self.state + sigma * rng.normal();
                if rng.uniform() < switch {
                    self.state = -self.state;
                }
                factor
            }
            Noise::Trend { sigma, per_s } => {
                1.0 + per_s * now_ns as f64 / 1e9 + sigma * rng.normal()
            }
        }
    }
}

/// SplitMix64 (Steele et al. 2014): small, seeded, good enough for noise.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform, 0 < u < 1.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller 1958).
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
