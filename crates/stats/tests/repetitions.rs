//! False positive rate and power of Welch's test on logarithms, for the few repetitions that people
//! make.

#[path = "noise/random.rs"]
mod random;

use iodyno_stats::holm;
use iodyno_stats::two_sample::welch;
use random::Random;

/// Logarithm of a repetition: noise with a relative standard deviation.
type Noise = fn(&mut Random, f64) -> f64;

const NORMAL: Noise = |random, sd| sd * random.normal();
/// Interference only slows down: exponential.
const SLOWED: Noise = |random, sd| sd * (1.0 - random.uniform()).ln();
/// Occasionally a repetition is far off.
const OUTLIERS: Noise =
    |random, sd| sd * random.normal() * if random.uniform() < 0.1 { 5.0 } else { 1.0 };

/// Share of 2000 comparisons with a p-value below 5 %, with `n` repetitions per side, the second
/// side being `ratio` times the first.
fn found(noise: Noise, n: usize, (sd_a, sd_b): (f64, f64), ratio: f64) -> f64 {
    let mut random = Random::new(n as u64);
    let real = (0..2000).filter(|_| {
        let a: Vec<f64> = (0..n).map(|_| noise(&mut random, sd_a)).collect();
        let b: Vec<f64> = (0..n).map(|_| ratio.ln() + noise(&mut random, sd_b)).collect();
        welch(&a, &b, 0.95).expect("finite").p_value(0.0) < 0.05
    });
    real.count() as f64 / 2000.0
}

#[test]
fn without_a_difference_false_positives_are_rare() {
    for n in 3..=5 {
        for (noise, most) in [(NORMAL, 0.05), (SLOWED, 0.05), (OUTLIERS, 0.05)] {
            let wrong = found(noise, n, (0.01, 0.01), 1.0);
            assert!(wrong <= most, "{n} repetitions: {wrong}");
        }
        // Welch's degrees of freedom are an approximation: slightly more if one side is noisy.
        let wrong = found(NORMAL, n, (0.002, 0.02), 1.0);
        assert!(wrong <= 0.065, "{n} repetitions, unlike noise: {wrong}");
    }
}

#[test]
fn five_percent_stand_out_of_one_percent_of_noise() {
    let power: Vec<f64> = (3..=5).map(|n| found(NORMAL, n, (0.01, 0.01), 0.95)).collect();
    assert!(power[0] > 0.90 && power[1] > 0.99 && power[2] > 0.999, "{power:?}");
}

#[test]
fn of_many_rows_without_a_difference_rarely_any_stands_out() {
    let mut random = Random::new(1);
    let wrong = (0..2000).filter(|_| {
        let p: Vec<f64> = (0..8)
            .map(|_| {
                let mut side = || (0..3).map(|_| NORMAL(&mut random, 0.01)).collect::<Vec<_>>();
                welch(&side(), &side(), 0.95).expect("finite").p_value(0.0)
            })
            .collect();
        holm(&p).iter().any(|adjusted| *adjusted < 0.05)
    });
    let share = wrong.count() as f64 / 2000.0;
    assert!(share <= 0.05, "{share}");
}
