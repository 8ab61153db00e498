//! Limit counters of cloud volumes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format_duration_ns;

/// Time an Amazon volume spent above its limits since it was attached (log page D0h of EBS volumes
/// and EC2 instance storage).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VolumeLimits {
    /// Time above the volume's IOPS limit, us; null: instance storage, which has none.
    pub volume_iops_us: Option<u64>,
    /// Time above the volume's throughput limit, us; null: instance storage, which has none.
    pub volume_throughput_us: Option<u64>,
    /// Time above the instance's IOPS limit, us.
    pub instance_iops_us: u64,
    /// Time above the instance's throughput limit, us.
    pub instance_throughput_us: u64,
    /// Current queue length, I/Os.
    pub queue_length: u64,
}

/// Limit of a cloud volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeLimit {
    /// IOPS of the volume.
    VolumeIops,
    /// Throughput of the volume.
    VolumeThroughput,
    /// IOPS of the instance, over all of its volumes.
    InstanceIops,
    /// Throughput of the instance, over all of its volumes.
    InstanceThroughput,
}

/// Time in which a volume exceeded one of its limits, to the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AboveLimit {
    /// Controller of the volume, `nvme1`.
    pub drive: String,
    /// Exceeded limit.
    pub limit: VolumeLimit,
    /// Begin, ns since the start of the load.
    pub from_ns: u64,
    /// End, ns since the start of the load.
    pub to_ns: u64,
    /// Time above the limit in between, by the volume's own count, us.
    pub above_us: u64,
}

impl std::fmt::Display for AboveLimit {
    /// Formats the time: `12 s to 30 s`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [from, to] = [self.from_ns, self.to_ns].map(|ns| format_duration_ns(ns as f64));
        write!(f, "{from} to {to}")
    }
}

impl VolumeLimit {
    /// Name in sentences: `the volume's IOPS limit`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::VolumeIops => "the volume's IOPS limit",
            Self::VolumeThroughput => "the volume's throughput limit",
            Self::InstanceIops => "the instance's IOPS limit",
            Self::InstanceThroughput => "the instance's throughput limit",
        }
    }
}

impl VolumeLimits {
    /// Time that each limit was exceeded since `before`, us, longest first, without those not
    /// exceeded. Also empty if the counters restarted.
    pub fn exceeded_since(&self, before: &Self) -> Vec<(VolumeLimit, u64)> {
        let grown = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        let mut all: Vec<(VolumeLimit, u64)> = [
            (VolumeLimit::VolumeIops, grown(self.volume_iops_us, before.volume_iops_us)),
            (
                VolumeLimit::VolumeThroughput,
                grown(self.volume_throughput_us, before.volume_throughput_us),
            ),
            (
                VolumeLimit::InstanceIops,
                grown(Some(self.instance_iops_us), Some(before.instance_iops_us)),
            ),
            (
                VolumeLimit::InstanceThroughput,
                grown(Some(self.instance_throughput_us), Some(before.instance_throughput_us)),
            ),
        ]
        .into_iter()
        .filter_map(|(limit, us)| Some((limit, us.filter(|us| *us > 0)?)))
        .collect();
        all.sort_by_key(|(_, us)| std::cmp::Reverse(*us));
        all
    }
}
