//! What the tests of this crate share.
#![allow(unsafe_code)] // A global allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::buffers::Buffers;

/// Lets a test see what an engine has read.
pub(crate) trait Look {
    fn buffers(&self) -> &Buffers;
}

/// Block size of the files, bytes.
pub(crate) const BLOCK: u64 = 4096;

/// A file on a file system that takes O_DIRECT, whose blocks start with their number.
pub(crate) struct NumberedFile {
    _directory: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl NumberedFile {
    pub(crate) fn new(blocks: u64) -> Self {
        // Beside the build, not in /tmp: that may be a tmpfs.
        let beside = Path::new(env!("CARGO_MANIFEST_DIR"));
        let directory =
            tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap_or(beside))
                .unwrap();
        let path = directory.path().join("numbered");
        let mut data = Vec::with_capacity((blocks * BLOCK) as usize);
        for number in 0..blocks {
            data.extend(number.to_le_bytes());
            data.resize(data.len() + BLOCK as usize - 8, !number as u8);
        }
        let mut file = File::create(&path).unwrap();
        file.write_all(&data).unwrap();
        file.sync_all().unwrap();
        Self { _directory: directory, path }
    }

    /// A descriptor for reading past the page cache.
    pub(crate) fn open(&self) -> OwnedFd {
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECT)
            .open(&self.path)
            .expect("the build directory's file system takes O_DIRECT")
            .into()
    }
}

/// Counts allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many allocations this thread has made.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises, passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}
