//! Descriptors that a load generator gets from a clearance.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags};

use crate::identity::generic_of;
use crate::open_how::OpenHow;
use crate::{ReadClearance, TargetError, TargetKind, WriteClearance};

/// The access that a job has to a target.
#[derive(Debug, Clone, Copy)]
pub enum Access<'a> {
    /// Read it.
    Read(&'a ReadClearance),
    /// Read, write and trim it.
    Write(&'a WriteClearance),
}

impl<'a> Access<'a> {
    /// The clearance for reading; a clearance for writing includes it.
    pub fn read(&self) -> &'a ReadClearance {
        match self {
            Self::Read(clearance) => clearance,
            Self::Write(clearance) => clearance.as_read(),
        }
    }

    /// The clearance for writing; `None` if the target may only be read.
    pub fn write(&self) -> Option<&'a WriteClearance> {
        match self {
            Self::Read(_) => None,
            Self::Write(clearance) => Some(clearance),
        }
    }

    /// The target's name, see [`ReadClearance::name`].
    pub fn name(&self) -> &'a str {
        self.read().name()
    }

    /// Opens a new open file description of the target: read only, or for reading and writing, as
    /// it is cleared.
    ///
    /// # Errors
    /// As [`ReadClearance::open`] and [`WriteClearance::open`].
    pub fn open(&self, how: OpenHow) -> Result<OwnedFd, TargetError> {
        match self {
            Self::Read(clearance) => clearance.open(how),
            Self::Write(clearance) => clearance.open(how),
        }
    }

    /// Opens the NVMe generic character device of the target, for passthrough: `/dev/ng0n1` of
    /// `nvme0n1` (Linux 5.13), read only or for reading and writing, as the target is cleared. The
    /// clearance keeps the block device open meanwhile.
    ///
    /// # Errors
    /// Not a whole NVMe namespace, a kernel without such devices, no permission, or another device
    /// at that path.
    pub fn open_character(&self) -> Result<CharacterDevice, TargetError> {
        let name = self.name();
        let generic = match self.read().kind() {
            TargetKind::Block { name } => generic_of(name),
            TargetKind::File { .. } | TargetKind::Nothing => None,
        };
        let refused = |why: &str| TargetError::Refused { name: name.into(), why: why.into() };
        let generic = generic
            .ok_or_else(|| refused("NVMe passthrough needs an NVMe namespace, such as nvme0n1"))?;
        let number = text(&format!("/sys/class/nvme-generic/{generic}/dev"))
            .and_then(|number| {
                let (major, minor) = number.split_once(':')?;
                Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
            })
            .ok_or_else(|| {
                refused("it has no generic character device: NVMe passthrough needs Linux 5.13")
            })?;
        // The number after the n of a multipath head is not always the namespace id.
        let nsid = text(&format!("/sys/class/block/{name}/nsid"))
            .and_then(|nsid| nsid.parse().ok())
            .ok_or_else(|| refused("its namespace id cannot be read"))?;
        let access = if self.write().is_some() { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let descriptor = rustix::fs::open(format!("/dev/{generic}"), flags, Mode::empty())
            .map_err(|errno| TargetError::of(name, "open its character device", errno))?;
        let stat = rustix::fs::fstat(&descriptor)
            .map_err(|errno| TargetError::of(name, "look at its character device", errno))?;
        let is_character = FileType::from_raw_mode(stat.st_mode).is_char_device();
        if !is_character || stat.st_rdev != number {
            return Err(TargetError::Changed { name: name.into() });
        }
        Ok(CharacterDevice { descriptor, nsid })
    }
}

/// An NVMe namespace opened for passthrough; its logical block size is
/// [`ReadClearance::block_bytes`].
#[derive(Debug)]
pub struct CharacterDevice {
    /// The open device.
    pub descriptor: OwnedFd,
    /// Namespace id.
    pub nsid: u32,
}

fn text(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}
