//! Block devices, the devices below them, and their users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Fact, FileSystem, MappedDevice, MdArray};

/// Kind of block device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// NVMe namespace (also a multipath head).
    Nvme,
    /// Partition of its only parent.
    Partition,
    /// md array.
    Md(Box<MdArray>),
    /// Device-mapper device.
    DeviceMapper(MappedDevice),
    /// Loop device and its backing file.
    Loop {
        /// Path of the backing file, as the kernel gives it; null: loop device is free.
        backing_file: Option<String>,
        /// Identity of the backing file, independent of its path. Readable only by users who may
        /// open the loop device.
        #[serde(default)]
        backing: Fact<BackingFile>,
    },
    /// Virtual disk (virtio, Xen, Hyper-V): its limits are set by contract, not by a drive.
    Virtual,
    /// SCSI or SATA disk, or virtual drive of a RAID controller.
    Scsi,
    /// zram (compressed memory).
    Zram,
    /// RAM disk, null device, and everything else.
    #[default]
    Other,
}

/// Identity of a loop device's backing file. Paths are renamed, unlinked, and mean nothing in
/// another mount namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackingFile {
    /// Device number (major, minor) of the file's file system, from stat(2).
    pub device: (u32, u32),
    /// Inode number.
    pub inode: u64,
    /// Device number (major, minor), if the file is a block device node.
    pub block: Option<(u32, u32)>,
    /// Offset of the loop device in the file, bytes.
    pub offset_bytes: u64,
}

/// Queue settings of a block device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// I/O scheduler in use.
    pub scheduler: Fact<String>,
    /// Queue size of each hardware queue, requests.
    pub nr_requests: Fact<u32>,
    /// Logical block size, bytes.
    pub logical_block_bytes: Fact<u32>,
    /// Physical block size, bytes.
    pub physical_block_bytes: Fact<u32>,
    /// Maximum request size, KiB.
    pub max_sectors_kib: Fact<u32>,
    /// Maximum request size of the hardware, KiB.
    pub max_hw_sectors_kib: Fact<u32>,
    /// Maximum number of memory segments of a request.
    #[serde(default)]
    pub max_segments: Fact<u32>,
    /// Optimal I/O size, bytes; 0: not stated.
    pub optimal_io_bytes: Fact<u32>,
    /// True for rotational media.
    pub rotational: Fact<bool>,
    /// Write cache mode: `write back` or `write through`.
    pub write_cache: Fact<String>,
    /// Discard limit, bytes; 0: no discard.
    pub discard_max_bytes: Fact<u64>,
    /// Number of hardware queues (directories under mq/).
    pub hardware_queues: Fact<u32>,
    /// Smallest I/O without read-modify-write, bytes; for an array its chunk.
    #[serde(default)]
    pub minimum_io_bytes: Fact<u32>,
    /// Target latency of write-back throttling, us; 0: off. Absent if the kernel has none for this
    /// queue.
    #[serde(default)]
    pub wbt_lat_us: Fact<u64>,
    /// True if the queue can be polled.
    #[serde(default)]
    pub io_poll: Fact<bool>,
    /// Zone model: `none`, `host-managed` or `host-aware`.
    #[serde(default)]
    pub zoned: Fact<String>,
    /// Zone size, bytes; for devices without zones the chunk size of sysfs.
    #[serde(default)]
    pub zone_bytes: Fact<u64>,
    /// CPU that handles completions: 0 the interrupted one, 1 one in the submitter's CPU group, 2
    /// the submitter's.
    #[serde(default)]
    pub rq_affinity: Fact<u8>,
}

impl Queue {
    /// Bytes that one request holds however its memory is scattered: in segments of a page, of
    /// which the smallest has 4 KiB.
    pub fn request_bytes(&self) -> Option<u64> {
        let by_segments = self.max_segments.get().map(|segments| u64::from(*segments) << 12);
        let by_size = self.max_sectors_kib.get().map(|kib| u64::from(*kib) << 10);
        by_size.into_iter().chain(by_segments).min()
    }
}

/// A mount of a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mount {
    /// Mount point.
    pub at: String,
    /// File system type.
    pub file_system: String,
    /// Mount options, of the superblock and the mount.
    pub options: String,
}

/// Use of a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// Mounted.
    Mounted(Mount),
    /// Used as swap space.
    Swap,
    /// Used by a device above: md, device-mapper, bcache (block device name).
    HeldBy(String),
    /// Backing file of a loop device (block device name).
    LoopBacking(String),
    /// Member of a multi-device file system (btrfs, by its UUID).
    FileSystemMember(String),
    /// Exported to other machines or guests by a server in the kernel (nvmet, LIO): `nvmet as
    /// nqn.2014-08.org.example/1`.
    Exported(String),
    /// Opened by a process.
    OpenBy {
        /// Process id.
        pid: u32,
        /// Command name.
        command: String,
    },
    /// Contains a signature (partition table, file system, RAID, LVM, crypt), by blkid's name.
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
    /// Kind of device.
    pub kind: BlockKind,
    /// Size.
    pub size: Fact<Bytes>,
    /// Model string of the device, if any.
    pub model: Fact<String>,
    /// World-wide id or serial number of a SCSI or virtual disk, UUID of a device-mapper device or
    /// md array.
    #[serde(default)]
    pub unique_id: Fact<String>,
    /// Underlying block devices: a partition's disk, an array's members.
    pub stands_on: Vec<String>,
    /// Direct uses; partitions have their own.
    pub used_by: Vec<Use>,
    /// Queue settings; for a partition, those of its disk.
    pub queue: Queue,
    /// Start of a partition on its disk.
    #[serde(default)]
    pub start: Fact<Bytes>,
    /// PCI address of the function above it; null: virtual, a layer, a multipath head, or not on
    /// PCI.
    #[serde(default)]
    pub pci_function: Option<String>,
    /// True for a SATA disk, whether an HBA or the kernel translates.
    #[serde(default)]
    pub sata: bool,
    /// File system on it, if mounted and of a known type.
    #[serde(default)]
    pub file_system: Option<FileSystem>,
}

impl BlockDevice {
    /// Zone size, bytes, of a device whose zones must be written sequentially from their start;
    /// outer `None`: not such a device, inner `None`: size not known.
    pub fn zones(&self) -> Option<Option<u64>> {
        let zoned = self.queue.zoned.get().is_some_and(|model| model == "host-managed");
        zoned.then(|| self.queue.zone_bytes.value().filter(|bytes| *bytes > 0))
    }

    /// Description of a device that is memory instead of storage.
    pub fn memory(&self) -> Option<&'static str> {
        let numbered = |prefix: &str| {
            let rest = self.name.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        match self.kind {
            BlockKind::Zram => Some("zram: compressed memory"),
            BlockKind::Other if numbered("ram") => Some("brd: a RAM disk"),
            BlockKind::Other if numbered("pmem") => Some("pmem: persistent memory"),
            BlockKind::Other if numbered("nullb") => Some("null_blk: stores nothing"),
            _ => None,
        }
    }

    /// Returns its first mount.
    pub fn mount(&self) -> Option<&Mount> {
        self.used_by.iter().find_map(|used| match used {
            Use::Mounted(mount) => Some(mount),
            _ => None,
        })
    }
}

impl Use {
    /// Short description: `mounted at /`, `md0`, `swap`.
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
