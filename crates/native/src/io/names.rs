//! filecreate, filestat and filedelete: one operation on the name of each file, and no I/O.

use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use iodyno_target::{FileEntry, Lookup};
use rustix::io::Errno;

use super::{Completion, Descriptor, Io, Opened, Operation, Rights, Setup, SetupError};
use crate::buffers::Buffers;

/// What is done to a name.
pub(crate) trait NameOperation {
    /// fio's name of the engine.
    const NAME: &'static str;
    /// It changes something.
    const CHANGES: bool;

    /// What has to be sure before; its time does not count.
    fn before(_: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }

    /// Does it; what it opened is closed when its time does not count any more.
    fn make(entry: &FileEntry, lookup: Lookup) -> Result<Option<OwnedFd>, Errno>;
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

/// One operation at a time.
#[derive(Debug)]
pub(crate) struct Names<T> {
    entries: Vec<Arc<FileEntry>>,
    lookup: Lookup,
    queued: Option<(Descriptor, Result<(), Errno>)>,
    done: Option<Completion>,
    /// What the last operation opened, and its file.
    opened: Option<(u16, OwnedFd)>,
    buffers: Buffers,
    rights: Rights,
    operation: PhantomData<T>,
}

impl<T: NameOperation> Io for Names<T> {
    const NAME: &'static str = T::NAME;

    fn open(setup: Setup) -> Result<Opened<Self>, SetupError> {
        let Setup { entries, length, options, writable, .. } = setup;
        if T::CHANGES && !writable {
            return Err(SetupError::invalid("an engine that changes, on what is only read"));
        }
        let buffers = Buffers::new(1, length).map_err(SetupError::of("mmap of the buffers"))?;
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
            // There is nothing to be synced.
            Operation::Sync | Operation::DataSync => 0,
            _ => {
                let entry = &self.entries[usize::from(file)];
                match ready.and_then(|()| T::make(entry, self.lookup)) {
                    Ok(opened) => {
                        self.opened = opened.map(|opened| (file, opened));
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

impl<T> Names<T> {
    /// Closes what the last operation opened.
    fn close(&mut self) {
        if let Some((file, opened)) = self.opened.take() {
            self.entries[usize::from(file)].note(&opened);
        }
    }
}

impl<T> Drop for Names<T> {
    fn drop(&mut self) {
        self.close();
    }
}
