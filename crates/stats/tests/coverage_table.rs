//! Coverage table of docs/explanation/measuring.md: how often a 95 % interval of the rate contains
//! the long-run mean, for kinds of noise including those where it rarely does. `UPDATE_EXPECT=1`
//! rewrites it.

#[allow(dead_code)]
mod noise;

use std::fmt::Write as _;

use iodyno_stats::{Decision, LONG, StopReason, StopRule, Stopper, mean_interval};

const SEEDS: u64 = 300;

const BEGIN: &str = "<!-- coverage: begin -->\n";
const END: &str = "<!-- coverage: end -->\n";

/// Kind of noise: its name in the table, and a function of seed and length that makes a series of
/// 100 ms samples.
type Kind = (&'static str, fn(u64, usize) -> Vec<f64>);

const KINDS: [Kind; 10] = [
    ("white, 2 %", |seed, n| noise::ar1(seed, n, 0.0, 0.02)),
    ("white, 5 %", |seed, n| noise::ar1(seed, n, 0.0, 0.05)),
    ("AR(0.8), 2 %: remembers for 0.4 s", |seed, n| noise::ar1(seed, n, 0.8, 0.02)),
    ("AR(0.95), 2 %: remembers for 2 s", |seed, n| noise::ar1(seed, n, 0.95, 0.02)),
    ("two levels 10 % apart, of 1 s", |seed, n| noise::bimodal(seed, n, 0.05, 0.1, 0.005)),
    ("trend of 10 % in 10 s", |seed, n| {
        let white = noise::ar1(seed, n, 0.0, 0.02);
        white.iter().enumerate().map(|(t, x)| x + trend_at(t)).collect()
    }),
    ("1/f, 2 %", |seed, n| noise::pink(seed, n, 0.02)),
    ("1/f, 2 %, under white, 2 %", |seed, n| {
        let white = noise::ar1(seed + 7_000_000, n, 0.0, 0.02);
        noise::pink(seed, n, 0.02).iter().zip(white).map(|(slow, fast)| slow + fast - 1.0).collect()
    }),
    ("dips to 40 % for 0.5 s, every 3 to 20 s", |seed, n| noise::dips(seed, n, 0.01)),
    ("two levels 10 % apart, of 10 s", |seed, n| noise::bimodal(seed, n, 0.05, 0.01, 0.01)),
];

fn trend_at(t: usize) -> f64 {
    0.1 * t as f64 / 100.0
}

/// Counts of measurements, of [`SEEDS`].
#[derive(Default)]
struct Counts {
    held: u32,
    marked: u32,
    early: u32,
    early_held: u32,
    early_wrong: u32,
}

/// Measures a kind of noise as `check` does, for at most `max_seconds`.
fn measure((name, make): Kind, max_seconds: f64) -> Counts {
    let mut counts = Counts::default();
    for seed in 0..SEEDS {
        let series = make(seed, (max_seconds * 10.0) as usize);
        let mut stopper = Stopper::new(StopRule::Precision {
            relative_half_width: 0.01,
            level: 0.95,
            p99_relative_half_width: None,
            least_times: LONG,
            steady: None,
            min_seconds: 5.0,
            max_seconds,
        });
        let observe = |n: usize| match stopper.observe(n as f64 / 10.0, &series[..n]) {
            Decision::Continue => None,
            Decision::Stop(why) => Some((n, why)),
        };
        let (used, why) = (1..=series.len()).find_map(observe).expect("it ends");
        let found = mean_interval(&series[..used], 0.95).expect("enough samples");
        let truth = match name.starts_with("trend") {
            true => 1.0 + f64::midpoint(trend_at(found.warmup_len), trend_at(used - 1)),
            false => 1.0,
        };
        let held = u32::from(found.low <= truth && truth <= found.high);
        counts.held += held;
        counts.marked += u32::from(found.slow || !found.steady);
        if why == StopReason::PrecisionReached {
            counts.early += 1;
            counts.early_held += held;
            counts.early_wrong += u32::from((found.mean / truth - 1.0).abs() > 0.02);
        }
    }
    counts
}

fn table() -> String {
    let mut table = String::from(
        "| noise | longest | held | marked | ended early | of these held | of these wrong by over 2 % |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for kind in KINDS {
        for max_seconds in [10.0, 60.0] {
            let of = measure(kind, max_seconds);
            let percent = |count: u32, of: u32| match of {
                // A share of so few is meaningless.
                0..10 => "-".to_owned(),
                of => format!("{:.0} %", 100.0 * f64::from(count) / f64::from(of)),
            };
            let all = SEEDS as u32;
            let columns = [
                percent(of.held, all),
                percent(of.marked, all),
                percent(of.early, all),
                percent(of.early_held, of.early),
                percent(of.early_wrong, of.early),
            ];
            let columns = columns.join(" | ");
            writeln!(table, "| {} | {max_seconds} s | {columns} |", kind.0).expect("memory");
        }
    }
    table
}

/// Compares words and numbers of two tables; the last digit may differ if another machine computes
/// a logarithm.
fn is_same(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split(' ').collect(), b.split(' ').collect());
    let same = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1.0,
        _ => a == b,
    };
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a, b))
}

#[test]
fn docs_measuring_has_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explanation/measuring.md");
    let text = std::fs::read_to_string(path).expect("docs/explanation/measuring.md");
    let begin = text.find(BEGIN).expect("the table begins") + BEGIN.len();
    let end = text.find(END).expect("the table ends");
    let found = table();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let text = format!("{}{found}{}", &text[..begin], &text[end..]);
        std::fs::write(path, text).expect("docs/explanation/measuring.md");
        return;
    }
    assert!(is_same(&text[begin..end], &found), "it is now (UPDATE_EXPECT=1 writes it):\n{found}");
}
