//! The proof that a target may be written.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Dev, OFlags};
use rustix::io::Errno;

use crate::job_files::FileEntry;
use crate::job_files::mark::MarkedWhenClosed;
use crate::open_how::OpenHow;
use crate::{PathTarget, ReadClearance, TargetError};

/// The proof that a target may be written. Until it is dropped it holds the
/// descriptor: a block device O_RDWR and O_EXCL, so that nobody can mount it
/// or build an array of it meanwhile, a file O_RDWR.
///
/// Trimming is writing. What may be written may be read: [`Self::as_read`].
#[derive(Debug)]
pub struct WriteClearance {
    read: ReadClearance,
    descriptor: OwnedFd,
    /// Device and inode number; of a block device its own number twice.
    identity: (Dev, u64),
    /// The words of the permission that name it.
    words: Vec<String>,
    /// A file that iodyno laid out bears the mark of what is written into it.
    mark: Option<MarkedWhenClosed>,
    /// The name that is all that a job works on.
    entry: Option<Arc<FileEntry>>,
}

impl WriteClearance {
    /// Only for the guard, which has verified all that there is to verify.
    pub(crate) fn of_verified(
        read: ReadClearance,
        descriptor: OwnedFd,
        identity: (Dev, u64),
        words: Vec<String>,
    ) -> Self {
        Self { read, descriptor, identity, words, mark: None, entry: None }
    }

    /// For a file that was made by opening `descriptor` with O_EXCL or
    /// O_TMPFILE: nobody else's data can be in it. `target` is the directory
    /// or the path that it is shown as.
    pub(crate) fn of_new_file(
        descriptor: OwnedFd,
        target: &PathTarget,
    ) -> Result<Self, TargetError> {
        let failed = |errno| TargetError::of(&target.name, "prepare its file", errno);
        let stat = rustix::fs::fstat(&descriptor).map_err(failed)?;
        let identity = (stat.st_dev, stat.st_ino);
        let target = target.with_identity(identity);
        // Set afterwards: where O_DIRECT is not supported, open(2) fails after
        // having made the file.
        let flags = rustix::fs::fcntl_getfl(&descriptor).map_err(failed)?;
        match rustix::fs::fcntl_setfl(&descriptor, flags | OFlags::DIRECT) {
            Ok(()) | Err(Errno::INVAL) => {}
            Err(errno) => return Err(failed(errno)),
        }
        let read = ReadClearance::of_open_file(&descriptor, &target)?;
        Ok(Self { read, descriptor, identity, words: Vec::new(), mark: None, entry: None })
    }

    /// Of nothing: no bytes behind the name that a job has for it, whatever that names.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn of_nothing(name: &str) -> Result<Self, TargetError> {
        Self::keeping_nothing(ReadClearance::of_nothing(name)?)
    }

    /// Of a device that keeps nothing: /dev/null or /dev/zero.
    ///
    /// # Errors
    /// It is another one by now, or cannot be opened.
    pub fn of_sink(path: &str) -> Result<Self, TargetError> {
        Self::keeping_nothing(ReadClearance::of_sink(path)?)
    }

    fn keeping_nothing(read: ReadClearance) -> Result<Self, TargetError> {
        let descriptor = rustix::io::fcntl_dupfd_cloexec(&read, 0)
            .map_err(|errno| TargetError::of(read.name(), "pretend it", errno))?;
        let words = Vec::new();
        Ok(Self { read, descriptor, identity: (0, 0), words, mark: None, entry: None })
    }

    /// Of the name of a file and nothing in it; a job counts `size_bytes` of it.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn of_entry(name: &str, entry: FileEntry, size_bytes: u64) -> Result<Self, TargetError> {
        let nothing = Self::of_nothing(name)?;
        let read = nothing.read.of_size(size_bytes);
        Ok(Self { read, entry: Some(Arc::new(entry)), ..nothing })
    }

    /// The name that is all that a job works on.
    pub fn entry(&self) -> Option<&Arc<FileEntry>> {
        self.entry.as_ref()
    }

    /// It as what may be read: name, kind, size, blocks.
    pub const fn as_read(&self) -> &ReadClearance {
        &self.read
    }

    /// Opens the same device or file again, for reading and writing: a new
    /// open file description with a position and flags of its own. A device
    /// stays held by this clearance, not by what is opened here.
    ///
    /// Where the target takes no O_DIRECT ([`ReadClearance::direct`] is
    /// false), [`OpenHow::direct`] asks in vain: it is opened through the page
    /// cache.
    ///
    /// # Errors
    /// The device is gone, or no descriptor is left.
    pub fn open(&self, how: OpenHow) -> Result<OwnedFd, TargetError> {
        self.read.open_again(&self.descriptor, OFlags::RDWR, how)
    }

    /// Device and inode number of a file.
    pub(crate) const fn identity(&self) -> (Dev, u64) {
        self.identity
    }

    /// The words of the permission that name it.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// It, of a file that iodyno laid out: marked as such once it is written.
    pub(crate) fn laid_out(self) -> Result<Self, TargetError> {
        let file = self.read.open(OpenHow { direct: false, ..OpenHow::default() })?;
        Ok(Self { mark: Some(MarkedWhenClosed(file)), ..self })
    }

    /// Marks a file that iodyno laid out as it is now.
    pub(crate) fn mark_now(&self) {
        self.mark.iter().for_each(MarkedWhenClosed::now);
    }

    /// It, with these words of the permission.
    pub(crate) fn named_by(self, words: Vec<String>) -> Self {
        Self { words, ..self }
    }

    /// Its file was written and will grow to `grows_to_bytes` at least.
    pub(crate) fn sized_anew(self, grows_to_bytes: u64) -> Result<Self, TargetError> {
        Ok(Self { read: self.read.sized_anew(grows_to_bytes)?, ..self })
    }

    /// Gives up writing for reading, a file with the size that it has now.
    pub(crate) fn into_read_clearance(self) -> Result<ReadClearance, TargetError> {
        self.read.sized_anew(0)?.not_empty()
    }
}

impl AsFd for WriteClearance {
    /// The held descriptor, for reading and writing.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
