//! An NVMe drive: its controller, its namespaces, and what they say of themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Fact, Iommu, LatencyMonitor, NamespacePath, OcpHealth, VolumeLimits};

/// A drive: one NVMe controller and the namespaces behind it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// Controller, `nvme0`.
    pub name: String,
    /// Model string, trimmed.
    pub model: Fact<String>,
    /// Serial number, trimmed.
    pub serial: Fact<String>,
    /// Firmware revision, trimmed.
    pub firmware: Fact<String>,
    /// `new`, `live`, `resetting`, `connecting`, `deleting`, `deleting (no IO)`, `dead` (Linux:
    /// drivers/nvme/host/sysfs.c).
    pub state: Fact<String>,
    /// `pcie`, `tcp`, `rdma`, `fc`, `loop`.
    pub transport: Fact<String>,
    /// NVMe qualified name of its subsystem; controllers of one drive share it.
    pub subsystem_nqn: Fact<String>,
    /// PCI address.
    pub address: Fact<String>,
    /// The links from the root port down to the drive, by the PCI address of
    /// their device end. Empty: integrated, or not on PCIe.
    pub links: Vec<String>,
    /// NUMA node.
    pub numa_node: Fact<u32>,
    /// CPUs near the drive.
    pub local_cpus: Fact<Vec<u32>>,
    /// Total capacity of the NVM subsystem.
    #[serde(rename = "capacity_bytes", alias = "capacity")]
    pub capacity: Fact<Bytes>,
    /// A virtual disk that reports as NVMe: which cloud's or hypervisor's.
    pub virtual_disk: Option<String>,
    /// Temperature.
    pub temperature: Fact<Temperature>,
    /// What Identify Controller says; root only.
    pub identify: Fact<IdentifyController>,
    /// The SMART / Health log; root only.
    pub health: Fact<HealthLog>,
    /// Its namespaces that are block devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub namespaces: Vec<Namespace>,
    /// PCI address of the VMD controller (Intel Volume Management Device) whose
    /// domain it is in.
    #[serde(default)]
    pub vmd: Option<String>,
    /// How its memory accesses are translated; absent: not at all.
    #[serde(default)]
    pub iommu: Fact<Iommu>,
    /// Its power state now (Get Features 02h), an index into
    /// [`IdentifyController::power_states`]; root only.
    #[serde(default)]
    pub power_state: Fact<u8>,
    /// Whether it may change its power state itself (APST, Get Features 0Ch); root only.
    #[serde(default)]
    pub autonomous_power_states: Fact<bool>,
    /// Whether its volatile write cache is on (Get Features 06h), where it has one; root only.
    /// The kernel's queue flag is another thing: it stays as it was when the feature is changed.
    #[serde(default)]
    pub write_cache_on: Fact<bool>,
    /// The OCP extended health log, where the drive has it; root only.
    #[serde(default)]
    pub ocp_health: Fact<OcpHealth>,
    /// The OCP latency monitor, where the drive has it; root only.
    #[serde(default)]
    pub latency_monitor: Fact<LatencyMonitor>,
    /// What a volume of Amazon's counts of its limits; root only.
    #[serde(default)]
    pub volume_limits: Fact<VolumeLimits>,
}

/// 0 K in °C: what a drive that reports no temperature seems to have.
pub const ABSOLUTE_ZERO_C: f64 = -273.15;

/// Composite temperature and its levels, °C.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Temperature {
    /// Composite temperature, °C.
    pub composite_c: f64,
    /// Warning level (WCTEMP), °C.
    pub warning_c: Option<f64>,
    /// Critical level (CCTEMP), °C.
    pub critical_c: Option<f64>,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Namespace {
    /// Block device, `nvme0n1`.
    pub name: String,
    /// Namespace id.
    pub nsid: Fact<u32>,
    /// World-wide id as the kernel builds it.
    pub wwid: Fact<String>,
    /// Size as the block layer gives it.
    #[serde(rename = "size_bytes", alias = "size")]
    pub size: Fact<Bytes>,
    /// Logical block in use, bytes (queue/logical_block_size; readable by everybody).
    pub logical_block_bytes: Fact<u32>,
    /// What Identify Namespace says; root only.
    pub identify: Fact<IdentifyNamespace>,
    /// Under multipath, the path to it through this controller; the namespace
    /// itself is the head.
    #[serde(default)]
    pub path: Option<NamespacePath>,
}

/// Identify Controller (NVM Express Base Specification 2.0, figure 275), the fields that are used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IdentifyController {
    /// Version, `1.4.0`.
    pub version: String,
    /// Largest transfer, bytes; `None` = no limit.
    pub max_transfer_bytes: Option<u64>,
    /// Warning composite temperature, K; 0 = not reported.
    pub warning_temperature_k: u16,
    /// Critical composite temperature, K; 0 = not reported.
    pub critical_temperature_k: u16,
    /// Number of namespaces that the controller supports.
    pub namespace_count: u32,
    /// Volatile write cache present.
    pub volatile_write_cache: bool,
    /// Optional: Dataset Management (trim).
    pub supports_trim: bool,
    /// Unallocated capacity, bytes.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub unallocated_bytes: u128,
    /// Multi-path capabilities: the subsystem may have several ports.
    pub multi_port: bool,
    /// Its power states, from 0.
    #[serde(default)]
    pub power_states: Vec<PowerState>,
}

/// A power state (Base Specification 2.0, figure 276).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerState {
    /// Most power that it takes, mW; `None` where the drive does not say.
    pub max_power_mw: Option<u64>,
    /// Whether I/O is done in it.
    pub operational: bool,
    /// Time to enter it, us; 0 = not reported.
    pub entry_us: u32,
    /// Time to leave it, us; 0 = not reported.
    pub exit_us: u32,
}

/// One LBA format that a namespace offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LbaFormat {
    /// Data bytes of a logical block.
    pub data_bytes: u32,
    /// Metadata bytes of a logical block.
    pub metadata_bytes: u16,
    /// Relative performance: 0 best, 1 better, 2 good, 3 degraded.
    pub relative_performance: u8,
}

/// Identify Namespace (NVM Command Set Specification 1.0, figure 97), the fields that are used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdentifyNamespace {
    /// Namespace size, logical blocks.
    pub size_blocks: u64,
    /// Namespace capacity, logical blocks.
    pub capacity_blocks: u64,
    /// Namespace utilisation (NUSE), logical blocks.
    pub used_blocks: u64,
    /// What reading a deallocated block gives (DLFEAT 2:0): `Some(0x00)`, `Some(0xff)`, or not reported.
    pub deallocated_reads_as: Option<u8>,
    /// Reading a deallocated block may fail (NSFEAT bit 2).
    pub deallocated_read_may_fail: bool,
    /// LBA formats on offer.
    pub formats: Vec<LbaFormat>,
    /// The one in use, an index into `formats`.
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
    /// Threshold of available spare, %.
    pub spare_threshold_percent: u8,
    /// Endurance used, %; may exceed 100.
    pub used_percent: u8,
    /// Bytes that the host read (data units x 512000).
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub host_read_bytes: u128,
    /// Bytes that the host wrote (data units x 512000).
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub host_written_bytes: u128,
    /// Read commands.
    #[serde(with = "crate::json::count")]
    #[schemars(with = "Option<u64>")]
    pub host_read_commands: u128,
    /// Write commands.
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
    /// Minutes above the warning temperature.
    pub warning_temperature_min: u32,
    /// Minutes above the critical temperature.
    pub critical_temperature_min: u32,
    /// Transitions to light and heavy thermal management.
    pub thermal_transitions: [u32; 2],
    /// Seconds in light and heavy thermal management.
    pub thermal_seconds: [u32; 2],
}

impl Drive {
    /// Whether the kernel is removing it: what is left of a drive that was pulled, until its requests ended.
    pub fn is_going(&self) -> bool {
        let word = self.state.get().and_then(|state| state.split(' ').next());
        word == Some("deleting")
    }

    /// Composite temperature, °C, by the hardware monitor or the log; `None`: not reported.
    pub fn composite_c(&self) -> Option<f64> {
        let monitor = self.temperature.get().map(|temperature| temperature.composite_c);
        let log = self.health.get().map(|log| f64::from(log.temperature_k) + ABSOLUTE_ZERO_C);
        [monitor, log].into_iter().flatten().find(|c| *c > ABSOLUTE_ZERO_C)
    }
}

impl HealthLog {
    /// Whether the counters say that the drive throttled for heat between
    /// `earlier` and this log: any of bytes 192, 196, 216, 220, 224, 228 grew.
    pub fn throttled_since(&self, earlier: &Self) -> bool {
        self.warning_temperature_min > earlier.warning_temperature_min
            || self.critical_temperature_min > earlier.critical_temperature_min
            || (0..2).any(|i| {
                self.thermal_transitions[i] > earlier.thermal_transitions[i]
                    || self.thermal_seconds[i] > earlier.thermal_seconds[i]
            })
    }
}

impl IdentifyNamespace {
    /// The LBA format in use.
    pub fn format(&self) -> Option<&LbaFormat> {
        self.formats.get(self.format_in_use)
    }

    /// The format with the best relative performance; among equals the one in
    /// use, then the one without metadata, then the larger block.
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

    /// Share of the namespace in use according to NUSE, 0..1, where the drive
    /// tracks it: many report NUSE = NSZE always, which says nothing.
    pub fn used_share(&self) -> Option<f64> {
        (self.size_blocks > 0 && self.used_blocks < self.size_blocks)
            .then(|| self.used_blocks as f64 / self.size_blocks as f64)
    }
}
