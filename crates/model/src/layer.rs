//! Block devices, what they stand on, and what uses them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Fact, FileSystem, MappedDevice, MdArray};

/// What kind of block device it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// A namespace of an NVMe controller (also a multipath head).
    Nvme,
    /// A partition of its single parent.
    Partition,
    /// An md array.
    Md(Box<MdArray>),
    /// A device-mapper device.
    DeviceMapper(MappedDevice),
    /// A loop device and its backing file.
    Loop {
        /// Path of the backing file as the kernel gives it; none: it is free.
        backing_file: Option<String>,
        /// Which file that is, whatever path it has by now. Only users who may
        /// open the loop device can read this.
        #[serde(default)]
        backing: Fact<BackingFile>,
    },
    /// A virtual disk (virtio, Xen, Hyper-V): its limits are a contract's, not a drive's.
    Virtual,
    /// A SCSI or SATA disk, or a RAID controller's virtual drive.
    Scsi,
    /// Compressed memory.
    Zram,
    /// Memory or null device, and everything else.
    #[default]
    Other,
}

/// What a loop device lies on, by identity instead of by path: paths are
/// renamed, unlinked, and mean nothing in another mount namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackingFile {
    /// Device number (major, minor) of the file's file system, as stat(2) gives it.
    pub device: (u32, u32),
    /// Inode number.
    pub inode: u64,
    /// Device number (major, minor) where the file is a block device's node.
    pub block: Option<(u32, u32)>,
    /// Where in the file the loop device begins, bytes.
    pub offset_bytes: u64,
}

/// Settings of a block device's queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// The I/O scheduler in use.
    pub scheduler: Fact<String>,
    /// Requests that may be queued in each hardware queue.
    pub nr_requests: Fact<u32>,
    /// Logical block size, bytes.
    pub logical_block_bytes: Fact<u32>,
    /// Physical block size, bytes.
    pub physical_block_bytes: Fact<u32>,
    /// Largest request, KiB.
    pub max_sectors_kib: Fact<u32>,
    /// Largest request that the hardware takes, KiB.
    pub max_hw_sectors_kib: Fact<u32>,
    /// Optimal I/O size, bytes; 0 = not stated.
    pub optimal_io_bytes: Fact<u32>,
    /// Rotational.
    pub rotational: Fact<bool>,
    /// `write back` or `write through`.
    pub write_cache: Fact<String>,
    /// Discard limit, bytes; 0 = no discard.
    pub discard_max_bytes: Fact<u64>,
    /// Hardware queues (directories under mq/).
    pub hardware_queues: Fact<u32>,
    /// Smallest I/O that needs no read-modify-write, bytes: of an array its chunk.
    #[serde(default)]
    pub minimum_io_bytes: Fact<u32>,
    /// Write-back throttling's target latency, us; 0 = off. Absent where the
    /// kernel has none for this queue.
    #[serde(default)]
    pub wbt_lat_us: Fact<u64>,
    /// Whether the queue can be polled.
    #[serde(default)]
    pub io_poll: Fact<bool>,
    /// `none`, `host-managed` or `host-aware`.
    #[serde(default)]
    pub zoned: Fact<String>,
    /// Size of a zone, bytes; of a device without zones what sysfs calls a chunk.
    #[serde(default)]
    pub zone_bytes: Fact<u64>,
    /// Where completions are handled: 0 where the interrupt came, 1 in the
    /// submitter's CPU group, 2 on the submitter's CPU.
    #[serde(default)]
    pub rq_affinity: Fact<u8>,
}

/// A mount of a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mount {
    /// Mount point.
    pub at: String,
    /// File system type.
    pub file_system: String,
    /// Mount options, per superblock and per mount.
    pub options: String,
}

/// One way in which a block device is in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// Mounted.
    Mounted(Mount),
    /// Swap space.
    Swap,
    /// Something stands on it: an md array, a dm device, bcache (block device name).
    HeldBy(String),
    /// A loop device has it as its backing file (block device name).
    LoopBacking(String),
    /// A multi-device file system has it (btrfs, by its UUID).
    FileSystemMember(String),
    /// A server in the kernel hands it out to other machines or guests
    /// (nvmet, LIO), and as what: `nvmet as nqn.2014-08.org.example/1`.
    Exported(String),
    /// A process has it open.
    OpenBy {
        /// Process id.
        pid: u32,
        /// Command name.
        command: String,
    },
    /// It holds a signature (partition table, file system, RAID, LVM, crypt), by blkid's name.
    Signature(String),
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Kernel name, `nvme0n1p1`.
    pub name: String,
    /// Device number, major.
    pub major: u32,
    /// Device number, minor.
    pub minor: u32,
    /// What it is.
    pub kind: BlockKind,
    /// Size.
    pub size: Fact<Bytes>,
    /// Model string of the device, where it has one.
    pub model: Fact<String>,
    /// Block devices that it stands on: a partition's disk, an array's members.
    pub stands_on: Vec<String>,
    /// What uses it, itself; partitions have their own.
    pub used_by: Vec<Use>,
    /// Queue settings; a partition has its disk's.
    pub queue: Queue,
    /// Where a partition begins on its disk.
    #[serde(default)]
    pub start: Fact<Bytes>,
    /// PCI address of the function that it is behind; none: virtual, a layer, a
    /// multipath head, or on no PCI bus.
    #[serde(default)]
    pub pci_function: Option<String>,
    /// A SATA disk, whether an HBA translates for it or the kernel does.
    #[serde(default)]
    pub sata: bool,
    /// The file system on it, where one is mounted and its kind is known.
    #[serde(default)]
    pub file_system: Option<FileSystem>,
}

impl BlockDevice {
    /// Of a device of which each zone has to be written from its start on, one block after the
    /// other, the size of its zones, bytes; `None` in it: not known.
    pub fn zones(&self) -> Option<Option<u64>> {
        let zoned = self.queue.zoned.get().is_some_and(|model| model == "host-managed");
        zoned.then(|| self.queue.zone_bytes.value().filter(|bytes| *bytes > 0))
    }

    /// What it is, where it is memory and no storage.
    pub fn memory(&self) -> Option<&'static str> {
        let numbered = |prefix: &str| {
            let rest = self.name.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        match self.kind {
            BlockKind::Zram => Some("zram: compressed memory"),
            BlockKind::Other if numbered("ram") => Some("brd: a RAM disk"),
            BlockKind::Other if numbered("pmem") => Some("pmem: persistent memory"),
            BlockKind::Other if numbered("nullb") => Some("null_blk: it keeps nothing"),
            _ => None,
        }
    }

    /// Where it is mounted first.
    pub fn mount(&self) -> Option<&Mount> {
        self.used_by.iter().find_map(|used| match used {
            Use::Mounted(mount) => Some(mount),
            _ => None,
        })
    }
}

impl Use {
    /// In a few words: `mounted at /`, `md0`, `swap`.
    pub fn label(&self) -> String {
        match self {
            Self::Mounted(mount) => format!("mounted at {}", mount.at),
            Self::Swap => "swap".into(),
            Self::HeldBy(name) => name.clone(),
            Self::LoopBacking(name) => format!("backs {name}"),
            Self::FileSystemMember(what) => format!("member of {what}"),
            Self::Exported(by) => format!("exported by {by}"),
            Self::OpenBy { pid, command } => format!("open by {command} ({pid})"),
            Self::Signature(what) => format!("holds {what}"),
        }
    }
}
