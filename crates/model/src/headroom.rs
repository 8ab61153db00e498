//! Read latency under load: what a plan asks for, and the surface that it measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::json::number;

/// How read latency under load is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HeadroomPlan {
    /// Points at most, besides the most writes and the most reads, which the others are shares of.
    pub points: u32,
    /// The p99 is that of flushes, which a third step makes beside each load.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sync: bool,
}

impl Default for HeadroomPlan {
    fn default() -> Self {
        Self { points: 58, sync: false }
    }
}

/// What a drive took in an earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierHeadroom {
    /// Key of the run.
    pub run: String,
    /// When it began, ns since 1970 UTC.
    pub run_started_ns: i64,
    /// The same drive as it is called now.
    #[serde(flatten)]
    pub of: Headroom,
}

/// The p99 of reads against the rates of background writes and of reads. It is derived from
/// measurements whenever it is asked for, and never stored beside them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headroom {
    /// File or device, as it was typed.
    pub target: String,
    /// The most writes without any reads, bytes per second.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub most_write_bytes_per_s: f64,
    /// The most reads without any writes, per second.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub most_read_iops: f64,
    /// The p99 is that of flushes beside the load, and not of its reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync: bool,
    /// The bound of the p99, ns.
    pub p99_bound_ns: u64,
    /// The most writes beside few reads whose p99 keeps the bound; null: none.
    pub writes: Option<Load>,
    /// The most reads without writes whose p99 keeps the bound; null: none.
    pub reads: Option<Load>,
    /// The most of both, equal shares of the most, whose p99 keeps the bound; null: none.
    pub both: Option<Load>,
    /// All loads, by writes and then by reads: measured, interpolated, or not reached.
    pub cells: Vec<LoadCell>,
}

impl Headroom {
    /// What waits: `read` or `sync`.
    pub const fn what(&self) -> &'static str {
        if self.sync { "sync" } else { "read" }
    }
}

/// A load whose p99 keeps a bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Writes, bytes per second.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub write_bytes_per_s: f64,
    /// Reads per second.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub read_iops: f64,
    /// More is not reached, so the bound is not what limits it.
    pub is_most: bool,
}

/// A load, and the p99 of its reads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCell {
    /// Number of its rate of writes, from 0.
    pub column: usize,
    /// Number of its rate of reads, from 0.
    pub row: usize,
    /// Writes that were asked for, bytes per second.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub write_bytes_per_s: f64,
    /// Reads that were asked for, per second.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub read_iops: f64,
    /// The p99 of its reads, ns, each counted from when it was due; null: a rate is not reached.
    /// With an interval it was measured, else interpolated.
    pub p99_ns: Option<Estimate>,
    /// Index of the measurement of its reads; null: it was not measured.
    pub measurement: Option<usize>,
}
