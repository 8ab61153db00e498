//! Latency figures that come without histogram bins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// Percentiles that are stored and reported, in percent.
pub const PERCENTILES: [f64; 15] =
    [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999, 99.9999];

/// Part of an I/O that a latency covers.
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
    /// Start of the I/O to the return of the submitting system call (fio's slat).
    Submission,
    /// Return of the submitting system call to completion (fio's clat).
    Completion,
    /// Submission to completion (fio's lat).
    #[default]
    Total,
}

impl LatencyKind {
    /// All kinds, in order of time.
    pub const ALL: [Self; 3] = [Self::Submission, Self::Completion, Self::Total];

    /// Name in documents: `submission`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submission => "submission",
            Self::Completion => "completion",
            Self::Total => "total",
        }
    }

    /// fio's name: `slat`.
    pub const fn fio_name(self) -> &'static str {
        match self {
            Self::Submission => "slat",
            Self::Completion => "clat",
            Self::Total => "lat",
        }
    }
}

/// Latencies of one kind as stated in a report, ns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencySummary {
    /// Minimum.
    pub min_ns: Option<Estimate>,
    /// Mean.
    pub mean_ns: Option<Estimate>,
    /// Maximum.
    pub max_ns: Option<Estimate>,
    /// Standard deviation.
    pub stdev_ns: Option<Estimate>,
    /// Percentiles: (percent, value), in ascending order.
    pub percentiles: Vec<(f64, Estimate)>,
}

impl LatencySummary {
    /// True if nothing is stated.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the percentile `percent`, if stated.
    pub fn percentile(&self, percent: f64) -> Option<Estimate> {
        let found = self.percentiles.iter().find(|(of, _)| (of - percent).abs() < 1e-6);
        found.map(|(_, value)| *value)
    }
}

/// Latencies stated in a report, by kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatedLatencies {
    /// Submission latency (fio's slat).
    pub submission: LatencySummary,
    /// Completion latency (fio's clat).
    pub completion: LatencySummary,
    /// Total latency (fio's lat).
    pub total: LatencySummary,
}

impl StatedLatencies {
    /// Returns the summary of `kind`.
    pub const fn of(&self, kind: LatencyKind) -> &LatencySummary {
        match kind {
            LatencyKind::Submission => &self.submission,
            LatencyKind::Completion => &self.completion,
            LatencyKind::Total => &self.total,
        }
    }

    /// Returns the summary of `kind`, mutable.
    pub const fn of_mut(&mut self, kind: LatencyKind) -> &mut LatencySummary {
        match kind {
            LatencyKind::Submission => &mut self.submission,
            LatencyKind::Completion => &mut self.completion,
            LatencyKind::Total => &mut self.total,
        }
    }
}

/// Share of I/Os with a latency in a range, over all directions of a job, from fio's `lat (usec)`
/// lines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRange {
    /// Lower end, ns.
    pub low_ns: u64,
    /// Upper end, ns; null: no limit.
    pub high_ns: Option<u64>,
    /// Share of the I/Os, 0..1.
    #[serde(with = "crate::json::estimate")]
    #[schemars(with = "Option<Estimate>")]
    pub share: Estimate,
}
