//! An io_uring instance: the rings shared with the kernel, and the three system calls.
//!
//! Entries are written in place, where the kernel reads them; building and copying them costs 20
//! instructions per I/O. Layouts follow linux/io_uring.h.
#![allow(unsafe_code)] // Memory shared with the kernel, and system calls without a wrapper.

mod entries;
mod setup;

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::EngineOptions;
use super::syscall::{syscall, to_result};
use entries::{Cqes, SqeWriter};
use setup::{ARRAY, CQES, FLAGS, HEAD, Mapping, Params, SETUP_NO_SQARRAY, TAIL, create};

pub(super) use setup::MAX_ENTRIES;

const FEAT_SINGLE_MMAP: u32 = 1 << 0;
const FEAT_EXT_ARG: u32 = 1 << 8;
const SQ_NEED_WAKEUP: u32 = 1 << 0;
const ENTER_GETEVENTS: u32 = 1 << 0;
const ENTER_SQ_WAKEUP: u32 = 1 << 1;
const ENTER_EXT_ARG: u32 = 1 << 3;
const ENTER_REGISTERED_RING: u32 = 1 << 4;
const REGISTER_BUFFERS: usize = 0;
const REGISTER_FILES: usize = 2;
const REGISTER_RING_FDS: usize = 20;
const UNREGISTER_RING_FDS: usize = 21;
const OFF_SQ_RING: u64 = 0;
const OFF_SQES: u64 = 0x1000_0000;

/// Polls for completions, with a submission thread (SQPOLL), before `enter` returns early.
const SQPOLL_SPINS: u32 = 4096;

/// A submission queue entry of 64 or 128 bytes; all zeros are valid.
pub(super) trait SqEntry {}

/// `struct io_uring_sqe` of reads, writes and syncs.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Sqe {
    /// Opcode, flags, priority; the file in the upper half. See [`head`].
    pub(super) head: u64,
    pub(super) offset: u64,
    pub(super) address: u64,
    /// Length; in the upper half `RWF_*` or `IORING_FSYNC_DATASYNC`.
    pub(super) length_and_flags: u64,
    /// Returned with the completion.
    pub(super) user_data: u64,
    /// Index of the registered buffer; personality etc. above it.
    pub(super) buf_index: u64,
    /// Zeroed by the kernel and unused by our operations.
    _unused: [u64; 2],
}

impl SqEntry for Sqe {}

/// The first eight bytes of an entry; `file` is a descriptor or a registered index.
pub(super) const fn head(opcode: u8, flags: u8, file: u32) -> u64 {
    opcode as u64 | (flags as u64) << 8 | (file as u64) << 32
}

/// `struct io_uring_rsrc_update`: a ring's descriptor and its registered number.
#[repr(C)]
struct RsrcUpdate {
    offset: u32,
    resv: u32,
    data: u64,
}

/// `struct io_uring_getevents_arg`: a wait's time limit.
#[repr(C)]
struct GeteventsArg {
    sigmask: u64,
    sigmask_sz: u32,
    pad: u32,
    /// Address of a `__kernel_timespec`.
    ts: u64,
}

/// A ring, private to this thread.
#[derive(Debug)]
pub(super) struct Ring<E> {
    /// Keeps the mappings alive for the pointers below.
    _rings: Mapping,
    _sqes: Mapping,
    fd: OwnedFd,
    /// The ring's registered number (5.18): saves the descriptor lookup.
    registered_index: Option<u32>,
    /// A kernel thread takes the submissions (SQPOLL).
    sqpoll: bool,
    /// Waits can have a time limit: the kernel supports it (5.11), and completions are not polled
    /// for.
    has_timeouts: bool,
    /// Submission tail, not wrapped.
    sq_tail: u32,
    /// Submissions that the kernel has taken, not wrapped.
    sq_taken: u32,
    sq_mask: u32,
    cq_mask: u32,
    sq_ktail: *const AtomicU32,
    sq_kflags: *const AtomicU32,
    cq_khead: *const AtomicU32,
    cq_ktail: *const AtomicU32,
    cqes: *const u8,
    sqes: *mut E,
}

impl<E: SqEntry> Ring<E> {
    const WIDE: bool = size_of::<E>() == 128;

    /// A ring for `depth` I/Os in flight.
    ///
    /// # Errors
    /// As io_uring_setup(2) and mmap(2); EINVAL or `Unsupported` before Linux 5.5.
    pub(super) fn new(depth: u16, options: &EngineOptions) -> io::Result<Self> {
        const { assert!(size_of::<E>() == 64 || size_of::<E>() == 128) };
        let (fd, params) = create(depth, options, Self::WIDE)?;
        if params.features & FEAT_SINGLE_MMAP == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let Params { sq_entries, cq_entries, .. } = params;
        let (sq, cq) = (params.sq_off, params.cq_off);
        let cqe_bytes = 16 << u32::from(Self::WIDE);
        let array_end = sq[ARRAY] as usize + 4 * sq_entries as usize;
        let cqes_end = cq[CQES] as usize + cq_entries as usize * cqe_bytes;
        let rings = Mapping::new(&fd, OFF_SQ_RING, array_end.max(cqes_end))?;
        let size = sq_entries as usize * size_of::<E>();
        let sqes = Mapping::new(&fd, OFF_SQES, size)?;
        if params.flags & SETUP_NO_SQARRAY == 0 {
            let array = rings.at::<u32>(sq[ARRAY]);
            for index in 0..sq_entries {
                // SAFETY: the array of `sq_entries` indexes lies within the mapping. Entries are
                // always used in order.
                unsafe { array.add(index as usize).write(index) };
            }
        }
        let mut ring = Self {
            registered_index: None,
            sqpoll: options.sqpoll.is_some(),
            has_timeouts: params.features & FEAT_EXT_ARG != 0
                && options.sqpoll.is_none()
                && !options.polled,
            sq_tail: 0,
            sq_taken: 0,
            sq_mask: sq_entries - 1,
            cq_mask: cq_entries - 1,
            sq_ktail: rings.at(sq[TAIL]),
            sq_kflags: rings.at(sq[FLAGS]),
            cq_khead: rings.at(cq[HEAD]),
            cq_ktail: rings.at(cq[TAIL]),
            cqes: rings.at(cq[CQES]),
            sqes: sqes.at(0),
            _rings: rings,
            _sqes: sqes,
            fd,
        };
        // All ones requests any free number, which the kernel writes back.
        let any_index = RsrcUpdate { offset: u32::MAX, resv: 0, data: ring.raw() as u64 };
        ring.registered_index = ring.register_ring_fd(REGISTER_RING_FDS, any_index);
        Ok(ring)
    }

    /// Registers memory, which saves the page lookup of every I/O.
    ///
    /// # Errors
    /// As io_uring_register(2).
    ///
    /// # Safety
    /// The memory must stay mapped for as long as the ring exists.
    pub(super) unsafe fn register_buffers(&self, iovecs: &[libc::iovec]) -> io::Result<()> {
        // SAFETY: `iovecs` is only read during the call; the caller guarantees the memory.
        unsafe { self.register(REGISTER_BUFFERS, iovecs.as_ptr().cast(), iovecs.len()).map(drop) }
    }

    /// Registers files, which saves reference counting.
    ///
    /// # Errors
    /// As io_uring_register(2).
    pub(super) fn register_files(&self, files: &[RawFd]) -> io::Result<()> {
        // SAFETY: `files` is only read during the call; the kernel then holds its own references.
        unsafe { self.register(REGISTER_FILES, files.as_ptr().cast(), files.len()).map(drop) }
    }

    /// Returns the entries to fill for a batch.
    #[inline]
    pub(super) fn sqe_writer(&mut self) -> SqeWriter<'_, E> {
        SqeWriter::of(self)
    }

    /// Entries not yet taken by the kernel.
    #[inline]
    const fn sq_ready(&self) -> u32 {
        self.sq_tail.wrapping_sub(self.sq_taken)
    }

    /// Entries without a reaped completion: each has exactly one, and both rings count from zero.
    #[inline]
    fn in_flight(&self) -> u32 {
        // SAFETY: in the mapping, which lives as long as `self`.
        let head = unsafe { (*self.cq_khead).load(Ordering::Relaxed) };
        self.sq_tail.wrapping_sub(head)
    }

    /// Submits up to `batch` entries per system call, until all are submitted or the kernel is busy,
    /// and waits for `wait` completions, or for all in flight if those are fewer.
    ///
    /// # Errors
    /// As io_uring_enter(2), except those that mean the kernel is busy.
    #[inline(always)]
    pub(super) fn enter(&mut self, batch: u32, wait: u32) -> io::Result<()> {
        let in_flight = self.in_flight();
        if in_flight == 0 {
            return Ok(());
        }
        let wait = wait.min(in_flight);
        if self.sqpoll {
            return self.enter_sqpoll(wait);
        }
        while self.sq_ready() > batch {
            if self.io_uring_enter(batch, 0, ENTER_GETEVENTS)? < batch {
                return Ok(());
            }
        }
        // With DEFER_TASKRUN, only an enter with GETEVENTS posts completions.
        self.io_uring_enter(self.sq_ready(), wait, ENTER_GETEVENTS).map(drop)
    }

    /// As [`Self::enter`], but waits at most for `timeout`, or not at all if the kernel has no time
    /// limits.
    ///
    /// # Errors
    /// As [`Self::enter`].
    #[inline(always)]
    pub(super) fn enter_within(
        &mut self,
        batch: u32,
        wait: u32,
        timeout: Duration,
    ) -> io::Result<()> {
        let wait = wait.min(self.in_flight());
        if !self.has_timeouts || wait == 0 || self.sq_ready() > batch {
            return self.enter(batch, 0);
        }
        let timeout = [timeout.as_secs(), timeout.subsec_nanos().into()];
        let argument = GeteventsArg {
            sigmask: 0,
            sigmask_sz: 0,
            pad: 0,
            ts: ptr::from_ref(&timeout).expose_provenance() as u64,
        };
        let address = ptr::from_ref(&argument).expose_provenance();
        let flags = ENTER_GETEVENTS | ENTER_EXT_ARG;
        self.io_uring_enter2(self.sq_ready(), wait, flags, [address, size_of::<GeteventsArg>()])
            .map(drop)
    }

    /// Wakes the kernel's submission thread if it sleeps, and polls for completions.
    #[cold]
    fn enter_sqpoll(&mut self, wait: u32) -> io::Result<()> {
        self.sq_taken = self.sq_tail;
        for _ in 0..SQPOLL_SPINS {
            // The tail must be visible before the flag is read.
            std::sync::atomic::fence(Ordering::SeqCst);
            // SAFETY: in the mapping, which lives as long as `self`.
            let flags = unsafe { (*self.sq_kflags).load(Ordering::Relaxed) };
            if flags & SQ_NEED_WAKEUP != 0 {
                self.io_uring_enter(0, 0, ENTER_SQ_WAKEUP)?;
            }
            if self.cq_ready() >= wait {
                break;
            }
            std::hint::spin_loop();
        }
        Ok(())
    }

    #[inline(always)]
    fn io_uring_enter(&mut self, submit: u32, wait: u32, flags: u32) -> io::Result<u32> {
        self.io_uring_enter2(submit, wait, flags, [0, 0])
    }

    /// `argument`: address and size of the argument that the flags declare.
    #[inline(always)]
    fn io_uring_enter2(
        &mut self,
        submit: u32,
        wait: u32,
        flags: u32,
        argument: [usize; 2],
    ) -> io::Result<u32> {
        let (ring, flags) = match self.registered_index {
            Some(index) => (index as usize, flags | ENTER_REGISTERED_RING),
            None => (self.raw() as usize, flags),
        };
        let [address, bytes] = argument;
        let arguments = [ring, submit as usize, wait as usize, flags as usize, address, bytes];
        // SAFETY: `address` is null, or points to as many bytes that the caller keeps until the
        // call returns; whoever filled the entries guarantees the memory that they refer to.
        let result = unsafe { syscall(libc::SYS_io_uring_enter, arguments) } as i32;
        if result >= 0 {
            let taken = result as u32;
            self.sq_taken = self.sq_taken.wrapping_add(taken);
            return Ok(taken);
        }
        match -result {
            // A signal, a temporary lack of memory or room, or the timeout.
            libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME => Ok(0),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Completions ready to be reaped.
    #[inline]
    fn cq_ready(&self) -> u32 {
        // SAFETY: both in the mapping, which lives as long as `self`.
        let (head, tail) = unsafe {
            let head = (*self.cq_khead).load(Ordering::Relaxed);
            (head, (*self.cq_ktail).load(Ordering::Acquire))
        };
        tail.wrapping_sub(head)
    }

    /// The completions ready now: user data and result of each.
    #[inline]
    pub(super) fn completions(&mut self) -> Cqes<'_, E> {
        Cqes::of(self)
    }

    fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    fn register_ring_fd(&self, operation: usize, mut update: RsrcUpdate) -> Option<u32> {
        let argument = ptr::from_mut(&mut update);
        // SAFETY: one valid `struct io_uring_rsrc_update`, as both operations expect.
        let done = unsafe { self.register(operation, argument.cast(), 1) };
        (done.ok()? == 1).then_some(update.offset)
    }

    /// # Safety
    /// `argument` must be what the operation takes, of `count` elements.
    unsafe fn register(
        &self,
        operation: usize,
        argument: *const c_void,
        count: usize,
    ) -> io::Result<usize> {
        let arguments = [self.raw() as usize, operation, argument.expose_provenance(), count, 0, 0];
        // SAFETY: the caller's promise.
        to_result(unsafe { syscall(libc::SYS_io_uring_register, arguments) })
    }
}

impl<E> Drop for Ring<E> {
    fn drop(&mut self) {
        if let Some(index) = self.registered_index {
            // The thread would otherwise hold the ring until it ends.
            let update = RsrcUpdate { offset: index, resv: 0, data: 0 };
            let address = ptr::from_ref(&update).expose_provenance();
            let ring = self.fd.as_raw_fd() as usize;
            // SAFETY: one valid `struct io_uring_rsrc_update`.
            unsafe {
                let arguments = [ring, UNREGISTER_RING_FDS, address, 1, 0, 0];
                syscall(libc::SYS_io_uring_register, arguments);
            }
        }
    }
}
