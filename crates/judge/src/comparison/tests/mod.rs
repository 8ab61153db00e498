//! Runs for comparisons, and their results.

mod limits;
mod rounds;
mod rows;
mod shared_runners;
mod statistics;
mod unlike;

use std::sync::atomic::{AtomicU32, Ordering};

use iodyno_model::{
    Conditions, Direction, DirectionResult, Estimate, Measurement, RunRecord, Spread, Workload,
};

use super::{Comparison, Difference, Quantity, Reality, Row, Side, compare};
use crate::claims::ClaimBook;
use crate::testing::Bench;

/// 4 KiB random reads at depth 4 with this many IOPS.
fn job(iops: f64) -> Measurement {
    let mut of = Bench::new(1).measured().record().measurements.remove(1);
    of.name = "job".into();
    of.targets = vec!["/data/file".into()];
    of.workload = Workload {
        rw: Some("randread".into()),
        bs: Some(4096),
        iodepth: Some(4),
        numjobs: Some(1),
        ..Workload::default()
    };
    of.conditions = Conditions::default();
    of.total = vec![result(Direction::Read, iops)];
    of.parts.clear();
    of.started_ns = None;
    of.duration_ns = Some(1_000_000_000);
    of.cpu = None;
    of.phase = 0;
    of
}

fn result(direction: Direction, iops: f64) -> DirectionResult {
    DirectionResult {
        ios: Some(iops as u64),
        errors: Some(0),
        iops: Some(Estimate::bare(iops)),
        bandwidth: Some(Estimate::bare(iops * 4096.0)),
        latency_mean: Some(Estimate::bare(4e9 / iops)),
        ..DirectionResult::unknown(direction)
    }
}

/// The same measurement, changed.
fn with(mut of: Measurement, change: impl FnOnce(&mut Measurement)) -> Measurement {
    change(&mut of);
    of
}

/// A run of these measurements, one after the other, on an unknown host.
fn run(measurements: impl IntoIterator<Item = Measurement>) -> RunRecord {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut record = Bench::new(0).record();
    record.run.id = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
    record.snapshots.clear();
    record.measurements = measurements.into_iter().collect();
    for (phase, of) in record.measurements.iter_mut().enumerate() {
        of.phase = phase as u32;
    }
    record
}

/// One run per side: `a`, `b`, ….
fn compared(records: &[&RunRecord]) -> Comparison {
    let sides: Vec<Vec<&RunRecord>> = records.iter().map(|record| vec![*record]).collect();
    compared_sides(&sides)
}

fn compared_sides(sides: &[Vec<&RunRecord>]) -> Comparison {
    let sides: Vec<Side<'_>> = sides
        .iter()
        .zip('a'..)
        .map(|(records, name)| Side { label: name.to_string(), records: records.clone() })
        .collect();
    compare(&sides, &ClaimBook::default())
}

/// Two sides of interleaved repetitions with these IOPS.
fn repeated(a: &[f64], b: &[f64]) -> Comparison {
    repeated_at(a, b, |nth, side, of| 60 * nth / of + side)
}

/// Two sides of repetitions with these IOPS; `started(n, side, count)` is the start of the nth of
/// `count` repetitions, in hours.
fn repeated_at(a: &[f64], b: &[f64], started: impl Fn(i64, i64, i64) -> i64) -> Comparison {
    let runs = |iops: &[f64], side: i64| {
        let run = |(nth, one): (i64, &f64)| {
            run([with(job(*one), |of| {
                let hour = started(nth, side, iops.len() as i64);
                of.started_ns = Some(hour * 3_600_000_000_000);
            })])
        };
        (0..).zip(iops).map(run).collect::<Vec<_>>()
    };
    let (a, b) = (runs(a, 0), runs(b, 1));
    compared_sides(&[a.iter().collect(), b.iter().collect()])
}

/// Difference of the second side in a row.
fn difference(row: &Row, quantity: Quantity) -> Option<Difference> {
    row.figures.iter().find(|figure| figure.quantity == quantity)?.differences[1]
}

fn iops(comparison: &Comparison) -> Difference {
    assert_eq!(comparison.rows.len(), 1, "{:#?}", comparison.alone);
    difference(&comparison.rows[0], Quantity::Iops).expect("both sides have it")
}

fn rounded(value: f64, half: f64) -> Estimate {
    Estimate { value, spread: Spread::Rounding { low: value - half, high: value + half } }
}
