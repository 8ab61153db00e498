//! What a cloud's volume counts of its own limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format_duration_ns;

/// Time that an Amazon volume asked for more than its limits give, since it was attached (log page
/// D0h of EBS volumes and EC2 instance storage).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VolumeLimits {
    /// Above the IOPS of the volume, us; null: instance storage has no such contract.
    pub volume_iops_us: Option<u64>,
    /// Above the throughput of the volume, us; null likewise.
    pub volume_throughput_us: Option<u64>,
    /// Above the IOPS of the instance, us.
    pub instance_iops_us: u64,
    /// Above the throughput of the instance, us.
    pub instance_throughput_us: u64,
    /// I/Os in its queue at that moment.
    pub queue_length: u64,
}

/// One of the limits of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeLimit {
    /// The volume's IOPS.
    VolumeIops,
    /// The volume's throughput.
    VolumeThroughput,
    /// The instance's IOPS, over all of its volumes.
    InstanceIops,
    /// The instance's throughput, likewise.
    InstanceThroughput,
}

/// A time in which a volume asked for more than one of its limits gives, to the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AboveLimit {
    /// The volume, `nvme1`.
    pub drive: String,
    /// Which limit.
    pub limit: VolumeLimit,
    /// Begin, since the load began, ns.
    pub from_ns: u64,
    /// End, ns.
    pub to_ns: u64,
    /// What the volume counted above its limit meanwhile, us.
    pub above_us: u64,
}

impl std::fmt::Display for AboveLimit {
    /// `12 s to 30 s`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [from, to] = [self.from_ns, self.to_ns].map(|ns| format_duration_ns(ns as f64));
        write!(f, "{from} to {to}")
    }
}

impl VolumeLimit {
    /// `the volume's IOPS contract`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::VolumeIops => "the volume's IOPS contract",
            Self::VolumeThroughput => "the volume's throughput contract",
            Self::InstanceIops => "the instance's IOPS contract",
            Self::InstanceThroughput => "the instance's throughput contract",
        }
    }
}

impl VolumeLimits {
    /// For how long each limit was exceeded since `before`, us, the longest first; those that were
    /// not are left out. Empty as well where the counters began anew.
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
