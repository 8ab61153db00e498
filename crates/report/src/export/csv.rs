//! Exports results as a table for spreadsheets.

use csv::Writer;

use super::columns::{COLUMNS, Get};
use super::rows::{finite, rows};
use super::{Exporter, Result, Results};
use crate::text::clean;

/// CSV (RFC 4180) with a header line. Unknown values are empty; control characters are removed, and
/// no cell is a formula.
pub(super) struct Csv;

impl Exporter for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn help(&self) -> &'static str {
        "One row per direction of each measurement"
    }

    fn export(&self, results: Results<'_>) -> Result {
        let mut bytes = Vec::new();
        let mut writer = Writer::from_writer(&mut bytes);
        writer.write_record(COLUMNS.iter().map(|(name, _)| *name))?;
        for row in rows(results.runs()?) {
            let cell = |(_, get): &(&str, Get)| match get {
                Get::Text(get) => get(&row).map(|text| no_formula(clean(&text))),
                Get::Integer(get) => get(&row).map(|value| value.to_string()),
                Get::Number(get) => finite(get(&row)).map(|value| value.to_string()),
            };
            writer.write_record(COLUMNS.iter().map(|column| cell(column).unwrap_or_default()))?;
        }
        writer.flush()?;
        drop(writer);
        Ok(bytes)
    }
}

/// Puts an apostrophe before text that a spreadsheet would take for a formula (OWASP, CSV
/// injection). Numbers stay numbers.
fn no_formula(cell: String) -> String {
    match cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err() {
        true => format!("'{cell}"),
        false => cell,
    }
}
