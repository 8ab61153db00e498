//! I/O engines: submit I/O to the kernel and reap completions.
//!
//! An engine without [`Setup::writable`] cannot modify a target: [`Rights`] checks everything that
//! is queued.

mod bus_error;
mod falloc;
mod file_operations;
mod files;
mod libaio;
mod mmap;
mod null;
mod nvme_command;
mod offload;
mod page_fault;
mod per_io_options;
mod posixaio;
mod psync;
mod pvsync2;
mod ring;
mod splice;
mod sync;
mod sync_ops;
mod synchronous;
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

use crate::buffers::{Buffers, SlotBuffer};
use crate::clock::Clock;
use crate::cmdprio::CmdPrio;
use crate::io_failure::error_name;
use crate::usage::Usage;

pub(crate) use crate::io_unit::{IoShape, IoUnit};
pub(crate) use falloc::{Falloc, Ftruncate};
pub(crate) use file_operations::{DirCreate, DirDelete, DirStat, FileCreate, FileDelete, FileStat};
pub(crate) use iodyno_job::Operation;
pub(crate) use libaio::Libaio;
pub(crate) use mmap::Mmap;
pub(crate) use null::Null;
pub(crate) use offload::{Offload, SubmitFn, submit_with};
pub(crate) use page_fault::PageFault;
pub(crate) use per_io_options::WithPerIoOptions;
pub(crate) use posixaio::Posixaio;
pub(crate) use psync::Psync;
pub(crate) use pvsync2::Pvsync2;
pub(crate) use splice::Splice;
pub(crate) use sync::Sync;
pub(crate) use uring::Uring;
pub(crate) use uring_cmd::UringCmd;

/// Default limit of I/Os per submitting system call. Larger batches gain nothing (211 ns per I/O at
/// 32, 208 ns at 128) and would delay the first I/O.
pub(crate) const BATCH: usize = 32;

/// A completed I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Completion {
    /// Slot of the I/O.
    pub(crate) slot: u16,
    /// Bytes read, written or trimmed (0 for a sync), or a negative errno. An I/O succeeded if this
    /// equals its length.
    pub(crate) result: i64,
}

/// Targets and options of an engine.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The targets, opened as the job needs them (O_DIRECT, for writing). `sync` uses file
    /// positions: its targets must be opened for each thread, not duplicated.
    pub(crate) files: Vec<OwnedFd>,
    /// The descriptors that claim block devices (O_EXCL), one for each of `files`; empty if nothing
    /// is trimmed. Through any other descriptor the kernel refuses (EBUSY) to discard dirty pages,
    /// because of the claim.
    pub(crate) claims: Vec<OwnedFd>,
    /// Device of `io_uring_cmd`, in place of the one entry of `files`, which stays open as the
    /// claim on the block device.
    pub(crate) char_device: Option<NvmeCharDevice>,
    /// Targets of engines that operate on names, in place of `files`.
    pub(crate) entries: Vec<Arc<FileEntry>>,
    /// Largest number of I/Os in flight.
    pub(crate) depth: u16,
    /// Largest block, bytes.
    pub(crate) length: u32,
    /// Engine options of the job.
    pub(crate) options: EngineOptions,
    /// Permits writes, trims and syncs; otherwise only reads.
    pub(crate) writable: bool,
    /// Submission function of `offload` threads.
    pub(crate) submit: Option<SubmitFn>,
    /// The buffer to use, if it belongs to another thread.
    pub(crate) slot_buffer: Option<SlotBuffer>,
    /// Priorities of single I/Os, for [`WithPerIoOptions`].
    pub(crate) cmdprio: Option<CmdPrio>,
}

impl Setup {
    /// A read-only setup with the fastest options.
    pub(crate) fn read_only(files: Vec<OwnedFd>, depth: u16, length: u32) -> Self {
        let options = EngineOptions::default();
        Self {
            files,
            claims: Vec::new(),
            char_device: None,
            entries: Vec::new(),
            depth,
            length,
            options,
            writable: false,
            submit: None,
            slot_buffer: None,
            cmdprio: None,
        }
    }

    /// Buffers for `count` I/Os.
    fn buffers(&mut self, count: u16) -> Result<Buffers, SetupError> {
        match self.slot_buffer.take() {
            Some(slot_buffer) => Ok(Buffers::borrowed(slot_buffer)),
            None => Buffers::new(count.into(), self.length)
                .map_err(SetupError::during("mmap of the buffers")),
        }
    }

    /// A setup of depth 1 on buffer `slot` of `buffers`.
    fn for_slot(&self, buffers: &Buffers, slot: u16) -> io::Result<Self> {
        let duplicate = |files: &[OwnedFd]| -> io::Result<Vec<OwnedFd>> {
            files.iter().map(OwnedFd::try_clone).collect()
        };
        let char_device =
            self.char_device.as_ref().map(|&NvmeCharDevice { ref device, nsid, lba_shift }| {
                io::Result::Ok(NvmeCharDevice { device: device.try_clone()?, nsid, lba_shift })
            });
        Ok(Self {
            claims: duplicate(&self.claims)?,
            char_device: char_device.transpose()?,
            entries: self.entries.clone(),
            options: self.options.clone(),
            writable: self.writable,
            slot_buffer: Some(buffers.slot_buffer(slot)),
            ..Self::read_only(duplicate(&self.files)?, 1, self.length)
        })
    }
}

/// An NVMe namespace as its generic character device, `/dev/ng0n1`.
#[derive(Debug)]
pub(crate) struct NvmeCharDevice {
    /// The opened device.
    pub(crate) device: OwnedFd,
    /// Namespace ID, from NVME_IOCTL_ID.
    pub(crate) nsid: u32,
    /// log2 of the logical block size, of which offsets and lengths are multiples. The format has
    /// no interleaved metadata.
    pub(crate) lba_shift: u8,
}

/// fio's engine options. Engines ignore options that do not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineOptions {
    /// Limit of I/Os per submitting system call; 1 or more.
    pub(crate) batch: u16,
    /// `fixedbufs`: registers the buffers, if possible.
    pub(crate) fixed_buffers: bool,
    /// `registerfiles`: registers the targets.
    pub(crate) registered_files: bool,
    /// `hipri`: polls for completions, without interrupts.
    pub(crate) polled: bool,
    /// `sqthread_poll`, with the CPU of `sqthread_poll_cpu`: a kernel thread takes the submissions.
    pub(crate) sqpoll: Option<Option<u32>>,
    /// `nowait`: I/O that would block fails with EAGAIN (RWF_NOWAIT).
    pub(crate) nowait: bool,
    /// `uncached`: buffered I/O whose pages are dropped afterwards (RWF_DONTCACHE).
    pub(crate) uncached: bool,
    /// `force_async`: every Nth I/O is issued by a kernel thread (IOSQE_ASYNC); 0: none.
    pub(crate) force_async: u32,
    /// `stat_type`.
    pub(crate) lookup: Lookup,
    /// `atomic`: writes are all-or-nothing (RWF_ATOMIC).
    pub(crate) atomic: bool,
    /// Memory of `page_fault`, bytes.
    pub(crate) memory_bytes: u64,
    /// The job is sequential: `mmap` lets the kernel read ahead. Otherwise a fault fetches one
    /// page.
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

const READ_ONLY: &str = "a job that only reads must do nothing else";

/// Operations that an engine may queue.
#[derive(Debug, Clone, Copy)]
struct Rights {
    writable: bool,
}

impl Rights {
    /// # Panics
    /// If one of `batch` modifies a target and the engine is read-only: a bug that must end here,
    /// before anything is submitted.
    #[inline]
    fn check(self, batch: impl Iterator<Item = IoUnit>) {
        // ORed together: checking each by itself costs one more branch.
        let operations = || batch.fold(0, |all, unit| all | unit.operation as u16);
        assert!(self.writable || operations() == Operation::Read as u16, "{READ_ONLY}");
    }
}

/// An I/O engine of one thread, with its own buffers and descriptors of the targets.
pub(crate) trait Engine: Sized {
    /// Its name in fio.
    const NAME: &'static str;

    /// Sets up the engine.
    ///
    /// # Errors
    /// If the kernel lacks support or resources. Reduced capabilities are no error: see [`Opened`].
    fn open(setup: Setup) -> Result<Opened<Self>, SetupError>;

    /// Queues I/Os without a system call. At most `depth` I/Os may be in flight, and their slots
    /// must be distinct.
    ///
    /// # Panics
    /// If one exceeds the setup: a write by a read-only engine, an unknown slot or file.
    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone);

    /// Submits the queue and waits for `wait` completions, or for all I/Os in flight if those are
    /// fewer. May submit only part of the queue and return early if the kernel is busy or a signal
    /// arrived: call again. Operations without an asynchronous form are executed here.
    ///
    /// Must be inlined into the loop: see `syscall`.
    ///
    /// # Errors
    /// If the engine itself fails; a failed I/O is a completion.
    fn enter(&mut self, wait: u32) -> io::Result<()>;

    /// As [`Self::enter`], but returns after at most `timeout`.
    ///
    /// # Errors
    /// As [`Self::enter`].
    fn enter_within(&mut self, _wait: u32, _timeout: Duration) -> io::Result<()> {
        self.enter(0)
    }

    /// Queues the rest of an I/O of which `done` bytes were transferred. Only reads and writes can be
    /// short, and not those of every engine.
    fn queue_rest(&mut self, _unit: IoUnit, _done: u32) {
        unreachable!("{} transfers all or nothing", Self::NAME)
    }

    /// The completions visible at the time of the call.
    fn completions(&mut self) -> impl Iterator<Item = Completion>;

    /// The buffers; those of slots in flight are not accessible.
    fn buffers(&mut self) -> &mut Buffers;

    /// Ends the engine's own threads and returns their resource usage.
    fn finish(&mut self) -> Usage {
        Usage::default()
    }
}

/// An engine and the result of its set-up.
#[derive(Debug)]
pub(crate) struct Opened<E> {
    pub(crate) engine: E,
    /// Possible depth.
    pub(crate) depth: u16,
    /// Buffers are registered; `None` if the engine cannot.
    pub(crate) registered_buffers: Option<bool>,
    /// Options that could not be honoured.
    pub(crate) shortfalls: Vec<Caveat>,
}

/// Why an engine could not be set up.
#[derive(Debug, Error)]
#[error("{action}: {} ({error})", error_name(.error))]
pub(crate) struct SetupError {
    /// The failed step, such as `io_uring_setup`.
    pub(crate) action: &'static str,
    /// The kernel's error.
    pub(crate) error: io::Error,
}

impl SetupError {
    /// Maps the error of `action`.
    pub(crate) fn during(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self { action, error }
    }

    /// An invalid setup.
    fn invalid(action: &'static str) -> Self {
        Self { action, error: io::Error::from_raw_os_error(libc::EINVAL) }
    }
}

/// Reads once from the first file into buffer 0. Returns the latency, ns, and the result.
///
/// # Errors
/// If the engine itself fails.
pub(crate) fn read_once<E: Engine>(
    engine: &mut E,
    offset: u64,
    length: u32,
) -> io::Result<(u64, i64)> {
    let clock = Clock::get();
    engine.queue(std::iter::once(IoUnit { offset, length, ..IoUnit::default() }));
    let begun = clock.now();
    loop {
        engine.enter(1)?;
        let done = engine.completions().next();
        if let Some(completion) = done {
            let latency_ns = clock.ns(clock.now().saturating_sub(begun));
            return Ok((latency_ns, completion.result));
        }
    }
}

/// Checks by a read that the first file supports polling: the kernel reports it only in a
/// completion. Other failures do not count against polling.
fn check_polling<E: Engine>(engine: &mut E, length: u32) -> Result<(), SetupError> {
    const POLLED: &str = "a polled read (hipri needs O_DIRECT and a device with poll queues: boot \
                          with nvme.poll_queues=N, or reload the nvme module with poll_queues=N)";
    let failed = SetupError::during(POLLED);
    // The page size is a multiple of every logical block size that Linux supports.
    match read_once(engine, 0, length.min(4096)).map_err(&failed)?.1 {
        result if result == -i64::from(libc::EOPNOTSUPP) => {
            Err(failed(io::Error::from_raw_os_error(libc::EOPNOTSUPP)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
