//! The proof that a target may be written.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Dev, OFlags};
use rustix::io::Errno;

use crate::job_files::FileEntry;
use crate::job_files::mark::MarkOnDrop;
use crate::open_how::OpenHow;
use crate::{PathTarget, ReadClearance, TargetError};

/// The proof that a target may be written. It holds the descriptor until it is dropped: a block
/// device O_RDWR and O_EXCL, so that nobody can mount it or add it to an array meanwhile, a file
/// O_RDWR.
///
/// Trimming counts as writing. Writing includes reading: [`Self::as_read`].
#[derive(Debug)]
pub struct WriteClearance {
    read: ReadClearance,
    descriptor: OwnedFd,
    /// Device and inode number; for a block device its device number and minor number.
    identity: (Dev, u64),
    /// Words of the permission that name it.
    words: Vec<String>,
    /// Marks a file that iodyno laid out after writing.
    mark: Option<MarkOnDrop>,
    /// The directory entry of a job that works on nothing else.
    entry: Option<Arc<FileEntry>>,
}

impl WriteClearance {
    /// Made by the guard only, after all checks.
    pub(crate) fn of_verified(
        read: ReadClearance,
        descriptor: OwnedFd,
        identity: (Dev, u64),
        words: Vec<String>,
    ) -> Self {
        Self { read, descriptor, identity, words, mark: None, entry: None }
    }

    /// Clears a file that was created by opening `descriptor` with O_EXCL or O_TMPFILE: nobody
    /// else's data can be in it. `target` is the directory or the path that it is shown as.
    pub(crate) fn of_new_file(
        descriptor: OwnedFd,
        target: &PathTarget,
    ) -> Result<Self, TargetError> {
        let failed = |errno| TargetError::of(&target.name, "prepare its file", errno);
        let stat = rustix::fs::fstat(&descriptor).map_err(failed)?;
        let identity = (stat.st_dev, stat.st_ino);
        let target = target.with_identity(identity);
        // Set afterwards: if O_DIRECT is not supported, open(2) fails after creating the file.
        let flags = rustix::fs::fcntl_getfl(&descriptor).map_err(failed)?;
        match rustix::fs::fcntl_setfl(&descriptor, flags | OFlags::DIRECT) {
            Ok(()) | Err(Errno::INVAL) => {}
            Err(errno) => return Err(failed(errno)),
        }
        let read = ReadClearance::of_open_file(&descriptor, &target)?;
        Ok(Self { read, descriptor, identity, words: Vec::new(), mark: None, entry: None })
    }

    /// Clears a pretended target under a job's name for it, whatever has that name.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn of_nothing(name: &str) -> Result<Self, TargetError> {
        Self::discarding(ReadClearance::of_nothing(name)?)
    }

    /// Clears a device that discards all data: /dev/null or /dev/zero.
    ///
    /// # Errors
    /// It was replaced by another device, or cannot be opened.
    pub fn of_sink(path: &str) -> Result<Self, TargetError> {
        Self::discarding(ReadClearance::of_sink(path)?)
    }

    fn discarding(read: ReadClearance) -> Result<Self, TargetError> {
        let descriptor = rustix::io::fcntl_dupfd_cloexec(&read, 0)
            .map_err(|errno| TargetError::of(read.name(), "pretend it", errno))?;
        let words = Vec::new();
        Ok(Self { read, descriptor, identity: (0, 0), words, mark: None, entry: None })
    }

    /// Clears a directory entry without content; a job counts `size_bytes` for it.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn of_entry(name: &str, entry: FileEntry, size_bytes: u64) -> Result<Self, TargetError> {
        let nothing = Self::of_nothing(name)?;
        let read = nothing.read.with_size(size_bytes);
        Ok(Self { read, entry: Some(Arc::new(entry)), ..nothing })
    }

    /// The directory entry of a job that works on nothing else.
    pub fn entry(&self) -> Option<&Arc<FileEntry>> {
        self.entry.as_ref()
    }

    /// The clearance for reading: name, kind, size, blocks.
    pub const fn as_read(&self) -> &ReadClearance {
        &self.read
    }

    /// Opens the same device or file again, for reading and writing: a new open file description
    /// with its own position and flags. A device stays held by this clearance, not by the new
    /// descriptor.
    ///
    /// If the target does not support O_DIRECT ([`ReadClearance::direct`] is false),
    /// [`OpenHow::direct`] is ignored: it is opened through the page cache.
    ///
    /// # Errors
    /// The device is gone, or no descriptors are left.
    pub fn open(&self, how: OpenHow) -> Result<OwnedFd, TargetError> {
        self.read.open_again(&self.descriptor, OFlags::RDWR, how)
    }

    /// Device and inode number of a file.
    pub(crate) const fn identity(&self) -> (Dev, u64) {
        self.identity
    }

    /// Words of the permission that name it.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the clearance of a file that iodyno laid out, to be marked once it is written.
    pub(crate) fn laid_out(self) -> Result<Self, TargetError> {
        let file = self.read.open(OpenHow { direct: false, ..OpenHow::default() })?;
        Ok(Self { mark: Some(MarkOnDrop(file)), ..self })
    }

    /// Marks a file that iodyno laid out in its present state.
    pub(crate) fn mark_now(&self) {
        self.mark.iter().for_each(MarkOnDrop::now);
    }

    /// Returns it with these words of the permission.
    pub(crate) fn named_by(self, words: Vec<String>) -> Self {
        Self { words, ..self }
    }

    /// Returns it with the file's current size, or `grows_to_bytes` if that is larger.
    pub(crate) fn with_current_size(self, grows_to_bytes: u64) -> Result<Self, TargetError> {
        Ok(Self { read: self.read.with_current_size(grows_to_bytes)?, ..self })
    }

    /// Converts to a clearance for reading, with the file's current size.
    pub(crate) fn into_read_clearance(self) -> Result<ReadClearance, TargetError> {
        self.read.with_current_size(0)?.not_empty()
    }
}

impl AsFd for WriteClearance {
    /// The descriptor that is held, for reading and writing.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
