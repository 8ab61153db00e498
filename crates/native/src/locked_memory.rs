//! Locks memory, to simulate a machine with less of it (fio's `lockmem`).
#![allow(unsafe_code)] // A mapping, by address.

use std::ffi::c_void;
use std::io;

use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};

/// Memory that is never locked, bytes (fio's memory.c).
const LEFT_BYTES: u64 = 128 << 20;

/// Memory locked until drop.
#[derive(Debug)]
pub(crate) struct LockedMemory {
    start: *mut c_void,
    length: usize,
}

impl LockedMemory {
    /// Locks `bytes`, the sum of all jobs, on a machine with `memory_bytes`; less if too little
    /// would remain.
    ///
    /// # Errors
    /// The kernel's error, typically from RLIMIT_MEMLOCK.
    pub(crate) fn new(bytes: u64, memory_bytes: u64) -> io::Result<Option<Self>> {
        let length = bytes.min(memory_bytes.saturating_sub(LEFT_BYTES)) as usize;
        if length == 0 {
            return Ok(None);
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, MapFlags::PRIVATE)? };
        let pinned = Self { start, length };
        // SAFETY: the mapping above, without other users.
        unsafe { mlock(start, length)? };
        Ok(Some(pinned))
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, without other users; unmapping unlocks it.
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
        assert!(LockedMemory::new(0, 1 << 40).unwrap().is_none());
        assert!(LockedMemory::new(1 << 40, LEFT_BYTES).unwrap().is_none());
        let pinned = LockedMemory::new(1 << 20, 1 << 40).unwrap();
        let while_held = locked_kib();
        assert!(while_held >= 1024, "{while_held}");
        drop(pinned);
        assert!(locked_kib() <= while_held - 1024);
    }
}
