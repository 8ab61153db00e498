//! The host: everything about the machine that a number depends on.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlockDevice, Bytes, ControlGroup, Drive, Fact, Interrupt, Iommu, Link, Subsystem};

/// The machine at one moment. A run keeps one snapshot before and one after
/// each measurement; their difference is evidence.
///
/// What the schema skips has a place of its own in documents, or means nothing there: counters
/// of one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// When it was read, ns since 1970 UTC.
    #[serde(rename = "taken", alias = "taken_ns", with = "crate::json::time")]
    #[schemars(with = "String")]
    pub taken_ns: i64,
    /// Host name.
    pub hostname: Fact<String>,
    /// Maker, product and BIOS.
    #[serde(flatten)]
    pub system: System,
    /// CPUs and NUMA nodes.
    #[serde(flatten)]
    pub cpus: Cpus,
    /// Memory.
    #[serde(rename = "memory_bytes", alias = "memory")]
    pub memory: Fact<Bytes>,
    /// Kernel.
    #[serde(flatten)]
    pub kernel: Kernel,
    /// Page size, bytes.
    pub page_bytes: Fact<u32>,
    /// Limits that a load generator meets.
    #[serde(flatten)]
    pub limits: Limits,
    /// Drivers of storage that are loaded.
    pub drivers: Vec<Driver>,
    /// RAID and host bus adapters.
    pub cards: Vec<StorageCard>,
    /// NVMe drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub drives: Vec<Drive>,
    /// Every PCIe link from a root port to a drive or a storage card, once each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub links: Vec<Link>,
    /// PCI functions of class NVMe, with or without a controller.
    pub nvme_functions: Vec<PciFunction>,
    /// PCIe slots that the platform names.
    pub slots: Vec<Slot>,
    /// Block devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub blocks: Vec<BlockDevice>,
    /// I/O counters of block devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub disk_stats: Vec<DiskStats>,
    /// There is no /sys here (a container or chroot that mounts none): which devices the machine has
    /// is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_sysfs: bool,
    /// NVMe subsystems.
    #[serde(default)]
    pub subsystems: Vec<Subsystem>,
    /// Interrupts of drives, cards and disks, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub interrupts: Vec<Interrupt>,
    /// The control group of this process and those above it, the innermost first; absent:
    /// there are none of version 2.
    #[serde(default)]
    pub control_groups: Fact<Vec<ControlGroup>>,
}

/// Maker, product and BIOS (DMI).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Maker.
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
    /// CPUs that are online (hardware threads), by number.
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
    /// Its CPUs.
    pub cpus: Vec<u32>,
}

/// The kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Release, `6.1.0-56-amd64`.
    #[serde(rename = "kernel")]
    pub release: Fact<String>,
    /// Command line.
    #[serde(rename = "kernel_command_line")]
    pub command_line: Fact<String>,
    /// Operating system's pretty name.
    pub distribution: Fact<String>,
    /// Parameters of modules that storage depends on, as far as the kernel has
    /// them: `nvme.poll_queues` is `0`, `pcie_aspm.policy` is `default`.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// Limits that a load generator meets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Locked memory of a process (RLIMIT_MEMLOCK, soft), bytes; absent = unlimited.
    pub memlock_bytes: Fact<u64>,
    /// fs.aio-max-nr less fs.aio-nr: asynchronous requests still to be had.
    pub aio_free: Fact<u64>,
    /// kernel.io_uring_disabled: 0 allowed, 1 only for a group, 2 off.
    pub io_uring_disabled: Fact<u8>,
}

/// A driver of storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Driver {
    /// Module name.
    pub name: String,
    /// Version, where the module states one; in-tree modules often do not.
    pub version: Fact<String>,
    /// Built outside the kernel's tree (taint flag O).
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
    /// Name, from the SCSI host or the subsystem, where known.
    pub name: Fact<String>,
    /// Driver that has it.
    pub driver: Fact<String>,
    /// Firmware, where the driver shows it.
    pub firmware: Fact<String>,
    /// The links from the root port to the card, by the PCI address of their device end.
    pub links: Vec<String>,
    /// Block devices behind it.
    pub blocks: Vec<String>,
    /// NUMA node.
    #[serde(default)]
    pub numa_node: Fact<u32>,
    /// How its memory accesses are translated; absent: not at all.
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
    /// Driver that has it; absent = none.
    pub driver: Fact<String>,
    /// The NVMe controller that came of it, `nvme0`.
    pub controller: Option<String>,
    /// The links from the root port to it, by the PCI address of their device end.
    #[serde(default)]
    pub links: Vec<String>,
}

/// A slot whose port can say whether something is plugged in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slot {
    /// The platform's name of it.
    pub name: String,
    /// PCI address of the port, or of what sits in it, as the platform gives it.
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
    /// Reads that were merged with others.
    pub read_merges: u64,
    /// Writes that were merged with others.
    pub write_merges: u64,
    /// Time that reads took together, ms.
    pub read_ms: u64,
    /// Time that writes took together, ms.
    pub write_ms: u64,
    /// Time that all I/Os took together, ms.
    pub in_queue_ms: u64,
}

impl DiskStats {
    /// Those of this block device among `all`.
    pub fn of<'s>(all: &'s [Self], block: &str) -> Option<&'s Self> {
        all.iter().find(|stats| stats.name == block)
    }
}

impl StorageCard {
    /// A VMD controller: it has the class of a RAID card, and hides no drives.
    pub fn is_vmd(&self) -> bool {
        self.driver.get().is_some_and(|driver| driver == "vmd")
    }
}

impl Host {
    /// The drive of this controller name.
    pub fn drive(&self, name: &str) -> Option<&Drive> {
        self.drives.iter().find(|drive| drive.name == name)
    }

    /// NVMe drives, however many controllers lead to each.
    pub fn drive_count(&self) -> usize {
        let drive = |controller: &Drive| match self.subsystem_of(&controller.name) {
            Some(subsystem) => subsystem.name.clone(),
            None => controller.subsystem_nqn.value().unwrap_or_else(|| controller.name.clone()),
        };
        self.drives.iter().map(drive).collect::<BTreeSet<_>>().len()
    }

    /// The drive and namespace of this block device name.
    pub fn namespace(&self, block: &str) -> Option<(&Drive, &crate::Namespace)> {
        self.drives.iter().find_map(|drive| {
            let namespace = drive.namespaces.iter().find(|namespace| namespace.name == block)?;
            Some((drive, namespace))
        })
    }

    /// The block device of this name.
    pub fn block(&self, name: &str) -> Option<&BlockDevice> {
        self.blocks.iter().find(|block| block.name == name)
    }

    /// The block device with this number; `None` for an anonymous one (major 0).
    pub fn block_by_number(&self, major: u32, minor: u32) -> Option<&BlockDevice> {
        self.blocks.iter().find(|block| (block.major, block.minor) == (major, minor))
    }

    /// The link whose device end has this PCI address.
    pub fn link(&self, device_address: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.device.address == device_address)
    }

    /// The interrupts of this PCI function, by number.
    pub fn interrupts_of<'h>(&'h self, function: &'h str) -> impl Iterator<Item = &'h Interrupt> {
        self.interrupts.iter().filter(move |interrupt| interrupt.function == function)
    }

    /// The drive's own link, the last of its path.
    pub fn own_link(&self, drive: &Drive) -> Option<&Link> {
        self.link(drive.links.last()?)
    }

    /// The drive whose own link this is.
    pub fn drive_of(&self, link: &Link) -> Option<&Drive> {
        self.drives.iter().find(|drive| drive.links.last().is_some_and(|own| own == link.name()))
    }

    /// The subsystem that this controller belongs to.
    pub fn subsystem_of(&self, controller: &str) -> Option<&Subsystem> {
        self.subsystems.iter().find(|one| one.controllers.iter().any(|name| name == controller))
    }

    /// I/O counters of this block device.
    pub fn stats(&self, block: &str) -> Option<&DiskStats> {
        DiskStats::of(&self.disk_stats, block)
    }

    /// The whole devices at the bottom of `block`: itself, or what its layers
    /// stand on in the end, each once, in name order.
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

    /// Everything that stands on `block`, partitions included, in breadth-first order.
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
