//! Engine `mmap`: memcpy from and to a mapping of the target.
#![allow(unsafe_code)] // Mapped memory.

use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::ptr;

use rustix::fs::{FileType, SeekFrom, fstat, seek};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use super::bus_error;
use super::files::Files;
use super::synchronous::{Synchronous, Transfer};
use super::{IoUnit, Operation, Setup};

/// Largest mapping of a file, bytes: address space is 128 TiB, and files and threads may be many.
const MAX_WINDOW_BYTES: u64 = 1 << 38;

/// fio's mmap.
pub(crate) type Mmap = Synchronous<Windows>;

/// The mapped window of each file.
///
/// A page that is not available (file truncated meanwhile, file system full, bad sector) raises
/// SIGBUS, which kills fio; here the I/O fails with EIO. The file size is read again whenever an
/// I/O goes beyond the known size.
#[derive(Debug)]
pub(crate) struct Windows {
    windows: Vec<Window>,
    options: MapOptions,
}

/// Options of mappings.
#[derive(Debug)]
struct MapOptions {
    writable: bool,
    advice: Advice,
    /// Largest window, bytes.
    max_bytes: u64,
}

#[derive(Debug)]
struct Window {
    start: *mut c_void,
    /// Mapped bytes; 0: nothing is mapped.
    length: usize,
    /// Offset in the file, bytes.
    offset: u64,
    /// Last known size of the file, bytes.
    size: u64,
    /// Writes through an earlier mapping may not be durable: a sync needs fsync.
    needs_fsync: bool,
}

impl Transfer for Windows {
    const NAME: &'static str = "mmap";

    fn new(files: &Files, setup: &Setup) -> Self {
        bus_error::handle();
        let none =
            || Window { start: ptr::null_mut(), length: 0, offset: 0, size: 0, needs_fsync: false };
        let windows = (0..files.len()).map(|_| none()).collect();
        let sequential = setup.options.sequential;
        let advice = if sequential { Advice::Sequential } else { Advice::Random };
        let options = MapOptions { writable: setup.writable, advice, max_bytes: MAX_WINDOW_BYTES };
        Self { windows, options }
    }

    #[inline]
    unsafe fn transfer(&mut self, files: &Files, unit: &IoUnit, memory: *mut u8) -> i64 {
        let IoUnit { offset, file, operation, .. } = *unit;
        let mut length = u64::from(unit.length);
        let window = &mut self.windows[usize::from(file)];
        let end = offset.saturating_add(length);
        if offset < window.offset || end > window.offset + window.length as u64 {
            let target = files.fd(file);
            let mapped = window.map_range(target, offset, length, &mut self.options);
            if let Err(errno) = mapped {
                return -i64::from(errno.raw_os_error());
            }
            // No data past the end of the file.
            length = length.min(window.size.saturating_sub(offset));
            if length == 0 {
                return 0;
            }
        }
        let mapped = window.start.wrapping_byte_add((offset - window.offset) as usize).cast::<u8>();
        let count = length as usize;
        // SAFETY: `mapped` is inside the window for `count` bytes, which are below the file's known
        // size, and the window is this thread's; `memory` is the caller's promise; the two are
        // different mappings. The window is writable if the setup is, and `Rights` rejects writes
        // otherwise.
        let copied = unsafe {
            bus_error::guarded(mapped.addr()..mapped.addr() + count, || {
                if operation == Operation::Write {
                    ptr::copy_nonoverlapping(memory, mapped, count);
                } else {
                    ptr::copy_nonoverlapping(mapped, memory, count);
                }
            })
        };
        if copied { length as i64 } else { window.io_error() }
    }

    fn sync(&mut self, files: &Files, unit: &IoUnit) -> i64 {
        let window = &mut self.windows[usize::from(unit.file)];
        // With `io_submit_mode=offload` other threads may have mapped and written the file.
        if window.needs_fsync || window.length == 0 {
            window.needs_fsync = false;
            return files.execute(unit);
        }
        // SAFETY: the window is mapped; msync changes no contents.
        let done = unsafe { msync(window.start, window.length, MsyncFlags::SYNC) };
        done.map_or_else(|errno| -i64::from(errno.raw_os_error()), |()| 0)
    }
}

impl Window {
    /// Maps a window that covers `length` bytes at `offset`, up to the end of the file: the whole
    /// file, or an aligned piece of at most `options.max_bytes` bytes and a block.
    #[cold]
    fn map_range(
        &mut self,
        file: &OwnedFd,
        offset: u64,
        length: u64,
        options: &mut MapOptions,
    ) -> Result<(), Errno> {
        self.size = target_size(file)?;
        self.unmap();
        if offset >= self.size {
            return Ok(());
        }
        loop {
            let start = offset - offset % options.max_bytes;
            let end = start
                .saturating_add(options.max_bytes)
                .max(offset.saturating_add(length))
                .min(self.size);
            let write = if options.writable { ProtFlags::WRITE } else { ProtFlags::empty() };
            let (protection, bytes) = (ProtFlags::READ | write, (end - start) as usize);
            // SAFETY: a new mapping at an address of the kernel's choice touches nothing that
            // exists.
            let mapped =
                unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, start) };
            match mapped {
                Ok(mapped) => {
                    // SAFETY: the mapping made above. The advice changes no contents.
                    let _ = unsafe { madvise(mapped, bytes, options.advice) };
                    (self.start, self.length, self.offset) = (mapped, bytes, start);
                    return Ok(());
                }
                // RLIMIT_AS, or too many mappings.
                Err(Errno::NOMEM) if options.max_bytes > 1 << 21 => options.max_bytes /= 2,
                Err(errno) => return Err(errno),
            }
        }
    }

    /// The result of an I/O that faulted: EIO. The next one maps the window again.
    #[cold]
    fn io_error(&mut self) -> i64 {
        self.unmap();
        -i64::from(libc::EIO)
    }

    fn unmap(&mut self) {
        if self.length > 0 {
            self.needs_fsync = true;
            // SAFETY: mapped by `map_range`; no address in it is in use.
            let _ = unsafe { munmap(self.start, self.length) };
            self.length = 0;
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.unmap();
    }
}

fn target_size(file: &OwnedFd) -> Result<u64, Errno> {
    let status = fstat(file)?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::BlockDevice => seek(file, SeekFrom::End(0)),
        _ => Ok(status.st_size as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BLOCK, Scratch};

    #[test]
    fn a_file_that_is_longer_than_the_window_is_mapped_piece_by_piece() {
        let file = Scratch::new(10);
        let files = Files::new(vec![file.open_cached()], Vec::new()).unwrap();
        let mut setup = Setup::read_only(vec![file.open_cached()], 1, 4096);
        setup.writable = true;
        let mut windows = Windows::new(&files, &setup);
        windows.options.max_bytes = 2 * BLOCK;
        let mut memory = [0_u8; BLOCK as usize];
        let at = |offset, operation| IoUnit {
            offset,
            length: BLOCK as u32,
            operation,
            ..IoUnit::default()
        };
        // The last one crosses two windows.
        let offsets =
            [0, 9, 4, 1, 3].map(|number| number * BLOCK).into_iter().chain([BLOCK * 13 / 2]);
        for (operation, offset) in [Operation::Write, Operation::Read]
            .into_iter()
            .flat_map(|operation| offsets.clone().map(move |offset| (operation, offset)))
        {
            let value = (offset / 512) as u8 + 1;
            memory.fill(if operation == Operation::Write { value } else { 0 });
            // SAFETY: a block of memory without other users.
            let moved =
                unsafe { windows.transfer(&files, &at(offset, operation), memory.as_mut_ptr()) };
            assert_eq!(moved, BLOCK as i64);
            assert!(memory.iter().all(|byte| *byte == value), "{operation:?} at {offset}");
            assert!(windows.windows[0].length as u64 <= 3 * BLOCK);
        }
        let sync = IoUnit { operation: Operation::Sync, ..IoUnit::default() };
        assert!(windows.windows[0].needs_fsync, "what was written elsewhere needs more than msync");
        assert_eq!(windows.sync(&files, &sync), 0);
        assert!(!windows.windows[0].needs_fsync);
    }

    #[test]
    fn a_file_that_this_thread_has_not_mapped_is_synced() {
        let files = Files::new(vec![std::fs::File::open("/dev/null").unwrap().into()], Vec::new());
        let (files, setup) = (files.unwrap(), Setup::read_only(Vec::new(), 1, 4096));
        let sync = IoUnit { operation: Operation::Sync, ..IoUnit::default() };
        let done = Windows::new(&files, &setup).sync(&files, &sync);
        assert_eq!(done, -i64::from(libc::EINVAL), "fsync of /dev/null");
    }

    #[test]
    fn a_missing_page_fails_its_io_with_eio() {
        let file = Scratch::new(10);
        let files = Files::new(vec![file.open_cached()], Vec::new()).unwrap();
        let mut setup = Setup::read_only(vec![file.open_cached()], 1, 4 * BLOCK as u32);
        setup.writable = true;
        let mut windows = Windows::new(&files, &setup);
        let mut memory = [1_u8; 4 * BLOCK as usize];
        let mut transfer = |block: u64, operation| {
            let (offset, length) = (block * BLOCK, 4 * BLOCK as u32);
            let unit = IoUnit { offset, length, operation, ..IoUnit::default() };
            // SAFETY: four blocks of memory without other users.
            unsafe { windows.transfer(&files, &unit, memory.as_mut_ptr()) }
        };
        for operation in [Operation::Read, Operation::Write] {
            file.set_size(10 * BLOCK);
            assert_eq!(transfer(0, operation), 4 * BLOCK as i64);
            file.set_size(5 * BLOCK);
            // The second of the four pages is gone, then all; the window still has them.
            assert_eq!(transfer(4, operation), -i64::from(libc::EIO), "{operation:?}");
            assert_eq!(transfer(0, operation), 4 * BLOCK as i64, "what is there can be had");
            file.set_size(10 * BLOCK);
            assert_eq!(transfer(6, operation), 4 * BLOCK as i64);
            file.set_size(BLOCK);
            assert_eq!(transfer(6, operation), -i64::from(libc::EIO), "{operation:?}");
            assert_eq!(transfer(6, operation), 0, "its size was looked at");
        }
        assert_eq!(file.size(), BLOCK, "nothing made it grow");
    }

    /// Faults in a mapping that is not guarded.
    fn raise_bus_error() {
        bus_error::handle();
        let file = Scratch::new(1);
        let (size, flags) = (BLOCK as usize, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice; the read is meant to fault.
        unsafe {
            let file_descriptor = file.open_cached();
            let mapped =
                mmap(ptr::null_mut(), size, ProtFlags::READ, flags, &file_descriptor, 0).unwrap();
            file.set_size(0);
            std::hint::black_box(mapped.cast::<u8>().read_volatile());
        }
    }

    #[test]
    fn an_unguarded_bus_error_kills_the_process() {
        use std::os::unix::process::ExitStatusExt;
        const RAISES: &str = "IODYNO_TEST_MEETS_A_BUS_ERROR";
        if std::env::var_os(RAISES).is_some() {
            return raise_bus_error();
        }
        // Runs this test again in a child process.
        let name = "engines::mmap::tests::an_unguarded_bus_error_kills_the_process";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(RAISES, "1")
            .output()
            .unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
    }
}
