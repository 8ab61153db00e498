//! What drives of data centers count beyond the standard's log (OCP Datacenter
//! NVMe SSD Specification 2.0, section 4.8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SMART / Health Information Extended (log page C0h), the fields that are used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OcpHealth {
    /// Bytes written to the media, by hosts and by the drive itself.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub media_written_bytes: u128,
    /// Bytes read from the media.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub media_read_bytes: u128,
    /// Reads that error correction could not save.
    pub uncorrectable_reads: u64,
    /// Reads that took more than the first correction.
    pub soft_ecc_errors: u64,
    /// Times that the drive throttled for heat (wraps at 255).
    pub thermal_throttling_count: u8,
    /// Throttling now: 0 none, 1 to 3 levels.
    pub thermal_throttling_now: u8,
    /// Correctable errors that the drive saw on its link.
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

/// Latency Monitor (log page C3h): how many commands took longer than each threshold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencyMonitor {
    /// Whether it is on (Feature Status bit 0).
    pub enabled: bool,
    /// Thresholds A to D, ms.
    pub thresholds_ms: [u32; 4],
    /// Commands beyond each threshold and below the next, of the active bucket:
    /// reads, writes, deallocations.
    pub counts: [[u32; 3]; 4],
}
