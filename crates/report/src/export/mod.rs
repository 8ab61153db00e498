//! Exports results to other programs: a trait, a module for each format, and the table of formats
//! by command.

mod columns;
mod csv;
mod json;
mod junit;
mod markdown;
#[cfg(not(feature = "parquet"))]
mod no_parquet;
mod ocp;
mod openmetrics;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_table;
mod rows;
#[cfg(feature = "parquet")]
mod trace_parquet;
mod work_list;

use std::fmt;

use thiserror::Error;

use crate::compared::Compared;
use crate::judged::Judged;

#[cfg(not(feature = "parquet"))]
pub use no_parquet::export_trace;
pub use openmetrics::{LiveCounts, LiveMetrics, fleet_openmetrics};
#[cfg(feature = "parquet")]
pub use trace_parquet::export_trace;
pub use work_list::{Places, PlacesError, work_list};

/// Export format.
pub trait Exporter: Sync {
    /// Name, as typed after `--format`.
    fn name(&self) -> &'static str;

    /// Description, for `--help`.
    fn help(&self) -> &'static str;

    /// True if a terminal cannot show it.
    fn is_binary(&self) -> bool {
        false
    }

    /// Returns the contents of a file.
    ///
    /// # Errors
    /// The format does not support these results (see [`FORMATS`]), or writing failed.
    fn export(&self, results: Results<'_>) -> Result;
}

/// Results to export.
#[derive(Debug, Clone, Copy)]
pub enum Results<'a> {
    /// Independent runs.
    Runs(&'a [Judged<'a>]),
    /// Comparison of runs.
    Comparison(Compared<'a>),
}

/// Command that exports results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `check`, `show`: one run.
    Show,
    /// `runs export`: one run or several.
    Export,
    /// `compare`.
    Compare,
}

/// Formats and the commands that offer them.
pub const FORMATS: &[(Format, &[Command])] = &[
    (JSON, &[Command::Export]),
    (Format(&csv::Csv), &[Command::Export]),
    #[cfg(feature = "parquet")]
    (Format(&parquet::Parquet), &[Command::Export]),
    (Format(&junit::Junit), &[Command::Show, Command::Compare]),
    (Format(&markdown::Markdown), &[Command::Compare]),
    (Format(&ocp::Ocp), &[Command::Show, Command::Compare]),
    (Format(&openmetrics::OpenMetrics), &[Command::Show, Command::Compare]),
];

/// Public document, the same as printed by `--json`.
pub const JSON: Format = Format(&json::Json);

/// Format in the table.
#[derive(Clone, Copy)]
pub struct Format(&'static dyn Exporter);

/// Returns the formats that a command offers, in the table's order.
pub fn offered_by(command: Command) -> impl Iterator<Item = Format> {
    FORMATS.iter().filter(move |(_, by)| by.contains(&command)).map(|(format, _)| *format)
}

/// Export error.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The format does not support these results.
    #[error("the format has none for these results")]
    NoForm,
    /// JSON could not be written.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// CSV could not be written.
    #[error(transparent)]
    Csv(#[from] ::csv::Error),
    /// Parquet could not be written.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] iodyno_trace::TraceError),
    /// Built without Parquet.
    #[error("this iodyno was built without Parquet (feature `parquet`)")]
    NoParquet,
    /// XML could not be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

const NS_PER_S: f64 = 1e9;

type Result<T = Vec<u8>> = std::result::Result<T, ExportError>;

impl<'a> Results<'a> {
    /// Returns the runs; an error for a comparison.
    fn runs(self) -> Result<&'a [Judged<'a>]> {
        match self {
            Self::Runs(runs) => Ok(runs),
            Self::Comparison(_) => Err(ExportError::NoForm),
        }
    }
}

impl std::ops::Deref for Format {
    type Target = dyn Exporter;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Format {}
