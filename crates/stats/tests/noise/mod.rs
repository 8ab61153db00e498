//! Noise with known mean, reproducible from a seed: rates relative to a mean of 1.

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

/// 1/f noise of standard deviation `sigma`: the sum of nine AR(1) noises of equal variance whose
/// correlation times grow from 0.1 s by factors of 3 to 11 min.
pub(crate) fn pink(seed: u64, n: usize, sigma: f64) -> Vec<f64> {
    const OCTAVES: u32 = 9;
    let mut random = Random::new(seed);
    let phis: Vec<f64> = (0..OCTAVES).map(|k| (-1.0 / 3_f64.powi(k as i32)).exp()).collect();
    let each = sigma / f64::from(OCTAVES).sqrt();
    let mut parts: Vec<f64> = phis.iter().map(|_| each * random.normal()).collect();
    (0..n)
        .map(|_| {
            for (part, phi) in parts.iter_mut().zip(&phis) {
                *part = phi * *part + each * (1.0 - phi * phi).sqrt() * random.normal();
            }
            1.0 + parts.iter().sum::<f64>()
        })
        .collect()
}

/// A drive with background work: every 3 to 20 s (uniform) the rate falls to 40 % for half a
/// second. White noise of standard deviation `sigma`; the long-run mean is 1.
pub(crate) fn dips(seed: u64, n: usize, sigma: f64) -> Vec<f64> {
    const LENGTH: f64 = 5.0;
    const DEPTH: f64 = 0.4;
    let mut random = Random::new(seed);
    let mean = (115.0 + LENGTH * DEPTH) / (115.0 + LENGTH);
    // Begins somewhere in a cycle: longer ones are more likely.
    let gap = |random: &mut Random| 30.0 + 170.0 * random.uniform();
    let mut next = loop {
        let gap = gap(&mut random);
        if random.uniform() < (gap + LENGTH) / (200.0 + LENGTH) {
            break (gap + LENGTH) * random.uniform() - LENGTH;
        }
    };
    (0..n)
        .map(|t| {
            while next + LENGTH < t as f64 {
                next += LENGTH + gap(&mut random);
            }
            let level = if t as f64 >= next { DEPTH } else { 1.0 };
            level / mean + sigma * random.normal()
        })
        .collect()
}
