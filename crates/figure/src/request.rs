//! Requests for figures.

use std::ops::RangeInclusive;
use std::str::FromStr;

use iodyno_model::{Headroom, Measurement, ParseError, Predictions, RunRecord, Validity, Workload};
use thiserror::Error;

use crate::Metric;

/// Kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rates and latencies over time.
    Time,
    /// Latency distribution and percentile curve.
    Latency,
    /// IOPS and bandwidth against block size.
    Blocksize,
    /// Throughput and latency against queue depth or number of jobs.
    Depth,
    /// Heat map of iodepth by numjobs.
    Grid,
    /// The same as 3D bars.
    Grid3d,
    /// Grouped bars with intervals.
    Compare,
    /// The same as ratios to the first run.
    Ratio,
    /// Aggregate against the number of targets.
    Scaling,
    /// Rates over a whole run, one measurement after the other.
    Course,
    /// Tracked figures over all rounds of a run.
    Convergence,
    /// Tracked figures over the measurement window, with the fitted line.
    Window,
    /// Heat map of p99 against write and read rates, and the same as curves.
    Headroom,
    /// Storage topology of the machine.
    Topology,
}

impl Kind {
    /// All kinds, with their names.
    pub const ALL: [(Self, &str); 14] = [
        (Self::Time, "time"),
        (Self::Latency, "latency"),
        (Self::Blocksize, "blocksize"),
        (Self::Depth, "depth"),
        (Self::Grid, "grid"),
        (Self::Grid3d, "grid3d"),
        (Self::Compare, "compare"),
        (Self::Ratio, "ratio"),
        (Self::Scaling, "scaling"),
        (Self::Course, "course"),
        (Self::Convergence, "convergence"),
        (Self::Window, "window"),
        (Self::Headroom, "headroom"),
        (Self::Topology, "topology"),
    ];

    /// True if values stand side by side, where an invalid one would be read as the best or worst.
    pub const fn leaves_out_invalid(self) -> bool {
        match self {
            Self::Blocksize
            | Self::Depth
            | Self::Grid
            | Self::Grid3d
            | Self::Compare
            | Self::Ratio
            | Self::Scaling => true,
            Self::Time
            | Self::Latency
            | Self::Course
            | Self::Convergence
            | Self::Window
            | Self::Headroom
            | Self::Topology => false,
        }
    }
}

/// A run to draw, with its name.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Name in the legend.
    pub label: &'a str,
    /// The run.
    pub record: &'a RunRecord,
    /// Conclusions from the sweep that it is: predicted points and knees.
    pub outlook: Option<&'a Predictions>,
}

impl<'a> Source<'a> {
    /// A run that is no sweep.
    pub const fn new(label: &'a str, record: &'a RunRecord) -> Self {
        Self { label, record, outlook: None }
    }
}

/// Request for a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Kind of figure.
    pub kind: Kind,
    /// Metric to show; `None`: those that suit the kind.
    pub metric: Option<Metric>,
    /// Only these measurements of each run, by index; `None`: all.
    pub measurements: Option<Vec<usize>>,
    /// Only measurements that match these filters.
    pub filters: Vec<Filter>,
    /// Leaves out measurements that fill the targets.
    pub without_fills: bool,
    /// Option whose values make the series.
    pub series: Option<String>,
    /// Title, in place of the default.
    pub title: Option<String>,
    /// End of the time axis, ns.
    pub xmax_ns: Option<u64>,
    /// Judgements of measurements, if they are to be shown.
    pub judged: Vec<Judged>,
    /// Figures tracked in rounds, if they are to be shown.
    pub rounds: Vec<Track>,
    /// Headroom of reads under load, if it is to be shown.
    pub headroom: Vec<Headroom>,
}

/// Figure tracked over the rounds of a run for steady state, in base units.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Index into the sources.
    pub source: usize,
    /// Targets.
    pub targets: Vec<String>,
    /// Name of the point.
    pub point: String,
    /// Metric of the point.
    pub metric: Metric,
    /// Value in each round; `None`: not measured, or failed.
    pub values: Vec<Option<f64>>,
    /// Measurement window; `None`: too few rounds.
    pub window: Option<TrackWindow>,
    /// Whether its target is steady, as a sentence.
    pub verdict: String,
    /// Result of the window, in one line.
    pub words: String,
}

/// Measurement window.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackWindow {
    /// Its rounds.
    pub rounds: RangeInclusive<u32>,
    /// Mean of its values.
    pub average: f64,
    /// Allowed deviation from the average, in percent of it.
    pub band_percent: f64,
    /// Value of the fitted line in the first round.
    pub fit_first: f64,
    /// Slope of that line, per round.
    pub fit_slope: f64,
}

/// Judgement of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Index into the sources.
    pub source: usize,
    /// Index into the run's measurements.
    pub measurement: usize,
    /// Validity. Figures that set values side by side have no room for invalid ones.
    pub validity: Validity,
    /// Caveats, in a word each; empty if they are stated elsewhere.
    pub reservations: Vec<String>,
    /// Upper bounds in the metric's unit.
    pub ceilings: Vec<(Metric, f64)>,
}

impl Request {
    /// A figure of `kind` of all measurements.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            metric: None,
            measurements: None,
            filters: Vec::new(),
            without_fills: false,
            series: None,
            title: None,
            xmax_ns: None,
            judged: Vec::new(),
            rounds: Vec::new(),
            headroom: Vec::new(),
        }
    }
}

/// Reason why a figure cannot be made.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FigureError {
    /// There are no measurements to show.
    #[error("there is nothing to draw: {0}")]
    Nothing(String),
    /// No measurement matches a filter.
    #[error("where {filter}: no match{measured}")]
    NoMatch {
        /// The filter, as given.
        filter: String,
        /// The measured values, as a clause; may be empty.
        measured: String,
    },
    /// Too much for one figure.
    #[error("too much for one figure: {what}; choose with --where OPTION=VALUE")]
    TooMany {
        /// The amount, or the names.
        what: String,
    },
    /// The size is out of range.
    #[error("width and height must be {least} to {most} pixels")]
    Size {
        /// Minimum, pixels.
        least: u32,
        /// Maximum, pixels.
        most: u32,
    },
    /// The drawing library failed, which is an internal error.
    #[error("the figure could not be drawn: {0}")]
    Drawing(String),
    /// This build cannot draw.
    #[error("this iodyno was built without pictures (Cargo feature \"pictures\")")]
    NoPictures,
}

/// Option value that measurements must have, or must not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    option: String,
    pub(crate) value: String,
    /// True if they must have another value, or none.
    pub(crate) not: bool,
}

impl FromStr for Filter {
    type Err = ParseError;

    /// Parses `bs=4k`, `name!=fill`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let parted = text.split_once('=').map(|(option, value)| {
            let plain = option.strip_suffix('!');
            (plain.unwrap_or(option).trim(), value.trim(), plain.is_some())
        });
        match parted {
            Some((option, value, not)) if !option.is_empty() && !value.is_empty() => {
                Ok(Self { option: option.into(), value: value.into(), not })
            }
            _ => Err(ParseError::new(text, "OPTION=VALUE, such as bs=4k,")),
        }
    }
}

impl Filter {
    /// fio's name of the option.
    pub fn option(&self) -> &str {
        &self.option
    }
}

impl std::fmt::Display for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.not { "!=" } else { "=" };
        write!(f, "{}{sign}{}", self.option, self.value)
    }
}

/// Value of a workload's option by fio's name, or the measurement's `name` or `target`; `None` if
/// unknown.
pub(crate) fn option_of(measurement: &Measurement, option: &str) -> Option<String> {
    let Workload { rw, bs, iodepth, numjobs, ioengine, direct, size, options } =
        &measurement.workload;
    match option {
        "rw" | "readwrite" => rw.clone(),
        "bs" | "blocksize" => bs.map(size_text),
        "iodepth" => iodepth.map(|depth| depth.to_string()),
        "numjobs" => numjobs.map(|jobs| jobs.to_string()),
        "ioengine" => ioengine.clone(),
        "direct" => direct.map(|direct| u8::from(direct).to_string()),
        "size" => size.map(size_text),
        "name" => Some(measurement.name.clone()),
        "target" => Some(measurement.targets.join(":")),
        _ => options.get(option).cloned(),
    }
}

/// Formats bytes like fio: `4k`.
pub(crate) fn size_text(bytes: u64) -> String {
    let units = [(1u64 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let unit = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}

/// Parses a number, or a size in fio's notation, binary: `4k`, `1M`, `128KiB`.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let value: f64 = text[..digits].parse().ok()?;
    let factor = match &text[digits..] {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    Some(value * f64::from(factor).exp2())
}
