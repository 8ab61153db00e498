//! Results for other programs: a trait, a file for each format, and the table of which command
//! offers which.

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

/// A format in which other programs take results.
pub trait Exporter: Sync {
    /// As it is typed behind `--format`.
    fn name(&self) -> &'static str;

    /// What it is, for `--help`.
    fn help(&self) -> &'static str;

    /// Terminals cannot show it.
    fn is_binary(&self) -> bool {
        false
    }

    /// All of a file.
    ///
    /// # Errors
    /// It has no form for these results ([`FORMATS`] says for which it has one).
    fn export(&self, results: Results<'_>) -> Result;
}

/// What is exported.
#[derive(Debug, Clone, Copy)]
pub enum Results<'a> {
    /// Runs, each by itself.
    Runs(&'a [Judged<'a>]),
    /// Runs held against each other.
    Comparison(Compared<'a>),
}

/// A command that exports what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `check`, `show`: one run.
    Show,
    /// `runs export`: one run or several.
    Export,
    /// `compare`.
    Compare,
}

/// Which command offers which format.
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

/// The public document, which `--json` prints as well.
pub const JSON: Format = Format(&json::Json);

/// A format of the table.
#[derive(Clone, Copy)]
pub struct Format(&'static dyn Exporter);

/// The formats that a command offers, in the table's order.
pub fn offered_by(command: Command) -> impl Iterator<Item = Format> {
    FORMATS.iter().filter(move |(_, by)| by.contains(&command)).map(|(format, _)| *format)
}

/// Why nothing was exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The format has no form for it.
    #[error("the format has none for these results")]
    NoForm,
    /// JSON could not be written.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Rows could not be written.
    #[error(transparent)]
    Csv(#[from] ::csv::Error),
    /// Columns could not be written.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] iodyno_trace::TraceError),
    /// This build has no columns.
    #[error("this iodyno was built without Parquet (feature `parquet`)")]
    NoParquet,
    /// XML could not be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

type Result<T = Vec<u8>> = std::result::Result<T, ExportError>;

impl<'a> Results<'a> {
    /// Any number of runs.
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
