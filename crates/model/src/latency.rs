//! What is known of latencies where their bins are not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// Percentiles that are kept and published, in percent.
pub const PERCENTILES: [f64; 15] =
    [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999, 99.9999];

/// From where to where a latency runs.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LatencyKind {
    /// Until the submitting system call returned (fio's slat).
    Submission,
    /// From there to the completion (fio's clat).
    Completion,
    /// From the submission to the completion (fio's lat).
    #[default]
    Total,
}

impl LatencyKind {
    /// All of them, in the order of time.
    pub const ALL: [Self; 3] = [Self::Submission, Self::Completion, Self::Total];

    /// As documents name it: `submission`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submission => "submission",
            Self::Completion => "completion",
            Self::Total => "total",
        }
    }

    /// As fio names it: `slat`.
    pub const fn fio_name(self) -> &'static str {
        match self {
            Self::Submission => "slat",
            Self::Completion => "clat",
            Self::Total => "lat",
        }
    }
}

/// Latencies of one kind as a report states them. ns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencySummary {
    /// Smallest.
    pub min_ns: Option<Estimate>,
    /// Mean.
    pub mean_ns: Option<Estimate>,
    /// Largest.
    pub max_ns: Option<Estimate>,
    /// Standard deviation.
    pub stdev_ns: Option<Estimate>,
    /// Percentiles: (percent, value), in ascending order.
    pub percentiles: Vec<(f64, Estimate)>,
}

impl LatencySummary {
    /// Nothing is stated.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The percentile `percent`, if it is stated.
    pub fn percentile(&self, percent: f64) -> Option<Estimate> {
        let found = self.percentiles.iter().find(|(of, _)| (of - percent).abs() < 1e-6);
        found.map(|(_, value)| *value)
    }
}

/// Latencies as a report states them, by kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatedLatencies {
    /// Until the submitting system call returned.
    pub submission: LatencySummary,
    /// From there to the completion.
    pub completion: LatencySummary,
    /// Both.
    pub total: LatencySummary,
}

impl StatedLatencies {
    /// What is stated of `kind`.
    pub const fn of(&self, kind: LatencyKind) -> &LatencySummary {
        match kind {
            LatencyKind::Submission => &self.submission,
            LatencyKind::Completion => &self.completion,
            LatencyKind::Total => &self.total,
        }
    }

    /// The same, to be changed.
    pub const fn of_mut(&mut self, kind: LatencyKind) -> &mut LatencySummary {
        match kind {
            LatencyKind::Submission => &mut self.submission,
            LatencyKind::Completion => &mut self.completion,
            LatencyKind::Total => &mut self.total,
        }
    }
}

/// A share of I/Os whose latency lay in a range, as fio's `lat (usec)` lines
/// say of all directions of a job together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRange {
    /// Lower end, ns.
    pub low_ns: u64,
    /// Upper end, ns; `None`: none.
    pub high_ns: Option<u64>,
    /// Share of the I/Os, 0..1.
    #[serde(with = "crate::json::estimate")]
    #[schemars(with = "Option<Estimate>")]
    pub share: Estimate,
}
