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
use super::syscall::{outcome, syscall};
use entries::{Completed, Entries};
use setup::{ARRAY, FLAGS, HEAD, Mapping, Parameters, SETUP_NO_SQARRAY, START, TAIL, set_up};

pub(super) use setup::MOST_ENTRIES;

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
const OFF_RINGS: u64 = 0;
const OFF_ENTRIES: u64 = 0x1000_0000;

/// Polls for completions, with a submission thread (SQPOLL), before `enter` returns early.
const SPINS: u32 = 4096;

/// A submission queue entry of 64 or 128 bytes; all zeros are valid.
pub(super) trait Entry {}

/// `struct io_uring_sqe` of reads, writes and syncs.
#[repr(C)]
#[derive(Debug)]
pub(super) struct FileEntry {
    /// Opcode, flags, priority; the file in the upper half. See [`head`].
    pub(super) head: u64,
    pub(super) offset: u64,
    pub(super) address: u64,
    /// Length; in the upper half `RWF_*` or `IORING_FSYNC_DATASYNC`.
    pub(super) length_and_flags: u64,
    /// Returned with the completion.
    pub(super) user_data: u64,
    /// Index of the registered buffer; personality etc. above it.
    pub(super) buffer: u64,
    /// Zeroed by the kernel and unused by our operations.
    _unused: [u64; 2],
}

impl Entry for FileEntry {}

/// The first eight bytes of an entry; `file` is a descriptor or a registered index.
pub(super) const fn head(opcode: u8, flags: u8, file: u32) -> u64 {
    opcode as u64 | (flags as u64) << 8 | (file as u64) << 32
}

/// `struct io_uring_rsrc_update`: a ring's descriptor and its registered number.
#[repr(C)]
struct RingNumber {
    number: u32,
    reserved: u32,
    descriptor: u64,
}

/// `struct io_uring_getevents_arg`: a wait's time limit.
#[repr(C)]
struct WaitArgument {
    signal_mask: u64,
    signal_mask_bytes: u32,
    reserved: u32,
    /// Address of a `__kernel_timespec`.
    most: u64,
}

/// A ring, private to this thread.
#[derive(Debug)]
pub(super) struct Ring<E> {
    /// Keeps the mappings alive for the pointers below.
    _rings: Mapping,
    _entries: Mapping,
    descriptor: OwnedFd,
    /// The ring's registered number (5.18): saves the descriptor lookup.
    number: Option<u32>,
    /// A kernel thread takes the submissions (SQPOLL).
    sqpoll: bool,
    /// Waits can have a time limit: the kernel supports it (5.11), and completions are not polled
    /// for.
    waits: bool,
    /// Submission tail, not wrapped.
    tail: u32,
    /// Submissions that the kernel has taken, not wrapped.
    taken: u32,
    submission_mask: u32,
    completion_mask: u32,
    submission_tail: *const AtomicU32,
    submission_flags: *const AtomicU32,
    completion_head: *const AtomicU32,
    completion_tail: *const AtomicU32,
    completions: *const u8,
    first_entry: *mut E,
}

impl<E: Entry> Ring<E> {
    const WIDE: bool = size_of::<E>() == 128;

    /// A ring for `depth` I/Os in flight.
    ///
    /// # Errors
    /// As io_uring_setup(2) and mmap(2); EINVAL or `Unsupported` before Linux 5.5.
    pub(super) fn new(depth: u16, options: &EngineOptions) -> io::Result<Self> {
        const { assert!(size_of::<E>() == 64 || size_of::<E>() == 128) };
        let (descriptor, parameters) = set_up(depth, options, Self::WIDE)?;
        if parameters.features & FEAT_SINGLE_MMAP == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let Parameters { submissions, completions, .. } = parameters;
        let (to, from) = (parameters.submission_offsets, parameters.completion_offsets);
        let cqe_bytes = 16 << u32::from(Self::WIDE);
        let array_end = to[ARRAY] as usize + 4 * submissions as usize;
        let completions_end = from[START] as usize + completions as usize * cqe_bytes;
        let rings = Mapping::new(&descriptor, OFF_RINGS, array_end.max(completions_end))?;
        let size = submissions as usize * size_of::<E>();
        let entries = Mapping::new(&descriptor, OFF_ENTRIES, size)?;
        if parameters.flags & SETUP_NO_SQARRAY == 0 {
            let array = rings.at::<u32>(to[ARRAY]);
            for index in 0..submissions {
                // SAFETY: the array of `submissions` indexes lies within the mapping. Entries are
                // always used in order.
                unsafe { array.add(index as usize).write(index) };
            }
        }
        let mut ring = Self {
            number: None,
            sqpoll: options.sqpoll.is_some(),
            waits: parameters.features & FEAT_EXT_ARG != 0
                && options.sqpoll.is_none()
                && !options.polled,
            tail: 0,
            taken: 0,
            submission_mask: submissions - 1,
            completion_mask: completions - 1,
            submission_tail: rings.at(to[TAIL]),
            submission_flags: rings.at(to[FLAGS]),
            completion_head: rings.at(from[HEAD]),
            completion_tail: rings.at(from[TAIL]),
            completions: rings.at(from[START]),
            first_entry: entries.at(0),
            _rings: rings,
            _entries: entries,
            descriptor,
        };
        // All ones requests any free number, which the kernel writes back.
        let all_ones = RingNumber { number: u32::MAX, reserved: 0, descriptor: ring.raw() as u64 };
        ring.number = ring.register_number(REGISTER_RING_FDS, all_ones);
        Ok(ring)
    }

    /// Registers memory, which saves the page lookup of every I/O.
    ///
    /// # Errors
    /// As io_uring_register(2).
    ///
    /// # Safety
    /// The memory must stay mapped for as long as the ring exists.
    pub(super) unsafe fn register_buffers(&self, pieces: &[libc::iovec]) -> io::Result<()> {
        // SAFETY: `pieces` is only read during the call; the caller guarantees the memory.
        unsafe { self.register(REGISTER_BUFFERS, pieces.as_ptr().cast(), pieces.len()).map(drop) }
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
    pub(super) fn entries(&mut self) -> Entries<'_, E> {
        Entries::of(self)
    }

    /// Entries not yet taken by the kernel.
    #[inline]
    const fn queued(&self) -> u32 {
        self.tail.wrapping_sub(self.taken)
    }

    /// Entries without a reaped completion: each has exactly one, and both rings count from zero.
    #[inline]
    fn in_flight(&self) -> u32 {
        // SAFETY: in the mapping, which lives as long as `self`.
        let head = unsafe { (*self.completion_head).load(Ordering::Relaxed) };
        self.tail.wrapping_sub(head)
    }

    /// Submits up to `most` entries per system call, until all are submitted or the kernel is busy,
    /// and waits for `wait` completions, or for all in flight if those are fewer.
    ///
    /// # Errors
    /// As io_uring_enter(2), except those that mean the kernel is busy.
    #[inline(always)]
    pub(super) fn enter(&mut self, most: u32, wait: u32) -> io::Result<()> {
        let in_flight = self.in_flight();
        if in_flight == 0 {
            return Ok(());
        }
        let wait = wait.min(in_flight);
        if self.sqpoll {
            return self.enter_polled(wait);
        }
        while self.queued() > most {
            if self.call(most, 0, ENTER_GETEVENTS)? < most {
                return Ok(());
            }
        }
        // With DEFER_TASKRUN, only an enter with GETEVENTS posts completions.
        self.call(self.queued(), wait, ENTER_GETEVENTS).map(drop)
    }

    /// As [`Self::enter`], but waits at most for `longest`, or not at all if the kernel has no time
    /// limits.
    ///
    /// # Errors
    /// As [`Self::enter`].
    #[inline(always)]
    pub(super) fn enter_within(
        &mut self,
        most: u32,
        wait: u32,
        longest: Duration,
    ) -> io::Result<()> {
        let wait = wait.min(self.in_flight());
        if !self.waits || wait == 0 || self.queued() > most {
            return self.enter(most, 0);
        }
        let longest = [longest.as_secs(), longest.subsec_nanos().into()];
        let argument = WaitArgument {
            signal_mask: 0,
            signal_mask_bytes: 0,
            reserved: 0,
            most: ptr::from_ref(&longest).expose_provenance() as u64,
        };
        let address = ptr::from_ref(&argument).expose_provenance();
        let flags = ENTER_GETEVENTS | ENTER_EXT_ARG;
        self.call_with(self.queued(), wait, flags, [address, size_of::<WaitArgument>()]).map(drop)
    }

    /// Wakes the kernel's submission thread if it sleeps, and polls for completions.
    #[cold]
    fn enter_polled(&mut self, wait: u32) -> io::Result<()> {
        self.taken = self.tail;
        for _ in 0..SPINS {
            // The tail must be visible before the flag is read.
            std::sync::atomic::fence(Ordering::SeqCst);
            // SAFETY: in the mapping, which lives as long as `self`.
            let flags = unsafe { (*self.submission_flags).load(Ordering::Relaxed) };
            if flags & SQ_NEED_WAKEUP != 0 {
                self.call(0, 0, ENTER_SQ_WAKEUP)?;
            }
            if self.completed() >= wait {
                break;
            }
            std::hint::spin_loop();
        }
        Ok(())
    }

    #[inline(always)]
    fn call(&mut self, submit: u32, wait: u32, flags: u32) -> io::Result<u32> {
        self.call_with(submit, wait, flags, [0, 0])
    }

    /// `argument`: address and size of the argument that the flags declare.
    #[inline(always)]
    fn call_with(
        &mut self,
        submit: u32,
        wait: u32,
        flags: u32,
        argument: [usize; 2],
    ) -> io::Result<u32> {
        let (ring, flags) = match self.number {
            Some(number) => (number as usize, flags | ENTER_REGISTERED_RING),
            None => (self.raw() as usize, flags),
        };
        let [address, bytes] = argument;
        let arguments = [ring, submit as usize, wait as usize, flags as usize, address, bytes];
        // SAFETY: `address` is null, or points to as many bytes that the caller keeps until the
        // call returns; whoever filled the entries guarantees the memory that they refer to.
        let result = unsafe { syscall(libc::SYS_io_uring_enter, arguments) } as i32;
        if result >= 0 {
            let taken = result as u32;
            self.taken = self.taken.wrapping_add(taken);
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
    fn completed(&self) -> u32 {
        // SAFETY: both in the mapping, which lives as long as `self`.
        let (head, tail) = unsafe {
            let head = (*self.completion_head).load(Ordering::Relaxed);
            (head, (*self.completion_tail).load(Ordering::Acquire))
        };
        tail.wrapping_sub(head)
    }

    /// The completions ready now: user data and result of each.
    #[inline]
    pub(super) fn completions(&mut self) -> Completed<'_, E> {
        Completed::of(self)
    }

    fn raw(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    fn register_number(&self, operation: usize, mut number: RingNumber) -> Option<u32> {
        let argument = ptr::from_mut(&mut number);
        // SAFETY: one valid `struct io_uring_rsrc_update`, as both operations expect.
        let done = unsafe { self.register(operation, argument.cast(), 1) };
        (done.ok()? == 1).then_some(number.number)
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
        outcome(unsafe { syscall(libc::SYS_io_uring_register, arguments) })
    }
}

impl<E> Drop for Ring<E> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            // The thread would otherwise hold the ring until it ends.
            let update = RingNumber { number, reserved: 0, descriptor: 0 };
            let address = ptr::from_ref(&update).expose_provenance();
            let ring = self.descriptor.as_raw_fd() as usize;
            // SAFETY: one valid `struct io_uring_rsrc_update`.
            unsafe {
                let arguments = [ring, UNREGISTER_RING_FDS, address, 1, 0, 0];
                syscall(libc::SYS_io_uring_register, arguments);
            }
        }
    }
}
