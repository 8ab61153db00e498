//! Campaigns on simulated drives of known truth, on a clock that takes no time: the whole path from
//! plan to stored run.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use common::machine::Machine;
use iodyno_campaign::{Event, Options, Silent, Study, Watcher, Work};
use iodyno_load::{Noise, SimulatedDrive, SimulatedGenerator};
use iodyno_model::{EndReason, Measurement, RunRecord, RunState, WrittenState};
use iodyno_store::Store;
use iodyno_target::{Permission, Target};

/// An empty machine, and sparse files as targets.
struct Stage(Machine);

impl Stage {
    fn new() -> Self {
        Self(Machine::new())
    }

    fn target(&self, name: &str) -> (PathBuf, Target) {
        (self.0.path(name), self.0.drive(name, 1 << 30))
    }

    fn run(
        &self,
        work: &Work,
        generator: &mut SimulatedGenerator,
        targets: &[Target],
    ) -> RunRecord {
        self.watched(work, generator, targets, &mut Silent, &AtomicBool::new(false))
    }

    fn watched(
        &self,
        work: &Work,
        generator: &mut SimulatedGenerator,
        targets: &[Target],
        watcher: &mut dyn Watcher,
        interrupted: &AtomicBool,
    ) -> RunRecord {
        let options = Options {
            command: "test".into(),
            budget_ns: 300_000_000_000,
            ..Options::of_jobs("", Permission::default())
        };
        let (store, watching) = (&mut Store::in_memory().unwrap(), (watcher, interrupted));
        self.0.carry_out(work, targets, options, generator, store, watching).unwrap()
    }
}

/// A step that ends like those of `check`.
fn one_step() -> Work {
    let text = r#"
        format = "iodyno.plan/1"
        name = "one step"
        [stop]
        precision_percent = 1.0
        min_time = "5s"
        max_time = "10s"
        [written]
        samples = 0
        [[step]]
        name = "rand-read"
        on = ["each"]
        job = { rw = "randread", bs = "4k", iodepth = 64 }
    "#;
    work(&Study::parse(text, "one step").unwrap())
}

fn work(study: &Study) -> Work {
    Work::of_study(study, &[], &[]).unwrap()
}

fn check() -> Work {
    work(&Study::preset("check").unwrap())
}

fn named<'r>(record: &'r RunRecord, name: &str, target: &str) -> &'r Measurement {
    let found = record.measurements.iter().find(|m| m.name == name && m.targets == [target]);
    found.unwrap_or_else(|| panic!("no {name} of {target}"))
}

/// Share of 2000 seeds whose interval holds the truth, %.
fn coverage(noise: Noise) -> f64 {
    let stage = Stage::new();
    let (path, target) = stage.target("drive");
    let drive = SimulatedDrive { noise, ..SimulatedDrive::default() };
    let mean = drive.truth_iops(4096, 64);
    let plan = one_step();
    let targets = [target];
    let hits = (0..2000)
        .filter(|seed| {
            let mut generator = SimulatedGenerator::new(*seed);
            generator.set_drive(path.to_str().unwrap(), drive.clone());
            let record = stage.run(&plan, &mut generator, &targets);
            let measurement = &record.measurements[0];
            // For a trend the interval is about its mean over the window.
            let truth = match noise {
                Noise::Trend { per_s, .. } => {
                    let middle = measurement.warmup_ns + measurement.duration_ns.unwrap() / 2;
                    mean * (1.0 + per_s * (middle as f64 / 1e9 - 0.05))
                }
                _ => mean,
            };
            let iops = measurement.total[0].iops.unwrap();
            iops.low() <= truth && truth <= iops.high()
        })
        .count();
    hits as f64 / 20.0
}

#[track_caller]
fn holds(noise: Noise) {
    let share = coverage(noise);
    assert!((93.5..=96.5).contains(&share), "{noise:?}: {share} %");
}

#[test]
fn intervals_hold_the_truth_under_white_noise() {
    holds(Noise::White(0.05));
}

#[test]
fn intervals_hold_the_truth_under_correlated_noise() {
    holds(Noise::Ar1 { phi: 0.8, sigma: 0.03 });
}

#[test]
fn intervals_hold_the_truth_under_strongly_correlated_noise() {
    holds(Noise::Ar1 { phi: 0.95, sigma: 0.03 });
}

#[test]
fn intervals_hold_the_truth_of_a_rate_with_two_levels() {
    holds(Noise::Bimodal { gap: 0.05, switch: 0.1, sigma: 0.005 });
}

#[test]
fn intervals_hold_the_truth_of_a_trend() {
    holds(Noise::Trend { sigma: 0.02, per_s: 0.01 });
}

#[test]
fn quiet_drive_ends_by_precision_and_noisy_one_by_max_time() {
    let stage = Stage::new();
    let (path, target) = stage.target("drive");
    let targets = [target];
    for (sigma, end) in [(0.005, EndReason::Precision), (0.2, EndReason::MaxTime)] {
        let mut generator = SimulatedGenerator::new(1);
        let drive = SimulatedDrive { noise: Noise::White(sigma), ..SimulatedDrive::default() };
        generator.set_drive(path.to_str().unwrap(), drive);
        let record = stage.run(&one_step(), &mut generator, &targets);
        assert_eq!(record.measurements[0].end, end);
    }
}

#[test]
fn measurements_can_end_at_the_first_check() {
    let stage = Stage::new();
    let (path, target) = stage.target("drive");
    let targets = [target];
    let end_ns = |seed| {
        let mut generator = SimulatedGenerator::new(seed);
        let drive = SimulatedDrive { noise: Noise::White(0.005), ..SimulatedDrive::default() };
        generator.set_drive(path.to_str().unwrap(), drive);
        let of = stage.run(&one_step(), &mut generator, &targets).measurements.remove(0);
        of.warmup_ns + of.duration_ns.unwrap()
    };
    let ends_ns: Vec<u64> = (0..8).map(end_ns).collect();
    // `min_time` counts from the end of the ramp.
    assert!(ends_ns.iter().all(|ns| *ns >= 5_500_000_000), "{ends_ns:?}");
    let at_once = ends_ns.iter().filter(|ns| **ns < 6_000_000_000).count();
    assert!(at_once >= 2, "{ends_ns:?}");
}

#[test]
fn check_finds_the_depth_that_suffices() {
    let stage = Stage::new();
    let (path, target) = stage.target("drive");
    let record = stage.run(&check(), &mut SimulatedGenerator::new(3), &[target]);
    assert_eq!(record.run.state, RunState::Done);
    let random = named(&record, "rand-read", path.to_str().unwrap());
    // 500k IOPS at 80 us need 40 outstanding: 64 suffice and 128 gain nothing.
    assert_eq!(random.conditions.depth_asked, Some(64));
    assert_eq!(random.conditions.depths_tried.len(), 2);
    let latency = named(&record, "latency", path.to_str().unwrap());
    let mean = latency.total[0].latency_mean.unwrap().value;
    assert!((mean / 80_000.0 - 1.0).abs() < 0.02, "{mean}");
}

#[test]
fn half_written_drive_is_measured_in_its_written_half() {
    let stage = Stage::new();
    let (path, target) = stage.target("drive");
    let name = path.to_str().unwrap();
    let mut generator = SimulatedGenerator::new(3);
    generator.set_drive(name, SimulatedDrive { written_share: 0.5, ..SimulatedDrive::default() });
    let record = stage.run(&check(), &mut generator, &[target]);
    let conditions = &named(&record, "seq-read", name).conditions;
    assert_eq!(conditions.written[0].state, WrittenState::Partly);
    assert!((conditions.written[0].share.value - 0.5).abs() < 0.01);
    assert_eq!(conditions.ranges, [(0, 512 << 20)]);
}

#[test]
fn drives_that_share_a_link_move_less_together() {
    let stage = Stage::new();
    let (_, a) = stage.target("a");
    let (_, b) = stage.target("b");
    let mut generator = SimulatedGenerator::new(5);
    generator.shared_bytes_per_s = Some(4e9);
    let record = stage.run(&check(), &mut generator, &[a, b]);
    assert_eq!(record.measurements.len(), 9);
    let together: Vec<_> = record.measurements.iter().filter(|m| m.targets.len() == 2).collect();
    assert_eq!(together.len(), 3);
    let bandwidth = together[0].total[0].bandwidth.unwrap().value;
    assert!((bandwidth / 4e9 - 1.0).abs() < 0.02, "{bandwidth}");
    let parts: f64 = together[0].parts.iter().map(|p| p.results[0].bandwidth.unwrap().value).sum();
    assert!((parts / bandwidth - 1.0).abs() < 1e-6);
}

#[test]
fn a_drive_that_vanishes_fails_and_the_other_goes_on() {
    let stage = Stage::new();
    let (lost, a) = stage.target("a");
    let (kept, b) = stage.target("b");
    let mut generator = SimulatedGenerator::new(5);
    let drive = SimulatedDrive { vanishes_at_ns: Some(1_000_000_000), ..SimulatedDrive::default() };
    generator.set_drive(lost.to_str().unwrap(), drive);
    let record = stage.run(&check(), &mut generator, &[a, b]);
    assert_eq!(record.run.state, RunState::Failed);
    let failed = named(&record, "seq-read", lost.to_str().unwrap());
    assert!(failed.failure().unwrap().contains("vanished"));
    for step in ["seq-read", "rand-read", "latency"] {
        assert_eq!(named(&record, step, kept.to_str().unwrap()).failure(), None);
    }
    let skipped: Vec<_> =
        record.run.skipped.iter().map(|s| (s.target.as_str(), s.step.as_deref())).collect();
    assert!(skipped.contains(&(lost.to_str().unwrap(), Some("rand-read"))), "{skipped:?}");
}

#[test]
fn failed_reads_are_counted_and_reported() {
    let stage = Stage::new();
    let (path, target) = stage.target("drive");
    let mut generator = SimulatedGenerator::new(5);
    let drive = SimulatedDrive { bad_from: Some(900 << 20), ..SimulatedDrive::default() };
    generator.set_drive(path.to_str().unwrap(), drive);
    let record = stage.run(&one_step(), &mut generator, &[target]);
    let measurement = &record.measurements[0];
    assert!(measurement.total[0].errors > Some(0));
    let told = format!("{:?}", measurement.conditions.shortfalls);
    assert!(told.contains("EIO"), "{told}");
}

/// Interrupts at the first progress of a step.
struct Impatient<'a>(&'a str, &'a AtomicBool);

impl Watcher for Impatient<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Progress(progress) = event
            && progress.step == self.0
        {
            self.1.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interrupted_run_keeps_what_was_measured() {
    let stage = Stage::new();
    let (_, target) = stage.target("drive");
    let stop = AtomicBool::new(false);
    let record = stage.watched(
        &check(),
        &mut SimulatedGenerator::new(1),
        &[target],
        &mut Impatient("latency", &stop),
        &stop,
    );
    assert_eq!(record.run.state, RunState::Interrupted);
    let names: Vec<_> = record.measurements.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["seq-read", "rand-read", "latency"]);
    assert_eq!(record.measurements[2].end, EndReason::Interrupted);
    assert_eq!(record.snapshots.len(), 5, "start, under load, and after each");
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let stage = Stage::new();
    let (_, target) = stage.target("drive");
    let targets = [target];
    let run = || stage.run(&one_step(), &mut SimulatedGenerator::new(11), &targets);
    let (a, b) = (run(), run());
    assert_eq!(a.measurements[0].total, b.measurements[0].total);
}
