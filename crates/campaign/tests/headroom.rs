//! Reads under load on simulated drives of known surface: the error of 60 points.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use common::StopAfter;
use common::stage::Stage;
use iodyno_campaign::{Point, Resumed, Study};
use iodyno_load::{Noise, SimulatedDrive, UnderLoad};
use iodyno_model::{Direction, Headroom, RunRecord, RunState};
use iodyno_store::Store;

/// Steps from 0 to the maximum, for reads and writes alike.
const STEPS: usize = 20;

/// The p99 of reads, ns, of a flash drive: writes slow them down, the first ones most of all, and
/// the total load fills its queue.
fn flash(writes: f64, reads: f64) -> Option<f64> {
    let load = 0.75 * writes + 0.9 * reads;
    let beside = 1.0 + 2.0 * (1.0 - (-5.0 * writes).exp()) + writes;
    (load < 0.98).then(|| 85_000.0 * beside * (1.0 + 0.25 * load / (1.0 - load)))
}

/// Like a network volume: one latency up to a contracted rate, and none beyond it.
fn contract(writes: f64, reads: f64) -> Option<f64> {
    (writes.max(reads) <= 1.0).then_some(if reads > 0.93 { 4e6 } else { 650_000.0 })
}

fn table(truth: impl Fn(f64, f64) -> Option<f64>) -> Vec<Vec<Option<f64>>> {
    let share = |part: usize| part as f64 / STEPS as f64;
    let row = |writes: usize| (0..=STEPS).map(|reads| truth(share(writes), share(reads))).collect();
    (0..=STEPS).map(row).collect()
}

fn drive(p99_ns: Vec<Vec<Option<f64>>>) -> SimulatedDrive {
    let surface = UnderLoad { most_write_bytes_per_s: 1.2e9, most_read_iops: 420_000.0, p99_ns };
    SimulatedDrive { noise: Noise::White(0.01), under_load: Some(surface), ..Default::default() }
}

fn preset(stage: &Stage) -> Study {
    let mut study = Study::preset("headroom").unwrap();
    study.targets = vec![stage.target().into()];
    study.set("bs", "4k");
    study.stop_at(None, Some("5s"));
    study
}

/// Surface found by a sweep, and the sweep.
fn found(stage: &Stage, study: &Study, drive: &SimulatedDrive, seed: u64) -> (Headroom, RunRecord) {
    let record = stage.measure(study, stage.generator(drive, seed));
    assert_eq!(record.run.state, RunState::Done);
    (study.outlook(&record).unwrap().headroom.remove(0), record)
}

/// Relative errors over all cells whose truth is known, ascending.
fn errors(found: &Headroom, truth: &[Vec<Option<f64>>]) -> Vec<f64> {
    let error = |cell: &iodyno_model::LoadCell| {
        Some((cell.p99_ns?.value / truth[cell.column][cell.row]? - 1.0).abs())
    };
    let mut errors: Vec<f64> = found.cells.iter().filter_map(error).collect();
    errors.sort_by(f64::total_cmp);
    errors
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// Median error of predicting a cell from all other cells around it: no choice of points can do
/// better.
fn scatter(shown: &[Vec<Option<f64>>]) -> f64 {
    let place = |(column, row): (usize, usize)| (column as f64, row as f64);
    let cells: Vec<((usize, usize), f64)> = (0..=STEPS)
        .flat_map(|column| (0..=STEPS).map(move |row| (column, row)))
        .filter_map(|at| Some((at, shown[at.0][at.1]?.ln())))
        .collect();
    let error = |(at, value): &((usize, usize), f64)| {
        let others = cells.iter().filter(|(other, _)| other != at);
        let others: Vec<_> = others.map(|(other, value)| (place(*other), *value)).collect();
        let said = iodyno_stats::local_linear(&others, place(*at)).unwrap();
        ((said - value).exp() - 1.0).abs()
    };
    let mut errors: Vec<f64> = cells.iter().map(error).collect();
    errors.sort_by(f64::total_cmp);
    median(&errors)
}

#[test]
fn sixty_points_predict_all_441_within_5_percent() {
    let stage = Stage::new();
    let study = preset(&stage);
    for (name, truth) in [("flash", table(flash)), ("contract", table(contract))] {
        for seed in 0..3 {
            // Typical variation between measurements.
            let drive = SimulatedDrive { level_noise: 0.03, ..drive(truth.clone()) };
            let (found, record) = found(&stage, &study, &drive, seed);
            let phases = record.measurements.iter().map(|of| of.phase).max().unwrap();
            assert!(phases <= 60, "{phases}");
            let errors = errors(&found, &truth);
            assert!(median(&errors) <= 0.05, "{name} {seed}: {}", median(&errors));
        }
    }
}

#[test]
fn rates_are_those_that_were_asked_for() {
    let stage = Stage::new();
    let (found, record) = found(&stage, &preset(&stage), &drive(table(flash)), 5);
    let point = |column, row| {
        found.cells.iter().find(|cell| (cell.column, cell.row) == (column, row)).unwrap()
    };
    let of = |cell: &iodyno_model::LoadCell, direction| {
        let phase = record.measurements[cell.measurement.unwrap()].phase;
        let mut its = record.measurements.iter().filter(|of| of.phase == phase);
        its.find_map(|of| of.result(direction)).cloned()
    };
    let half = point(10, 5);
    let (reads, writes) = (of(half, Direction::Read).unwrap(), of(half, Direction::Write).unwrap());
    assert!((reads.iops.unwrap().value / half.read_iops - 1.0).abs() < 0.02);
    assert!((writes.bandwidth.unwrap().value / half.write_bytes_per_s - 1.0).abs() < 0.02);
    assert!((half.read_iops / 420_000.0 - 0.25).abs() < 0.01, "{}", half.read_iops);
    // Alone: reads without writes, and writes with few reads.
    assert!(of(point(0, 5), Direction::Write).is_none());
    let few = of(point(5, 0), Direction::Read).unwrap().iops.unwrap().value;
    assert!((few / 4200.0 - 1.0).abs() < 0.05, "{few}");
    // Rates not reached have no latency.
    assert_eq!(point(20, 20).p99_ns, None);
}

#[test]
fn headroom_summary_matches_the_truth() {
    let stage = Stage::new();
    for bound_ms in [0.2, 0.5, 1.0] {
        let mut study = preset(&stage);
        study.p99_bound = Some(format!("{bound_ms}ms"));
        let (found, _) = found(&stage, &study, &drive(table(flash)), 9);
        // Largest share at which the truth keeps the bound.
        let truth = |of: fn(f64) -> Option<f64>| {
            let keeps =
                |part: &u32| of(f64::from(*part) / 1000.0).is_some_and(|p99| p99 <= bound_ms * 1e6);
            f64::from((0..=1000).take_while(keeps).count() as u32) / 1000.0
        };
        let reads = found.reads.map_or(0.0, |load| load.read_iops / found.most_read_iops);
        let writes =
            found.writes.map_or(0.0, |load| load.write_bytes_per_s / found.most_write_bytes_per_s);
        let both = found.both.map_or(0.0, |load| load.read_iops / found.most_read_iops);
        for (found, truth) in [
            (reads, truth(|share| flash(0.0, share))),
            (writes, truth(|share| flash(share, 0.01))),
            (both, truth(|share| flash(share, share))),
        ] {
            assert!((found - truth).abs() <= 0.06, "{bound_ms} ms: {found}, {truth}");
        }
    }
}

#[test]
fn stopped_sweep_resumes() {
    let stage = Stage::new();
    let study = preset(&stage);
    let drive = drive(table(flash));
    let mut store = Store::in_memory().unwrap();
    let interrupted = AtomicBool::new(false);
    let mut watcher = StopAfter(30, &interrupted);
    let generator = stage.generator(&drive, 3);
    let points = study.points(0);
    let begun = stage.go_on(&study, generator, &mut store, &points, None, &mut watcher);
    assert_eq!(begun.run.state, RunState::Interrupted);
    let interrupted = AtomicBool::new(false);
    let mut watcher = StopAfter(u32::MAX, &interrupted);
    let (resumed, left): (Resumed, Vec<Point>) = Resumed::of(&begun, points.clone(), &study);
    assert_eq!(left.len(), 2, "shares are of the same most");
    let generator = stage.generator(&drive, 4);
    let done = stage.go_on(&study, generator, &mut store, &left, Some(resumed), &mut watcher);
    assert_eq!(done.run.state, RunState::Done);
    let names = |record: &RunRecord| {
        record.measurements.iter().map(|of| of.name.clone()).collect::<Vec<_>>()
    };
    let (before, after) = (names(&begun), names(&done));
    assert_eq!(after[..before.len()], before);
    assert!(!after[before.len()..].iter().any(|name| before.contains(name)), "none twice");
    assert_eq!(Resumed::of(&done, points, &study).1, []);
}

/// Surfaces of real drives, in the directory `IODYNO_SURFACES` as written by
/// crosscheck/surfaces.py: one file each, a line for each rate of writes, with the p99 (or what was
/// published) by rates of reads, ns; `-`: not reached; `>`: more than the figure shows, measured
/// but not counted as an error. Without that directory a synthetic surface is used.
#[test]
#[allow(clippy::print_stdout, reason = "whoever asks for it wants the table")]
fn published_surfaces_are_met() {
    let made = tempfile::tempdir().unwrap();
    let word = |cell: &Option<f64>| cell.map_or("-".into(), |p99| format!("{p99:.0}"));
    let line = |cells: &Vec<Option<f64>>| cells.iter().map(word).collect::<Vec<_>>().join(" ");
    let text = table(flash).iter().map(line).collect::<Vec<_>>().join("\n");
    std::fs::write(made.path().join("made.txt"), text).unwrap();
    let folder = std::env::var_os("IODYNO_SURFACES").unwrap_or_else(|| made.path().into());
    let stage = Stage::new();
    let study = preset(&stage);
    let mut files: Vec<_> =
        std::fs::read_dir(Path::new(&folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    println!("{:40} cells  points  median  p90 of errors  of neighbours", "surface");
    let mut pooled = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let words = || text.lines().map(|line| line.split_whitespace());
        let number = |word: &str| word.parse::<f64>().ok();
        let table: Vec<Vec<Option<f64>>> = words()
            .map(|line| line.map(|word| number(word.trim_start_matches('>'))).collect())
            .collect();
        let shown: Vec<Vec<Option<f64>>> = words().map(|line| line.map(number).collect()).collect();
        let (found, record) = found(&stage, &study, &drive(table), 1);
        let errors = errors(&found, &shown);
        let points = record.measurements.iter().map(|of| of.phase).max().unwrap();
        let p90 = errors[errors.len() * 9 / 10];
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let (count, median, scatter) = (errors.len(), median(&errors), scatter(&shown));
        println!("{name:40} {count:5}  {points:6}  {median:.3}   {p90:.3}          {scatter:.3}");
        pooled.extend(errors);
    }
    pooled.sort_by(f64::total_cmp);
    println!("all: median {:.3}", median(&pooled));
    // Published surfaces have noise of their own.
    assert!(median(&pooled) <= 0.05 || std::env::var_os("IODYNO_SURFACES").is_some());
}
