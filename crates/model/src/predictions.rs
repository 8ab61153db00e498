//! Results derived from a sweep: points bounded by measured ones, and knees where more outstanding
//! I/O no longer helps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::{estimate, null_as_nan};
use crate::{Estimate, Headroom};

/// Results derived from the measurements of a sweep, on demand and never stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Predictions {
    /// Points skipped because measured neighbours bound them.
    pub predictions: Vec<Prediction>,
    /// Number of measured points that their neighbours bound as well, as a check of the method.
    pub checked: u32,
    /// Number of checked points within their bounds.
    pub held: u32,
    /// Knees of the curves of rate over outstanding I/Os.
    pub knees: Vec<Knee>,
    /// p99 of reads under load, for each target on which it was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headroom: Vec<Headroom>,
}

/// Prediction for a point that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// Name of the point.
    pub name: String,
    /// File or device, as typed.
    pub target: String,
    /// Index of a measurement of the same curve, differing only in depth and jobs.
    #[serde(default)]
    pub beside: usize,
    /// Queue depth per job.
    #[serde(default)]
    pub iodepth: u32,
    /// Number of jobs.
    #[serde(default)]
    pub numjobs: u32,
    /// I/Os per second over all directions: middle of the interval left by its neighbours.
    #[serde(with = "estimate")]
    #[schemars(with = "Option<Estimate>")]
    pub iops: Estimate,
}

/// Knee of a curve of rate over outstanding I/Os.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// Settings common to its points: `rw=randread bs=4k`; empty if there is only one curve.
    pub curve: String,
    /// File or device, as typed.
    pub target: String,
    /// Fewest outstanding I/Os with a rate within 5 % of the maximum.
    pub knee: Peak,
    /// Point with the maximum rate.
    pub most: Peak,
    /// True if the knee is the smallest measured depth: what fewer give was not measured.
    #[serde(default)]
    pub is_first: bool,
    /// True if the knee is the largest measured depth: more may give a higher rate.
    pub is_last: bool,
    /// True if the intervals are too wide to tell where the knee is.
    #[serde(default)]
    pub is_unclear: bool,
    /// Index of the knee's measurement.
    #[serde(default)]
    pub measurement: usize,
    /// Best point with a p99 within a bound, if one was given.
    #[serde(flatten)]
    pub under: Option<Under>,
}

/// A measured point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// Settings that distinguish the point: `iodepth=16 numjobs=4`.
    pub at: String,
    /// Outstanding I/Os.
    pub outstanding: u32,
    /// I/Os per second over all directions.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub iops: f64,
}

/// Best point with latencies within a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Under {
    /// Bound on the p99, ns.
    #[serde(rename = "p99_bound_ns")]
    #[schemars(with = "Option<u64>")]
    pub bound_ns: u64,
    /// The best point; null: no measured point is known to be within the bound.
    #[serde(rename = "best_under_bound")]
    pub best: Option<PeakUnder>,
    /// Measured points whose p99 is not known.
    #[serde(rename = "p99_unknown", default)]
    pub unknown: u32,
}

/// Measured point within a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakUnder {
    /// The measured point.
    #[serde(flatten)]
    pub peak: Peak,
    /// p99 of the point, ns.
    pub p99_ns: u64,
}
