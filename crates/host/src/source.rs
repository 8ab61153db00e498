//! The one way to facts about the machine.

use std::io;
use std::path::PathBuf;

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
    /// Sanitize Status (log page 81h), 512 bytes.
    SanitizeStatus,
}

impl AdminRead {
    /// Size of the answer, bytes.
    pub fn length_bytes(self) -> usize {
        match self {
            Self::IdentifyController
            | Self::IdentifyNamespace(_)
            | Self::ActiveNamespaces
            | Self::AllocatedNamespaces => 4096,
            Self::Health | Self::SanitizeStatus => 512,
        }
    }

    /// Where a captured machine keeps the answer: `/ioctl/nvme0.idctrl`,
    /// `/ioctl/nvme0n1.idns` (the number behind `n` is the namespace id, not
    /// the block device's), `/ioctl/nvme0.smart`. A capture has none of the
    /// others, which only a purge asks for.
    pub fn path(self, controller: &str) -> String {
        match self {
            Self::IdentifyController => format!("/ioctl/{controller}.idctrl"),
            Self::IdentifyNamespace(nsid) => format!("/ioctl/{controller}n{nsid}.idns"),
            Self::Health => format!("/ioctl/{controller}.smart"),
            Self::ActiveNamespaces => format!("/ioctl/{controller}.nsactive"),
            Self::AllocatedNamespaces => format!("/ioctl/{controller}.nsallocated"),
            Self::SanitizeStatus => format!("/ioctl/{controller}.sanitize"),
        }
    }
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

    /// The answer to an admin command of the controller (`nvme0`).
    fn admin(&self, controller: &str, command: AdminRead) -> io::Result<Vec<u8>>;

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
}
