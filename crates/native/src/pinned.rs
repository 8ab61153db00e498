//! Memory that is kept from everybody else (fio's `lockmem`).
#![allow(unsafe_code)] // A mapping, known by its address.

use std::ffi::c_void;
use std::io;

use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};

/// Never taken of the machine's memory, bytes (fio's memory.c).
const LEFT_BYTES: u64 = 128 << 20;

/// Locked memory, until it is dropped.
#[derive(Debug)]
pub(crate) struct Pinned {
    start: *mut c_void,
    length: usize,
}

impl Pinned {
    /// As much as the jobs ask for together, `bytes`, of a machine with `memory_bytes`; less where
    /// too little would be left.
    ///
    /// # Errors
    /// What the kernel says; RLIMIT_MEMLOCK, most of all.
    pub(crate) fn new(bytes: u64, memory_bytes: u64) -> io::Result<Option<Self>> {
        let length = bytes.min(memory_bytes.saturating_sub(LEFT_BYTES)) as usize;
        if length == 0 {
            return Ok(None);
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, MapFlags::PRIVATE)? };
        let pinned = Self { start, length };
        // SAFETY: the mapping above, which nobody else knows.
        unsafe { mlock(start, length)? };
        Ok(Some(pinned))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, which nobody else knows; with it goes the lock.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory that this process has locked, KiB.
    fn locked_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn memory_is_locked_and_given_back() {
        assert!(Pinned::new(0, 1 << 40).unwrap().is_none());
        assert!(Pinned::new(1 << 40, LEFT_BYTES).unwrap().is_none());
        let pinned = Pinned::new(1 << 20, 1 << 40).unwrap();
        let while_held = locked_kib();
        assert!(while_held >= 1024, "{while_held}");
        drop(pinned);
        assert!(locked_kib() <= while_held - 1024);
    }
}
