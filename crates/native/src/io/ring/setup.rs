//! Creates a ring and maps its memory.
#![allow(unsafe_code)] // A system call without a wrapper, and memory of the kernel.

use std::ffi::c_void;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::io::EngineOptions;
use crate::io::syscall::{outcome, syscall};

/// Largest ring that the kernel creates (IORING_MAX_ENTRIES).
pub(in crate::io) const MOST_ENTRIES: u16 = 32768;

const SETUP_IOPOLL: u32 = 1 << 0;
const SETUP_SQPOLL: u32 = 1 << 1;
const SETUP_SQ_AFF: u32 = 1 << 2;
const SETUP_CQSIZE: u32 = 1 << 3;
const SETUP_COOP_TASKRUN: u32 = 1 << 8;
const SETUP_SQE128: u32 = 1 << 10;
const SETUP_CQE32: u32 = 1 << 11;
const SETUP_SINGLE_ISSUER: u32 = 1 << 12;
const SETUP_DEFER_TASKRUN: u32 = 1 << 13;
pub(super) const SETUP_NO_SQARRAY: u32 = 1 << 16;

/// `struct io_uring_params`.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Parameters {
    pub(super) submissions: u32,
    pub(super) completions: u32,
    pub(super) flags: u32,
    thread_cpu: u32,
    thread_idle_ms: u32,
    pub(super) features: u32,
    workqueue: u32,
    reserved: [u32; 3],
    /// head, tail, mask, entries, flags, dropped, array
    pub(super) submission_offsets: [u32; 10],
    /// head, tail, mask, entries, overflow, entries' start, flags
    pub(super) completion_offsets: [u32; 10],
}

pub(super) const HEAD: usize = 0;
pub(super) const TAIL: usize = 1;
pub(super) const FLAGS: usize = 4;
pub(super) const START: usize = 5;
pub(super) const ARRAY: usize = 6;

/// A ring's memory counts against RLIMIT_MEMLOCK, and the kernel releases it only a moment after
/// the ring was closed, such as the one just tried. Number of retries, and the wait between them.
const WAITS: u32 = 100;
const WAIT: Duration = Duration::from_millis(2);

/// As [`try_to_set_up`], with retries on ENOMEM.
pub(super) fn set_up(
    depth: u16,
    options: &EngineOptions,
    wide: bool,
) -> io::Result<(OwnedFd, Parameters)> {
    for _ in 0..WAITS {
        match try_to_set_up(depth, options, wide) {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => std::thread::sleep(WAIT),
            outcome => return outcome,
        }
    }
    try_to_set_up(depth, options, wide)
}

/// Creates a ring with the best set of flags that the kernel supports; it rejects unknown flags
/// with EINVAL.
fn try_to_set_up(
    depth: u16,
    options: &EngineOptions,
    wide: bool,
) -> io::Result<(OwnedFd, Parameters)> {
    let entries = u32::from(depth).next_power_of_two();
    let mut wanted = SETUP_CQSIZE;
    if wide {
        wanted |= SETUP_SQE128 | SETUP_CQE32;
    }
    if options.polled {
        wanted |= SETUP_IOPOLL;
    }
    // Added in Linux 6.6, 6.1 and 5.19; the latter two avoid interrupting the submitter, which does
    // not occur with SQPOLL.
    let (coop, defer) = (SETUP_COOP_TASKRUN, SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN);
    let levels = match options.sqpoll {
        None => &[SETUP_NO_SQARRAY | defer | coop, defer | coop, coop, 0][..],
        Some(_) => &[SETUP_NO_SQARRAY | SETUP_SINGLE_ISSUER, SETUP_SINGLE_ISSUER, 0],
    };
    if let Some(cpu) = options.sqpoll {
        wanted |= SETUP_SQPOLL | cpu.map_or(0, |_| SETUP_SQ_AFF);
    }
    let mut refused = io::Error::from_raw_os_error(libc::EINVAL);
    for level in levels {
        let mut parameters = Parameters {
            completions: entries,
            flags: wanted | level,
            thread_cpu: options.sqpoll.flatten().unwrap_or(0),
            thread_idle_ms: 1000,
            ..Parameters::default()
        };
        let address = ptr::from_mut(&mut parameters).expose_provenance();
        // SAFETY: one valid `struct io_uring_params`, exclusively borrowed for the call.
        let result =
            unsafe { syscall(libc::SYS_io_uring_setup, [entries as usize, address, 0, 0, 0, 0]) };
        match outcome(result) {
            // SAFETY: a new descriptor without other owners.
            Ok(new) => return Ok((unsafe { OwnedFd::from_raw_fd(new as RawFd) }, parameters)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = error,
            Err(error) => return Err(error),
        }
    }
    Err(refused)
}

/// Memory shared with the kernel.
#[derive(Debug)]
pub(super) struct Mapping {
    start: *mut c_void,
    size: usize,
}

impl Mapping {
    pub(super) fn new(ring: &OwnedFd, offset: u64, size: usize) -> io::Result<Self> {
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { mmap(ptr::null_mut(), size, protection, flags, ring, offset)? };
        Ok(Self { start, size })
    }

    /// Pointer at `offset` bytes from the start.
    pub(super) fn at<T>(&self, offset: u32) -> *mut T {
        self.start.wrapping_byte_add(offset as usize).cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; the ring that used it is being dropped.
        let _ = unsafe { munmap(self.start, self.size) };
    }
}
