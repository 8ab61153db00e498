//! Results as a table for other programs: a row for each direction of each
//! measurement, the same columns as CSV and as Parquet.

mod columns;
mod parquet;

use std::io::Write;

use iodyno_model::{DirectionResult, JudgedMeasurement, Measurement};

use crate::judged::Judged;
use crate::text::clean;
use columns::{COLUMNS, Get};

pub use parquet::write_parquet;

/// A row: one direction of one measurement.
struct Row<'a> {
    of: Judged<'a>,
    measurement: &'a Measurement,
    judged: Option<&'a JudgedMeasurement>,
    /// `None`: the measurement has no result.
    result: Option<&'a DirectionResult>,
}

/// The rows of all runs. A measurement that failed without any result has one, too.
fn rows<'a>(runs: &[Judged<'a>]) -> Vec<Row<'a>> {
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

/// Names of the columns, in order.
pub fn column_names() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|(name, _)| *name)
}

/// Writes the results as CSV (RFC 4180) with a line of headings. What is
/// unknown is empty; control characters are left out, and nothing is a formula.
///
/// # Errors
/// `out` cannot be written.
pub fn write_csv(runs: &[Judged<'_>], out: impl Write) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(column_names())?;
    for row in rows(runs) {
        let cell = |(_, get): &(&str, Get)| match get {
            Get::Text(get) => get(&row).map(|text| no_formula(clean(&text))),
            Get::Integer(get) => get(&row).map(|value| value.to_string()),
            Get::Number(get) => finite(get(&row)).map(|value| value.to_string()),
        };
        writer.write_record(COLUMNS.iter().map(|column| cell(column).unwrap_or_default()))?;
    }
    writer.flush()
}

/// A spreadsheet takes for a formula what begins like one; behind an apostrophe it
/// is text (OWASP, CSV injection). A number stays one.
fn no_formula(cell: String) -> String {
    match cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err() {
        true => format!("'{cell}"),
        false => cell,
    }
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}
