//! Exports the table as Parquet, in one row group.

use super::columns::{COLUMNS, Get};
use super::parquet_table::{ColumnType, Rows, table};
use super::rows::{finite, rows};
use super::{Exporter, Result, Results};

/// Parquet; unknown values are null.
pub(super) struct Parquet;

impl Exporter for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn help(&self) -> &'static str {
        "The same rows"
    }

    fn is_binary(&self) -> bool {
        true
    }

    fn export(&self, results: Results<'_>) -> Result {
        let rows = rows(results.runs()?);
        let mut bytes = Vec::new();
        let columns = COLUMNS.iter().map(|(name, get)| {
            let kind = match get {
                Get::Text(_) => ColumnType::Text,
                Get::Integer(_) => ColumnType::Integer,
                Get::Number(_) => ColumnType::Number,
            };
            (*name, kind)
        });
        let mut file = table(&mut bytes, "results", columns)?;
        let mut group = Rows(file.next_row_group()?);
        for (_, get) in COLUMNS {
            match get {
                Get::Text(get) => group.texts(rows.iter().map(get))?,
                Get::Integer(get) => group.integers(rows.iter().map(get))?,
                Get::Number(get) => group.numbers(rows.iter().map(|row| finite(get(row))))?,
            }
        }
        group.close()?;
        file.close()?;
        Ok(bytes)
    }
}
