//! Control groups, whose limits look like a slow drive or CPU.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::json::{Named, named};

named! {
    /// A latency target of a control group.
    IoLatency {
        /// Block device.
        device: String,
        /// Target, us.
        target_us: u64,
    }
}

/// A control group that this process is in: its own, or one above it (Linux, admin-guide/cgroup-v2).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ControlGroup {
    /// Its path below the root that this process sees: `/system.slice/a.service`; of version 1
    /// behind its controllers: `cpu,cpuacct:/docker/a`.
    pub path: String,
    /// What it lets through to devices (io.max).
    pub io_max: Vec<IoMax>,
    /// Block devices on which it has a latency target, us (io.latency): groups beside one that
    /// misses its target are held back.
    #[serde(with = "Named::<IoLatency>")]
    #[schemars(with = "Vec<IoLatency>")]
    pub io_latency: Vec<(String, u64)>,
    /// Block devices that are shared out by cost (io.cost.qos, of the root).
    pub io_cost: Vec<String>,
    /// CPUs' worth of time that it may use (cpu.max); absent: no limit.
    pub cpu_max: Fact<f64>,
    /// CPUs that it may run on (cpuset.cpus.effective).
    pub cpus: Fact<Vec<u32>>,
    /// Time in which some task of it waited for I/O so far, us (io.pressure, some).
    pub io_stalled_us: Fact<u64>,
    /// What cpu.max did so far (cpu.stat).
    pub cpu_throttling: Fact<CpuThrottling>,
}

/// What a control group lets through to one block device; `None`: no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IoMax {
    /// Block device, or its number where it has no name here.
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

/// How often a group was out of CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuThrottling {
    /// Periods in which it ran.
    pub periods: u64,
    /// Those of them in which its time ended before they did.
    pub throttled_periods: u64,
    /// Time that its tasks were kept waiting for, over all CPUs, us.
    pub throttled_us: u64,
}
