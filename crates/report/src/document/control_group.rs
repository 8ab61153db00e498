//! Control groups that the run was in.

use iodyno_model as model;
use iodyno_model::Fact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A control group (cgroup v2) that the run was in, as it was at its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlGroup {
    /// Its path below the root that the run saw.
    pub path: String,
    /// What it lets through to block devices (io.max).
    pub io_max: Vec<IoMax>,
    /// Latency targets (io.latency).
    pub io_latency: Vec<IoLatency>,
    /// Block devices that are shared out by cost (io.cost.qos).
    pub io_cost: Vec<String>,
    /// CPUs' worth of time that it may use (cpu.max); null: no limit.
    pub cpu_max: Option<f64>,
    /// CPUs that it may run on.
    pub cpus: Option<Vec<u32>>,
}

/// What a control group lets through to a block device; null: no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoMax {
    /// Block device.
    pub device: String,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
    pub written_bytes_per_s: Option<u64>,
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
}

/// A latency target of a control group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoLatency {
    /// Block device.
    pub device: String,
    /// Target, us.
    pub target_us: u64,
}

impl From<&model::ControlGroup> for ControlGroup {
    fn from(group: &model::ControlGroup) -> Self {
        let limit = |of: &model::IoMax| IoMax {
            device: of.device.clone(),
            read_bytes_per_s: of.read_bytes_per_s,
            written_bytes_per_s: of.written_bytes_per_s,
            read_iops: of.read_iops,
            write_iops: of.write_iops,
        };
        let target = |(device, target_us): &(String, u64)| IoLatency {
            device: device.clone(),
            target_us: *target_us,
        };
        Self {
            path: group.path.clone(),
            io_max: group.io_max.iter().map(limit).collect(),
            io_latency: group.io_latency.iter().map(target).collect(),
            io_cost: group.io_cost.clone(),
            cpu_max: group.cpu_max.value(),
            cpus: group.cpus.value(),
        }
    }
}

impl From<&ControlGroup> for model::ControlGroup {
    fn from(group: &ControlGroup) -> Self {
        let limit = |of: &IoMax| model::IoMax {
            device: of.device.clone(),
            read_bytes_per_s: of.read_bytes_per_s,
            written_bytes_per_s: of.written_bytes_per_s,
            read_iops: of.read_iops,
            write_iops: of.write_iops,
        };
        let target = |of: &IoLatency| (of.device.clone(), of.target_us);
        Self {
            path: group.path.clone(),
            io_max: group.io_max.iter().map(limit).collect(),
            io_latency: group.io_latency.iter().map(target).collect(),
            io_cost: group.io_cost.clone(),
            cpu_max: group.cpu_max.map_or(Fact::Absent, Fact::Read),
            cpus: group.cpus.clone().map_or(Fact::Absent, Fact::Read),
            // Counts of one moment tell nothing.
            io_stalled_us: Fact::Absent,
            cpu_throttling: Fact::Absent,
        }
    }
}
