//! Read latency under load: the plan, and the measured surface.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::json::null_as_nan;

/// Settings of the search for read latency under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HeadroomPlan {
    /// Maximum number of loads to measure, besides the maximum write and read rates, of which the
    /// loads are shares.
    pub points: u32,
    /// True if the p99 is that of flushes, issued by a third step beside each load.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sync: bool,
}

impl Default for HeadroomPlan {
    fn default() -> Self {
        Self { points: 58, sync: false }
    }
}

/// Headroom of a drive from an earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierHeadroom {
    /// Key of the run.
    pub run: String,
    /// Start of the run, ns since 1970 UTC.
    pub run_started_ns: i64,
    /// Result, with the drive's current name.
    #[serde(flatten)]
    pub of: Headroom,
}

/// p99 of reads over the rates of background writes and reads. Derived from measurements on demand,
/// never stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headroom {
    /// File or device, as typed.
    pub target: String,
    /// Maximum write rate without reads, bytes per second.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub most_write_bytes_per_s: f64,
    /// Maximum read rate without writes, I/Os per second.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub most_read_iops: f64,
    /// True if the p99 is that of flushes beside the load instead of its reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync: bool,
    /// Bound on the p99, ns.
    pub p99_bound_ns: u64,
    /// Largest write rate, beside few reads, whose p99 is within the bound; null: none.
    pub writes: Option<Load>,
    /// Largest read rate, without writes, whose p99 is within the bound; null: none.
    pub reads: Option<Load>,
    /// Largest load, at equal shares of the maximum write and read rates, whose p99 is within the
    /// bound; null: none.
    pub both: Option<Load>,
    /// All loads, by write rate, then read rate: measured, interpolated, or not reached.
    pub cells: Vec<LoadCell>,
}

impl Headroom {
    /// Name of the operation whose latency is bounded: `read` or `sync`.
    pub const fn what(&self) -> &'static str {
        if self.sync { "sync" } else { "read" }
    }
}

/// Load whose p99 is within a bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Write rate, bytes per second.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub write_bytes_per_s: f64,
    /// Read rate, I/Os per second.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub read_iops: f64,
    /// True if this is the maximum reached, so that the bound is not the limit.
    pub is_most: bool,
    /// True if higher loads were not measured: some of them may be within the bound, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
}

/// Load and the p99 of its reads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCell {
    /// Index of the write rate, from 0.
    pub column: usize,
    /// Index of the read rate, from 0.
    pub row: usize,
    /// Requested write rate, bytes per second.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub write_bytes_per_s: f64,
    /// Requested read rate, I/Os per second.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub read_iops: f64,
    /// p99 of the reads, ns, each counted from its scheduled start, or of the flushes, each from its
    /// issue. Measured if there is a measurement, else interpolated. Null: see `missing`.
    pub p99_ns: Option<Estimate>,
    /// Reason why the p99 is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<NoP99>,
    /// Index of the measurement of the reads; null: not measured.
    pub measurement: Option<usize>,
}

/// Reason why a load has no p99.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoP99 {
    /// A rate was not reached, here or at a load with no more of both.
    NotReached,
    /// No load with at least as much of both has a p99 to interpolate from.
    NotMeasured,
}
