//! Creates a ring and maps its memory.
#![allow(unsafe_code)] // A system call without a wrapper, and memory of the kernel.

use std::ffi::c_void;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::engines::EngineOptions;
use crate::engines::syscall::{syscall, to_result};

/// Largest ring that the kernel creates (IORING_MAX_ENTRIES).
pub(in crate::engines) const MAX_ENTRIES: u16 = 32768;

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
pub(super) struct Params {
    pub(super) sq_entries: u32,
    pub(super) cq_entries: u32,
    pub(super) flags: u32,
    sq_thread_cpu: u32,
    sq_thread_idle_ms: u32,
    pub(super) features: u32,
    wq_fd: u32,
    resv: [u32; 3],
    /// head, tail, mask, entries, flags, dropped, array
    pub(super) sq_off: [u32; 10],
    /// head, tail, mask, entries, overflow, entries' start, flags
    pub(super) cq_off: [u32; 10],
}

pub(super) const HEAD: usize = 0;
pub(super) const TAIL: usize = 1;
pub(super) const FLAGS: usize = 4;
pub(super) const CQES: usize = 5;
pub(super) const ARRAY: usize = 6;

/// A ring's memory counts against RLIMIT_MEMLOCK, and the kernel releases it only a moment after
/// the ring was closed, such as the one just tried. Number of retries, and the wait between them.
const RETRIES: u32 = 100;
const RETRY_WAIT: Duration = Duration::from_millis(2);

/// As [`try_create`], with retries on ENOMEM.
pub(super) fn create(
    depth: u16,
    options: &EngineOptions,
    wide: bool,
) -> io::Result<(OwnedFd, Params)> {
    for _ in 0..RETRIES {
        match try_create(depth, options, wide) {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
                std::thread::sleep(RETRY_WAIT)
            }
            result => return result,
        }
    }
    try_create(depth, options, wide)
}

/// Creates a ring with the best set of flags that the kernel supports; it rejects unknown flags
/// with EINVAL.
fn try_create(depth: u16, options: &EngineOptions, wide: bool) -> io::Result<(OwnedFd, Params)> {
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
    let flag_sets = match options.sqpoll {
        None => &[SETUP_NO_SQARRAY | defer | coop, defer | coop, coop, 0][..],
        Some(_) => &[SETUP_NO_SQARRAY | SETUP_SINGLE_ISSUER, SETUP_SINGLE_ISSUER, 0],
    };
    if let Some(cpu) = options.sqpoll {
        wanted |= SETUP_SQPOLL | cpu.map_or(0, |_| SETUP_SQ_AFF);
    }
    let mut refused = io::Error::from_raw_os_error(libc::EINVAL);
    for flag_set in flag_sets {
        let mut params = Params {
            cq_entries: entries,
            flags: wanted | flag_set,
            sq_thread_cpu: options.sqpoll.flatten().unwrap_or(0),
            sq_thread_idle_ms: 1000,
            ..Params::default()
        };
        let address = ptr::from_mut(&mut params).expose_provenance();
        // SAFETY: one valid `struct io_uring_params`, exclusively borrowed for the call.
        let result =
            unsafe { syscall(libc::SYS_io_uring_setup, [entries as usize, address, 0, 0, 0, 0]) };
        match to_result(result) {
            // SAFETY: a new descriptor without other owners.
            Ok(new) => return Ok((unsafe { OwnedFd::from_raw_fd(new as RawFd) }, params)),
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
