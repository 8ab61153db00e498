//! The host: everything about the machine that results depend on.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlockDevice, Bytes, ControlGroup, Drive, Fact, Interrupt, Iommu, Link, Subsystem};

/// Snapshot of the machine. A run keeps one before and one after each measurement; their difference
/// is evidence.
///
/// Fields that the schema skips are elsewhere in documents, or are momentary counters without
/// meaning of their own there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Time of the snapshot, ns since 1970 UTC.
    #[serde(rename = "taken", alias = "taken_ns", with = "crate::json::time")]
    #[schemars(with = "String")]
    pub taken_ns: i64,
    /// Host name.
    pub hostname: Fact<String>,
    /// Vendor, product and BIOS.
    #[serde(flatten)]
    pub system: System,
    /// CPUs and NUMA nodes.
    #[serde(flatten)]
    pub cpus: Cpus,
    /// Memory size.
    #[serde(rename = "memory_bytes", alias = "memory")]
    pub memory: Fact<Bytes>,
    /// Kernel and distribution.
    #[serde(flatten)]
    pub kernel: Kernel,
    /// Page size, bytes.
    pub page_bytes: Fact<u32>,
    /// Limits for load generators.
    #[serde(flatten)]
    pub limits: Limits,
    /// Loaded storage drivers.
    pub drivers: Vec<Driver>,
    /// RAID and host bus adapters.
    pub cards: Vec<StorageCard>,
    /// NVMe drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub drives: Vec<Drive>,
    /// PCIe links from root ports to drives or storage cards, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub links: Vec<Link>,
    /// PCI functions of class NVMe, with or without a controller.
    pub nvme_functions: Vec<PciFunction>,
    /// PCIe slots named by the platform.
    pub slots: Vec<Slot>,
    /// Block devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub blocks: Vec<BlockDevice>,
    /// I/O counters of block devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub disk_stats: Vec<DiskStats>,
    /// True if /sys is missing (a container or chroot without it): the machine's devices are not
    /// known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_sysfs: bool,
    /// NVMe subsystems.
    #[serde(default)]
    pub subsystems: Vec<Subsystem>,
    /// Interrupts of drives, cards and disks, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub interrupts: Vec<Interrupt>,
    /// Control group of this process and its parents, innermost first; absent: no cgroup v2.
    #[serde(default)]
    pub control_groups: Fact<Vec<ControlGroup>>,
}

/// Vendor, product and BIOS (DMI).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Vendor.
    #[serde(rename = "system_vendor")]
    pub vendor: Fact<String>,
    /// Product.
    #[serde(rename = "system_product")]
    pub product: Fact<String>,
    /// BIOS version.
    pub bios_version: Fact<String>,
    /// BIOS date.
    pub bios_date: Fact<String>,
}

/// CPUs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cpus {
    /// Model name.
    #[serde(rename = "cpu_model")]
    pub model: Fact<String>,
    /// Sockets.
    #[serde(rename = "cpu_sockets")]
    pub sockets: Fact<u32>,
    /// Cores.
    #[serde(rename = "cpu_cores")]
    pub cores: Fact<u32>,
    /// Online CPUs (hardware threads), by number.
    #[serde(rename = "cpus_online")]
    pub online: Fact<Vec<u32>>,
    /// Frequency governor of CPU 0.
    #[serde(rename = "cpu_governor")]
    pub governor: Fact<String>,
    /// NUMA nodes.
    #[serde(rename = "numa_nodes")]
    pub nodes: Vec<NumaNode>,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    /// Number.
    pub id: u32,
    /// CPUs of the node.
    pub cpus: Vec<u32>,
}

/// The kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Release, `6.1.0-56-amd64`.
    #[serde(rename = "kernel")]
    pub release: Fact<String>,
    /// Kernel command line.
    #[serde(rename = "kernel_command_line")]
    pub command_line: Fact<String>,
    /// Name of the operating system.
    pub distribution: Fact<String>,
    /// Module parameters that storage depends on, as far as the kernel has them: `nvme.poll_queues`
    /// is `0`, `pcie_aspm.policy` is `default`.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// Limits for load generators.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Lockable memory per process (RLIMIT_MEMLOCK, soft), bytes; absent: unlimited.
    pub memlock_bytes: Fact<u64>,
    /// Asynchronous requests left: fs.aio-max-nr minus fs.aio-nr.
    pub aio_free: Fact<u64>,
    /// kernel.io_uring_disabled: 0 allowed, 1 only for a group, 2 off.
    pub io_uring_disabled: Fact<u8>,
}

/// Storage driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Driver {
    /// Module name.
    pub name: String,
    /// Module version, if stated; in-tree modules often state none.
    pub version: Fact<String>,
    /// True if built out of tree (taint flag O).
    pub out_of_tree: Fact<bool>,
}

/// A RAID card or host bus adapter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StorageCard {
    /// PCI address.
    pub address: String,
    /// `RAID`, `SAS`, `SATA`, `SCSI`.
    pub kind: String,
    /// Vendor and device id, `1000:0016`.
    pub pci_id: String,
    /// Name, from the SCSI host or the subsystem, if known.
    pub name: Fact<String>,
    /// Driver bound to the card.
    pub driver: Fact<String>,
    /// Firmware version, if the driver reports it.
    pub firmware: Fact<String>,
    /// PCIe links from the root port to the card, by the PCI address of their device end.
    pub links: Vec<String>,
    /// Block devices behind the card.
    pub blocks: Vec<String>,
    /// NUMA node.
    #[serde(default)]
    pub numa_node: Fact<u32>,
    /// IOMMU translation of the card's memory accesses; absent: none.
    #[serde(default)]
    pub iommu: Fact<Iommu>,
}

/// A PCI function of class NVMe (0108xx).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PciFunction {
    /// PCI address.
    pub address: String,
    /// Vendor and device id.
    pub pci_id: String,
    /// Driver bound to the function; absent: none.
    pub driver: Fact<String>,
    /// NVMe controller of the function, `nvme0`.
    pub controller: Option<String>,
    /// PCIe links from the root port to the function, by the PCI address of their device end.
    #[serde(default)]
    pub links: Vec<String>,
}

/// PCIe slot whose port reports whether it is occupied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slot {
    /// Slot name given by the platform.
    pub name: String,
    /// PCI address of the port, or of the inserted device, as the platform reports it.
    pub address: String,
    /// Presence detected (Slot Status bit 6), root only.
    pub present: Fact<bool>,
    /// Data link layer active (Link Status bit 13), root only.
    pub link_active: Fact<bool>,
}

/// I/O counters of a block device since boot (/proc/diskstats).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskStats {
    /// Block device.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time with I/O in flight, ms.
    pub busy_ms: u64,
    /// Reads merged by the block layer.
    pub read_merges: u64,
    /// Writes merged by the block layer.
    pub write_merges: u64,
    /// Total time of all reads, ms.
    pub read_ms: u64,
    /// Total time of all writes, ms.
    pub write_ms: u64,
    /// Total time of all I/Os, ms.
    pub in_queue_ms: u64,
}

impl DiskStats {
    /// Returns the counters of a block device among `all`.
    pub fn of<'s>(all: &'s [Self], block: &str) -> Option<&'s Self> {
        all.iter().find(|stats| stats.name == block)
    }
}

impl StorageCard {
    /// True for a VMD controller: it has the class of a RAID card, but hides no drives.
    pub fn is_vmd(&self) -> bool {
        self.driver.get().is_some_and(|driver| driver == "vmd")
    }
}

impl Host {
    /// Returns the drive with this controller name.
    pub fn drive(&self, name: &str) -> Option<&Drive> {
        self.drives.iter().find(|drive| drive.name == name)
    }

    /// Number of NVMe drives; several controllers of one drive count once.
    pub fn drive_count(&self) -> usize {
        let drive = |controller: &Drive| match self.subsystem_of(&controller.name) {
            Some(subsystem) => subsystem.name.clone(),
            None => controller.subsystem_nqn.value().unwrap_or_else(|| controller.name.clone()),
        };
        self.drives.iter().map(drive).collect::<BTreeSet<_>>().len()
    }

    /// Returns the drive and the namespace of a block device.
    pub fn namespace(&self, block: &str) -> Option<(&Drive, &crate::Namespace)> {
        self.drives.iter().find_map(|drive| {
            let namespace = drive.namespaces.iter().find(|namespace| namespace.name == block)?;
            Some((drive, namespace))
        })
    }

    /// Returns the controllers that lead to a namespace: several if it has several paths.
    pub fn controllers_of(&self, block: &str) -> Vec<&Drive> {
        let leads = |drive: &&Drive| drive.namespaces.iter().any(|one| one.name == block);
        self.drives.iter().filter(leads).collect()
    }

    /// Returns the block device with this name.
    pub fn block(&self, name: &str) -> Option<&BlockDevice> {
        self.blocks.iter().find(|block| block.name == name)
    }

    /// Returns the block device with this number; `None` for an anonymous one (major 0).
    pub fn block_by_number(&self, major: u32, minor: u32) -> Option<&BlockDevice> {
        self.blocks.iter().find(|block| (block.major, block.minor) == (major, minor))
    }

    /// Returns the link whose device end has this PCI address.
    pub fn link(&self, device_address: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.device.address == device_address)
    }

    /// Returns the interrupts of a PCI function, by number.
    pub fn interrupts_of<'h>(&'h self, function: &'h str) -> impl Iterator<Item = &'h Interrupt> {
        self.interrupts.iter().filter(move |interrupt| interrupt.function == function)
    }

    /// Returns the drive's own link, the last on its path.
    pub fn own_link(&self, drive: &Drive) -> Option<&Link> {
        self.link(drive.links.last()?)
    }

    /// Returns the drive whose own link this is.
    pub fn drive_of(&self, link: &Link) -> Option<&Drive> {
        self.drives.iter().find(|drive| drive.links.last().is_some_and(|own| own == link.name()))
    }

    /// Returns the subsystem of a controller.
    pub fn subsystem_of(&self, controller: &str) -> Option<&Subsystem> {
        self.subsystems.iter().find(|one| one.controllers.iter().any(|name| name == controller))
    }

    /// Returns the I/O counters of a block device.
    pub fn stats(&self, block: &str) -> Option<&DiskStats> {
        DiskStats::of(&self.disk_stats, block)
    }

    /// Returns the whole devices at the bottom of `block`: itself, or the lowest devices under its
    /// layers, each once, in name order.
    pub fn bottom_of(&self, block: &str) -> Vec<&BlockDevice> {
        let mut bottom = Vec::new();
        let mut seen = Vec::new();
        let mut todo = vec![block];
        while let Some(name) = todo.pop() {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            let Some(device) = self.block(name) else { continue };
            if device.stands_on.is_empty() {
                bottom.push(device);
            } else {
                todo.extend(device.stands_on.iter().map(String::as_str));
            }
        }
        bottom.sort_by(|a, b| a.name.cmp(&b.name));
        bottom
    }

    /// Returns everything above `block`, partitions included, in breadth-first order.
    pub fn above(&self, block: &str) -> Vec<&BlockDevice> {
        let mut above: Vec<&BlockDevice> = Vec::new();
        let mut todo = std::collections::VecDeque::from([block]);
        while let Some(name) = todo.pop_front() {
            for device in &self.blocks {
                let stands = device.stands_on.iter().any(|below| below == name);
                if stands && !above.iter().any(|known| known.name == device.name) {
                    above.push(device);
                    todo.push_back(&device.name);
                }
            }
        }
        above
    }
}
