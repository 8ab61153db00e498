//! What a file gets before the job.

use std::ops::ControlFlow;

use iodyno_model::Bytes;
use rustix::fs::{Advice, FallocateFlags};
use rustix::io::Errno;

use crate::job_files::{FilePlan, Fill};
use crate::random::{Random, unguessable};
use crate::{OpenHow, TargetError, WriteClearance};

/// Written at once, bytes.
const CHUNK_BYTES: u64 = 1 << 20;
/// Buffers are aligned to this, bytes.
const ALIGN_BYTES: usize = 64 << 10;

/// Fills the file as its plan says; the bytes of data that were written.
pub(super) fn fill(
    write: &WriteClearance,
    plan: &FilePlan,
    name: &str,
    watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<u64, TargetError> {
    let size = plan.size_bytes;
    let allocate = |flags| match rustix::fs::fallocate(write, flags, 0, size) {
        // Not every file system can; fio goes on without.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(errno) => Err(failed(name, "allocate its space", errno, size)),
    };
    match plan.fill {
        _ if size == 0 => Ok(0),
        Fill::None => Ok(0),
        Fill::Allocate => allocate(FallocateFlags::empty()).map(|()| 0),
        Fill::AllocateKeepingSize => allocate(FallocateFlags::KEEP_SIZE).map(|()| 0),
        Fill::Truncate => rustix::fs::ftruncate(write, size)
            .map(|()| 0)
            .map_err(|errno| failed(name, "set its size", errno, size)),
        Fill::Written => {
            // In one piece where that can be. The size grows with what is
            // written, so that a file that was left half done is too small
            // for the next job, and laid out again.
            allocate(FallocateFlags::KEEP_SIZE)?;
            write_all(write, size, name, watcher).map(|()| size)
        }
    }
}

/// Writes random data from the start to `size_bytes`, and syncs it.
fn write_all(
    write: &WriteClearance,
    size_bytes: u64,
    name: &str,
    watcher: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), TargetError> {
    let seed = unguessable::<8>().map_err(|error| TargetError::Io {
        name: "/dev/urandom".into(),
        action: "read it",
        error,
    })?;
    let mut random = Random::new(u64::from_ne_bytes(seed));
    let chunk_bytes = usize::try_from(CHUNK_BYTES).expect("1 MiB fits everywhere");
    let mut space = vec![0; chunk_bytes + ALIGN_BYTES];
    let start = space.as_ptr().align_offset(ALIGN_BYTES);
    let chunk = &mut space[start..start + chunk_bytes];
    let file = write.open(OpenHow::default())?;
    // Direct I/O writes whole blocks: what is too much is cut off again.
    let block = u64::from(write.as_read().block_bytes()).max(1);
    let mut written = 0;
    while written < size_bytes {
        if watcher(written).is_break() {
            return Err(TargetError::LayoutInterrupted { name: name.into(), removed: false });
        }
        let length = CHUNK_BYTES.min((size_bytes - written).next_multiple_of(block));
        let length = usize::try_from(length).expect("at most a chunk");
        random.fill(&mut chunk[..length]);
        let mut done = 0;
        while done < length {
            match rustix::io::pwrite(&file, &chunk[done..length], written + done as u64) {
                Ok(0) => return Err(failed(name, "write it", Errno::NOSPC, size_bytes - written)),
                Ok(bytes) => done += bytes,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(name, "write it", errno, size_bytes - written)),
            }
        }
        written += length as u64;
    }
    if written > size_bytes {
        rustix::fs::ftruncate(&file, size_bytes)
            .map_err(|errno| failed(name, "set its size", errno, 0))?;
    }
    rustix::fs::fsync(&file).map_err(|errno| failed(name, "sync it", errno, 0))?;
    if !write.as_read().direct() {
        // Read it from storage, not from the page cache. Only advice: the
        // clearance says that the cache is in between.
        let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    }
    let _ = watcher(size_bytes);
    Ok(())
}

/// A full disk is told with what was still missing.
fn failed(name: &str, action: &'static str, errno: Errno, missing_bytes: u64) -> TargetError {
    match errno {
        Errno::NOSPC => {
            TargetError::Full { name: name.into(), missing: Bytes(missing_bytes).binary() }
        }
        errno => TargetError::of(name, action, errno),
    }
}
