//! Rows of the exported table: one for each direction of each measurement.

use iodyno_model::{DirectionResult, JudgedMeasurement, Measurement};

use crate::judged::Judged;

/// Row: one direction of one measurement.
pub(super) struct Row<'a> {
    pub(super) of: Judged<'a>,
    pub(super) measurement: &'a Measurement,
    pub(super) judged: Option<&'a JudgedMeasurement>,
    /// `None` if the measurement has no result.
    pub(super) result: Option<&'a DirectionResult>,
}

/// Returns the rows of all runs, with one for a measurement that failed without any result.
pub(super) fn rows<'a>(runs: &[Judged<'a>]) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for of in runs {
        for (measurement, judged) in of.measurements() {
            let row = |result| Row { of: *of, measurement, judged, result };
            match measurement.total.is_empty() {
                true => rows.push(row(None)),
                false => rows.extend(measurement.total.iter().map(|result| row(Some(result)))),
            }
        }
    }
    rows
}

pub(super) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}
