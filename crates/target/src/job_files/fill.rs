//! Preparation of a file's content before the job.

use std::ops::ControlFlow;

use iodyno_model::Bytes;
use rustix::fs::{Advice, FallocateFlags};
use rustix::io::Errno;

use crate::chunk::Chunk;
use crate::job_files::{FilePlan, Fill};
use crate::{FillBuffer, OpenHow, TargetError, WriteClearance};

/// Write size, bytes.
const CHUNK_BYTES: usize = 1 << 20;

/// Fills the file from offset `from` on according to its plan. Returns the bytes of data written.
pub(super) fn fill(
    write: &WriteClearance,
    plan: &FilePlan,
    from: u64,
    name: &str,
    contents: Option<&mut FillBuffer>,
    watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<u64, TargetError> {
    let size = plan.size_bytes;
    let allocate = |flags| match rustix::fs::fallocate(write, flags, 0, size) {
        // Not every file system supports it; fio goes on without.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(Errno::NOSPC) if plan.fill != Fill::Written => {
            Err(TargetError::NotAllocated { name: name.into(), size: Bytes(size).binary() })
        }
        Err(errno) => Err(failed(name, "allocate its space", errno, size)),
    };
    let truncate = || {
        rustix::fs::ftruncate(write, size)
            .map(|()| 0)
            .map_err(|errno| failed(name, "set its size", errno, size))
    };
    match plan.fill {
        _ if size == 0 => Ok(0),
        Fill::None => Ok(0),
        Fill::Allocate => allocate(FallocateFlags::empty()).map(|()| 0),
        Fill::AllocateKeepingSize => allocate(FallocateFlags::KEEP_SIZE).map(|()| 0),
        Fill::AllocateAndTruncate => allocate(FallocateFlags::empty()).and_then(|()| truncate()),
        Fill::Truncate => truncate(),
        Fill::Written => {
            // Contiguous if possible. The size grows with the data written, so that an unfinished
            // file is too small for the next job, and is laid out again.
            allocate(FallocateFlags::KEEP_SIZE)?;
            write_all(write, from, size, name, contents, watcher)
                .map(|()| size.saturating_sub(from))
        }
    }
}

/// Writes `contents`, or random data, from offset `from` to `size_bytes`, and syncs it.
fn write_all(
    write: &WriteClearance,
    from: u64,
    size_bytes: u64,
    name: &str,
    mut contents: Option<&mut FillBuffer>,
    watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), TargetError> {
    let mut chunk = Chunk::new(CHUNK_BYTES)?;
    // Direct I/O writes whole blocks: the excess is truncated. It cannot begin within a block
    // without writing the bytes before.
    let block = u64::from(write.as_read().block_bytes()).max(1);
    let direct = from.is_multiple_of(block);
    let block = if direct { block } else { 1 };
    let file = write.open(OpenHow { direct, ..OpenHow::default() })?;
    let mut written = from;
    while written < size_bytes {
        if watcher(written).is_break() {
            return Err(TargetError::LayoutInterrupted { name: name.into(), removed: false });
        }
        let left_bytes = size_bytes - written;
        let length = (CHUNK_BYTES as u64).min(left_bytes.next_multiple_of(block));
        chunk
            .write_with(contents.as_deref_mut(), &file, length as usize, written)
            .map_err(|errno| failed(name, "write it", errno, left_bytes))?;
        written += length;
    }
    if written > size_bytes {
        rustix::fs::ftruncate(&file, size_bytes)
            .map_err(|errno| failed(name, "set its size", errno, 0))?;
    }
    rustix::fs::fsync(&file).map_err(|errno| failed(name, "sync it", errno, 0))?;
    if !direct || !write.as_read().direct() {
        // Make reads come from storage, not from the page cache. Only advice: the clearance carries
        // the caveat that the cache is used.
        let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    }
    let _ = watcher(size_bytes);
    Ok(())
}

/// Maps an errno; a full disk is reported with the bytes still missing.
fn failed(name: &str, action: &'static str, errno: Errno, missing_bytes: u64) -> TargetError {
    match errno {
        Errno::NOSPC => {
            TargetError::Full { name: name.into(), missing: Bytes(missing_bytes).binary() }
        }
        errno => TargetError::of(name, action, errno),
    }
}
