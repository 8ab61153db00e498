//! Clearances: the guard's decision as a type, which load generators get instead of names.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use iodyno_model::Caveat;
use rustix::fs::{
    AtFlags, FileType, MemfdFlags, Mode, OFlags, SeekFrom, Stat, StatxFlags, major, minor,
};
use rustix::io::Errno;

use crate::TargetError;
use crate::open_how::OpenHow;
use crate::target::{BlockTarget, PathTarget, printable};

/// Block size where the kernel does not report one, bytes.
const ASSUMED_BLOCK_BYTES: u32 = 4096;
/// Size of a target whose I/O is only pretended, bytes; fio's has no limit.
const NULL_SIZE_BYTES: u64 = 1 << 60;

/// Kind of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetKind {
    /// A block device, by its kernel name.
    Block {
        /// `nvme0n1`.
        name: String,
    },
    /// A regular file, with the block device under its file system if known.
    File {
        /// `nvme0n1p2`, `dm-0`.
        device: Option<String>,
    },
    /// No storage: I/O is only pretended (ioengine=null), or goes to /dev/null.
    Nothing,
}

/// The proof that a target may be read. It holds the descriptor (read only, O_DIRECT if supported)
/// until it is dropped.
#[derive(Debug)]
pub struct ReadClearance {
    name: String,
    kind: TargetKind,
    size_bytes: u64,
    block_bytes: u32,
    direct: bool,
    descriptor: OwnedFd,
}

impl ReadClearance {
    /// The target's name: a block device's kernel name, or a path. A scratch file has the name of
    /// its directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Kind of the target.
    pub const fn kind(&self) -> &TargetKind {
        &self.kind
    }

    /// Size, bytes; a file's is not always a multiple of [`Self::block_bytes`].
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Offsets, lengths and buffers must be multiples of this, bytes.
    pub const fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Returns at most `most` ranges of a file that hold data according to its file system, as
    /// (offset, length) in bytes; the rest are holes or allocated but unwritten. `None` for a
    /// device, and if the file system cannot say (lseek(2): SEEK_DATA, SEEK_HOLE).
    pub fn data_extents(&self, most: usize) -> Option<Vec<(u64, u64)>> {
        let TargetKind::File { .. } = self.kind else { return None };
        let mut extents = Vec::new();
        let mut offset = 0;
        while extents.len() < most && offset < self.size_bytes {
            let start = match rustix::fs::seek(self, SeekFrom::Data(offset)) {
                Ok(start) => start,
                Err(Errno::NXIO) => break,
                Err(_) => return None,
            };
            let end = rustix::fs::seek(self, SeekFrom::Hole(start)).ok()?.min(self.size_bytes);
            extents.push((start, end.checked_sub(start)?));
            offset = end;
        }
        Some(extents)
    }

    /// True if the descriptor bypasses the page cache.
    pub const fn direct(&self) -> bool {
        self.direct
    }

    /// Returns a caveat for measurements that only opening the target revealed.
    pub fn remark(&self) -> Option<Caveat> {
        (!self.direct).then_some(Caveat::NoDirect)
    }

    /// Opens a block device, verified by its number.
    pub(crate) fn of_block(target: &BlockTarget) -> Result<Self, TargetError> {
        let name = target.name.as_str();
        let (descriptor, direct) = open_for_reading(&target.path, OFlags::empty(), name)?;
        let stat = rustix::fs::fstat(&descriptor)
            .map_err(|errno| TargetError::of(name, "stat it", errno))?;
        let is_block = FileType::from_raw_mode(stat.st_mode).is_block_device();
        if !is_block || stat.st_rdev != target.number {
            return Err(TargetError::Changed { name: name.into() });
        }
        // Seeking to the end gives the same size as BLKGETSIZE64.
        let size_bytes = rustix::fs::seek(&descriptor, SeekFrom::End(0))
            .map_err(|errno| TargetError::of(name, "read its size", errno))?;
        let block_bytes = rustix::fs::ioctl_blksszget(&descriptor)
            .map_err(|errno| TargetError::of(name, "read its block size", errno))?;
        let kind = TargetKind::Block { name: name.into() };
        Self { name: name.into(), kind, size_bytes, block_bytes, direct, descriptor }.not_empty()
    }

    /// Opens a regular file, verified by its inode.
    pub(crate) fn of_file(target: &PathTarget) -> Result<Self, TargetError> {
        // Its path was resolved; a symbolic link there now is a change.
        let (descriptor, direct) = open_for_reading(&target.path, OFlags::NOFOLLOW, &target.name)?;
        Self::of_descriptor(descriptor, direct, target)?.not_empty()
    }

    /// Clears a pretended target under a job's name for it: an anonymous empty memory file.
    pub(crate) fn of_nothing(name: &str) -> Result<Self, TargetError> {
        let descriptor = rustix::fs::memfd_create(c"nothing", MemfdFlags::CLOEXEC)
            .map_err(|errno| TargetError::of(name, "pretend it", errno))?;
        Ok(Self {
            name: printable(name),
            kind: TargetKind::Nothing,
            size_bytes: NULL_SIZE_BYTES,
            block_bytes: 1,
            direct: true,
            descriptor,
        })
    }

    /// Opens a device that discards all data, verified by its number.
    pub(crate) fn of_sink(path: &str) -> Result<Self, TargetError> {
        let failed = |action| move |errno| TargetError::of(path, action, errno);
        let descriptor = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed("open it"))?;
        let stat = rustix::fs::fstat(&descriptor).map_err(failed("stat it"))?;
        if !is_null_or_zero(&stat) {
            return Err(TargetError::Changed { name: printable(path) });
        }
        Ok(Self { descriptor, ..Self::of_nothing(path)? })
    }

    /// Returns this clearance with another size.
    pub(crate) fn with_size(self, size_bytes: u64) -> Self {
        Self { size_bytes, ..self }
    }

    fn of_descriptor(
        descriptor: OwnedFd,
        direct: bool,
        target: &PathTarget,
    ) -> Result<Self, TargetError> {
        let name = target.name.as_str();
        let stat = rustix::fs::fstat(&descriptor)
            .map_err(|errno| TargetError::of(name, "stat it", errno))?;
        let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
        if !is_file || (stat.st_dev, stat.st_ino) != target.identity {
            return Err(TargetError::Changed { name: name.into() });
        }
        let assumed = target.logical_block_bytes.unwrap_or(ASSUMED_BLOCK_BYTES);
        let (direct, block_bytes) = match direct_alignment_bytes(&descriptor) {
            // O_DIRECT is accepted and ignored (ext4 with data=journal).
            Some(0) => (false, assumed),
            Some(bytes) => (direct, bytes.max(512)),
            None => (direct, assumed),
        };
        Ok(Self {
            name: name.into(),
            kind: TargetKind::File { device: target.device.clone() },
            size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
            block_bytes,
            direct,
            descriptor,
        })
    }

    /// Clears the file behind `descriptor`, however short. It is reopened, so that the new
    /// descriptor cannot write and file systems that check O_DIRECT only in open(2) see it; through
    /// the descriptor, so that it is this file, even without a name.
    pub(crate) fn of_open_file(
        descriptor: &OwnedFd,
        target: &PathTarget,
    ) -> Result<Self, TargetError> {
        let path = reopen_path(descriptor);
        let (descriptor, direct) =
            open_for_reading(Path::new(&path), OFlags::empty(), &target.name)?;
        Self::of_descriptor(descriptor, direct, target)
    }

    /// Returns this clearance with the file's current size, or `grows_to_bytes`, to which it will
    /// be written, if that is larger.
    pub(crate) fn with_current_size(self, grows_to_bytes: u64) -> Result<Self, TargetError> {
        let stat = rustix::fs::fstat(&self)
            .map_err(|errno| TargetError::of(&self.name, "stat it", errno))?;
        let size_bytes = u64::try_from(stat.st_size).unwrap_or(0).max(grows_to_bytes);
        Ok(Self { size_bytes, ..self })
    }

    /// Opens the same device or file again, read only: a new open file description with its own
    /// position and flags.
    ///
    /// If the target does not support O_DIRECT ([`Self::direct`] is false), [`OpenHow::direct`] is
    /// ignored: it is opened through the page cache.
    ///
    /// # Errors
    /// The device is gone, or no descriptors are left.
    pub fn open(&self, how: OpenHow) -> Result<OwnedFd, TargetError> {
        self.open_again(&self.descriptor, OFlags::RDONLY, how)
    }

    /// Opens again what `descriptor`, one of this target, refers to.
    pub(crate) fn open_again(
        &self,
        descriptor: &OwnedFd,
        access: OFlags,
        how: OpenHow,
    ) -> Result<OwnedFd, TargetError> {
        let direct = how.direct && self.direct && self.kind != TargetKind::Nothing;
        let how = OpenHow { direct, ..how };
        let flags = access | how.flags() | OFlags::CLOEXEC;
        rustix::fs::open(reopen_path(descriptor), flags, Mode::empty())
            .map_err(|errno| TargetError::of(&self.name, "reopen it", errno))
    }

    pub(crate) fn not_empty(self) -> Result<Self, TargetError> {
        if self.size_bytes < u64::from(self.block_bytes) {
            let Self { name, size_bytes, block_bytes, .. } = self;
            return Err(TargetError::TooSmall { name, size: size_bytes, block_bytes });
        }
        Ok(self)
    }

    /// Makes another clearance of the same open file.
    pub(crate) fn try_clone(&self) -> Result<Self, TargetError> {
        let descriptor = rustix::io::fcntl_dupfd_cloexec(&self.descriptor, 0)
            .map_err(|errno| TargetError::of(&self.name, "hold it", errno))?;
        Ok(Self { name: self.name.clone(), kind: self.kind.clone(), descriptor, ..*self })
    }
}

impl AsFd for ReadClearance {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// True for /dev/null and /dev/zero, which accept writes and discard the data.
pub fn is_sink(path: &str) -> bool {
    rustix::fs::stat(path).is_ok_and(|stat| is_null_or_zero(&stat))
}

fn is_null_or_zero(stat: &Stat) -> bool {
    let number = (major(stat.st_rdev), minor(stat.st_rdev));
    FileType::from_raw_mode(stat.st_mode).is_char_device() && matches!(number, (1, 3 | 5))
}

/// Path through which the kernel reopens what `descriptor` refers to (proc_pid_fd(5)).
pub(crate) fn reopen_path(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// Opens `path` read only, with O_DIRECT if supported, and returns whether it is.
fn open_for_reading(
    path: &Path,
    flags: OFlags,
    name: &str,
) -> Result<(OwnedFd, bool), TargetError> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
    let open = |flags| rustix::fs::open(path, flags, Mode::empty());
    match open(flags | OFlags::DIRECT) {
        Ok(descriptor) => Ok((descriptor, true)),
        Err(Errno::INVAL) => open(flags)
            .map(|descriptor| (descriptor, false))
            .map_err(|errno| TargetError::of(name, "read it", errno)),
        // It was replaced: O_NOFOLLOW met a symbolic link, or it is gone.
        Err(errno @ (Errno::LOOP | Errno::NOENT)) => Err(TargetError::gone(name, path, errno)),
        Err(errno) => Err(TargetError::of(name, "read it", errno)),
    }
}

/// Returns the alignment that direct I/O on a file requires, bytes; 0: no direct I/O, whatever
/// open(2) says; `None`: unknown to the kernel (statx(2), STATX_DIOALIGN, Linux 6.1).
fn direct_alignment_bytes(descriptor: &OwnedFd) -> Option<u32> {
    let statx =
        rustix::fs::statx(descriptor, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let told = StatxFlags::from_bits_retain(statx.stx_mask).contains(StatxFlags::DIOALIGN);
    let bytes = match statx.stx_dio_offset_align {
        0 => 0,
        offset => offset.max(statx.stx_dio_mem_align),
    };
    told.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::resolve;
    use crate::testing::host_under;

    #[test]
    fn a_file_is_held_read_only_and_directly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, vec![7; 10_000]).unwrap();
        let host = host_under(dir.path());
        let target = resolve(&host, path.to_str().unwrap()).unwrap().remove(0);
        let clearance = target.clear_for_reading().unwrap();

        assert_eq!(clearance.name(), path.canonicalize().unwrap().to_str().unwrap());
        assert_eq!(clearance.kind(), &TargetKind::File { device: Some("disk0".into()) });
        assert_eq!(clearance.size_bytes(), 10_000);
        assert!(clearance.block_bytes().is_power_of_two() && clearance.block_bytes() >= 512);
        let flags = rustix::fs::fcntl_getfl(&clearance).unwrap();
        assert_eq!(flags & OFlags::RWMODE, OFlags::RDONLY);
        assert_eq!(flags.contains(OFlags::DIRECT), clearance.direct());
        assert_eq!(clearance.remark().is_none(), clearance.direct());
        assert!(rustix::io::write(&clearance, b"x").is_err());
    }

    #[test]
    fn what_took_the_place_of_a_file_is_not_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, vec![7; 8192]).unwrap();
        let host = host_under(dir.path());
        let target = resolve(&host, path.to_str().unwrap()).unwrap().remove(0);

        let another = dir.path().join("another");
        fs::write(&another, vec![8; 8192]).unwrap();
        fs::rename(&another, &path).unwrap();
        assert!(matches!(target.clear_for_reading(), Err(TargetError::Changed { .. })));

        fs::rename(&path, &another).unwrap();
        std::os::unix::fs::symlink(&another, &path).unwrap();
        assert!(matches!(target.clear_for_reading(), Err(TargetError::Changed { .. })));

        fs::remove_file(&path).unwrap();
        assert!(matches!(target.clear_for_reading(), Err(TargetError::Changed { .. })));
    }

    #[test]
    fn files_smaller_than_a_block_and_directories_are_not_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("small");
        fs::write(&path, b"small").unwrap();
        let host = host_under(dir.path());
        let clear = |path: &Path| {
            resolve(&host, path.to_str().unwrap()).unwrap()[0].clear_for_reading().unwrap_err()
        };
        assert!(matches!(clear(&path), TargetError::TooSmall { size: 5, .. }));
        assert!(matches!(clear(dir.path()), TargetError::Refused { .. }));
    }
}
