//! Mean latencies and percentiles on noise with known values, as `check` computes them from 9.5 s
//! of windows of 100 ms.

#[allow(dead_code)]
mod noise;

use iodyno_stats::quantile_interval::{rank, ranks, ranks_of_clustered};
use iodyno_stats::{design_effect, ratio_interval};
use noise::Random;

const WINDOWS: usize = 95;

/// I/Os in a window at the mean rate.
const IOS: f64 = 1000.0;

fn percent(seeds: u64, holds: impl Fn(u64) -> bool) -> f64 {
    (0..seeds).filter(|seed| holds(*seed)).count() as f64 * 100.0 / seeds as f64
}

/// At depth 1 a window has as many I/Os as its rate gives, and their latencies fill it.
fn mean_latency_is_held(rates: &[f64]) -> bool {
    let counts: Vec<f64> = rates.iter().map(|rate| IOS * rate.max(0.001)).collect();
    let found = ratio_interval(&vec![IOS; rates.len()], &counts, 0.95).expect("enough windows");
    found.low <= 1.0 && 1.0 <= found.high
}

#[test]
fn mean_latencies_are_held_as_often_as_rates() {
    type Kind = fn(u64) -> Vec<f64>;
    let kinds: [(&str, Kind); 4] = [
        ("white 5 %", |seed| noise::ar1(seed, WINDOWS, 0.0, 0.05)),
        ("AR(0.8)", |seed| noise::ar1(seed, WINDOWS, 0.8, 0.02)),
        ("AR(0.95)", |seed| noise::ar1(seed, WINDOWS, 0.95, 0.02)),
        ("two levels", |seed| noise::bimodal(seed, WINDOWS, 0.05, 0.1, 0.005)),
    ];
    for (name, kind) in kinds {
        let held = percent(1000, |seed| mean_latency_is_held(&kind(seed)));
        assert!((93.0..=97.5).contains(&held), "{name}: {held} %");
    }
}

/// Latencies of the slow I/Os of each window, us: 2 % of all on average, in clusters of `size`.
fn clustered(seed: u64, size: u64) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed);
    let chance = 0.02 / size as f64;
    let fast = |random: &mut Random| (random.uniform().ln() / (1.0 - chance).ln()) as u64;
    let mut windows = vec![Vec::new(); WINDOWS];
    let mut at = fast(&mut random);
    while at < WINDOWS as u64 * IOS as u64 {
        for io in at..at + size {
            if let Some(window) = windows.get_mut(io as usize / IOS as usize) {
                window.push(1000.0 - 300.0 * random.uniform().ln());
            }
        }
        at += size + fast(&mut random);
    }
    windows
}

/// The long-run share of slow ones, and the p99 that follows from it: exponential beyond 1 ms.
fn true_p99(size: u64) -> f64 {
    // Before a cluster there are on average (1 - p) / p fast ones, with p the probability of one.
    let p = 0.02 / size as f64;
    let slow = size as f64 / (size as f64 + (1.0 - p) / p);
    1000.0 - 300.0 * (0.01 / slow).ln()
}

/// True if the 95 % interval of the p99 contains it: assuming independent I/Os, and with the
/// estimated design effect.
fn p99_is_held(seed: u64, size: u64) -> (bool, bool) {
    let windows = clustered(seed, size);
    let mut slow: Vec<f64> = windows.iter().flatten().copied().collect();
    slow.sort_by(f64::total_cmp);
    let n = (WINDOWS as f64 * IOS) as u64;
    let fast = n - slow.len() as u64;
    let at = |rank: u64| if rank > fast { slow[(rank - fast) as usize - 1] } else { 90.0 };
    let value = at(rank(n, 0.99).expect("in range"));
    let beyond = |window: &Vec<f64>| window.iter().filter(|one| **one > value).count() as f64;
    let beyond: Vec<f64> = windows.iter().map(beyond).collect();
    let counts = vec![IOS; WINDOWS];
    let effect = design_effect(&beyond, &counts, 0.95).expect("it varies");
    let truth = true_p99(size);
    let holds = |(low, high)| at(low) <= truth && truth <= at(high);
    let of_clusters = ranks_of_clustered(n, effect, 0.99, 0.95).is_none_or(holds);
    (holds(ranks(n, 0.99, 0.95).expect("enough")), of_clusters)
}

#[test]
fn percentiles_of_clusters_are_held() {
    for (size, as_independent) in [(1, 92.0..=98.0), (10, 40.0..=70.0), (50, 15.0..=40.0)] {
        let held: Vec<(bool, bool)> = (0..1000).map(|seed| p99_is_held(seed, size)).collect();
        let percent = |of: fn(&(bool, bool)) -> bool| {
            held.iter().filter(|one| of(one)).count() as f64 / held.len() as f64 * 100.0
        };
        let (plain, found) = (percent(|one| one.0), percent(|one| one.1));
        assert!(as_independent.contains(&plain), "clusters of {size}: {plain} %");
        assert!((92.0..=99.0).contains(&found), "clusters of {size}: {found} %");
    }
}
