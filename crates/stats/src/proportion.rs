//! Confidence intervals of a proportion.

use statrs::distribution::{ContinuousCDF, Normal};

/// Returns the interval of a proportion from `hits` of `n` samples, at `level` (0..1): Wilson's
/// score interval (Wilson 1927), which stays inside 0..=1 and also keeps its level near the ends.
/// `None` without samples, with more hits than samples, or for a level outside 0..1.
pub fn wilson_interval(hits: u64, n: u64, level: f64) -> Option<(f64, f64)> {
    if n == 0 || hits > n || !(0.0 < level && level < 1.0) {
        return None;
    }
    let z = Normal::standard().inverse_cdf(0.5 + level / 2.0);
    let (n, p) = (n as f64, hits as f64 / n as f64);
    let scale = 1.0 + z * z / n;
    let centre = (p + z * z / (2.0 * n)) / scale;
    let half = z / scale * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    Some(((centre - half).clamp(0.0, p), (centre + half).clamp(p, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_values() {
        // Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611.
        let (low, high) = wilson_interval(81, 263, 0.95).unwrap();
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5);
        let (low, high) = wilson_interval(0, 20, 0.95).unwrap();
        assert!(low == 0.0 && (high - 0.1611).abs() < 5e-5);
        assert_eq!(wilson_interval(1, 0, 0.95), None);
        assert_eq!(wilson_interval(3, 2, 0.95), None);
    }
}
