//! Block device activity between two readings of the counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DiskStats;

/// Activity of a block device while the jobs ran: the difference of its counters (kernel
/// documentation, admin-guide/iostats).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiskUse {
    /// Block device, by kernel name.
    pub name: String,
    /// Reads completed.
    #[serde(rename = "reads", alias = "read_ios")]
    pub read_ios: u64,
    /// Writes completed.
    #[serde(rename = "writes", alias = "write_ios")]
    pub write_ios: u64,
    /// 512-byte sectors read.
    pub read_sectors: u64,
    /// 512-byte sectors written.
    #[serde(rename = "written_sectors", alias = "write_sectors")]
    pub write_sectors: u64,
    /// Reads merged by the block layer.
    pub read_merges: u64,
    /// Writes merged by the block layer.
    pub write_merges: u64,
    /// Total time of all reads, ms.
    #[serde(rename = "read_ms", alias = "read_ticks_ms")]
    pub read_ticks_ms: u64,
    /// Total time of all writes, ms.
    #[serde(rename = "write_ms", alias = "write_ticks_ms")]
    pub write_ticks_ms: u64,
    /// Total time of all I/Os, ms.
    pub in_queue_ms: u64,
    /// Time with I/O in flight, ns.
    pub busy_ns: u64,
    /// Time between the two readings, ns.
    pub elapsed_ns: u64,
    /// Underlying devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<DiskUse>,
}

impl DiskUse {
    /// Returns the activity between `before` and `after`, `elapsed_ns` apart.
    pub fn between(before: &DiskStats, after: &DiskStats, elapsed_ns: u64) -> Self {
        const SECTOR: u64 = 512;
        let beyond = |count: fn(&DiskStats) -> u64| count(after).saturating_sub(count(before));
        Self {
            name: after.name.clone(),
            read_ios: beyond(|stats| stats.reads),
            write_ios: beyond(|stats| stats.writes),
            read_sectors: beyond(|stats| stats.read_bytes) / SECTOR,
            write_sectors: beyond(|stats| stats.written_bytes) / SECTOR,
            read_merges: beyond(|stats| stats.read_merges),
            write_merges: beyond(|stats| stats.write_merges),
            read_ticks_ms: beyond(|stats| stats.read_ms),
            write_ticks_ms: beyond(|stats| stats.write_ms),
            in_queue_ms: beyond(|stats| stats.in_queue_ms),
            busy_ns: beyond(|stats| stats.busy_ms).saturating_mul(1_000_000),
            elapsed_ns,
            members: Vec::new(),
        }
    }

    /// Share of the time with I/O in flight, percent.
    pub fn util_percent(&self) -> f64 {
        if self.elapsed_ns == 0 {
            return 0.0;
        }
        (100.0 * self.busy_ns as f64 / self.elapsed_ns as f64).min(100.0)
    }

    /// Returns the mean over the underlying devices, and the highest utilization among them,
    /// percent; `None` if there are none.
    pub fn aggregate(&self) -> Option<(Self, f64)> {
        let count = self.members.len() as u64;
        let mean = |field: fn(&Self) -> u64| {
            self.members.iter().map(field).sum::<u64>().checked_div(count)
        };
        let util = self.members.iter().map(Self::util_percent).fold(0.0, f64::max);
        let mean = Self {
            read_ios: mean(|disk| disk.read_ios)?,
            write_ios: mean(|disk| disk.write_ios)?,
            read_sectors: mean(|disk| disk.read_sectors)?,
            write_sectors: mean(|disk| disk.write_sectors)?,
            read_merges: mean(|disk| disk.read_merges)?,
            write_merges: mean(|disk| disk.write_merges)?,
            read_ticks_ms: mean(|disk| disk.read_ticks_ms)?,
            write_ticks_ms: mean(|disk| disk.write_ticks_ms)?,
            in_queue_ms: mean(|disk| disk.in_queue_ms)?,
            ..Self::default()
        };
        Some((mean, util))
    }
}
