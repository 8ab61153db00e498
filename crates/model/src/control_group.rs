//! Control groups, whose limits look like a slow drive or CPU.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::json::{Named, named};

named! {
    /// Latency target of a control group (io.latency).
    IoLatency {
        /// Block device.
        device: String,
        /// Target, us.
        target_us: u64,
    }
}

/// Control group of this process, or one of its parents (Linux, admin-guide/cgroup-v2).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ControlGroup {
    /// Path below the root that this process sees: `/system.slice/a.service`; cgroup v1 with its
    /// controllers in front: `cpu,cpuacct:/docker/a`.
    pub path: String,
    /// Limits on device I/O (io.max).
    pub io_max: Vec<IoMax>,
    /// Block devices with a latency target, us (io.latency): if the group misses its target, its
    /// sibling groups are throttled.
    #[serde(with = "Named::<IoLatency>")]
    #[schemars(with = "Vec<IoLatency>")]
    pub io_latency: Vec<(String, u64)>,
    /// Block devices with cost-based I/O control (io.cost.qos, root group).
    pub io_cost: Vec<String>,
    /// CPU time limit, CPUs (cpu.max); absent: no limit.
    pub cpu_max: Fact<f64>,
    /// CPUs that the group may use (cpuset.cpus.effective).
    pub cpus: Fact<Vec<u32>>,
    /// Total time in which some task waited for I/O, us (io.pressure, some).
    pub io_stalled_us: Fact<u64>,
    /// Throttling by cpu.max so far (cpu.stat).
    pub cpu_throttling: Fact<CpuThrottling>,
}

/// I/O limits of a control group on one block device; null: no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IoMax {
    /// Block device, or its number if it has no name here.
    pub device: String,
    /// Bytes read per second (rbps).
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second (wbps).
    pub written_bytes_per_s: Option<u64>,
    /// Reads per second (riops).
    pub read_iops: Option<u64>,
    /// Writes per second (wiops).
    pub write_iops: Option<u64>,
}

/// CPU throttling of a control group (cpu.stat).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuThrottling {
    /// Periods in which the group ran (nr_periods).
    pub periods: u64,
    /// Periods in which it was throttled (nr_throttled).
    pub throttled_periods: u64,
    /// Total time its tasks were throttled, over all CPUs, us.
    pub throttled_us: u64,
}
