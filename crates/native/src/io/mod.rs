//! I/O engines: how I/O is handed to the kernel and fetched back.
//!
//! An engine that was not set up as [`Setup::writable`] cannot change a
//! target: [`Rights`] stands before everything that it queues.

mod bus_error;
mod falloc;
mod files;
mod libaio;
mod marked;
mod mmap;
mod names;
mod null;
mod nvme_command;
mod offload;
mod one_by_one;
mod page_fault;
mod posixaio;
mod psync;
mod pvsync2;
mod ring;
mod splice;
mod sync;
mod sync_ops;
mod syscall;
mod uring;
mod uring_cmd;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use iodyno_model::Caveat;
use iodyno_target::{FileEntry, Lookup};
use thiserror::Error;

use crate::buffers::{Buffers, Part};
use crate::clock::Clock;
use crate::failure::error_name;
use crate::priorities::Priorities;
use crate::usage::Usage;

pub(crate) use crate::descriptor::{Descriptor, What};
pub(crate) use falloc::{Falloc, Ftruncate};
pub(crate) use iodyno_job::Operation;
pub(crate) use libaio::Libaio;
pub(crate) use marked::Marked;
pub(crate) use mmap::Mmap;
pub(crate) use names::{DirCreate, DirDelete, DirStat, FileCreate, FileDelete, FileStat};
pub(crate) use null::Null;
pub(crate) use offload::{Offload, Submit, submit_by};
pub(crate) use page_fault::PageFault;
pub(crate) use posixaio::Posixaio;
pub(crate) use psync::Psync;
pub(crate) use pvsync2::Pvsync2;
pub(crate) use splice::Splice;
pub(crate) use sync::Sync;
pub(crate) use uring::Uring;
pub(crate) use uring_cmd::UringCmd;

/// I/Os that are handed over with one system call, at most, where the job does
/// not say. Larger batches gain nothing (211 ns an I/O at 32, 208 ns at 128)
/// and would delay the first.
pub(crate) const BATCH: usize = 32;

/// An I/O that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Completion {
    /// As in its descriptor.
    pub(crate) slot: u16,
    /// Bytes that were read, written or trimmed (0 for a sync), or a negative
    /// errno. A success is a result that equals the descriptor's length.
    pub(crate) result: i64,
}

/// What an engine works on, and how.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The targets, opened as the job needs them (O_DIRECT, for writing).
    /// `sync` moves their positions: for it they must be opened anew for each
    /// thread, not duplicated.
    pub(crate) files: Vec<OwnedFd>,
    /// The descriptors that claim block devices (O_EXCL), one for each of `files`; empty where
    /// nothing is trimmed. By any other the kernel refuses to discard what is in the page cache
    /// and dirty (EBUSY), since another one claims it.
    pub(crate) claims: Vec<OwnedFd>,
    /// What `io_uring_cmd` talks to, in place of the one entry of `files`,
    /// which is held all the same: it is the claim on the block device.
    pub(crate) character: Option<Character>,
    /// What engines work on that know names only, in place of `files`.
    pub(crate) entries: Vec<Arc<FileEntry>>,
    /// I/Os in flight at most.
    pub(crate) depth: u16,
    /// The largest block, bytes.
    pub(crate) length: u32,
    /// How the engine is to go about it.
    pub(crate) options: EngineOptions,
    /// It may write, trim and sync. Otherwise it can do nothing but read.
    pub(crate) writable: bool,
    /// How the threads of `offload` submit.
    pub(crate) submit: Option<Submit>,
    /// The buffer that it works on, where that is another thread's.
    pub(crate) part: Option<Part>,
    /// Priorities of single I/Os, for [`Marked`].
    pub(crate) priorities: Option<Priorities>,
}

impl Setup {
    /// For reading `file` with all that makes it fast.
    pub(crate) fn reading(file: OwnedFd, depth: u16, length: u32) -> Self {
        let (files, options) = (vec![file], EngineOptions::default());
        Self {
            files,
            claims: Vec::new(),
            character: None,
            entries: Vec::new(),
            depth,
            length,
            options,
            writable: false,
            submit: None,
            part: None,
            priorities: None,
        }
    }

    /// Memory for `count` I/Os.
    fn buffers(&mut self, count: u16) -> Result<Buffers, SetupError> {
        match self.part.take() {
            Some(part) => Ok(Buffers::borrowed(part)),
            None => Buffers::new(count.into(), self.length)
                .map_err(SetupError::of("mmap of the buffers")),
        }
    }

    /// The same for one I/O at a time, on buffer `slot` of `buffers`.
    fn of_slot(&self, buffers: &Buffers, slot: u16) -> io::Result<Self> {
        let again = |files: &[OwnedFd]| -> io::Result<Vec<OwnedFd>> {
            files.iter().map(OwnedFd::try_clone).collect()
        };
        let character = self.character.as_ref().map(|one| {
            let device = one.device.try_clone()?;
            io::Result::Ok(Character { device, nsid: one.nsid, lba_shift: one.lba_shift })
        });
        Ok(Self {
            files: again(&self.files)?,
            claims: again(&self.claims)?,
            character: character.transpose()?,
            entries: self.entries.clone(),
            depth: 1,
            length: self.length,
            options: self.options.clone(),
            writable: self.writable,
            submit: None,
            part: Some(buffers.part(slot)),
            priorities: None,
        })
    }
}

/// An NVMe namespace by its generic character device, `/dev/ng0n1`.
#[derive(Debug)]
pub(crate) struct Character {
    /// The opened device.
    pub(crate) device: OwnedFd,
    /// The namespace's number, as NVME_IOCTL_ID says it.
    pub(crate) nsid: u32,
    /// Logarithm of the size of a logical block, of which offsets and lengths
    /// are multiples. The format has no metadata in line with the data.
    pub(crate) lba_shift: u8,
}

/// fio's options of engines. What an engine knows nothing of it ignores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineOptions {
    /// I/Os that are handed over with one system call, at most; 1 or more.
    pub(crate) batch: u16,
    /// `fixedbufs`: buffers are registered, where that is possible.
    pub(crate) fixed_buffers: bool,
    /// `registerfiles`: so are the targets.
    pub(crate) registered_files: bool,
    /// `hipri`: completions are polled for, without interrupts.
    pub(crate) polled: bool,
    /// `sqthread_poll`, and the CPU of `sqthread_poll_cpu`: a kernel thread
    /// takes the submissions.
    pub(crate) sqpoll: Option<Option<u32>>,
    /// `nowait`: what would block is refused with EAGAIN (RWF_NOWAIT).
    pub(crate) nowait: bool,
    /// `uncached`: through the page cache, but not kept there (RWF_DONTCACHE).
    pub(crate) uncached: bool,
    /// `force_async`: kernel threads make each I/O, or every Nth (IOSQE_ASYNC); 0: none.
    pub(crate) force_async: u32,
    /// `stat_type`.
    pub(crate) lookup: Lookup,
    /// `atomic`: a write is done in whole or not at all (RWF_ATOMIC).
    pub(crate) atomic: bool,
    /// What `page_fault` works on, bytes.
    pub(crate) memory_bytes: u64,
    /// The job goes through its files in order: `mmap` lets the kernel read
    /// ahead. Otherwise a fault fetches one page.
    pub(crate) sequential: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            batch: BATCH as u16,
            fixed_buffers: true,
            registered_files: true,
            polled: false,
            sqpoll: None,
            nowait: false,
            uncached: false,
            force_async: 0,
            lookup: Lookup::default(),
            atomic: false,
            memory_bytes: 0,
            sequential: false,
        }
    }
}

impl EngineOptions {
    /// `RWF_*` (linux/fs.h) of reads and of writes.
    fn rw_flags(&self) -> [u32; 2] {
        const RWF_ATOMIC: u32 = 0x40;
        const RWF_DONTCACHE: i32 = 0x80;
        let flags = [(self.nowait, libc::RWF_NOWAIT), (self.uncached, RWF_DONTCACHE)];
        let wanted = flags.iter().filter(|(wanted, _)| *wanted);
        let both = wanted.fold(0, |all, (_, flag)| all | *flag as u32);
        [both, both | if self.atomic { RWF_ATOMIC } else { 0 }]
    }
}

const MUST_NOT: &str = "a job that only reads must do nothing else";

/// What an engine may queue.
#[derive(Debug, Clone, Copy)]
struct Rights {
    writable: bool,
}

impl Rights {
    /// # Panics
    /// Where one of `batch` may change a target and none may: a bug that must
    /// end here, before anything leaves.
    #[inline]
    fn check(self, batch: impl Iterator<Item = Descriptor>) {
        // All together: looking at each by itself costs a branch more.
        let operations = || batch.fold(0, |all, one| all | one.operation as u16);
        assert!(self.writable || operations() == Operation::Read as u16, "{MUST_NOT}");
    }
}

/// An I/O engine, made for one thread, with its buffers and its own descriptors
/// of the targets.
pub(crate) trait Io: Sized {
    /// fio's name of it.
    const NAME: &'static str;

    /// Sets it up.
    ///
    /// # Errors
    /// Where the kernel does not have it, or has no room. What is possible with
    /// less is not an error: see [`Opened`].
    fn open(setup: Setup) -> Result<Opened<Self>, SetupError>;

    /// Takes I/Os, never more in flight than the depth, without a system call.
    /// Slots in flight must not come again.
    ///
    /// # Panics
    /// Where one is not within what the engine was set up for: it writes and
    /// must not, or there is no such slot or file.
    fn queue(&mut self, batch: impl Iterator<Item = Descriptor> + Clone);

    /// Hands over what was queued and returns once `wait` I/Os (or all that
    /// are in flight, if that is fewer) are done. May leave some of the queue,
    /// and return early, where the kernel is busy or a signal came: call it
    /// again. What the kernel cannot do asynchronously is done here.
    ///
    /// To be inlined into the loop: see `syscall`.
    ///
    /// # Errors
    /// Where the engine itself fails; an I/O that fails is a completion.
    fn enter(&mut self, wait: u32) -> io::Result<()>;

    /// As [`Self::enter`], but returns after `most` at the latest.
    ///
    /// # Errors
    /// As [`Self::enter`].
    fn enter_within(&mut self, _wait: u32, _most: Duration) -> io::Result<()> {
        self.enter(0)
    }

    /// The I/Os that were visibly done when this was called.
    fn completions(&mut self) -> impl Iterator<Item = Completion>;

    /// The contents of slots that are not in flight.
    fn buffers(&mut self) -> &mut Buffers;

    /// Ends the threads that it has of its own. What they used.
    fn finish(&mut self) -> Usage {
        Usage::default()
    }
}

/// An engine and what of its set-up was possible.
#[derive(Debug)]
pub(crate) struct Opened<I> {
    pub(crate) io: I,
    /// Depth that was possible.
    pub(crate) depth: u16,
    /// Buffers are registered; `None` where the engine knows no such thing.
    pub(crate) registered_buffers: Option<bool>,
    /// What was not possible, each a sentence.
    pub(crate) shortfalls: Vec<Caveat>,
}

/// Why an engine could not be set up.
#[derive(Debug, Error)]
#[error("{action}: {} ({error})", error_name(.error))]
pub(crate) struct SetupError {
    /// What was tried: `io_uring_setup`.
    pub(crate) action: &'static str,
    /// What the kernel said.
    pub(crate) error: io::Error,
}

impl SetupError {
    /// For `map_err`.
    pub(crate) fn of(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self { action, error }
    }

    /// A set-up that makes no sense.
    fn invalid(action: &'static str) -> Self {
        Self { action, error: io::Error::from_raw_os_error(libc::EINVAL) }
    }
}

/// Makes one read of the first file into buffer 0: how long it took, ns, and
/// its result.
///
/// # Errors
/// Where the engine itself fails.
pub(crate) fn read_once<I: Io>(io: &mut I, offset: u64, length: u32) -> io::Result<(u64, i64)> {
    let clock = Clock::get();
    io.queue(std::iter::once(Descriptor { offset, length, ..Descriptor::default() }));
    let begun = clock.now();
    loop {
        io.enter(1)?;
        let done = io.completions().next();
        if let Some(completion) = done {
            let latency_ns = clock.ns(clock.now().saturating_sub(begun));
            return Ok((latency_ns, completion.result));
        }
    }
}

/// Whether the first file can be polled: asks by a read, since the kernel says
/// so only in a completion. Other failures say nothing against polling.
fn try_polling<I: Io>(io: &mut I, length: u32) -> Result<(), SetupError> {
    const POLLED: &str = "a polled read (hipri needs O_DIRECT and a device with poll queues: boot \
                          with nvme.poll_queues=N, or reload the nvme module with poll_queues=N)";
    let failed = SetupError::of(POLLED);
    // The size of a page is a multiple of every logical block that Linux takes.
    match read_once(io, 0, length.min(4096)).map_err(&failed)?.1 {
        result if result == -i64::from(libc::EOPNOTSUPP) => {
            Err(failed(io::Error::from_raw_os_error(libc::EOPNOTSUPP)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
