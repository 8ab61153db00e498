//! Predictions on surfaces with a known truth.

use proptest::prelude::*;

use super::*;
use crate::plan::Study;

/// Precision requested of measurements.
const PRECISION: f64 = 0.02;

/// Grid of depths by numbers of jobs, of one pattern.
fn points(depths: &[u32], jobs: &[u32]) -> Vec<Point> {
    let mut study = Study::named("test");
    study.targets = vec!["drive".into()];
    let words = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>();
    study.set("rw", "randread");
    study.vary("iodepth", &words(depths));
    study.vary("numjobs", &words(jobs));
    study.points(0)
}

fn grid() -> Vec<Point> {
    let doubled: Vec<u32> = (0..7).map(|n| 1 << n).collect();
    points(&doubled, &doubled)
}

fn line() -> Vec<Point> {
    points(&[1, 2, 4, 8, 16, 32, 64, 128], &[1])
}

/// Rate by depth and jobs, per second.
type Truth<'t> = &'t dyn Fn(f64, f64) -> f64;

/// Fixed service time at depth 1, up to a maximum rate.
fn sharp(depth: f64, jobs: f64) -> f64 {
    (depth * jobs * 12_500.0).min(400_000.0)
}

/// Closed queue: the rate bends long before it saturates.
fn smooth(depth: f64, jobs: f64) -> f64 {
    500_000.0 * depth * jobs / (depth * jobs + 40.0)
}

/// Each job is bound by its core.
fn bound_by_cores(depth: f64, jobs: f64) -> f64 {
    (depth * 12_500.0).min(90_000.0) * jobs.min(6.0)
}

/// Overloaded device: the rate falls by a third at the end.
fn falling(depth: f64, jobs: f64) -> f64 {
    sharp(depth, jobs) * (1.0 - (depth * jobs / 4096.0).sqrt() / 3.0)
}

/// A study measured to its end.
struct Measured {
    surface: Surface,
    points: Vec<Point>,
    known: Vec<Option<MeasuredPoint>>,
    turns: usize,
}

fn truth_at(point: &Point, truth: Truth<'_>) -> f64 {
    let number = |name: &str| {
        let (_, value) = point.options.iter().find(|(option, _)| option == name).unwrap();
        value.parse::<f64>().unwrap()
    };
    truth(number("iodepth"), number("numjobs"))
}

/// Measures with normal noise whose 95 % interval is between half as wide as requested and just as
/// wide.
fn measure(points: Vec<Point>, truth: Truth<'_>, seed: u64, bound_ns: Option<u64>) -> Measured {
    let surface = Surface::of(&points, PRECISION, bound_ns);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut known = vec![None; points.len()];
    let mut turns = 0;
    while let Some(next) = surface.next(&known, &vec![false; points.len()]) {
        assert!(known[next].is_none(), "no point twice");
        // Irwin-Hall: the sum of twelve uniform numbers less 6 is normal enough here.
        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let half = PRECISION * (0.5 + 0.5 * random.f64());
        let value = truth_at(&points[next], truth) * (1.0 + half / 1.96 * normal);
        let iops = Estimate::confident(value, value * (1.0 - half), value * (1.0 + half), 0.95);
        // Mean latency by Little's law, and a p99 of three times that.
        let p99_ns = 3e9 * f64::from(surface.outstanding(next)) / value;
        let p99 = Some(Estimate::confident(p99_ns, p99_ns * 0.95, p99_ns * 1.05, 0.95));
        known[next] = Some(MeasuredPoint { index: turns, iops, p99, depth_ignored: false });
        turns += 1;
    }
    Measured { surface, points, known, turns }
}

/// Over many seeds: number of predictions, of those that hold the truth, and share of points
/// measured.
fn rate(points: &dyn Fn() -> Vec<Point>, truth: Truth<'_>, seeds: u64) -> (u64, u64, f64) {
    let (mut all, mut held, mut measured, mut asked) = (0, 0, 0, 0);
    for seed in 0..seeds {
        let done = measure(points(), truth, seed, None);
        for (point, said) in done.points.iter().zip(done.surface.predicted(&done.known)) {
            if let Some(said) = said {
                let truth = truth_at(point, truth);
                all += 1;
                held += u64::from(said.low() <= truth && truth <= said.high());
            }
        }
        measured += done.turns;
        asked += done.points.len();
    }
    (all, held, measured as f64 / asked as f64)
}

/// Asserts that 95 % of `all` or more hold: one-sided binomial test at 1 % (normal approximation).
#[track_caller]
fn holds((all, held, share): (u64, u64, f64), most_share: f64) {
    let (n, at) = (all as f64, 0.95);
    assert!(all > 30, "{all} predictions");
    let least = n * at - 2.326 * (n * at * (1.0 - at)).sqrt();
    assert!(held as f64 >= least, "{held} of {all} predictions hold the truth");
    assert!(share <= most_share, "{share:.2} of the points were measured");
}

#[test]
fn predictions_hold_the_truth_where_the_knee_is_sharp() {
    holds(rate(&grid, &sharp, 5), 0.4);
    holds(rate(&line, &sharp, 100), 0.6);
}

#[test]
fn predictions_hold_the_truth_where_the_curve_bends_slowly() {
    holds(rate(&grid, &smooth, 20), 1.0);
}

#[test]
fn predictions_hold_the_truth_where_depth_and_jobs_are_not_the_same() {
    holds(rate(&grid, &bound_by_cores, 5), 0.7);
}

#[test]
fn predictions_hold_the_truth_where_more_is_slower() {
    holds(rate(&grid, &falling, 8), 1.0);
}

#[test]
fn a_tenth_of_predictions_is_checked() {
    for seed in 0..3 {
        let done = measure(grid(), &sharp, seed, None);
        let predicted = done.surface.predicted(&done.known).iter().flatten().count();
        assert!(done.surface.checked(&done.known).len() * 10 >= predicted);
    }
}

#[test]
fn whole_curve_is_measured_after_a_failed_check() {
    // A hump at 64 outstanding that none of its neighbours shows.
    let hump = |depth: f64, jobs: f64| if depth == 64.0 { 500_000.0 } else { sharp(depth, jobs) };
    let mut points = line();
    let hump_at = points.iter().position(|point| point.title.contains("iodepth=64 ")).unwrap();
    // Measured first, and bounded by the points after it.
    points.swap(0, hump_at);
    let done = measure(points, &hump, 1, None);
    assert_eq!(done.turns, done.points.len());
    assert!(done.surface.checked(&done.known).iter().any(|(_, held)| !held));
}

#[test]
fn knee_and_maximum_are_measured() {
    for seed in 0..3 {
        let done = measure(grid(), &sharp, seed, None);
        let knees = done.surface.knees(&done.known);
        assert_eq!(knees.len(), 1);
        // 400 thousand IOPS at 80 us need 32 outstanding.
        assert_eq!(done.surface.outstanding(knees[0].knee), 32);
        assert!(done.known[knees[0].most].is_some());
    }
}

#[test]
fn depth_and_jobs_are_known_however_they_are_spelled() {
    let mut study = Study::named("test");
    study.targets = vec!["drive".into()];
    study.vary("iodepth", &["0x20".into(), "1k".into()]);
    study.vary("numjobs", &["0x8".into(), "(2*8)".into()]);
    let surface = Surface::of(&study.points(0), PRECISION, None);
    let mut found: Vec<_> = (0..4).filter_map(|n| surface.depth_and_jobs(n)).collect();
    found.sort_unstable();
    assert_eq!(found, [(32, 8), (32, 16), (1024, 8), (1024, 16)]);
}

#[test]
fn only_measured_points_are_called_the_fewest_or_the_last() {
    let slower = |depth: f64, _: f64| 100_000.0 / depth;
    for (truth, first, last) in [(&slower as Truth<'_>, true, false), (&sharp, false, false)] {
        let done = measure(line(), truth, 1, None);
        let knee = done.surface.knees(&done.known)[0];
        assert_eq!((knee.is_first, knee.is_last), (first, last));
    }
}

#[test]
fn intervals_that_hold_any_knee_name_none() {
    // IOPS and half the interval at depths 1, 2, 4 and 8.
    let unclear = |points_at: [(f64, f64); 4]| {
        let surface = Surface::of(&points(&[1, 2, 4, 8], &[1]), PRECISION, Some(1_000_000));
        let known = points_at.into_iter().enumerate().map(|(index, (value, half))| {
            let iops = match half.is_nan() {
                true => Estimate::bare(value),
                false => Estimate::confident(value, value - half, value + half, 0.95),
            };
            Some(MeasuredPoint { index, iops, p99: None, depth_ignored: false })
        });
        let knees = surface.knees(&known.collect::<Vec<_>>());
        assert_eq!(knees[0].unknown_p99, 4);
        knees[0].is_unclear
    };
    assert!(!unclear([(25.0, 1.0), (50.0, 1.0), (99.0, 2.0), (100.0, 2.0)]));
    // It does not matter here which of two is within 5 %.
    assert!(!unclear([(25.0, 1.0), (50.0, 1.0), (94.0, 2.0), (100.0, 2.0)]));
    assert!(!unclear([(25.0, 9.0), (50.0, 9.0), (100.0, 2.0), (99.0, 2.0)]));
    assert!(unclear([(25.0, 1.0), (50.0, 1.0), (80.0, 20.0), (100.0, 20.0)]));
    assert!(unclear([(90.0, 40.0), (80.0, 20.0), (70.0, 20.0), (60.0, 20.0)]));
    assert!(unclear([(25.0, 1.0), (50.0, 1.0), (60.0, 60.0), (100.0, 2.0)]));
    // An interval that is not known holds anything.
    assert!(unclear([(25.0, f64::NAN), (50.0, 1.0), (99.0, 2.0), (100.0, 2.0)]));
    assert!(unclear([25.0, 50.0, 99.0, 100.0].map(|value| (value, f64::NAN))));
}

#[test]
fn a_depth_without_effect_has_no_knee() {
    let mut done = measure(line(), &sharp, 1, None);
    assert_eq!(done.surface.knees(&done.known).len(), 1);
    done.known.iter_mut().flatten().for_each(|known| known.depth_ignored = true);
    assert_eq!(done.surface.knees(&done.known), []);
}

#[test]
fn best_point_under_a_bound_is_measured() {
    // A p99 of 240 us up to the knee, and twice that at twice the depth.
    for (bound_us, outstanding) in [(300, Some(32)), (650, Some(64)), (100, None)] {
        let done = measure(line(), &sharp, 3, Some(bound_us * 1000));
        let best = done.surface.knees(&done.known)[0].best_under;
        match outstanding {
            // Beyond the knee all are equal but for noise.
            Some(most) => {
                let found = done.surface.outstanding(best.unwrap());
                assert!((32..=most).contains(&found), "{bound_us} us: {found}");
            }
            None => assert_eq!(best, None),
        }
    }
}

#[test]
fn failed_points_are_not_retried_and_bound_nothing() {
    let points = line();
    let surface = Surface::of(&points, PRECISION, None);
    let mut tried = vec![false; points.len()];
    let known = vec![None; points.len()];
    for _ in 0..points.len() {
        let next = surface.next(&known, &tried).unwrap();
        assert!(!std::mem::replace(&mut tried[next], true));
    }
    assert_eq!(surface.next(&known, &tried), None);
    assert!(surface.knees(&known).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Terminates for any values, with every point measured or predicted.
    #[test]
    fn every_point_is_measured_or_predicted(
        rates in prop::collection::vec(1.0_f64..1e6, 49), widths in prop::collection::vec(0.0_f64..0.3, 49),
    ) {
        let points = grid();
        let surface = Surface::of(&points, PRECISION, Some(1_000_000));
        let mut known: Vec<Option<MeasuredPoint>> = vec![None; points.len()];
        let tried = vec![false; points.len()];
        for _ in 0..points.len() {
            let Some(next) = surface.next(&known, &tried) else { break };
            prop_assert!(known[next].is_none());
            let (value, width) = (rates[next], widths[next]);
            let iops =
                Estimate::confident(value, value * (1.0 - width), value * (1.0 + width), 0.95);
            known[next] = Some(MeasuredPoint { index: 0, iops, p99: None, depth_ignored: false });
        }
        prop_assert_eq!(surface.next(&known, &tried), None);
        for (known, predicted) in known.iter().zip(surface.predicted(&known)) {
            prop_assert!(known.is_some() != predicted.is_some());
            if let Some(said) = predicted {
                prop_assert!(said.low() <= said.value && said.value <= said.high());
                prop_assert!(said.relative_half_width() <= Some(WIDTH * PRECISION + 1e-9));
            }
        }
    }
}
