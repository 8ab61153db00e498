//! The machine, its block devices and its links.

use std::collections::BTreeMap;

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::control_group::ControlGroup;
use super::estimate::{Unknown, rfc3339};
use super::iommu::Iommu;
use super::stack::{Array, FileSystem, Segment};
use super::subsystem::Subsystem;

/// The machine. A fact that is unknown is null, and `unknown` says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// When it was read, RFC 3339.
    pub taken: String,
    /// Host name.
    pub hostname: Option<String>,
    /// Maker of the system.
    pub system_vendor: Option<String>,
    /// Product name of the system.
    pub system_product: Option<String>,
    /// BIOS version.
    pub bios_version: Option<String>,
    /// BIOS date, as the firmware writes it.
    pub bios_date: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPU sockets.
    pub cpu_sockets: Option<u32>,
    /// CPU cores.
    pub cpu_cores: Option<u32>,
    /// CPUs online (hardware threads), by number.
    pub cpus_online: Option<Vec<u32>>,
    /// Frequency governor of CPU 0.
    pub cpu_governor: Option<String>,
    /// NUMA nodes.
    pub numa_nodes: Vec<NumaNode>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Page size, bytes.
    pub page_bytes: Option<u32>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Kernel command line.
    pub kernel_command_line: Option<String>,
    /// Operating system.
    pub distribution: Option<String>,
    /// Parameters of modules that storage depends on, `nvme.poll_queues`.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Locked memory that a process may have (soft limit), bytes; null also where unlimited.
    pub memlock_bytes: Option<u64>,
    /// Asynchronous requests (fs.aio-max-nr) still to be had.
    pub aio_free: Option<u64>,
    /// kernel.io_uring_disabled: 0 allowed, 1 only for a group, 2 off.
    pub io_uring_disabled: Option<u8>,
    /// Drivers of storage that are loaded.
    pub drivers: Vec<Driver>,
    /// RAID cards and host bus adapters.
    pub cards: Vec<Card>,
    /// PCI functions of class NVMe, with or without a controller.
    pub nvme_functions: Vec<NvmeFunction>,
    /// PCIe slots that the platform names.
    pub slots: Vec<Slot>,
    /// Block devices.
    pub blocks: Vec<Block>,
    /// NVMe subsystems.
    #[serde(default)]
    pub subsystems: Vec<Subsystem>,
    /// There was no /sys, so that its devices are not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_sysfs: bool,
    /// The control group that the run was in and those above it, the innermost first.
    #[serde(default)]
    pub control_groups: Option<Vec<ControlGroup>>,
    /// Why facts are null, by field.
    #[serde(skip_serializing_if = "Unknown::is_empty", default)]
    pub unknown: Unknown,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    /// Number.
    pub id: u32,
    /// Its CPUs.
    pub cpus: Vec<u32>,
}

/// A driver of storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Driver {
    /// Module name.
    pub name: String,
    /// Version, where the module states one.
    pub version: Option<String>,
    /// Built outside the kernel's tree.
    pub out_of_tree: Option<bool>,
}

/// A RAID card or host bus adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Card {
    /// PCI address.
    pub address: String,
    /// `RAID`, `SAS`, `SATA`, `SCSI`.
    pub kind: String,
    /// PCI vendor and device id, `1000:0016`.
    pub pci_id: String,
    /// Name.
    pub name: Option<String>,
    /// Driver that has it.
    pub driver: Option<String>,
    /// Firmware.
    pub firmware: Option<String>,
    /// Links from the root port to it, by the PCI address of their device end.
    pub links: Vec<String>,
    /// Block devices behind it.
    pub blocks: Vec<String>,
    /// NUMA node.
    #[serde(default)]
    pub numa_node: Option<u32>,
    /// How its memory accesses are translated; null: not at all.
    #[serde(default)]
    pub iommu: Option<Iommu>,
    /// Why facts are null, by field.
    #[serde(skip_serializing_if = "Unknown::is_empty", default)]
    pub unknown: Unknown,
}

/// A PCI function of class NVMe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NvmeFunction {
    /// PCI address.
    pub address: String,
    /// PCI vendor and device id.
    pub pci_id: String,
    /// Driver that has it; null: none.
    pub driver: Option<String>,
    /// The NVMe controller that came of it; null: none.
    pub controller: Option<String>,
    /// Links from the root port to it, by the PCI address of their device end.
    #[serde(default)]
    pub links: Vec<String>,
}

/// A PCIe slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slot {
    /// The platform's name of it.
    pub name: String,
    /// PCI address of the port or of what sits in it.
    pub address: String,
    /// Something is plugged in.
    pub present: Option<bool>,
    /// Its link is up.
    pub link_active: Option<bool>,
    /// Why facts are null, by field.
    #[serde(skip_serializing_if = "Unknown::is_empty", default)]
    pub unknown: Unknown,
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Kernel name.
    pub name: String,
    /// `nvme`, `partition`, `md raid1`, `LVM vg-root`, `virtual disk`, …
    pub kind: String,
    /// Size, bytes.
    pub size_bytes: Option<u64>,
    /// Model string.
    pub model: Option<String>,
    /// Block devices that it stands on.
    pub stands_on: Vec<String>,
    /// What uses it, in words; empty: nothing that is known.
    pub used_by: Vec<String>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests that may be queued in each hardware queue.
    pub nr_requests: Option<u32>,
    /// Hardware queues.
    pub hardware_queues: Option<u32>,
    /// Logical block, bytes.
    pub logical_block_bytes: Option<u32>,
    /// Physical block, bytes.
    pub physical_block_bytes: Option<u32>,
    /// Largest request, KiB.
    pub max_sectors_kib: Option<u32>,
    /// Largest request that the hardware takes, KiB.
    #[serde(default)]
    pub max_hw_sectors_kib: Option<u32>,
    /// Rotational.
    pub rotational: Option<bool>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Write-back throttling's target latency, us; 0: off. Null: there is none.
    #[serde(default)]
    pub wbt_lat_us: Option<u64>,
    /// Whether the queue can be polled.
    #[serde(default)]
    pub io_poll: Option<bool>,
    /// Where completions are handled: 0 where the interrupt came, 1 near the
    /// submitter, 2 on the submitter's CPU.
    #[serde(default)]
    pub rq_affinity: Option<u8>,
    /// Smallest I/O that needs no read-modify-write, bytes.
    #[serde(default)]
    pub minimum_io_bytes: Option<u32>,
    /// How its zones are to be written: `host-managed` or `host-aware`; absent: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zoned: Option<String>,
    /// Size of its zones, bytes; absent: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_bytes: Option<u64>,
    /// A SATA disk, whether an HBA translates for it or the kernel does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sata: bool,
    /// Where a partition begins on its disk, bytes.
    #[serde(default)]
    pub start_bytes: Option<u64>,
    /// PCI address of the function that it is behind.
    #[serde(default)]
    pub pci_function: Option<String>,
    /// Of an md array how it lies on its members.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub array: Option<Array>,
    /// Of a device-mapper device its table; not there: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub table: Option<Vec<Segment>>,
    /// The file system that is mounted on it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_system: Option<FileSystem>,
}

impl From<&model::Host> for Host {
    fn from(host: &model::Host) -> Self {
        let mut unknown = Unknown::default();
        Self {
            taken: rfc3339(host.taken_ns),
            hostname: unknown.take("hostname", &host.hostname),
            system_vendor: unknown.take("system_vendor", &host.system.vendor),
            system_product: unknown.take("system_product", &host.system.product),
            bios_version: unknown.take("bios_version", &host.system.bios_version),
            bios_date: unknown.take("bios_date", &host.system.bios_date),
            cpu_model: unknown.take("cpu_model", &host.cpus.model),
            cpu_sockets: unknown.take("cpu_sockets", &host.cpus.sockets),
            cpu_cores: unknown.take("cpu_cores", &host.cpus.cores),
            cpus_online: unknown.take("cpus_online", &host.cpus.online),
            cpu_governor: unknown.take("cpu_governor", &host.cpus.governor),
            numa_nodes: host
                .cpus
                .nodes
                .iter()
                .map(|node| NumaNode { id: node.id, cpus: node.cpus.clone() })
                .collect(),
            memory_bytes: unknown.take("memory_bytes", &host.memory).map(|bytes| bytes.0),
            page_bytes: unknown.take("page_bytes", &host.page_bytes),
            kernel: unknown.take("kernel", &host.kernel.release),
            kernel_command_line: unknown.take("kernel_command_line", &host.kernel.command_line),
            distribution: unknown.take("distribution", &host.kernel.distribution),
            parameters: host.kernel.parameters.clone(),
            memlock_bytes: unknown.take("memlock_bytes", &host.limits.memlock_bytes),
            aio_free: unknown.take("aio_free", &host.limits.aio_free),
            io_uring_disabled: unknown.take("io_uring_disabled", &host.limits.io_uring_disabled),
            drivers: host.drivers.iter().map(Driver::from).collect(),
            cards: host.cards.iter().map(Card::from).collect(),
            nvme_functions: host.nvme_functions.iter().map(NvmeFunction::from).collect(),
            slots: host.slots.iter().map(Slot::from).collect(),
            blocks: host.blocks.iter().map(Block::from).collect(),
            no_sysfs: host.no_sysfs,
            subsystems: host.subsystems.iter().map(Subsystem::from).collect(),
            control_groups: unknown
                .take("control_groups", &host.control_groups)
                .map(|groups| groups.iter().map(ControlGroup::from).collect()),
            unknown,
        }
    }
}

impl From<&model::Driver> for Driver {
    fn from(driver: &model::Driver) -> Self {
        Self {
            name: driver.name.clone(),
            version: driver.version.value(),
            out_of_tree: driver.out_of_tree.value(),
        }
    }
}

impl From<&model::StorageCard> for Card {
    fn from(card: &model::StorageCard) -> Self {
        let mut unknown = Unknown::default();
        Self {
            address: card.address.clone(),
            kind: card.kind.clone(),
            pci_id: card.pci_id.clone(),
            name: unknown.take("name", &card.name),
            driver: unknown.take("driver", &card.driver),
            firmware: unknown.take("firmware", &card.firmware),
            links: card.links.clone(),
            blocks: card.blocks.clone(),
            numa_node: unknown.take("numa_node", &card.numa_node),
            iommu: unknown.take("iommu", &card.iommu).as_ref().map(Iommu::from),
            unknown,
        }
    }
}

impl From<&model::PciFunction> for NvmeFunction {
    fn from(function: &model::PciFunction) -> Self {
        Self {
            address: function.address.clone(),
            pci_id: function.pci_id.clone(),
            driver: function.driver.value(),
            controller: function.controller.clone(),
            links: function.links.clone(),
        }
    }
}

impl From<&model::Slot> for Slot {
    fn from(slot: &model::Slot) -> Self {
        let mut unknown = Unknown::default();
        Self {
            name: slot.name.clone(),
            address: slot.address.clone(),
            present: unknown.take("present", &slot.present),
            link_active: unknown.take("link_active", &slot.link_active),
            unknown,
        }
    }
}

impl From<&model::BlockDevice> for Block {
    fn from(block: &model::BlockDevice) -> Self {
        let queue = &block.queue;
        Self {
            name: block.name.clone(),
            kind: crate::layers::kind(&block.kind),
            size_bytes: block.size.get().map(|bytes| bytes.0),
            model: block.model.value(),
            stands_on: block.stands_on.clone(),
            used_by: block.used_by.iter().map(model::Use::label).collect(),
            scheduler: queue.scheduler.value(),
            nr_requests: queue.nr_requests.value(),
            hardware_queues: queue.hardware_queues.value(),
            logical_block_bytes: queue.logical_block_bytes.value(),
            physical_block_bytes: queue.physical_block_bytes.value(),
            max_sectors_kib: queue.max_sectors_kib.value(),
            max_hw_sectors_kib: queue.max_hw_sectors_kib.value(),
            rotational: queue.rotational.value(),
            write_cache: queue.write_cache.value(),
            wbt_lat_us: queue.wbt_lat_us.value(),
            io_poll: queue.io_poll.value(),
            rq_affinity: queue.rq_affinity.value(),
            minimum_io_bytes: queue.minimum_io_bytes.value(),
            zoned: queue.zoned.value().filter(|model| model != "none"),
            zone_bytes: block.zones().flatten(),
            sata: block.sata,
            start_bytes: block.start.get().map(|start| start.0),
            pci_function: block.pci_function.clone(),
            array: match &block.kind {
                model::BlockKind::Md(array) => Some(Array::from(array.as_ref())),
                _ => None,
            },
            table: match &block.kind {
                model::BlockKind::DeviceMapper(mapped) => {
                    mapped.table.get().map(|table| table.iter().map(Segment::from).collect())
                }
                _ => None,
            },
            file_system: FileSystem::on(block),
        }
    }
}
