//! Sweeps of simulated drives of known truth: their duration, their errors, the coverage of their
//! intervals, and how they resume.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::atomic::AtomicBool;

use common::StopAfter;
use common::stage::Stage;
use iodyno_campaign::{Resumed, Study};
use iodyno_load::{Noise, SimulatedDrive, SimulatedGenerator};
use iodyno_model::{EndReason, Measurement, RunRecord, RunState};
use iodyno_store::Store;

const READS: &str = r#"
    [stop]
    precision_percent = 2.0
    min_time = "5s"
    max_time = "60s"
    [job]
    rw = "randread"
    bs = "4k"
    [grid]
    iodepth = [1, 4, 16, 64]
"#;

/// Results of sweeps over many seeds.
#[derive(Default)]
struct Tally {
    points: usize,
    held: usize,
    measured: usize,
    seconds: f64,
    errors: Vec<f64>,
}

impl Tally {
    /// Results of `seeds` sweeps; `truth` is the true rate by number of outstanding I/Os.
    fn of(
        stage: &Stage,
        study: &Study,
        generator: &dyn Fn(u64) -> SimulatedGenerator,
        truth: &dyn Fn(u32) -> f64,
        seeds: u64,
    ) -> Self {
        let mut tally = Self::default();
        let points = study.points(0).len();
        for seed in 0..seeds {
            let record = stage.measure(study, generator(seed));
            assert_eq!(record.run.state, RunState::Done);
            let outlook = study.outlook(&record).unwrap();
            assert_eq!(record.measurements.len() + outlook.predictions.len(), points);
            let measured =
                record.measurements.iter().map(|of| (&of.name, of.total[0].iops.unwrap()));
            let predicted = outlook.predictions.iter().map(|of| (&of.name, of.iops));
            for (name, iops) in measured.chain(predicted) {
                let numbers = name.split(' ').map(|word| word.split_once('=').unwrap().1);
                let truth = truth(numbers.map(|number| number.parse::<u32>().unwrap()).product());
                tally.held += usize::from(iops.low() <= truth && truth <= iops.high());
                tally.errors.push((iops.value / truth - 1.0).abs());
            }
            tally.points += points;
            tally.measured += record.measurements.len();
            let ns = record.measurements.iter().map(|of| of.warmup_ns + of.duration_ns.unwrap());
            tally.seconds += ns.sum::<u64>() as f64 / 1e9;
        }
        tally.errors.sort_by(f64::total_cmp);
        tally
    }

    /// Factor by which fixed 60 s for each point would take longer.
    fn times_faster(&self) -> f64 {
        self.points as f64 * 60.0 / self.seconds
    }

    fn median_error(&self) -> f64 {
        self.errors[self.errors.len() / 2]
    }

    /// True if as many hold as for 95 % intervals: one-sided binomial test at 1 % (normal
    /// approximation).
    fn covers(&self) -> bool {
        let n = self.points as f64;
        self.held as f64 >= n * 0.95 - 2.326 * (n * 0.95 * 0.05).sqrt()
    }
}

/// For a drive whose rate starts a third too low and is settled after half a second.
fn of_noise(noise: Noise, seeds: u64) -> Tally {
    let stage = Stage::new();
    let warm_up = Some((0.3, 2e8));
    let drive = SimulatedDrive { noise, warm_up, ..SimulatedDrive::default() };
    let truth = |outstanding| drive.truth_iops(4096, outstanding);
    Tally::of(&stage, &stage.study(READS), &|seed| stage.generator(&drive, seed), &truth, seeds)
}

#[track_caller]
fn comes_to(tally: &Tally, times: f64, error: f64) {
    let said = format!(
        "{:.1} times, median error {:.2} %, {} of {} hold, {} measured",
        tally.times_faster(),
        tally.median_error() * 100.0,
        tally.held,
        tally.points,
        tally.measured
    );
    assert!(tally.covers(), "{said}");
    assert!(tally.median_error() < error && tally.times_faster() > times, "{said}");
}

#[test]
fn a_steady_drive_is_known_in_a_tenth_of_the_time() {
    comes_to(&of_noise(Noise::White(0.01), 25), 10.0, 0.02);
    comes_to(&of_noise(Noise::White(0.05), 25), 10.0, 0.02);
}

#[test]
fn correlated_noise_takes_longer_and_keeps_coverage() {
    comes_to(&of_noise(Noise::Ar1 { phi: 0.5, sigma: 0.02 }, 25), 5.0, 0.02);
    comes_to(&of_noise(Noise::Ar1 { phi: 0.8, sigma: 0.03 }, 15), 2.0, 0.02);
}

#[test]
fn an_adaptive_sweep_takes_a_twentieth() {
    let stage = Stage::new();
    let study = stage.study(&format!("adaptive = true\n{READS}numjobs = [1, 2, 4, 8, 16]\n"));
    let (noise, iops_max) = (Noise::White(0.02), f64::MAX);
    let drive = SimulatedDrive { noise, iops_max, bandwidth_max: f64::MAX, ..Default::default() };
    // All jobs together have one drive.
    let generator = |seed| {
        let mut generator = stage.generator(&drive, seed);
        generator.shared_bytes_per_s = Some(4096.0 * 400_000.0);
        generator
    };
    let truth = |outstanding| drive.truth_iops(4096, outstanding).min(400_000.0);
    comes_to(&Tally::of(&stage, &study, &generator, &truth, 5), 20.0, 0.05);
}

#[test]
fn p99_precision_is_required_at_depth_1_or_by_the_plan() {
    let stage = Stage::new();
    let drive = SimulatedDrive::default();
    let asked = |text: &str| {
        let record = stage.measure(&stage.study(text), stage.generator(&drive, 1));
        let asked = |of: &iodyno_model::Measurement| of.conditions.p99_precision_asked;
        let mut all: Vec<_> =
            record.measurements.iter().map(|of| (of.name.clone(), asked(of))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.into_iter().map(|(_, asked)| asked).collect::<Vec<_>>()
    };
    let reads = READS.replace("[1, 4, 16, 64]", "[1, 4]");
    assert_eq!(asked(&reads), [Some(0.1), None]);
    assert_eq!(asked(&reads.replace("[stop]", "[stop]\np99_percent = 5")), [Some(0.05); 2]);
    assert_eq!(asked(&reads.replace("[stop]", "[stop]\np99_percent = 0")), [None; 2]);
}

#[test]
fn default_stop_is_two_percent_within_a_minute() {
    let stop = Study::named("x").stop().unwrap();
    let times_ns = (stop.min_ns, stop.max_ns);
    assert_eq!((stop.precision, times_ns), (0.02, (5_000_000_000, 60_000_000_000)));
}

#[test]
fn write_cliff_is_cut_off_or_reported() {
    let stage = Stage::new();
    let writes = READS.replace("randread", "randwrite").replace("[1, 4, 16, 64]", "[64]");
    let measure = |text: &str, cliff_s: f64| {
        let noise = Noise::White(0.02);
        let bytes = (500_000.0 * 4096.0 * cliff_s) as u64;
        let drive =
            SimulatedDrive { noise, write_cliff: Some((bytes, 0.3)), ..SimulatedDrive::default() };
        let record = stage.measure(&stage.study(text), stage.generator(&drive, 1));
        record.measurements[0].total[0].clone()
    };
    // Early, and cut off as warm-up: the drive after it is measured.
    let early = measure(&format!("fresh = true\n{writes}"), 1.0);
    let iops = early.iops.unwrap();
    assert!((iops.value / 150_000.0 - 1.0).abs() < 0.05, "{iops:?}");
    assert_eq!(early.steady, Some(true));
    // Late: no mean of both.
    let late = measure(&writes, 40.0);
    let width = late.iops.unwrap().relative_half_width();
    assert!(late.steady == Some(false) || width > Some(0.2), "{late:?}");
}

/// Random writes, for `max` at most, on a drive that falls to three tenths of its rate after
/// `cliff_s`; all of it `factor` times as long.
fn written(text: &str, max: &str, cliff_s: f64, factor: f64) -> Measurement {
    let stage = Stage::new();
    let bytes = (500_000.0 * 4096.0 * cliff_s * factor) as u64;
    let (noise, write_cliff) = (Noise::White(0.02), Some((bytes, 0.3)));
    let drive = SimulatedDrive { noise, write_cliff, ..SimulatedDrive::default() };
    let writes = READS.replace("randread", "randwrite").replace("[1, 4, 16, 64]", "[64]");
    let mut study = stage.study(&format!("{text}\n{writes}").replace("60s", max));
    study.scale(factor);
    stage.measure(&study, stage.generator(&drive, 1)).measurements.remove(0)
}

#[test]
fn writes_end_once_they_are_steady_behind_the_cliff() {
    let close = |of: &Measurement, truth: f64| {
        let iops = of.total[0].iops.unwrap();
        assert!((iops.value / truth - 1.0).abs() < 0.02, "{iops:?}");
        let seconds = |ns: u64| ns as f64 / 1e9;
        (seconds(of.warmup_ns), seconds(of.warmup_ns + of.duration_ns.unwrap()))
    };
    let found = written("", "30m", 110.0, 1.0);
    let (from_s, end_s) = close(&found, 150_000.0);
    // Checked after five rounds, and again after half as much more time.
    assert!(
        (end_s - 424.3).abs() < 0.2 && (end_s - from_s - 300.0).abs() < 1.0,
        "{from_s} {end_s}"
    );
    assert_eq!(found.end, EndReason::Precision);
    let state = found.conditions.steady_state.unwrap();
    assert_eq!((state.rounds, state.round_ns), (5, 60_000_000_000));
    assert!(state.excursion < Some(0.02) && state.slope_excursion < Some(0.02), "{state:?}");
    // Rounds are scaled as all times are: a hundredth of them, and of the burst.
    let (_, end_s) = close(&written("", "30m", 110.0, 0.01), 150_000.0);
    assert!(end_s < 6.0, "{end_s}");
    // The drive as it is now.
    let fresh = written("fresh = true", "30m", 110.0, 1.0);
    let (_, end_s) = close(&fresh, 500_000.0);
    assert!(end_s < 10.0 && fresh.conditions.steady_state.is_none(), "{end_s}");
}

#[test]
fn writes_that_are_not_steady_in_time_are_reported() {
    // The fall is within the last five rounds of the longest time.
    let found = written("", "6m", 200.0, 1.0);
    let state = found.conditions.steady_state.unwrap();
    assert_eq!(found.end, EndReason::MaxTime);
    assert!(state.excursion > Some(0.2) && state.slope_excursion > Some(0.1), "{state:?}");
    assert!(found.warmup_ns.abs_diff(60_000_000_000) < 1_000_000_000, "{}", found.warmup_ns);
    // A rate that is high for longer than five rounds counts as steady: PTS fills the drive first.
    let found = written("", "30m", 400.0, 1.0);
    assert_eq!((found.end, found.total[0].steady), (EndReason::Precision, Some(true)));
    // There are no five rounds.
    let found = written("", "60s", 1e6, 1.0);
    let state = found.conditions.steady_state.unwrap();
    assert_eq!((found.end, state.excursion), (EndReason::MaxTime, None));
}

#[test]
fn a_resumed_adaptive_sweep_measures_what_an_uninterrupted_one_does() {
    let stage = Stage::new();
    let reads = READS.replace("[1, 4, 16, 64]", "[1, 2, 4, 8, 16, 32, 64, 128]");
    let study = stage.study(&format!("adaptive = true\n{reads}"));
    let drive = SimulatedDrive { noise: Noise::White(0.002), ..SimulatedDrive::default() };
    let names = |record: &RunRecord| -> Vec<String> {
        record.measurements.iter().map(|of| of.name.clone()).collect()
    };
    let whole = names(&stage.measure(&study, stage.generator(&drive, 1)));
    assert!(whole.len() < 8, "{whole:?}");
    for points in 1..whole.len() as u32 {
        let mut store = Store::in_memory().unwrap();
        let interrupted = AtomicBool::new(false);
        let mut watcher = StopAfter(points, &interrupted);
        let generator = |seed| stage.generator(&drive, seed);
        let all = study.points(0);
        let first = stage.go_on(&study, generator(1), &mut store, &all, None, &mut watcher);
        assert_eq!(first.run.state, RunState::Interrupted);
        let (resumed, left) = Resumed::of(&first, all, &study);
        let interrupted = AtomicBool::new(false);
        let mut watcher = StopAfter(u32::MAX, &interrupted);
        let second =
            stage.go_on(&study, generator(2), &mut store, &left, Some(resumed), &mut watcher);
        assert_eq!(names(&second), whole, "after {points}");
        assert_eq!(second.run.state, RunState::Done);
    }
}
