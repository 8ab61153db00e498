//! Conditions of a measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::{Named, named, null_as_nan};
use crate::{AboveLimit, Caveat, FillOrder, Told, WrittenShare, told};

named! {
    /// One depth tried by the search for a sufficient depth.
    DepthTried {
        /// Outstanding I/Os.
        depth: u32,
        /// I/Os per second at that depth.
        #[serde(deserialize_with = "null_as_nan")]
        #[schemars(with = "Option<f64>")]
        iops: f64,
    }
}

named! {
    /// A range of offsets.
    Range {
        /// Offset of the first byte.
        offset_bytes: u64,
        /// Length, bytes.
        length_bytes: u64,
    }
}

/// Conditions of a measurement, as far as they applied or are known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// Why this I/O engine was used: `io_uring`, or the reason for a fallback.
    pub engine_reason: Option<String>,
    /// True if kernel worker threads issued the I/O (the target has no NOWAIT support).
    pub punted: Option<bool>,
    /// True if buffers were registered with the kernel.
    pub registered_buffers: Option<bool>,
    /// Number of submitting threads.
    pub threads: Option<u32>,
    /// CPUs that the threads were bound to.
    pub cpus: Vec<u32>,
    /// Requested outstanding I/Os, over all threads and targets.
    pub depth_asked: Option<u32>,
    /// Mean outstanding I/Os, by Little's law: rate x mean latency.
    pub depth_reached: Option<f64>,
    /// Depths tried by the search for a sufficient depth, with their IOPS.
    #[serde(with = "Named::<DepthTried>")]
    #[schemars(with = "Vec<DepthTried>")]
    pub depths_tried: Vec<(u32, f64)>,
    /// Offset ranges that the I/O was confined to (offset, length), bytes; empty: whole target.
    #[serde(with = "Named::<Range>")]
    #[schemars(with = "Vec<Range>")]
    pub ranges: Vec<(u64, u64)>,
    /// Size of the range that the options allow, over all clones and targets, shared bytes once;
    /// absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_bytes: Option<u64>,
    /// Share of blocks ever written, for each target.
    pub written: Vec<WrittenShare>,
    /// Order in which the blocks were written; null: not known.
    #[serde(default)]
    pub fill: Option<FillOrder>,
    /// Block device under a target that is a file or directory; null: not known.
    pub device: Option<String>,
    /// True if the target is a scratch file created for the run.
    pub scratch: bool,
    /// Caveats about the target.
    #[serde(with = "told")]
    #[schemars(with = "Vec<Told<Caveat>>")]
    pub target_remarks: Vec<Caveat>,
    /// Caveats about the load.
    #[serde(with = "told")]
    #[schemars(with = "Vec<Told<Caveat>>")]
    pub shortfalls: Vec<Caveat>,
    /// I/Os per second by others on the same devices meanwhile.
    pub other_iops: Option<f64>,
    /// Bytes per second by others on the same devices meanwhile.
    pub other_bytes_per_s: Option<f64>,
    /// Requested relative half width of the confidence interval.
    pub precision_asked: Option<f64>,
    /// Pauses of the measuring process, ns each (stopped, suspended, VM migrated): not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lapses_ns: Vec<u64>,
    /// Machine settings made by the plan.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// Requested relative half width of the p99's confidence interval; absent: none requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_precision_asked: Option<f64>,
    /// Requested steady state and its result; absent: none requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<SteadyState>,
    /// Times at which cloud volumes exceeded their limits, by their own counters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above_limits: Vec<AboveLimit>,
    /// Background I/O of iodyno itself, where an experiment calls for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// Time in the block layer and in the device; absent: not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_times: Option<BlockTimes>,
}

/// Time of I/Os in the block layer and in the device, from the kernel's tracepoints
/// `block_bio_queue`, `block_rq_issue` and `block_rq_complete`. Traces some of the I/Os at the
/// beginning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockTimes {
    /// Number of I/Os traced from end to end.
    pub ios: u64,
    /// Time from the first to the last of them, ns.
    pub duration_ns: u64,
    /// Mean time in the block layer before dispatch to the driver (scheduler, tags, limits), ns.
    pub queue_mean_ns: f64,
    /// p99 of the time in the block layer, ns.
    pub queue_p99_ns: u64,
    /// Mean time in driver and device, ns.
    pub device_mean_ns: f64,
    /// p99 of the time in driver and device, ns.
    pub device_p99_ns: u64,
    /// Share of the traced time in which the device was idle; mean over several devices.
    pub idle: f64,
}

/// Steady state requested of a measurement's own rate over its last rounds (SNIA PTS 2.0.2,
/// 2.1.24), and the result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyState {
    /// Rounds in the window.
    pub rounds: u32,
    /// Length of a round, ns.
    pub round_ns: u64,
    /// Maximum minus minimum rate of the rounds, as a share of their average; null: too few rounds.
    pub excursion: Option<f64>,
    /// Rise or fall of the regression line through the rounds, as a share of their average.
    pub slope_excursion: Option<f64>,
}

/// Background I/O of iodyno itself during a measurement, and not part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Its target.
    pub target: String,
    /// I/O pattern, as fio's `rw`.
    pub rw: String,
    /// Bytes per second while the measurement was counted.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub bytes_per_s: f64,
}

/// Machine setting during a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Path in sysfs.
    pub path: String,
    /// Value before the plan.
    pub before: String,
    /// Value set by the plan.
    pub value: String,
}
