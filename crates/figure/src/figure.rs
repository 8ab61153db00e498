//! What a figure means.

use iodyno_model::RunRecord;
use serde_json::Value;
use thiserror::Error;

/// What a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rates and latencies over time.
    Time,
    /// Distribution of latencies and the percentile curve.
    Latency,
    /// IOPS and bandwidth against block size.
    Blocksize,
    /// Throughput and latency against queue depth.
    Depth,
    /// Heat map of iodepth by numjobs.
    Grid,
    /// The same as bars in space.
    Grid3d,
    /// Grouped bars with intervals.
    Compare,
    /// Aggregate against the number of drives.
    Scaling,
}

/// A run to draw, and how it is called in the legend.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Name in the legend.
    pub label: &'a str,
    /// The run.
    pub record: &'a RunRecord,
}

/// Which figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What it shows.
    pub kind: Kind,
    /// Its title, in place of one of ours.
    pub title: Option<String>,
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub kind: Kind,
    /// What stands above it.
    pub title: String,
}

/// Why a figure cannot be made.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FigureError {
    /// Nothing was measured that it could show.
    #[error("there is nothing to draw: {0}")]
    Nothing(String),
}

/// The figure that is asked for, of these runs.
///
/// # Errors
/// Nothing was measured that it could show.
pub fn figure(request: &Request, _sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    Ok(Figure { kind: request.kind, title: request.title.clone().unwrap_or_default() })
}

/// All figures that a run gives something for, in the order of a report, each
/// with the indices of the measurements that it shows.
pub fn figures_of_run(_record: &RunRecord) -> Vec<(Figure, Vec<usize>)> {
    Vec::new()
}

/// The option object that ECharts draws the figure from. Everything in it is
/// JSON: formatters are strings or templates, so that a page may forbid `eval`;
/// what needs a function (error bars, bars in space) is named by
/// `renderItem: "name"` and bound by the script that draws.
pub fn option(figure: &Figure, dark: bool) -> Value {
    serde_json::json!({"title": {"text": figure.title}, "darkMode": dark})
}
