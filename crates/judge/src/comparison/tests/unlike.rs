//! Comparison of two unlike workloads.

use iodyno_model::WrittenState;

use super::rows::differs;
use super::*;
use crate::comparison::Outcome;
use crate::testing::set_written;

#[test]
fn two_unlike_workloads_are_held_against_each_other_and_no_limit_is_broken() {
    let a = run([job(1000.0)]);
    let b = run([with(job(500.0), |of| {
        of.workload.rw = Some("write".into());
        of.workload.options.insert("rate_iops".into(), "500".into());
        of.total[0].direction = Direction::Write;
    })]);
    let comparison = compared(&[&a, &b]);
    let [row] = comparison.rows.as_slice() else { panic!("{comparison:?}") };
    assert_eq!(row.point.direction, Direction::Read);
    assert_eq!(row.unlike.as_ref().unwrap().direction, Direction::Write);
    assert!(comparison.alone.is_empty());
    let found = difference(row, Quantity::Iops).unwrap();
    assert!((found.ratio.value - 0.5).abs() < 1e-9, "{found:?}");
    assert_eq!((found.reality, found.p_value), (Reality::Unlike, None));
    assert_eq!(differs(&comparison, "rw").unwrap(), ["randread", "write"]);
    assert_eq!(differs(&comparison, "direction").unwrap(), ["read", "write"]);
    assert_eq!(differs(&comparison, "rate_iops").unwrap(), ["", "500"]);
    let limits = ["iops < -5%".parse().unwrap()];
    for noise in [None, Some(3.0)] {
        let rulings = crate::comparison::rulings(&comparison, &limits, noise);
        assert!(matches!(&rulings[0].outcome, Outcome::CannotTell(why) if why.contains("unlike")));
        assert_eq!(comparison.exit_status(&rulings) as u8, 4);
    }
    // However many repetitions both have.
    let again = |of: &RunRecord, iops: f64| {
        let mut other = of.clone();
        other.measurements[0].total[0].iops = Some(Estimate::bare(iops));
        run(other.measurements)
    };
    let (a, b) = (
        [&a, &again(&a, 1001.0), &again(&a, 999.0)].map(Clone::clone),
        [&b, &again(&b, 501.0), &again(&b, 499.0)].map(Clone::clone),
    );
    let comparison = compared_sides(&[a.iter().collect(), b.iter().collect()]);
    let found = difference(&comparison.rows[0], Quantity::Iops).unwrap();
    assert_eq!((found.reality, found.adjusted), (Reality::Unlike, None));
}

#[test]
fn blocks_that_hold_nothing_stand_beside_those_that_do() {
    let trimmed = |iops: f64, state| {
        let mut record = Bench::new(1).measured().record();
        record.measurements.truncate(1);
        set_written(&mut record.measurements[0], state);
        record.measurements[0].total[0].iops = Some(Estimate::bare(iops));
        record
    };
    let (full, empty) =
        (trimmed(1000.0, WrittenState::Written), trimmed(3000.0, WrittenState::Unwritten));
    let mut empty_too = trimmed(3100.0, WrittenState::Unwritten);
    empty_too.run.id = "another".into();
    let mut empty_run = empty.clone();
    empty_run.run.id = "one".into();
    let comparison = compared(&[&full, &empty_run]);
    let found = difference(&comparison.rows[0], Quantity::Iops).unwrap();
    assert!((found.ratio.value - 3.0).abs() < 1e-9, "{found:?}");
    assert_eq!(found.reality, Reality::Unlike);
    assert_eq!(differs(&comparison, "blocks written").unwrap(), ["all", "none"]);
    // Both are still invalid.
    let comparison = compared(&[&empty_run, &empty_too]);
    assert_eq!(comparison.rows[0].unlike, None);
    assert_eq!(difference(&comparison.rows[0], Quantity::Iops), None);
}
