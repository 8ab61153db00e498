//! Helpers of this crate's tests.
#![allow(unsafe_code)] // A counting global allocator, and a mapping.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// A file of zeros on a file system that takes O_DIRECT.
pub(crate) struct Scratch {
    _directory: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Scratch {
    /// A file of `blocks` blocks, all written.
    pub(crate) fn new(blocks: u64) -> Self {
        let NumberedFile { _directory, path } = NumberedFile::new(blocks);
        std::fs::write(&path, vec![0; (blocks * BLOCK) as usize]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        Self { _directory, path }
    }

    /// For reading and writing past the page cache.
    pub(crate) fn open(&self) -> OwnedFd {
        open_direct(&self.path)
    }

    /// For reading and writing through the page cache.
    pub(crate) fn open_cached(&self) -> OwnedFd {
        OpenOptions::new().read(true).write(true).open(&self.path).unwrap().into()
    }

    /// For reading through the page cache.
    pub(crate) fn open_to_read(&self) -> OwnedFd {
        File::open(&self.path).unwrap().into()
    }

    pub(crate) fn set_size(&self, bytes: u64) {
        OpenOptions::new().write(true).open(&self.path).unwrap().set_len(bytes).unwrap();
    }

    pub(crate) fn size(&self) -> u64 {
        self.path.metadata().unwrap().len()
    }
}

fn open_direct(path: &Path) -> OwnedFd {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_DIRECT)
        .open(path)
        .expect("it takes O_DIRECT")
        .into()
}

/// A loop device on a file. Needs root and losetup.
pub(crate) struct LoopDevice {
    pub(crate) path: PathBuf,
}

impl LoopDevice {
    pub(crate) fn new(file: &Path) -> Self {
        let output = losetup(&["--find", "--show", "--direct-io=on"], file);
        let path = String::from_utf8(output).unwrap().trim_end().into();
        Self { path }
    }

    /// For reading and writing past the page cache.
    pub(crate) fn open(&self) -> OwnedFd {
        open_direct(&self.path)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        losetup(&["--detach"], &self.path);
    }
}

fn losetup(options: &[&str], path: &Path) -> Vec<u8> {
    // An ordinary user's PATH may lack sbin.
    let found =
        ["/usr/sbin/losetup", "/sbin/losetup"].into_iter().find(|at| Path::new(at).exists());
    let output = Command::new(found.unwrap_or("losetup")).args(options).arg(path).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "losetup (this test needs root): {stderr}");
    output.stdout
}

/// True if the page cache holds dirty pages of a file. Needs root.
pub(crate) fn page_cache_holds_dirty_pages(path: &Path) -> bool {
    const DIRTY: u64 = 1 << 4; // KPF_DIRTY
    let file = File::open(path).unwrap();
    let size = file.metadata().unwrap().len() as usize;
    let protection = rustix::mm::ProtFlags::READ;
    let flags = rustix::mm::MapFlags::SHARED | rustix::mm::MapFlags::POPULATE;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    let start =
        unsafe { rustix::mm::mmap(std::ptr::null_mut(), size, protection, flags, &file, 0) };
    let start = start.unwrap();
    let entry = |path: &str, index: u64| {
        let mut entry = [0; 8];
        let table = File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        table.read_exact_at(&mut entry, 8 * index).unwrap();
        u64::from_le_bytes(entry)
    };
    let page = rustix::param::page_size();
    let dirty = (0..size).step_by(page).any(|offset| {
        let frame = entry("/proc/self/pagemap", ((start.addr() + offset) / page) as u64) << 9 >> 9;
        assert_ne!(frame, 0, "page frame numbers (this test needs root)");
        entry("/proc/kpageflags", frame) & DIRTY != 0
    });
    // SAFETY: mapped above; no address in it is kept.
    unsafe { rustix::mm::munmap(start, size).unwrap() };
    dirty
}

/// Number of a file's pages in memory.
pub(crate) fn pages_in_memory(path: &Path) -> usize {
    let file = File::open(path).unwrap();
    let size = file.metadata().unwrap().len() as usize;
    let (protection, flags) = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::SHARED);
    let mut pages = vec![0_u8; size.div_ceil(rustix::param::page_size())];
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists;
    // mincore writes a byte for each of its pages, and no address of it is kept.
    unsafe {
        let start = rustix::mm::mmap(std::ptr::null_mut(), size, protection, flags, &file, 0);
        let start = start.unwrap();
        assert_eq!(libc::mincore(start, size, pages.as_mut_ptr()), 0);
        rustix::mm::munmap(start, size).unwrap();
    }
    pages.iter().filter(|page| **page & 1 == 1).count()
}

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocations of this thread.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

// SAFETY: delegates to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}
