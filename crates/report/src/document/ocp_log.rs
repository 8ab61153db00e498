//! What drives of data centers count beyond the standard's log.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::count;

/// SMART / Health Information Extended (OCP, log page C0h).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OcpHealth {
    /// Bytes written to the media, by hosts and by the drive itself.
    pub media_written_bytes: Option<u64>,
    /// Bytes read from the media.
    pub media_read_bytes: Option<u64>,
    /// Reads that error correction could not save.
    pub uncorrectable_reads: u64,
    /// Reads that took more than the first correction.
    pub soft_ecc_errors: u64,
    /// Times that it throttled for heat; begins again at 0 after 255.
    pub thermal_throttling_count: u8,
    /// Throttling now: 0 none, 1 to 3 levels.
    pub thermal_throttling_now: u8,
    /// Correctable errors that it saw on its link.
    pub pcie_correctable_errors: u64,
    /// Times that its link was trained anew.
    pub pcie_retrainings: u64,
    /// Times that it changed its power state.
    pub power_state_changes: u64,
    /// Writes that did not lie on its indirection unit.
    pub unaligned_ios: u64,
    /// Free blocks, %.
    pub free_blocks_percent: u8,
}

/// Latency Monitor (OCP, log page C3h): how many commands took longer than each threshold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyMonitor {
    /// Whether it is on.
    pub enabled: bool,
    /// Thresholds, the lowest first, ms.
    pub thresholds_ms: [u32; 4],
    /// Commands beyond each threshold and below the next: reads, writes, deallocations.
    pub counts: [[u32; 3]; 4],
}

impl From<&model::OcpHealth> for OcpHealth {
    fn from(log: &model::OcpHealth) -> Self {
        Self {
            media_written_bytes: count(log.media_written_bytes),
            media_read_bytes: count(log.media_read_bytes),
            uncorrectable_reads: log.uncorrectable_reads,
            soft_ecc_errors: log.soft_ecc_errors,
            thermal_throttling_count: log.thermal_throttling_count,
            thermal_throttling_now: log.thermal_throttling_now,
            pcie_correctable_errors: log.pcie_correctable_errors,
            pcie_retrainings: log.pcie_retrainings,
            power_state_changes: log.power_state_changes,
            unaligned_ios: log.unaligned_ios,
            free_blocks_percent: log.free_blocks_percent,
        }
    }
}

impl From<&model::LatencyMonitor> for LatencyMonitor {
    fn from(of: &model::LatencyMonitor) -> Self {
        Self { enabled: of.enabled, thresholds_ms: of.thresholds_ms, counts: of.counts }
    }
}
