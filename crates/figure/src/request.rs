//! Which figure is asked for.

use std::ops::RangeInclusive;
use std::str::FromStr;

use iodyno_model::{Measurement, ParseError, Prediction, RunRecord, Workload};
use thiserror::Error;

use crate::Metric;

/// What a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rates and latencies over time.
    Time,
    /// Distribution of latencies and the percentile curve.
    Latency,
    /// IOPS and bandwidth against block size.
    Blocksize,
    /// Throughput and latency against queue depth or number of jobs.
    Depth,
    /// Heat map of iodepth by numjobs.
    Grid,
    /// The same as bars in space.
    Grid3d,
    /// Grouped bars with intervals.
    Compare,
    /// The same over what the first run has.
    Ratio,
    /// Aggregate against the number of drives.
    Scaling,
    /// Rates over a whole run, one measurement behind the other.
    Course,
    /// What is tracked over all rounds of a run.
    Convergence,
    /// The same over the measurement window, with the line through it.
    Window,
    /// How the machine's storage hangs together.
    Topology,
}

impl Kind {
    /// All of them, with their names.
    pub const ALL: [(Self, &str); 13] = [
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
        (Self::Topology, "topology"),
    ];
}

/// A run to draw, and how it is called in the legend.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Name in the legend.
    pub label: &'a str,
    /// The run.
    pub record: &'a RunRecord,
    /// Points that were not measured and may be shown as such.
    pub predictions: &'a [Prediction],
}

impl<'a> Source<'a> {
    /// What was measured, and nothing else.
    pub const fn new(label: &'a str, record: &'a RunRecord) -> Self {
        Self { label, record, predictions: &[] }
    }
}

/// Which figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What it shows.
    pub kind: Kind,
    /// Of which figure; `None`: those that suit the kind.
    pub metric: Option<Metric>,
    /// Only these measurements of each run, by index; `None`: all.
    pub measurements: Option<Vec<usize>>,
    /// Only measurements whose workload has these values.
    pub filters: Vec<Filter>,
    /// The option whose values make the series.
    pub series: Option<String>,
    /// Its title, in place of one of ours.
    pub title: Option<String>,
    /// Where the axis of time ends, ns.
    pub xmax_ns: Option<u64>,
    /// How measurements were judged, where that is to be seen.
    pub judged: Vec<Judged>,
    /// What was tracked in rounds, where that is to be seen.
    pub rounds: Vec<Track>,
}

/// A figure that has to be steady, over the rounds of a run, in base units.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Index into the sources.
    pub source: usize,
    /// On what.
    pub targets: Vec<String>,
    /// Name of the point.
    pub point: String,
    /// Which figure of it.
    pub metric: Metric,
    /// Its value in each round; `None`: not measured, or it failed.
    pub values: Vec<Option<f64>>,
    /// The measurement window; `None`: there are too few rounds.
    pub window: Option<TrackWindow>,
    /// Whether its target is steady, as a sentence.
    pub verdict: String,
    /// What the window says of it, in a line.
    pub words: String,
}

/// A measurement window.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackWindow {
    /// Its rounds.
    pub rounds: RangeInclusive<u32>,
    /// The mean of its values.
    pub average: f64,
    /// How far from the average values may lie, in percent of it.
    pub band_percent: f64,
    /// Where the best line stands in its first round.
    pub fit_first: f64,
    /// Slope of that line, by the round.
    pub fit_slope: f64,
}

/// How a measurement was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Index into the sources.
    pub source: usize,
    /// Index into the run's measurements.
    pub measurement: usize,
    /// Its validity, such as `QUALIFIED`, where there are reservations.
    pub validity: Option<String>,
    /// The reservations, in a word each.
    pub reservations: Vec<String>,
    /// Upper bounds in the metric's unit.
    pub ceilings: Vec<(Metric, f64)>,
}

impl Request {
    /// A figure of `kind` of everything there is.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            metric: None,
            measurements: None,
            filters: Vec::new(),
            series: None,
            title: None,
            xmax_ns: None,
            judged: Vec::new(),
            rounds: Vec::new(),
        }
    }
}

/// Why a figure cannot be made.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FigureError {
    /// Nothing was measured that it could show.
    #[error("there is nothing to draw: {0}")]
    Nothing(String),
    /// A filter leaves nothing.
    #[error("where {filter}: no measurement has it{measured}")]
    NoMatch {
        /// The filter, as it was given.
        filter: String,
        /// What was measured, as a clause; may be empty.
        measured: String,
    },
    /// More than one figure can show.
    #[error("too much for one figure: {what}; choose with --where, such as --where rw=read,bs=4k")]
    TooMany {
        /// What there is.
        what: String,
    },
    /// No picture can have this size.
    #[error("a picture is {least} to {most} pixels wide and high")]
    Size {
        /// Pixels at least.
        least: u32,
        /// Pixels at most.
        most: u32,
    },
    /// The library that draws failed, which is an error of ours.
    #[error("the figure could not be drawn: {0}")]
    Drawing(String),
    /// This build draws none.
    #[error("this iodyno was built without pictures (Cargo feature \"pictures\")")]
    NoPictures,
}

/// An option with the value that measurements have to have, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    option: String,
    pub(crate) value: String,
    /// They have to have another one, or none.
    pub(crate) not: bool,
}

impl FromStr for Filter {
    type Err = ParseError;

    /// `bs=4k`, `name!=fill`.
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
    /// What has another value of the option than this.
    pub fn not(option: &str, value: &str) -> Self {
        Self { option: option.into(), value: value.into(), not: true }
    }

    /// The option's name, as fio calls it.
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

/// The value of a workload's option by fio's name, or the measurement's `name`
/// or `target`; `None` where it is not known.
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

/// Bytes as fio writes them: `4k`.
pub(crate) fn size_text(bytes: u64) -> String {
    let units = [(1u64 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let unit = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}

/// A number, or a size as fio writes it, binary: `4k`, `1M`, `128KiB`.
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
