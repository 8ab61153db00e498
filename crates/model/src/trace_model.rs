//! Comparison of a trace with its model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TraceBurst;

/// A trace compared with its model, without any I/O. Shares are of all I/Os, 0..1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelLikeness {
    /// Features of the trace.
    pub trace: TraceLikeness,
    /// Features of the I/Os that the model generates.
    pub model: TraceLikeness,
    /// Share of I/Os that differ in operation or size.
    pub sizes: f64,
    /// Share of I/Os that fall into another 10 ms slice, by operation and size.
    pub rate: f64,
    /// Share of I/Os whose gap to the previous one differs, by powers of two.
    pub gaps: f64,
    /// Share of I/Os that differ in whether they repeat an address, or in the distance to its last
    /// use, by powers of two.
    pub again: f64,
    /// p99 on the simulated drive of what fio options can express: mean rate, sizes by operation,
    /// run lengths, ns.
    pub options_p99_ns: u64,
}

/// Features of a trace that determine its latencies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceLikeness {
    /// Number of I/Os.
    pub ios: u64,
    /// Mean run length, I/Os: each I/O of a run starts where an earlier one ended.
    pub run: f64,
    /// Share of runs that start at the address of an earlier I/O.
    pub again: f64,
    /// Burstiness of the rate at several time scales.
    pub bursts: Vec<TraceBurst>,
    /// p50 on a simulated drive: 16 dies, 60 us to read and 120 us to write 16 KiB, no cache; ns.
    pub simulated_p50_ns: u64,
    /// p99 on the same drive, ns.
    pub simulated_p99_ns: u64,
}
