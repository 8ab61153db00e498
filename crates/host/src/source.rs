//! The one way to facts about the machine.

use std::io;
use std::path::PathBuf;

use iodyno_files::FileError;
use iodyno_model::BackingFile;

/// How deep a snapshot looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// No command reaches a drive, temperatures included, which the kernel
    /// asks the drive for: for use while latencies are measured.
    Quick,
    /// All, by admin commands too where they are allowed.
    Full,
}

/// An NVMe admin command that only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminRead {
    /// Identify Controller (CNS 01h), 4096 bytes.
    IdentifyController,
    /// Identify Namespace (CNS 00h) of this namespace id, 4096 bytes.
    IdentifyNamespace(u32),
    /// SMART / Health Information of the controller (log page 02h), 512 bytes.
    Health,
    /// Ids of the namespaces that are attached to the controller (CNS 02h), 4096 bytes.
    ActiveNamespaces,
    /// Ids of all namespaces of the NVM subsystem (CNS 10h), 4096 bytes.
    AllocatedNamespaces,
    /// Ids of the controllers that this namespace id is attached to (CNS 12h), 4096 bytes.
    AttachedControllers(u32),
    /// Sanitize Status (log page 81h), 512 bytes.
    SanitizeStatus,
    /// The power state now (Get Features 02h): the answer's dword 0, 4 bytes.
    PowerState,
    /// Whether the controller may change it itself (Get Features 0Ch): the
    /// answer's dword 0, 4 bytes.
    AutonomousPowerStates,
    /// Whether the volatile write cache is on (Get Features 06h): the answer's dword 0, 4 bytes.
    VolatileWriteCache,
    /// The vendors' UUIDs that the controller knows (Identify, CNS 17h), 4096 bytes.
    UuidList,
    /// SMART / Health Information Extended of OCP (log page C0h), 512 bytes,
    /// which this index of the UUID list says is OCP's.
    OcpHealth(u8),
    /// Latency Monitor of OCP (log page C3h), 512 bytes, likewise.
    LatencyMonitor(u8),
    /// What a volume of Amazon's counts of its limits (log page D0h), of this many bytes.
    VolumeLimits(u16),
}

impl AdminRead {
    /// Size of the answer, bytes.
    pub fn length_bytes(self) -> usize {
        match self {
            Self::IdentifyController
            | Self::IdentifyNamespace(_)
            | Self::ActiveNamespaces
            | Self::AllocatedNamespaces
            | Self::AttachedControllers(_)
            | Self::UuidList => 4096,
            Self::Health | Self::SanitizeStatus | Self::OcpHealth(_) | Self::LatencyMonitor(_) => {
                512
            }
            Self::VolumeLimits(bytes) => bytes.into(),
            Self::PowerState | Self::AutonomousPowerStates | Self::VolatileWriteCache => 4,
        }
    }

    /// Where a captured machine keeps the answer: `/ioctl/nvme0.idctrl`,
    /// `/ioctl/nvme0n1.idns` (the number behind `n` is the namespace id, not
    /// the block device's), `/ioctl/nvme0.smart`. A capture has none of those
    /// that only writing or a purge asks for.
    pub fn path(self, controller: &str) -> String {
        match self {
            Self::IdentifyController => format!("/ioctl/{controller}.idctrl"),
            Self::IdentifyNamespace(nsid) => format!("/ioctl/{controller}n{nsid}.idns"),
            Self::Health => format!("/ioctl/{controller}.smart"),
            Self::ActiveNamespaces => format!("/ioctl/{controller}.nsactive"),
            Self::AllocatedNamespaces => format!("/ioctl/{controller}.nsallocated"),
            Self::AttachedControllers(nsid) => format!("/ioctl/{controller}n{nsid}.controllers"),
            Self::SanitizeStatus => format!("/ioctl/{controller}.sanitize"),
            Self::PowerState => format!("/ioctl/{controller}.power"),
            Self::AutonomousPowerStates => format!("/ioctl/{controller}.apst"),
            Self::VolatileWriteCache => format!("/ioctl/{controller}.vwc"),
            Self::UuidList => format!("/ioctl/{controller}.uuids"),
            Self::OcpHealth(_) => format!("/ioctl/{controller}.ocpsmart"),
            Self::LatencyMonitor(_) => format!("/ioctl/{controller}.latmon"),
            Self::VolumeLimits(_) => format!("/ioctl/{controller}.volume"),
        }
    }
}

/// Which file a path or a descriptor leads to, whatever it is called there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileId {
    /// A block device, by its number (major, minor).
    Block(u32, u32),
    /// A character device, by its number (major, minor).
    Character(u32, u32),
    /// Anything else, by its file system and its place there.
    Inode {
        /// Device number of the file system, as stat(2) gives it.
        device: u64,
        /// Inode number.
        inode: u64,
    },
}

/// Reads sysfs, procfs and NVMe admin data, of this machine or of a captured
/// one. Paths are absolute, as on the machine itself; symbolic links in them
/// are followed. Errors are the kernel's: `NotFound` where there is nothing,
/// `PermissionDenied` where only root may read.
pub trait Source: Send + Sync {
    /// At most `limit` bytes from the beginning of a file.
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>>;

    /// The names in a directory, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// Where the symbolic link at `path` points, as written in it.
    fn link(&self, path: &str) -> io::Result<String>;

    /// `path` without symbolic links.
    fn real_path(&self, path: &str) -> io::Result<String>;

    /// Device number (major, minor) of the block device whose node is, or
    /// which a descriptor in `/proc/PID/fd` has open, at `path`; `NotFound`
    /// where it is something else.
    fn block_number(&self, path: &str) -> io::Result<(u32, u32)>;

    /// Which file is, or which a descriptor in `/proc/PID/fd` has open, at
    /// `path`. No file server is asked. A captured machine knows block devices only.
    fn file_id(&self, path: &str) -> io::Result<FileId> {
        self.block_number(path).map(|(major, minor)| FileId::Block(major, minor))
    }

    /// The answer to an admin command of the controller (`nvme0`).
    fn admin(&self, controller: &str, command: AdminRead) -> io::Result<Vec<u8>>;

    /// The table of a device-mapper device (`dm-0`, with its number), a line
    /// for each segment: where it begins and its length in sectors, the
    /// target's kind, and of `linear` and `striped` its arguments. Those of
    /// other kinds may hold keys, and are never asked for. Root only.
    fn mapped_table(&self, name: &str, number: (u32, u32)) -> io::Result<String>;

    /// What a bound loop device (`loop0`, with its number) lies on. Only for
    /// users who may open the device.
    fn backing_file(&self, name: &str, number: (u32, u32)) -> io::Result<BackingFile>;

    /// When the facts are from, ns since 1970 UTC.
    fn taken_ns(&self) -> i64;
}

/// A captured machine that cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Neither a captured folder nor a captured file.
    #[error("captured machine {}: {error}; name what `iodyno capture` wrote", path.display())]
    Open {
        /// What was opened.
        path: PathBuf,
        /// What the operating system said.
        error: io::Error,
    },
    /// A captured file, or the folder's list, that is not JSON of the known form.
    #[error("captured machine {}: {error}; capture it again", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        error: serde_json::Error,
    },
    /// It has neither /sys nor /proc.
    #[error("{} holds no captured machine: it has neither sys nor proc", path.display())]
    Empty {
        /// What was opened.
        path: PathBuf,
    },
    /// The capture cannot be written.
    #[error("cannot write the capture to {}: {error}; name a new folder where you may write", path.display())]
    Write {
        /// File or folder that failed.
        path: PathBuf,
        /// What the operating system said.
        error: io::Error,
    },
    /// A file of the capture must not be written where it should be.
    #[error(transparent)]
    File(#[from] FileError),
}
