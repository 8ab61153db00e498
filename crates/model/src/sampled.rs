//! Rates sampled by fio, as stated in its reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// Rate samples of one direction; fio takes one every 500 ms (bwavgtime, iopsavgtime).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SampledRates {
    /// Bytes per second.
    pub bandwidth: RateSamples,
    /// I/Os per second.
    pub iops: RateSamples,
}

/// Summary of rate samples, per second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RateSamples {
    /// Minimum.
    pub min: Option<Estimate>,
    /// Maximum.
    pub max: Option<Estimate>,
    /// Mean.
    pub mean: Option<Estimate>,
    /// Standard deviation.
    pub stdev: Option<Estimate>,
    /// Number of samples.
    pub count: Option<u64>,
}
