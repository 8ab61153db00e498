//! An NVMe drive.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::{Unknown, count, finite};
use super::iommu::Iommu;
use super::ocp_log::{LatencyMonitor, OcpHealth};
use super::subsystem::NamespacePath;

/// A drive: one NVMe controller and its namespaces. A fact that is unknown is
/// null, and `unknown` says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// Controller, `nvme0`.
    pub name: String,
    /// Model string.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Controller state, `live`.
    pub state: Option<String>,
    /// `pcie`, `tcp`, `rdma`, `fc`, `loop`.
    pub transport: Option<String>,
    /// NVMe qualified name of its subsystem.
    pub subsystem_nqn: Option<String>,
    /// PCI address.
    pub address: Option<String>,
    /// Links from the root port to it, by `name` in the document's `links`.
    pub links: Vec<String>,
    /// NUMA node.
    pub numa_node: Option<u32>,
    /// CPUs near it.
    pub local_cpus: Option<Vec<u32>>,
    /// Capacity, bytes.
    pub capacity_bytes: Option<u64>,
    /// Which cloud's or hypervisor's virtual disk it is; null: none that is known.
    pub virtual_disk: Option<String>,
    /// Composite temperature, °C.
    pub temperature_c: Option<f64>,
    /// Warning level, °C.
    pub temperature_warning_c: Option<f64>,
    /// Critical level, °C.
    pub temperature_critical_c: Option<f64>,
    /// NVMe version that it states.
    pub nvme_version: Option<String>,
    /// The SMART / Health log.
    pub health: Option<Health>,
    /// Namespaces that are block devices.
    pub namespaces: Vec<Namespace>,
    /// PCI address of the VMD controller whose domain it is in.
    #[serde(default)]
    pub vmd: Option<String>,
    /// How its memory accesses are translated; null: not at all.
    #[serde(default)]
    pub iommu: Option<Iommu>,
    /// Its power state.
    #[serde(default)]
    pub power_state: Option<u8>,
    /// Whether it may change its power state itself.
    #[serde(default)]
    pub autonomous_power_states: Option<bool>,
    /// Whether its volatile write cache is on; null where it has none.
    #[serde(default)]
    pub write_cache: Option<bool>,
    /// OCP's extended health log; null where the drive has none.
    #[serde(default)]
    pub ocp_health: Option<OcpHealth>,
    /// OCP's latency monitor; null where the drive has none.
    #[serde(default)]
    pub latency_monitor: Option<LatencyMonitor>,
    /// What it is used for, in words: mounts, arrays, volumes; empty: nothing that is known.
    pub used_by: Vec<String>,
    /// Why facts are null, by field.
    #[serde(skip_serializing_if = "Unknown::is_empty", default)]
    pub unknown: Unknown,
}

/// The SMART / Health log (NVMe log page 02h).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Critical warning bits: 0 spare, 1 temperature, 2 reliability, 3 read only, 4 backup, 5 PMR.
    pub critical_warning: u8,
    /// Available spare, %.
    pub available_spare_percent: u8,
    /// Threshold of available spare, %.
    pub spare_threshold_percent: u8,
    /// Endurance used, %; may exceed 100.
    pub used_percent: u8,
    /// Bytes that hosts read.
    pub host_read_bytes: Option<u64>,
    /// Bytes that hosts wrote.
    pub host_written_bytes: Option<u64>,
    /// Power-on hours.
    pub power_on_hours: Option<u64>,
    /// Power cycles.
    pub power_cycles: Option<u64>,
    /// Unsafe shutdowns.
    pub unsafe_shutdowns: Option<u64>,
    /// Media and data integrity errors.
    pub media_errors: Option<u64>,
    /// Error log entries.
    pub error_log_entries: Option<u64>,
    /// Minutes above the warning temperature.
    pub warning_temperature_min: u32,
    /// Minutes above the critical temperature.
    pub critical_temperature_min: u32,
    /// Transitions to light and heavy thermal management.
    pub thermal_transitions: [u32; 2],
    /// Seconds in light and heavy thermal management.
    pub thermal_seconds: [u32; 2],
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Namespace {
    /// Block device, `nvme0n1`.
    pub name: String,
    /// Namespace id.
    pub nsid: Option<u32>,
    /// World-wide id.
    pub wwid: Option<String>,
    /// Size, bytes.
    pub size_bytes: Option<u64>,
    /// Logical block in use, bytes.
    pub logical_block_bytes: Option<u32>,
    /// LBA format in use.
    pub lba_format: Option<LbaFormat>,
    /// The offered LBA format with the best relative performance.
    pub best_lba_format: Option<LbaFormat>,
    /// Utilisation as the namespace reports it (NUSE), bytes; equal to the size where
    /// the drive does not track it.
    pub used_bytes: Option<u64>,
    /// What reading a deallocated block gives (DLFEAT): 0, 255, or not reported.
    pub deallocated_reads_as: Option<u8>,
    /// Under multipath, the path to it through this controller.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<NamespacePath>,
    /// Why facts are null, by field.
    #[serde(skip_serializing_if = "Unknown::is_empty", default)]
    pub unknown: Unknown,
}

/// An LBA format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LbaFormat {
    /// Data bytes of a logical block.
    pub data_bytes: u32,
    /// Metadata bytes of a logical block.
    pub metadata_bytes: u16,
    /// Relative performance: 0 best, 1 better, 2 good, 3 degraded.
    pub relative_performance: u8,
}

impl Drive {
    /// The public form of a drive of `host`.
    pub(super) fn new(drive: &model::Drive, host: &model::Host) -> Self {
        let mut unknown = Unknown::default();
        let temperature = unknown.take("temperature_c", &drive.temperature);
        Self {
            name: drive.name.clone(),
            model: unknown.take("model", &drive.model),
            serial: unknown.take("serial", &drive.serial),
            firmware: unknown.take("firmware", &drive.firmware),
            state: unknown.take("state", &drive.state),
            transport: unknown.take("transport", &drive.transport),
            subsystem_nqn: unknown.take("subsystem_nqn", &drive.subsystem_nqn),
            address: unknown.take("address", &drive.address),
            links: drive.links.clone(),
            numa_node: unknown.take("numa_node", &drive.numa_node),
            local_cpus: unknown.take("local_cpus", &drive.local_cpus),
            capacity_bytes: unknown.take("capacity_bytes", &drive.capacity).map(|bytes| bytes.0),
            virtual_disk: drive.virtual_disk.clone(),
            temperature_c: temperature.and_then(|t| finite(t.composite_c)),
            temperature_warning_c: temperature.and_then(|t| t.warning_c).and_then(finite),
            temperature_critical_c: temperature.and_then(|t| t.critical_c).and_then(finite),
            nvme_version: unknown.take("nvme_version", &drive.identify).map(|id| id.version),
            health: unknown.take("health", &drive.health).map(|log| Health::from(&log)),
            namespaces: drive.namespaces.iter().map(Namespace::from).collect(),
            vmd: drive.vmd.clone(),
            iommu: unknown.take("iommu", &drive.iommu).as_ref().map(Iommu::from),
            power_state: unknown.take("power_state", &drive.power_state),
            autonomous_power_states: unknown
                .take("autonomous_power_states", &drive.autonomous_power_states),
            write_cache: unknown.take("write_cache", &drive.write_cache),
            ocp_health: unknown.take("ocp_health", &drive.ocp_health).as_ref().map(OcpHealth::from),
            latency_monitor: unknown
                .take("latency_monitor", &drive.latency_monitor)
                .as_ref()
                .map(LatencyMonitor::from),
            used_by: crate::layers::uses(host, drive).unwrap_or_default(),
            unknown,
        }
    }
}

impl From<&model::HealthLog> for Health {
    fn from(log: &model::HealthLog) -> Self {
        Self {
            critical_warning: log.critical_warning,
            available_spare_percent: log.available_spare_percent,
            spare_threshold_percent: log.spare_threshold_percent,
            used_percent: log.used_percent,
            host_read_bytes: count(log.host_read_bytes),
            host_written_bytes: count(log.host_written_bytes),
            power_on_hours: count(log.power_on_hours),
            power_cycles: count(log.power_cycles),
            unsafe_shutdowns: count(log.unsafe_shutdowns),
            media_errors: count(log.media_errors),
            error_log_entries: count(log.error_log_entries),
            warning_temperature_min: log.warning_temperature_min,
            critical_temperature_min: log.critical_temperature_min,
            thermal_transitions: log.thermal_transitions,
            thermal_seconds: log.thermal_seconds,
        }
    }
}

impl From<&model::Namespace> for Namespace {
    fn from(namespace: &model::Namespace) -> Self {
        let mut unknown = Unknown::default();
        let identify = unknown.take("lba_format", &namespace.identify);
        let format = identify.as_ref().and_then(|id| id.format());
        Self {
            name: namespace.name.clone(),
            nsid: unknown.take("nsid", &namespace.nsid),
            wwid: unknown.take("wwid", &namespace.wwid),
            size_bytes: unknown.take("size_bytes", &namespace.size).map(|bytes| bytes.0),
            logical_block_bytes: unknown
                .take("logical_block_bytes", &namespace.logical_block_bytes),
            lba_format: format.map(LbaFormat::from),
            best_lba_format: identify.as_ref().and_then(|id| id.best_format()).map(LbaFormat::from),
            used_bytes: identify
                .as_ref()
                .and_then(|id| id.used_blocks.checked_mul(u64::from(format?.data_bytes))),
            deallocated_reads_as: identify.as_ref().and_then(|id| id.deallocated_reads_as),
            path: namespace.path.as_ref().map(NamespacePath::from),
            unknown,
        }
    }
}

impl From<&model::LbaFormat> for LbaFormat {
    fn from(format: &model::LbaFormat) -> Self {
        Self {
            data_bytes: format.data_bytes,
            metadata_bytes: format.metadata_bytes,
            relative_performance: format.relative_performance,
        }
    }
}
