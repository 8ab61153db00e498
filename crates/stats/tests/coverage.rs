//! The whole procedure (stopper at 100 ms samples, warm-up cut, interval) on noise with a known
//! mean: 95 % intervals contain it for 93.5 to 96.5 % of 2000 seeds.

#[allow(dead_code)]
mod noise;

use iodyno_stats::{Decision, LONG, MeanInterval, StopRule, Stopper, mean_interval};

const SEEDS: u64 = 2000;

/// Measures one series as `check` does; returns the number of samples used and the interval.
fn measure(series: &[f64], max_seconds: f64) -> (usize, MeanInterval) {
    let mut stopper = Stopper::new(StopRule::Precision {
        relative_half_width: 0.01,
        level: 0.95,
        p99_relative_half_width: None,
        least_times: LONG,
        steady: None,
        min_seconds: 5.0,
        max_seconds,
    });
    let used = (1..=series.len())
        .find(|&n| stopper.observe(n as f64 / 10.0, &series[..n]) != Decision::Continue)
        .expect("it stops at the longest time");
    (used, mean_interval(&series[..used], 0.95).expect("enough samples"))
}

/// Share of seeds whose interval contains `truth(first, end)` of the samples used, in percent.
fn coverage(
    max_seconds: f64,
    make: impl Fn(u64, usize) -> Vec<f64>,
    truth: impl Fn(usize, usize) -> f64,
) -> f64 {
    let n = (max_seconds * 10.0).round() as usize;
    let hits = (0..SEEDS)
        .filter(|seed| {
            let (used, interval) = measure(&make(*seed, n), max_seconds);
            let truth = truth(interval.warmup_len, used);
            interval.low <= truth && truth <= interval.high
        })
        .count();
    hits as f64 * 100.0 / SEEDS as f64
}

fn assert_covers(name: &str, percent: f64) {
    assert!(
        (93.5..=96.5).contains(&percent),
        "{name}: {percent} % of the intervals hold the truth"
    );
}

fn one(_: usize, _: usize) -> f64 {
    1.0
}

#[test]
fn white_quiet() {
    assert_covers("sigma 2 %", coverage(10.0, |seed, n| noise::ar1(seed, n, 0.0, 0.02), one));
}

#[test]
fn white_loud() {
    assert_covers("sigma 5 %", coverage(10.0, |seed, n| noise::ar1(seed, n, 0.0, 0.05), one));
}

#[test]
fn ar_080() {
    assert_covers("10 s", coverage(10.0, |seed, n| noise::ar1(seed, n, 0.8, 0.02), one));
}

#[test]
fn ar_095() {
    assert_covers("10 s", coverage(10.0, |seed, n| noise::ar1(seed, n, 0.95, 0.02), one));
}

#[test]
fn bimodal() {
    assert_covers("10 s", coverage(10.0, |seed, n| noise::bimodal(seed, n, 0.05, 0.1, 0.005), one));
}

#[test]
fn trending() {
    // The true value of a trend is its mean over the measured window.
    let line = |t: usize| 0.1 * t as f64 / 100.0;
    let make = |seed, n| {
        let white = noise::ar1(seed, n, 0.0, 0.02);
        white.iter().enumerate().map(|(t, x)| x + line(t)).collect()
    };
    let truth = |first, end| 1.0 + (line(first) + line(end - 1)) / 2.0;
    assert_covers("10 % in 10 s", coverage(10.0, make, truth));
}

#[test]
fn longer_white() {
    assert_covers("60 s", coverage(60.0, |seed, n| noise::ar1(seed, n, 0.0, 0.05), one));
}

#[test]
fn longer_ar_080() {
    assert_covers("60 s", coverage(60.0, |seed, n| noise::ar1(seed, n, 0.8, 0.02), one));
}
