//! NVMe drives: controller, namespaces, and their own reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Fact, Iommu, LatencyMonitor, NamespacePath, OcpHealth, VolumeLimits};

/// An NVMe controller and its namespaces.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// Controller name, `nvme0`.
    pub name: String,
    /// Model string, trimmed.
    pub model: Fact<String>,
    /// Serial number, trimmed.
    pub serial: Fact<String>,
    /// Firmware revision, trimmed.
    pub firmware: Fact<String>,
    /// Controller state: `new`, `live`, `resetting`, `connecting`, `deleting`, `deleting (no IO)`,
    /// `dead` (Linux: drivers/nvme/host/sysfs.c).
    pub state: Fact<String>,
    /// Transport: `pcie`, `tcp`, `rdma`, `fc`, `loop`.
    pub transport: Fact<String>,
    /// NVMe qualified name (NQN) of the subsystem; shared by all controllers of one drive.
    pub subsystem_nqn: Fact<String>,
    /// PCI address.
    pub address: Fact<String>,
    /// PCIe links from the root port to the drive, by the PCI address of their device end. Empty:
    /// integrated, or not on PCIe.
    pub links: Vec<String>,
    /// NUMA node.
    pub numa_node: Fact<u32>,
    /// CPUs local to the drive.
    pub local_cpus: Fact<Vec<u32>>,
    /// Total capacity of the NVM subsystem.
    #[serde(rename = "capacity_bytes", alias = "capacity")]
    pub capacity: Fact<Bytes>,
    /// Cloud or hypervisor of a virtual disk that presents itself as NVMe.
    pub virtual_disk: Option<String>,
    /// Temperature.
    pub temperature: Fact<Temperature>,
    /// Identify Controller data; root only.
    pub identify: Fact<IdentifyController>,
    /// SMART / Health log; root only.
    pub health: Fact<HealthLog>,
    /// Namespaces that are block devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub namespaces: Vec<Namespace>,
    /// PCI address of the VMD controller (Intel Volume Management Device) that the drive is behind.
    #[serde(default)]
    pub vmd: Option<String>,
    /// IOMMU translation of the drive's memory accesses; absent: none.
    #[serde(default)]
    pub iommu: Fact<Iommu>,
    /// Current power state (Get Features 02h), an index into [`IdentifyController::power_states`];
    /// root only.
    #[serde(default)]
    pub power_state: Fact<u8>,
    /// True if the drive may change its power state by itself (APST, Get Features 0Ch); root only.
    #[serde(default)]
    pub autonomous_power_states: Fact<bool>,
    /// True if the volatile write cache, if present, is enabled (Get Features 06h); root only. The
    /// kernel's queue flag differs: it does not follow changes of the feature.
    #[serde(default)]
    pub write_cache_on: Fact<bool>,
    /// OCP extended health log, if supported; root only.
    #[serde(default)]
    pub ocp_health: Fact<OcpHealth>,
    /// OCP latency monitor, if supported; root only.
    #[serde(default)]
    pub latency_monitor: Fact<LatencyMonitor>,
    /// Limit counters of an Amazon EBS volume; root only.
    #[serde(default)]
    pub volume_limits: Fact<VolumeLimits>,
}

/// 0 K in °C: the temperature of a drive that reports none.
pub const ABSOLUTE_ZERO_C: f64 = -273.15;

/// Composite temperature and its thresholds, °C.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Temperature {
    /// Composite temperature, °C.
    pub composite_c: f64,
    /// Warning threshold (WCTEMP), °C.
    pub warning_c: Option<f64>,
    /// Critical threshold (CCTEMP), °C.
    pub critical_c: Option<f64>,
}

/// An NVMe namespace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Namespace {
    /// Block device name, `nvme0n1`.
    pub name: String,
    /// Namespace id.
    pub nsid: Fact<u32>,
    /// World-wide id, as the kernel composes it.
    pub wwid: Fact<String>,
    /// Size reported by the block layer.
    #[serde(rename = "size_bytes", alias = "size")]
    pub size: Fact<Bytes>,
    /// Logical block size in use, bytes (queue/logical_block_size; readable by everybody).
    pub logical_block_bytes: Fact<u32>,
    /// Identify Namespace data; root only.
    pub identify: Fact<IdentifyNamespace>,
    /// With multipath: the path through this controller; the namespace itself is the multipath
    /// head.
    #[serde(default)]
    pub path: Option<NamespacePath>,
}

/// Identify Controller fields in use (NVM Express Base Specification 2.0, figure 275).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IdentifyController {
    /// NVMe version, `1.4.0`.
    pub version: String,
    /// Maximum data transfer size, bytes; null: no limit.
    pub max_transfer_bytes: Option<u64>,
    /// Warning composite temperature threshold, K; 0: not reported.
    pub warning_temperature_k: u16,
    /// Critical composite temperature threshold, K; 0: not reported.
    pub critical_temperature_k: u16,
    /// Number of namespaces supported by the controller.
    pub namespace_count: u32,
    /// True if the drive has a volatile write cache.
    pub volatile_write_cache: bool,
    /// Supports Dataset Management (trim).
    pub supports_trim: bool,
    /// Unallocated capacity, bytes.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub unallocated_bytes: u128,
    /// Multi-path capability: the subsystem may have several ports.
    pub multi_port: bool,
    /// Power states, from 0.
    #[serde(default)]
    pub power_states: Vec<PowerState>,
}

/// NVMe power state (Base Specification 2.0, figure 276).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerState {
    /// Maximum power, mW; null: not reported.
    pub max_power_mw: Option<u64>,
    /// True if the drive does I/O in this state.
    pub operational: bool,
    /// Entry latency, us; 0: not reported.
    pub entry_us: u32,
    /// Exit latency, us; 0: not reported.
    pub exit_us: u32,
}

/// LBA format supported by a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LbaFormat {
    /// Data bytes per logical block.
    pub data_bytes: u32,
    /// Metadata bytes per logical block.
    pub metadata_bytes: u16,
    /// Relative performance: 0 best, 1 better, 2 good, 3 degraded.
    pub relative_performance: u8,
}

/// Identify Namespace fields in use (NVM Command Set Specification 1.0, figure 97).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdentifyNamespace {
    /// Namespace size (NSZE), logical blocks.
    pub size_blocks: u64,
    /// Namespace capacity (NCAP), logical blocks.
    pub capacity_blocks: u64,
    /// Namespace utilization (NUSE), logical blocks.
    pub used_blocks: u64,
    /// Byte that deallocated blocks read as (DLFEAT 2:0): 0x00 or 0xff; null: not reported.
    pub deallocated_reads_as: Option<u8>,
    /// Reads of deallocated blocks may fail (NSFEAT bit 2).
    pub deallocated_read_may_fail: bool,
    /// Supported LBA formats.
    pub formats: Vec<LbaFormat>,
    /// LBA format in use, an index into `formats`.
    pub format_in_use: usize,
}

/// SMART / Health Information (log page 02h; Base Specification 2.0, figure 207).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HealthLog {
    /// Critical warning bits: 0 spare, 1 temperature, 2 reliability, 3 read only, 4 backup, 5 PMR.
    pub critical_warning: u8,
    /// Composite temperature, K.
    pub temperature_k: u16,
    /// Available spare, %.
    pub available_spare_percent: u8,
    /// Available spare threshold, %.
    pub spare_threshold_percent: u8,
    /// Percentage used (endurance), %; may exceed 100.
    pub used_percent: u8,
    /// Bytes read by the host (data units x 512000).
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub host_read_bytes: u128,
    /// Bytes written by the host (data units x 512000).
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub host_written_bytes: u128,
    /// Host read commands.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub host_read_commands: u128,
    /// Host write commands.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub host_write_commands: u128,
    /// Power-on hours.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub power_on_hours: u128,
    /// Power cycles.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub power_cycles: u128,
    /// Unsafe shutdowns.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub unsafe_shutdowns: u128,
    /// Media and data integrity errors.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub media_errors: u128,
    /// Error log entries.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub error_log_entries: u128,
    /// Time at or above the warning temperature and below the critical one, minutes.
    pub warning_temperature_min: u32,
    /// Time at or above the critical temperature, minutes.
    pub critical_temperature_min: u32,
    /// Transitions to light and heavy thermal management (throttling).
    pub thermal_transitions: [u32; 2],
    /// Time in light and heavy thermal management, seconds.
    pub thermal_seconds: [u32; 2],
}

impl Drive {
    /// True if the kernel is removing the drive: it was pulled, and requests are still pending.
    pub fn is_being_removed(&self) -> bool {
        let word = self.state.get().and_then(|state| state.split(' ').next());
        word == Some("deleting")
    }

    /// Composite temperature, °C, from the hardware monitor or the health log; `None`: not
    /// reported.
    pub fn composite_c(&self) -> Option<f64> {
        let monitor = self.temperature.get().map(|temperature| temperature.composite_c);
        let log = self.health.get().map(|log| f64::from(log.temperature_k) + ABSOLUTE_ZERO_C);
        [monitor, log].into_iter().flatten().find(|c| *c > ABSOLUTE_ZERO_C)
    }
}

impl HealthLog {
    /// True if the drive throttled for heat between `earlier` and this log: a counter of thermal
    /// management (bytes 216 to 231) grew.
    pub fn throttled_since(&self, earlier: &Self) -> bool {
        (0..2).any(|i| {
            self.thermal_transitions[i] > earlier.thermal_transitions[i]
                || self.thermal_seconds[i] > earlier.thermal_seconds[i]
        })
    }

    /// Minutes between `earlier` and this log at or above the warning temperature, which do not say
    /// that the drive throttled (bytes 192 to 199).
    pub fn overheated_since(&self, earlier: &Self) -> u32 {
        let minutes =
            |log: &Self| log.warning_temperature_min.saturating_add(log.critical_temperature_min);
        minutes(self).saturating_sub(minutes(earlier))
    }
}

impl IdentifyNamespace {
    /// The LBA format in use.
    pub fn format(&self) -> Option<&LbaFormat> {
        self.formats.get(self.format_in_use)
    }

    /// Returns the format with the best relative performance; among equals the one in use, then one
    /// without metadata, then the largest block.
    pub fn best_format(&self) -> Option<&LbaFormat> {
        self.formats
            .iter()
            .enumerate()
            .min_by_key(|(index, format)| {
                (
                    format.relative_performance,
                    *index != self.format_in_use,
                    format.metadata_bytes,
                    u32::MAX - format.data_bytes,
                )
            })
            .map(|(_, format)| format)
    }

    /// Share of the namespace in use by NUSE, 0..1; `None`: not tracked. Many drives always report
    /// NUSE = NSZE, which tells nothing.
    pub fn used_share(&self) -> Option<f64> {
        (self.size_blocks > 0 && self.used_blocks < self.size_blocks)
            .then(|| self.used_blocks as f64 / self.size_blocks as f64)
    }
}
