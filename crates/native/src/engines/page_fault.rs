//! Engine `page_fault`: memcpy from and to anonymous memory, which faults in page by page.
#![allow(unsafe_code)] // Mapped memory.

use std::ffi::c_void;
use std::ptr;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::files::Files;
use super::synchronous::{Synchronous, Transfer};
use super::{IoUnit, Operation, Setup};

/// fio's page_fault.
pub(crate) type PageFault = Synchronous<Memory>;

/// Anonymous memory of the job's size.
#[derive(Debug)]
pub(crate) struct Memory {
    start: *mut c_void,
    length: usize,
    /// The error of mmap.
    refused: Option<Errno>,
}

impl Transfer for Memory {
    const NAME: &'static str = "page_fault";

    fn new(_files: &Files, setup: &Setup) -> Self {
        let length = usize::try_from(setup.options.memory_bytes).unwrap_or(usize::MAX);
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping without other users.
        match unsafe { mmap_anonymous(ptr::null_mut(), length, both, MapFlags::PRIVATE) } {
            Ok(start) => Self { start, length, refused: None },
            Err(errno) => Self { start: ptr::null_mut(), length: 0, refused: Some(errno) },
        }
    }

    #[inline]
    unsafe fn transfer(&mut self, _files: &Files, unit: &IoUnit, memory: *mut u8) -> i64 {
        let IoUnit { offset, length, operation, .. } = *unit;
        let (offset, length) = (offset as usize, length as usize);
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return -i64::from(self.refused.unwrap_or(Errno::INVAL).raw_os_error());
        }
        let page = self.start.cast::<u8>().wrapping_add(offset);
        // SAFETY: within the mapping, private to this thread; `memory` is the caller's promise.
        unsafe {
            match operation {
                Operation::Write => page.copy_from_nonoverlapping(memory, length),
                _ => memory.copy_from_nonoverlapping(page, length),
            }
        }
        length as i64
    }

    fn sync(&mut self, _files: &Files, _unit: &IoUnit) -> i64 {
        0
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: mapped by `new` with this length, and not borrowed.
            let _ = unsafe { munmap(self.start, self.length) };
        }
    }
}
