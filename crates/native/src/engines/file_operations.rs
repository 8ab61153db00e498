//! Engines `filecreate`, `filestat`, `filedelete` and their `dir*` counterparts: one operation per
//! name, no I/O.

use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use iodyno_target::{FileEntry, Lookup};
use rustix::io::Errno;

use super::{Completion, Engine, IoUnit, Opened, Operation, Rights, Setup, SetupError};
use crate::buffers::Buffers;

/// An operation on a name.
pub(crate) trait FileOperation {
    /// fio's name of the engine.
    const NAME: &'static str;
    /// Modifies the file system.
    const MODIFIES: bool;

    /// Prepares an entry before the job.
    fn prepare(_: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }

    /// Checks an entry before the operation, untimed.
    fn before(_: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }

    /// Executes the operation. The returned file is closed after the timed part.
    fn execute(entry: &FileEntry, lookup: Lookup) -> Result<Option<OwnedFd>, Errno>;

    /// Records the result of [`Self::execute`], untimed.
    fn after(entry: &FileEntry, opened: Option<OwnedFd>) {
        if let Some(opened) = opened {
            entry.note(&opened);
        }
    }
}

/// filecreate.
#[derive(Debug)]
pub(crate) struct CreateFile;
/// filestat.
#[derive(Debug)]
pub(crate) struct StatFile;
/// filedelete.
#[derive(Debug)]
pub(crate) struct DeleteFile;

pub(crate) type FileCreate = FileOperations<CreateFile>;
pub(crate) type FileStat = FileOperations<StatFile>;
pub(crate) type FileDelete = FileOperations<DeleteFile>;

/// dircreate.
#[derive(Debug)]
pub(crate) struct CreateDirectory;
/// dirstat.
#[derive(Debug)]
pub(crate) struct StatDirectory;
/// dirdelete.
#[derive(Debug)]
pub(crate) struct DeleteDirectory;

pub(crate) type DirCreate = FileOperations<CreateDirectory>;
pub(crate) type DirStat = FileOperations<StatDirectory>;
pub(crate) type DirDelete = FileOperations<DeleteDirectory>;

impl FileOperation for CreateFile {
    const NAME: &'static str = "filecreate";
    const MODIFIES: bool = true;

    fn execute(entry: &FileEntry, _: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.make().map(Some)
    }
}

impl FileOperation for StatFile {
    const NAME: &'static str = "filestat";
    const MODIFIES: bool = false;

    fn execute(entry: &FileEntry, lookup: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.look(lookup).map(|()| None)
    }
}

impl FileOperation for DeleteFile {
    const NAME: &'static str = "filedelete";
    const MODIFIES: bool = true;

    fn before(entry: &FileEntry) -> Result<(), Errno> {
        entry.may_be_removed()
    }

    fn execute(entry: &FileEntry, _: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.remove().map(|()| None)
    }
}

impl FileOperation for CreateDirectory {
    const NAME: &'static str = "dircreate";
    const MODIFIES: bool = true;

    fn execute(entry: &FileEntry, _: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.make_directory().map(|()| None)
    }

    fn after(entry: &FileEntry, _: Option<OwnedFd>) {
        entry.note_directory();
    }
}

impl FileOperation for StatDirectory {
    const NAME: &'static str = "dirstat";
    const MODIFIES: bool = false;

    fn prepare(entry: &FileEntry) -> Result<(), Errno> {
        create_missing(entry)
    }

    fn execute(entry: &FileEntry, lookup: Lookup) -> Result<Option<OwnedFd>, Errno> {
        StatFile::execute(entry, lookup)
    }
}

impl FileOperation for DeleteDirectory {
    const NAME: &'static str = "dirdelete";
    const MODIFIES: bool = true;

    fn prepare(entry: &FileEntry) -> Result<(), Errno> {
        create_missing(entry)
    }

    fn before(entry: &FileEntry) -> Result<(), Errno> {
        entry.may_be_removed()
    }

    fn execute(entry: &FileEntry, _: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.remove().map(|()| None)
    }
}

/// Creates missing directories that will be looked up or removed, as fio does.
fn create_missing(entry: &FileEntry) -> Result<(), Errno> {
    match entry.make_directory() {
        Ok(()) => entry.note_directory(),
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    Ok(())
}

/// Executes one operation at a time.
#[derive(Debug)]
pub(crate) struct FileOperations<T: FileOperation> {
    entries: Vec<Arc<FileEntry>>,
    lookup: Lookup,
    queued: Option<(IoUnit, Result<(), Errno>)>,
    done: Option<Completion>,
    /// File of the last successful operation, and its open descriptor.
    opened: Option<(u16, Option<OwnedFd>)>,
    buffers: Buffers,
    rights: Rights,
    operation: PhantomData<T>,
}

impl<T: FileOperation> Engine for FileOperations<T> {
    const NAME: &'static str = T::NAME;

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let buffers = setup.buffers(1)?;
        let Setup { entries, options, writable, .. } = setup;
        if T::MODIFIES && !writable {
            return Err(SetupError::invalid("an engine that changes, on what is only read"));
        }
        let prepared = entries.iter().try_for_each(|entry| T::prepare(entry));
        prepared.map_err(|errno| SetupError::during("mkdir")(errno.into()))?;
        let engine = Self {
            entries,
            lookup: options.lookup,
            queued: None,
            done: None,
            opened: None,
            buffers,
            rights: Rights { writable },
            operation: PhantomData,
        };
        Ok(Opened { engine, depth: 1, registered_buffers: None, shortfalls: Vec::new() })
    }

    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.rights.check(batch.clone());
        for unit in batch {
            assert!(self.queued.is_none(), "one I/O at a time");
            self.close();
            let ready = match unit.operation {
                Operation::Sync | Operation::DataSync => Ok(()),
                _ => T::before(&self.entries[usize::from(unit.file)]),
            };
            self.queued = Some((unit, ready));
        }
    }

    #[inline(always)]
    fn enter(&mut self, _wait: u32) -> io::Result<()> {
        let Some((unit, ready)) = self.queued.take() else { return Ok(()) };
        let IoUnit { slot, file, length, operation, .. } = unit;
        let result = match operation {
            // Nothing to sync.
            Operation::Sync | Operation::DataSync => 0,
            _ => {
                let entry = &self.entries[usize::from(file)];
                match ready.and_then(|()| T::execute(entry, self.lookup)) {
                    Ok(opened) => {
                        self.opened = Some((file, opened));
                        length.into()
                    }
                    Err(errno) => -i64::from(errno.raw_os_error()),
                }
            }
        };
        self.done = Some(Completion { slot, result });
        Ok(())
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.done.take().into_iter()
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

impl<T: FileOperation> FileOperations<T> {
    /// Closes the file of the last operation.
    fn close(&mut self) {
        if let Some((file, opened)) = self.opened.take() {
            T::after(&self.entries[usize::from(file)], opened);
        }
    }
}

impl<T: FileOperation> Drop for FileOperations<T> {
    fn drop(&mut self) {
        self.close();
    }
}
