//! Engines `filecreate`, `filestat`, `filedelete` and their `dir*` counterparts: one operation per
//! name, no I/O.

use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use iodyno_target::{FileEntry, Lookup};
use rustix::io::Errno;

use super::{Completion, Descriptor, Io, Opened, Operation, Rights, Setup, SetupError};
use crate::buffers::Buffers;

/// An operation on a name.
pub(crate) trait NameOperation {
    /// fio's name of the engine.
    const NAME: &'static str;
    /// Modifies the file system.
    const CHANGES: bool;

    /// Prepares an entry before the job.
    fn prepare(_: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }

    /// Checks an entry before the operation, untimed.
    fn before(_: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }

    /// Executes the operation. The returned file is closed after the timed part.
    fn make(entry: &FileEntry, lookup: Lookup) -> Result<Option<OwnedFd>, Errno>;

    /// Records the result of [`Self::make`], untimed.
    fn after(entry: &FileEntry, opened: Option<OwnedFd>) {
        if let Some(opened) = opened {
            entry.note(&opened);
        }
    }
}

/// filecreate.
#[derive(Debug)]
pub(crate) struct Creating;
/// filestat.
#[derive(Debug)]
pub(crate) struct Looking;
/// filedelete.
#[derive(Debug)]
pub(crate) struct Deleting;

pub(crate) type FileCreate = Names<Creating>;
pub(crate) type FileStat = Names<Looking>;
pub(crate) type FileDelete = Names<Deleting>;

/// dircreate.
#[derive(Debug)]
pub(crate) struct CreatingDirectory;
/// dirstat.
#[derive(Debug)]
pub(crate) struct LookingAtDirectory;
/// dirdelete.
#[derive(Debug)]
pub(crate) struct DeletingDirectory;

pub(crate) type DirCreate = Names<CreatingDirectory>;
pub(crate) type DirStat = Names<LookingAtDirectory>;
pub(crate) type DirDelete = Names<DeletingDirectory>;

impl NameOperation for Creating {
    const NAME: &'static str = "filecreate";
    const CHANGES: bool = true;

    fn make(entry: &FileEntry, _: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.make().map(Some)
    }
}

impl NameOperation for Looking {
    const NAME: &'static str = "filestat";
    const CHANGES: bool = false;

    fn make(entry: &FileEntry, lookup: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.look(lookup).map(|()| None)
    }
}

impl NameOperation for Deleting {
    const NAME: &'static str = "filedelete";
    const CHANGES: bool = true;

    fn before(entry: &FileEntry) -> Result<(), Errno> {
        entry.may_be_removed()
    }

    fn make(entry: &FileEntry, _: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.remove().map(|()| None)
    }
}

impl NameOperation for CreatingDirectory {
    const NAME: &'static str = "dircreate";
    const CHANGES: bool = true;

    fn make(entry: &FileEntry, _: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.make_directory().map(|()| None)
    }

    fn after(entry: &FileEntry, _: Option<OwnedFd>) {
        entry.note_directory();
    }
}

impl NameOperation for LookingAtDirectory {
    const NAME: &'static str = "dirstat";
    const CHANGES: bool = false;

    fn prepare(entry: &FileEntry) -> Result<(), Errno> {
        make_missing(entry)
    }

    fn make(entry: &FileEntry, lookup: Lookup) -> Result<Option<OwnedFd>, Errno> {
        Looking::make(entry, lookup)
    }
}

impl NameOperation for DeletingDirectory {
    const NAME: &'static str = "dirdelete";
    const CHANGES: bool = true;

    fn prepare(entry: &FileEntry) -> Result<(), Errno> {
        make_missing(entry)
    }

    fn before(entry: &FileEntry) -> Result<(), Errno> {
        entry.may_be_removed()
    }

    fn make(entry: &FileEntry, _: Lookup) -> Result<Option<OwnedFd>, Errno> {
        entry.remove().map(|()| None)
    }
}

/// Creates missing directories that will be looked up or removed, as fio does.
fn make_missing(entry: &FileEntry) -> Result<(), Errno> {
    match entry.make_directory() {
        Ok(()) => entry.note_directory(),
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    Ok(())
}

/// Executes one operation at a time.
#[derive(Debug)]
pub(crate) struct Names<T: NameOperation> {
    entries: Vec<Arc<FileEntry>>,
    lookup: Lookup,
    queued: Option<(Descriptor, Result<(), Errno>)>,
    done: Option<Completion>,
    /// File of the last successful operation, and its open descriptor.
    opened: Option<(u16, Option<OwnedFd>)>,
    buffers: Buffers,
    rights: Rights,
    operation: PhantomData<T>,
}

impl<T: NameOperation> Io for Names<T> {
    const NAME: &'static str = T::NAME;

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let buffers = setup.buffers(1)?;
        let Setup { entries, options, writable, .. } = setup;
        if T::CHANGES && !writable {
            return Err(SetupError::invalid("an engine that changes, on what is only read"));
        }
        let prepared = entries.iter().try_for_each(|entry| T::prepare(entry));
        prepared.map_err(|errno| SetupError::of("mkdir")(errno.into()))?;
        let io = Self {
            entries,
            lookup: options.lookup,
            queued: None,
            done: None,
            opened: None,
            buffers,
            rights: Rights { writable },
            operation: PhantomData,
        };
        Ok(Opened { io, depth: 1, registered_buffers: None, shortfalls: Vec::new() })
    }

    fn queue(&mut self, batch: impl Iterator<Item = Descriptor> + Clone) {
        self.rights.check(batch.clone());
        for descriptor in batch {
            assert!(self.queued.is_none(), "one I/O at a time");
            self.close();
            let ready = match descriptor.operation {
                Operation::Sync | Operation::DataSync => Ok(()),
                _ => T::before(&self.entries[usize::from(descriptor.file)]),
            };
            self.queued = Some((descriptor, ready));
        }
    }

    #[inline(always)]
    fn enter(&mut self, _wait: u32) -> io::Result<()> {
        let Some((descriptor, ready)) = self.queued.take() else { return Ok(()) };
        let Descriptor { slot, file, length, operation, .. } = descriptor;
        let result = match operation {
            // Nothing to sync.
            Operation::Sync | Operation::DataSync => 0,
            _ => {
                let entry = &self.entries[usize::from(file)];
                match ready.and_then(|()| T::make(entry, self.lookup)) {
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

impl<T: NameOperation> Names<T> {
    /// Closes the file of the last operation.
    fn close(&mut self) {
        if let Some((file, opened)) = self.opened.take() {
            T::after(&self.entries[usize::from(file)], opened);
        }
    }
}

impl<T: NameOperation> Drop for Names<T> {
    fn drop(&mut self) {
        self.close();
    }
}
