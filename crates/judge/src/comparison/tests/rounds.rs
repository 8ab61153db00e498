//! Runs in rounds are compared only by their measurement windows.

use iodyno_model::{Purpose, Run, RunKind, RunRecord, Validity};

use super::*;
use crate::testing::in_rounds;

/// A run in rounds with these IOPS and an id of its own.
fn rounds(iops: &[f64]) -> RunRecord {
    let mut record = in_rounds(iops);
    record.run.id = run([]).run.id;
    record
}

#[test]
fn a_window_is_one_repetition_however_many_rounds_it_has() {
    // The rounds before the window would give another mean.
    let a = rounds(&[900.0, 500.0, 99.0, 100.0, 101.0, 100.0, 100.0]);
    let b = rounds(&[110.0; 5]);
    let found = compared(&[&a, &b]);
    assert_eq!(found.rows.len(), 1);
    let cells: Vec<_> = found.rows[0].cells.iter().flatten().collect();
    assert!(cells.iter().all(|cell| cell.repetitions == 1 && cell.left_out == 0), "{cells:?}");
    let one = iops(&found);
    assert!((one.percent - 10.0).abs() < 1e-9, "{one:?}");
    assert_eq!((one.reality, one.ratio.spread), (Reality::SpreadUnknown, Spread::Unknown));
    assert_eq!(found.sides[0].without_window, Some(0));
}

#[test]
fn runs_in_rounds_that_are_repeated_are_tested() {
    let runs = |rates: [f64; 3]| rates.map(|rate| rounds(&[rate; 5]));
    let (a, b) = (runs([100.0, 101.0, 99.0]), runs([150.0, 152.0, 149.0]));
    let found = compared_sides(&[a.iter().collect(), b.iter().collect()]);
    assert_eq!(iops(&found).reality, Reality::NotInTurns);
}

#[test]
fn equal_workloads_of_a_round_are_distinguished_by_name() {
    let with_conditioning = |rate: f64| {
        let mut record = rounds(&[rate; 5]);
        let mut more: Vec<Measurement> = record.measurements.clone();
        more.iter_mut().for_each(|of| of.name = "before".into());
        record.measurements.extend(more);
        let mut last = record.measurements[0].clone();
        (last.name, last.round) = ("histogram".into(), None);
        record.measurements.push(last);
        record
    };
    let (a, b) = (with_conditioning(100.0), with_conditioning(120.0));
    let found = compared(&[&a, &b]);
    // Points that only condition the drive are not compared.
    assert_eq!(found.rows.len(), 2);
    let repeated = |row: &Row| row.cells.iter().flatten().any(|cell| cell.repetitions != 1);
    assert!(!found.rows.iter().any(repeated), "{:#?}", found.rows);
}

#[test]
fn another_mix_or_range_is_no_conditioning_of_what_is_tracked() {
    for (option, value) in [("rwmixread", "95"), ("size", "25%"), ("offset", "4096")] {
        let both = |rate: f64| {
            let mut record = rounds(&[rate; 5]);
            let mut more: Vec<Measurement> = record.measurements.clone();
            for of in &mut more {
                of.name = "another".into();
                of.workload.options.insert(option.into(), value.into());
                of.workload.options.insert("runtime".into(), "5m".into());
            }
            record.measurements.extend(more);
            record
        };
        assert_eq!(compared(&[&both(100.0), &both(120.0)]).rows.len(), 2, "{option}");
    }
}

#[test]
fn preparations_are_compared_with_preparations_alone() {
    let prepared = |kind: RunKind| {
        let mut record = rounds(&[100.0; 5]);
        (record.run.kind, record.run.rounds) = (kind, None);
        record.measurements.truncate(2);
        record.measurements[0].purpose = Purpose::Fill;
        record.measurements[0].name = "fill".into();
        record.measurements[0].workload.rw = Some("write".into());
        let other = Run { id: run([]).run.id, ..record.run.clone() };
        compared(&[&record, &RunRecord { run: other, ..record.clone() }]).rows.len()
    };
    assert_eq!((prepared(RunKind::Sweep), prepared(RunKind::Prepare)), (1, 2));
}

#[test]
fn unsteady_windows_are_qualified_and_short_runs_left_out() {
    let steady = rounds(&[100.0; 5]);
    let unsteady = rounds(&[100.0, 200.0, 100.0, 200.0, 100.0]);
    let found = compared(&[&steady, &unsteady]);
    let cell = found.rows[0].cells[1].as_ref().unwrap();
    assert_eq!(cell.validity, Validity::Qualified);
    assert!(cell.reasons.iter().any(|reason| reason.rule == "steady-state-not-reached"));
    let short = rounds(&[100.0; 4]);
    let found = compared(&[&steady, &short]);
    assert_eq!((found.rows.len(), found.sides[1].without_window), (0, Some(1)));
}
