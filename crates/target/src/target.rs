//! Targets that names were resolved to.

use std::path::{Path, PathBuf};

use iodyno_model::{BlockDevice, BlockKind, Caveat, Host};
use rustix::fs::{Dev, Stat};

use crate::{FileSystem, ReadClearance, TargetError};

/// A target of I/O, once it is cleared.
#[derive(Debug, Clone)]
pub enum Target {
    /// A block device: a namespace, a partition, or a device on top of them.
    Block(BlockTarget),
    /// A regular file.
    File(PathTarget),
    /// A directory, measured through a [`crate::ScratchFile`] in it.
    Directory(PathTarget),
}

/// A block device.
#[derive(Debug, Clone)]
pub struct BlockTarget {
    pub(crate) name: String,
    /// Path at which it is opened; its device number is verified then.
    pub(crate) path: PathBuf,
    pub(crate) number: Dev,
    pub(crate) size_bytes: Option<u64>,
    kind: BlockKind,
    /// Kind of memory, if it is memory.
    memory: Option<&'static str>,
    is_zoned: bool,
}

/// A file or a directory.
#[derive(Debug, Clone)]
pub struct PathTarget {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Device and inode number.
    pub(crate) identity: (Dev, u64),
    pub(crate) size_bytes: u64,
    allocated_bytes: u64,
    pub(crate) device: Option<String>,
    /// Logical block size of the device underneath, bytes.
    pub(crate) logical_block_bytes: Option<u32>,
    pub(crate) file_system: Option<FileSystem>,
    /// Kind of memory under its file system, if it is memory.
    memory: Option<&'static str>,
}

impl BlockTarget {
    /// Makes a target of `device`, to be opened at `path`.
    pub(crate) fn new(
        host: &Host,
        device: &BlockDevice,
        path: PathBuf,
    ) -> Result<Self, TargetError> {
        let size_bytes = device.size.value().map(|size| size.0);
        if size_bytes == Some(0) {
            let block_bytes = device.queue.logical_block_bytes.value().unwrap_or(512);
            return Err(TargetError::TooSmall { name: device.name.clone(), size: 0, block_bytes });
        }
        Ok(Self {
            name: device.name.clone(),
            path,
            number: rustix::fs::makedev(device.major, device.minor),
            size_bytes,
            kind: device.kind.clone(),
            memory: host.bottom_of(&device.name).into_iter().find_map(BlockDevice::memory),
            is_zoned: device.zones().is_some(),
        })
    }
}

impl PathTarget {
    /// Makes a target of the file or directory at `path`, which contains no symbolic link.
    pub(crate) fn new(host: &Host, path: PathBuf, stat: &Stat) -> Result<Self, TargetError> {
        let name = printable(&path.display().to_string());
        let file_system = FileSystem::of(&path);
        if let Some(why) = file_system.as_ref().and_then(FileSystem::unusable) {
            return Err(TargetError::Refused { name, why });
        }
        let device = device_under(host, stat.st_dev, file_system.as_ref());
        Ok(Self {
            name,
            path,
            identity: (stat.st_dev, stat.st_ino),
            size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
            // Always in units of 512 bytes (stat(3type)).
            allocated_bytes: u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512),
            device: device.map(|device| device.name.clone()),
            memory: device.and_then(|device| {
                host.bottom_of(&device.name).into_iter().find_map(BlockDevice::memory)
            }),
            logical_block_bytes: device.and_then(|device| device.queue.logical_block_bytes.value()),
            file_system,
        })
    }

    /// Bytes that the file system has allocated for it.
    pub(crate) const fn allocated_bytes(&self) -> u64 {
        self.allocated_bytes
    }

    /// Returns it with the identity of a file that was just created.
    pub(crate) fn with_identity(&self, identity: (Dev, u64)) -> Self {
        Self { identity, ..self.clone() }
    }

    /// Returns it as a file that does not exist yet: the facts of its directory, no bytes.
    pub(crate) fn into_new_file(self) -> Self {
        Self { size_bytes: 0, allocated_bytes: 0, ..self }
    }
}

/// Escapes control characters of a path, which whoever named the file may have put in and a
/// terminal would obey.
pub(crate) fn printable(path: &str) -> String {
    let mut shown = String::with_capacity(path.len());
    for c in path.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns the block device under a file system: the one in `stat`, or, if that is a number of the
/// file system's own (btrfs), the one that was mounted.
fn device_under<'h>(
    host: &'h Host,
    number: Dev,
    file_system: Option<&FileSystem>,
) -> Option<&'h BlockDevice> {
    block_of(host, number).or_else(|| {
        let mounted = rustix::fs::stat(&file_system?.source).ok()?;
        let is_block = rustix::fs::FileType::from_raw_mode(mounted.st_mode).is_block_device();
        is_block.then(|| block_of(host, mounted.st_rdev)).flatten()
    })
}

/// Finds a block device by its number.
pub(crate) fn block_of(host: &Host, number: Dev) -> Option<&BlockDevice> {
    host.block_by_number(rustix::fs::major(number), rustix::fs::minor(number))
}

impl Target {
    /// Name: a block device's kernel name, a file's or directory's path without symbolic links.
    pub fn name(&self) -> &str {
        match self {
            Self::Block(block) => &block.name,
            Self::File(path) | Self::Directory(path) => &path.name,
        }
    }

    /// Path in the file system.
    pub fn path(&self) -> &Path {
        match self {
            Self::Block(block) => &block.path,
            Self::File(path) | Self::Directory(path) => &path.path,
        }
    }

    /// Size, bytes; `None` for a directory and if not known yet.
    pub const fn size_bytes(&self) -> Option<u64> {
        match self {
            Self::Block(block) => block.size_bytes,
            Self::File(path) => Some(path.size_bytes),
            Self::Directory(_) => None,
        }
    }

    /// Kernel name of the block device that it is or that is under its file system; `None` if
    /// unknown (overlay, zfs, network).
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Block(block) => Some(&block.name),
            Self::File(path) | Self::Directory(path) => path.device.as_deref(),
        }
    }

    /// True if it is a directory, which is measured through a scratch file.
    pub const fn is_directory(&self) -> bool {
        matches!(self, Self::Directory(_))
    }

    /// The file system that it is in; `None` for a block device.
    pub const fn file_system(&self) -> Option<&FileSystem> {
        match self {
            Self::Block(_) => None,
            Self::File(path) | Self::Directory(path) => path.file_system.as_ref(),
        }
    }

    /// True if its zones have to be written sequentially.
    pub const fn is_zoned(&self) -> bool {
        matches!(self, Self::Block(BlockTarget { is_zoned: true, .. }))
    }

    /// Returns caveats for every measurement of it.
    pub fn remarks(&self) -> Vec<Caveat> {
        let mut remarks: Vec<Caveat> =
            self.file_system().and_then(FileSystem::remark).into_iter().collect();
        let memory = match self {
            Self::Block(block) => block.memory,
            Self::File(path) | Self::Directory(path) => path.memory,
        };
        remarks.extend(memory.map(|device| Caveat::Memory { device: device.into() }));
        match self {
            Self::Block(BlockTarget {
                kind: BlockKind::Loop { backing_file: Some(file), .. },
                ..
            }) => {
                let memory = FileSystem::of(Path::new(file)).filter(FileSystem::is_in_memory);
                let memory = memory.map(|memory| memory.kind);
                remarks.push(Caveat::LoopDevice { file: file.clone(), memory });
            }
            Self::File(file) if file.allocated_bytes < file.size_bytes => {
                remarks.push(Caveat::PartlyAllocated {
                    allocated_bytes: file.allocated_bytes,
                    size_bytes: file.size_bytes,
                });
            }
            Self::Block(_) | Self::File(_) | Self::Directory(_) => {}
        }
        remarks
    }

    /// Opens it for reading, verifies that it is still the target that was resolved, and keeps it
    /// open.
    ///
    /// # Errors
    /// No permission, gone, replaced by something else, smaller than a block; a directory, which
    /// has no data of its own.
    pub fn clear_for_reading(&self) -> Result<ReadClearance, TargetError> {
        match self {
            Self::Block(block) => ReadClearance::of_block(block),
            Self::File(file) => ReadClearance::of_file(file),
            Self::Directory(directory) => Err(TargetError::Refused {
                name: directory.name.clone(),
                why: "a directory holds no data of its own: it is measured through a scratch file"
                    .into(),
            }),
        }
    }

    /// True if both are the same target, by number and not by name.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Block(a), Self::Block(b)) => a.number == b.number,
            (Self::File(a) | Self::Directory(a), Self::File(b) | Self::Directory(b)) => {
                a.identity == b.identity
            }
            _ => false,
        }
    }
}
