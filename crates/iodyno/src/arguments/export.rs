//! `iodyno runs export`, and the formats of other tools.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno runs export last > run.json
  iodyno runs export before after --format parquet -o results.parquet

docs/export.md lists the columns.")]
pub(crate) struct Export {
    /// Runs (ids, names, `last`), files or folders
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "json")]
    pub(crate) format: ExportFormat,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Additional data sheets, a TOML file; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) datasheet: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The run's JSON document, or an array of them
    Json,
    /// One row per direction of each measurement
    Csv,
    /// The same rows
    Parquet,
}

/// What other tools read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// JUnit XML, for continuous integration
    Junit,
    /// OCP Test & Validation JSON lines
    Ocp,
    /// Gauges for node_exporter's textfile collector
    Openmetrics,
}
