//! What a measurement was taken under.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::{Named, named, number};
use crate::{AboveLimit, Caveat, FillOrder, Told, WrittenShare, told};

named! {
    /// One depth of the search for the depth that suffices.
    DepthTried {
        /// Outstanding I/Os.
        depth: u32,
        /// I/Os per second that came of it.
        #[serde(deserialize_with = "number")]
        #[schemars(with = "Option<f64>")]
        iops: f64,
    }
}

named! {
    /// A range of offsets.
    Range {
        /// First byte.
        offset_bytes: u64,
        /// Length, bytes.
        length_bytes: u64,
    }
}

/// What a measurement was taken under, as far as it was in effect or known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// Why this I/O engine: `io_uring`, or what made it fall back.
    pub engine_reason: Option<String>,
    /// Kernel worker threads ran the I/O (the target has no NOWAIT support).
    pub punted: Option<bool>,
    /// Buffers were registered with the kernel.
    pub registered_buffers: Option<bool>,
    /// Threads that submitted.
    pub threads: Option<u32>,
    /// CPUs that they were kept on.
    pub cpus: Vec<u32>,
    /// Outstanding I/Os that were asked for, over all threads and targets.
    pub depth_asked: Option<u32>,
    /// Outstanding I/Os on the average, by Little's law: rate x mean latency.
    pub depth_reached: Option<f64>,
    /// Depths tried by the search for the depth that suffices, with their IOPS.
    #[serde(with = "Named::<DepthTried>")]
    #[schemars(with = "Vec<DepthTried>")]
    pub depths_tried: Vec<(u32, f64)>,
    /// Offsets stayed inside these (offset, length) ranges, bytes; empty: the whole target.
    #[serde(with = "Named::<Range>")]
    #[schemars(with = "Vec<Range>")]
    pub ranges: Vec<(u64, u64)>,
    /// Which share of the blocks was ever written, for each target.
    pub written: Vec<WrittenShare>,
    /// In which order they were written, where that is known.
    #[serde(default)]
    pub fill: Option<FillOrder>,
    /// The block device under a target that is a file or a directory, where it is known.
    pub device: Option<String>,
    /// The target is a scratch file that was made for the run.
    pub scratch: bool,
    /// What qualifies the target.
    #[serde(with = "told")]
    #[schemars(with = "Vec<Told<Caveat>>")]
    pub target_remarks: Vec<Caveat>,
    /// What qualifies the load.
    #[serde(with = "told")]
    #[schemars(with = "Vec<Told<Caveat>>")]
    pub shortfalls: Vec<Caveat>,
    /// I/Os on the devices that were not ours, per second, while it ran.
    pub other_iops: Option<f64>,
    /// Bytes on the devices that were not ours, per second, while it ran.
    pub other_bytes_per_s: Option<f64>,
    /// Relative half width of the interval that was asked for.
    pub precision_asked: Option<f64>,
    /// How long the measuring process did not run, ns, each time (stopped, asleep, its machine
    /// moved): not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lapses_ns: Vec<u64>,
    /// Settings of the machine that the plan asked for.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// Relative half width of the p99's interval, where that was asked for, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_precision_asked: Option<f64>,
    /// What its rate had to be steady over, where that was asked for, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<SteadyState>,
    /// When volumes of a cloud asked for more than their limits give, by their own counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above_limits: Vec<AboveLimit>,
    /// Our own I/O beside what was measured, where that was the experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// Where I/Os were while they were under way, where that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_times: Option<BlockTimes>,
}

/// Where I/Os were while they were under way, as the kernel's block tracepoints tell of some of
/// them at the beginning: `block_bio_queue`, `block_rq_issue`, `block_rq_complete`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockTimes {
    /// How many were seen from end to end.
    pub ios: u64,
    /// From the first to the last of them, ns.
    pub duration_ns: u64,
    /// Mean time in the block layer before the driver had them (scheduler, tags, limits), ns.
    pub queue_mean_ns: f64,
    /// The 99th percentile of it, ns.
    pub queue_p99_ns: u64,
    /// Mean time in driver and device, ns.
    pub device_mean_ns: f64,
    /// The 99th percentile of it, ns.
    pub device_p99_ns: u64,
    /// Share of that time in which a device had nothing to do, of several the mean.
    pub idle: f64,
}

/// A steady state that was asked of a measurement's own rate over the last of its rounds (SNIA
/// PTS 2.0.2, 2.1.24), and what they came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyState {
    /// Rounds of the window.
    pub rounds: u32,
    /// Length of a round, ns.
    pub round_ns: u64,
    /// Greatest less smallest rate of them as a share of their average; `None`: there were not as
    /// many rounds.
    pub excursion: Option<f64>,
    /// Rise or fall of the line through them as a share of their average.
    pub slope_excursion: Option<f64>,
}

/// Our own I/O that went on beside what was measured, and is not part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Its target.
    pub target: String,
    /// What it did, as fio's `rw`.
    pub rw: String,
    /// Bytes per second that it moved while the measurement counted.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub bytes_per_s: f64,
}

/// A setting of the machine while it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its file in sysfs.
    pub path: String,
    /// What it was before the plan.
    pub before: String,
    /// What it was set to.
    pub value: String,
}
