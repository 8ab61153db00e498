//! The only access to facts about the machine.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use iodyno_files::FileError;
use iodyno_model::BackingFile;

/// Depth of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Sends no command to a drive; skips temperatures as well, since the kernel asks the drive for
    /// them: for use while latencies are measured.
    Quick,
    /// Reads everything, with admin commands where permitted.
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
    /// Ids of the namespaces attached to the controller (CNS 02h), 4096 bytes.
    ActiveNamespaces,
    /// Ids of all namespaces of the NVM subsystem (CNS 10h), 4096 bytes.
    AllocatedNamespaces,
    /// Ids of the controllers that this namespace id is attached to (CNS 12h), 4096 bytes.
    AttachedControllers(u32),
    /// Sanitize Status (log page 81h), 512 bytes.
    SanitizeStatus,
    /// Current power state (Get Features 02h): dword 0 of the answer, 4 bytes.
    PowerState,
    /// Autonomous power state transition (Get Features 0Ch): dword 0 of the answer, 4 bytes.
    AutonomousPowerStates,
    /// Volatile write cache enable (Get Features 06h): dword 0 of the answer, 4 bytes.
    VolatileWriteCache,
    /// UUID List of the controller (Identify, CNS 17h), 4096 bytes.
    UuidList,
    /// SMART / Health Information Extended of OCP (log page C0h), 512 bytes, with OCP's index in
    /// the UUID List.
    OcpHealth(u8),
    /// Latency Monitor of OCP (log page C3h), 512 bytes, with OCP's index in the UUID List.
    LatencyMonitor(u8),
    /// Limit counters of an Amazon volume (log page D0h), of this many bytes.
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

    /// Path of the answer in a captured machine: `/ioctl/nvme0.idctrl`, `/ioctl/nvme0n1.idns` (the
    /// number after `n` is the namespace id, not the block device's), `/ioctl/nvme0.smart`. A
    /// capture lacks the answers that only writing or a purge requests.
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

/// Identity of the file that a path or descriptor leads to, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileId {
    /// A block device, by its number (major, minor).
    Block(u32, u32),
    /// A character device, by its number (major, minor).
    Character(u32, u32),
    /// Any other file, by file system and inode.
    Inode {
        /// Device number of the file system, as in stat(2).
        device: u64,
        /// Inode number.
        inode: u64,
    },
}

/// Reads sysfs, procfs and NVMe admin data of this machine or of a captured one. Paths are
/// absolute, as on the machine itself; symbolic links in them are followed. Errors are the
/// kernel's: `NotFound` for missing files, `PermissionDenied` where only root may read.
pub trait Source: Send + Sync {
    /// Reads at most `limit` bytes from the beginning of a file.
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>>;

    /// Lists the names in a directory, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// Target of the symbolic link at `path`, as written in it.
    fn link(&self, path: &str) -> io::Result<String>;

    /// A process of each mount namespace, as /proc names it: `self`, then the oldest of each other;
    /// looked for as they are asked for, since processes end.
    fn mount_namespaces(&self) -> Box<dyn Iterator<Item = String> + '_> {
        let names = self.list("/proc").unwrap_or_default();
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        let numbers = numbers.into_iter().map(|number| number.to_string());
        let mut known = HashSet::new();
        let is_new = move |process: &String| {
            let namespace = self.link(&format!("/proc/{process}/ns/mnt"));
            namespace.is_ok_and(|namespace| known.insert(namespace))
        };
        Box::new(std::iter::once("self".to_owned()).chain(numbers).filter(is_new))
    }

    /// Resolves the symbolic links in `path`.
    fn real_path(&self, path: &str) -> io::Result<String>;

    /// Device number (major, minor) of the block device whose node is at `path`, or that a
    /// descriptor in `/proc/PID/fd` has open; `NotFound` for anything else.
    fn block_number(&self, path: &str) -> io::Result<(u32, u32)>;

    /// Identity of the file at `path`, or that a descriptor in `/proc/PID/fd` has open. Sends no
    /// request to a file server. A captured machine knows only block devices.
    fn file_id(&self, path: &str) -> io::Result<FileId> {
        self.block_number(path).map(|(major, minor)| FileId::Block(major, minor))
    }

    /// Sends an admin command to the controller (`nvme0`) and returns the answer.
    fn admin(&self, controller: &str, command: AdminRead) -> io::Result<Vec<u8>>;

    /// Table of a device-mapper device (`dm-0`, with its number), a line for each segment: start
    /// and length in sectors, target type, the arguments of `linear` and `striped`, and the state of
    /// `thin` and `thin-pool`. Arguments of other types may contain keys and are never requested.
    /// Root only.
    fn dm_table(&self, name: &str, number: (u32, u32)) -> io::Result<String>;

    /// Backing file of a bound loop device (`loop0`, with its number). Only for users who may open
    /// the device.
    fn backing_file(&self, name: &str, number: (u32, u32)) -> io::Result<BackingFile>;

    /// Time of the facts, ns since 1970 UTC.
    fn taken_ns(&self) -> i64;
}

/// Error of opening or writing a captured machine.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Neither a captured folder nor a captured file.
    #[error("captured machine {}: {error}; name `iodyno capture`'s output", path.display())]
    Open {
        /// Path that was opened.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// A captured file, or the folder's list, is not JSON of the known form.
    #[error("captured machine {}: {error}; capture it again", path.display())]
    Parse {
        /// Path of the file.
        path: PathBuf,
        /// Error with its position.
        error: serde_json::Error,
    },
    /// It has neither /sys nor /proc.
    #[error("{} is no captured machine: it has neither sys nor proc", path.display())]
    Empty {
        /// Path that was opened.
        path: PathBuf,
    },
    /// The capture cannot be written.
    #[error("cannot write the capture to {}: {error}; name a new folder where you may write", path.display())]
    Write {
        /// File or folder that failed.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// A file of the capture must not be written at its path.
    #[error(transparent)]
    File(#[from] FileError),
}
