//! Rates that fio sampled, as its reports state them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// Samples of the rates of one direction; fio takes one every 500 ms (bwavgtime, iopsavgtime).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SampledRates {
    /// Bytes per second.
    pub bandwidth: RateSamples,
    /// I/Os per second.
    pub iops: RateSamples,
}

/// Samples of a rate, per second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RateSamples {
    /// Smallest.
    pub min: Option<Estimate>,
    /// Largest.
    pub max: Option<Estimate>,
    /// Mean.
    pub mean: Option<Estimate>,
    /// Standard deviation.
    pub stdev: Option<Estimate>,
    /// How many there are.
    pub count: Option<u64>,
}
