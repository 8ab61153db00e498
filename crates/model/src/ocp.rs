//! Health data of data center drives beyond the NVMe standard (OCP Datacenter NVMe SSD
//! Specification 2.0, section 4.8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SMART / Health Information Extended (log page C0h), fields in use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OcpHealth {
    /// Bytes written to the media, by hosts and the drive itself.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub media_written_bytes: u128,
    /// Bytes read from the media.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub media_read_bytes: u128,
    /// Uncorrectable read errors.
    pub uncorrectable_reads: u64,
    /// Reads that needed more than the first level of error correction.
    pub soft_ecc_errors: u64,
    /// Thermal throttling events (wraps at 255).
    pub thermal_throttling_count: u8,
    /// Current throttling level: 0 none, 1 to 3.
    pub thermal_throttling_now: u8,
    /// Correctable PCIe errors seen by the drive.
    pub pcie_correctable_errors: u64,
    /// PCIe link retrainings.
    pub pcie_retrainings: u64,
    /// Power state changes.
    pub power_state_changes: u64,
    /// Writes not aligned to the drive's indirection unit.
    pub unaligned_ios: u64,
    /// Free blocks, %.
    pub free_blocks_percent: u8,
}

/// Latency Monitor (log page C3h): number of commands beyond each latency threshold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencyMonitor {
    /// True if enabled (Feature Status bit 0).
    pub enabled: bool,
    /// Thresholds A to D, ms.
    pub thresholds_ms: [u32; 4],
    /// Commands from each threshold up to the next, in the active bucket: reads, writes,
    /// deallocations.
    pub counts: [[u32; 3]; 4],
}
