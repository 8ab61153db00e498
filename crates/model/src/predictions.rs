//! What the measurements of a sweep say beyond themselves: points that they
//! bound, and where more outstanding I/O no longer helps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::{estimate, number};
use crate::{Estimate, Headroom};

/// What follows from the measurements of a sweep. It is derived from them
/// whenever it is asked for, and never stored beside them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Predictions {
    /// Points that were not measured, since measured neighbours bound them.
    pub predictions: Vec<Prediction>,
    /// Measured points that their neighbours bound as well: so many tried it out.
    pub checked: u32,
    /// So many of those were what the bounds said.
    pub held: u32,
    /// For each curve of rates over outstanding I/Os that has a knee.
    pub knees: Vec<Knee>,
    /// For each target the p99 of reads under load, where that was looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headroom: Vec<Headroom>,
}

/// A point that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The point's name.
    pub name: String,
    /// File or device, as it was typed.
    pub target: String,
    /// Index of a measurement of the same curve, from which it differs in depth and jobs alone.
    #[serde(default)]
    pub beside: usize,
    /// Its depth, of each job.
    #[serde(default)]
    pub iodepth: u32,
    /// Its jobs.
    #[serde(default)]
    pub numjobs: u32,
    /// I/Os per second over all directions: the middle of the interval that its neighbours leave.
    #[serde(with = "estimate")]
    #[schemars(with = "Option<Estimate>")]
    pub iops: Estimate,
}

/// Where a curve of rates over outstanding I/Os stops to rise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// What its points have in common: `rw=randread bs=4k`; empty where there is one curve.
    pub curve: String,
    /// File or device, as it was typed.
    pub target: String,
    /// The least outstanding I/O whose rate is within 5 % of the most.
    pub knee: Peak,
    /// The most of all points that were measured.
    pub most: Peak,
    /// It is the greatest that was measured: more may give more.
    pub is_last: bool,
    /// The most under a bound of the p99, where one was given.
    #[serde(flatten)]
    pub under: Option<Under>,
}

/// A measured point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// What sets it apart from the others: `iodepth=16 numjobs=4`.
    pub at: String,
    /// Outstanding I/Os.
    pub outstanding: u32,
    /// I/Os per second over all directions.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub iops: f64,
}

/// The best point whose latencies keep a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Under {
    /// The bound of the p99, ns.
    #[serde(rename = "p99_bound_ns")]
    #[schemars(with = "Option<u64>")]
    pub bound_ns: u64,
    /// `None`: no measured point keeps it.
    #[serde(rename = "best_under_bound")]
    pub best: Option<PeakUnder>,
}

/// A measured point that keeps a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakUnder {
    /// The point.
    #[serde(flatten)]
    pub peak: Peak,
    /// Its p99, ns.
    pub p99_ns: u64,
}
