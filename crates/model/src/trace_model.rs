//! How like a model of a trace is to the trace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TraceBurst;

/// A trace and what its model makes, compared without any I/O. Shares are of all I/Os, 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelLikeness {
    /// The trace.
    pub trace: TraceLikeness,
    /// What the model makes.
    pub model: TraceLikeness,
    /// I/Os whose operation or size is another.
    pub sizes: f64,
    /// I/Os in another slice of 10 ms, with operation and size.
    pub rate: f64,
    /// I/Os whose gap to the one before is of another octave.
    pub gaps: f64,
    /// I/Os that repeat an address after a time of another octave, or where the other does not.
    pub again: f64,
    /// p99 on the reckoned drive of what fio's options can say: mean rates, sizes by operation, runs, ns.
    pub options_p99_ns: u64,
}

/// Features of a trace that decide its latencies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceLikeness {
    /// I/Os.
    pub ios: u64,
    /// Mean length of runs, I/Os that each begin where one ended.
    pub run: f64,
    /// Share of the runs that begin where an I/O began before.
    pub again: f64,
    /// How the rate varies, at several scales.
    pub bursts: Vec<TraceBurst>,
    /// p50 on a reckoned drive: 16 dies, 60 us to read and 120 us to write 16 KiB, no cache; ns.
    pub simulated_p50_ns: u64,
    /// p99 on it, ns.
    pub simulated_p99_ns: u64,
}
