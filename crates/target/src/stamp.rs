//! Marks drives that are given up, as proof after a kill that the drive may be emptied.
//!
//! For drives on which nothing with its own mark is built. The mark is in the first and in the last
//! block: I/O on the drive itself begins at the first and never reaches the last, and dm-crypt
//! leaves the first alone.

use iodyno_model::Mark;
use rustix::fs::Advice;
use rustix::io::Errno;

use crate::{OpenHow, ReadClearance, TargetError, WriteClearance};

/// Length of each mark, bytes: a whole number of blocks of any drive.
const BYTES: u64 = 4096;
const CACHED: OpenHow = OpenHow { direct: false, sync: crate::SyncMode::None, nonblocking: false };

/// Writes `mark` on a cleared drive.
///
/// # Errors
/// As for writing the drive.
pub fn stamp(drive: &WriteClearance, mark: Mark) -> Result<(), TargetError> {
    write(drive, &offsets(drive.as_read().size_bytes()), &block(mark))
}

/// Zeroes what is left of `mark` on a cleared drive.
///
/// # Errors
/// As for reading and writing the drive.
pub fn unstamp(drive: &WriteClearance, mark: Mark) -> Result<(), TargetError> {
    let left = stamped(drive.as_read(), mark)?;
    write(drive, &left, &[0; BYTES as usize])
}

/// True if a drive carries `mark` at one of its offsets.
///
/// # Errors
/// As for reading the drive.
pub fn is_stamped(drive: &ReadClearance, mark: Mark) -> Result<bool, TargetError> {
    Ok(!stamped(drive, mark)?.is_empty())
}

/// Second copy of btrfs's superblock, which wipefs(8) leaves, bytes (fs/btrfs/disk-io.h).
const BTRFS_COPY: u64 = 64 << 20;

/// True if a drive holds the second copy of a btrfs superblock.
///
/// # Errors
/// As for reading the drive.
pub fn has_btrfs_copy(drive: &ReadClearance) -> Result<bool, TargetError> {
    const MAGIC: &[u8] = b"_BHRfS_M";
    Ok(read_block(drive, BTRFS_COPY)?[0x40..].starts_with(MAGIC))
}

/// Zeroes the second copy of a btrfs superblock on a cleared drive that has one.
///
/// # Errors
/// As for writing the drive.
pub fn erase_btrfs_copy(drive: &WriteClearance) -> Result<(), TargetError> {
    write(drive, &[BTRFS_COPY], &[0; BYTES as usize])
}

/// Returns the offsets of the marks on a drive of `size_bytes`.
fn offsets(size_bytes: u64) -> Vec<u64> {
    let last = (size_bytes / BYTES).saturating_sub(1) * BYTES;
    if last == 0 { vec![0] } else { vec![0, last] }
}

/// Content of a block with `mark`.
pub(crate) fn block(mark: Mark) -> Vec<u8> {
    let mut block = format!("given up for iodyno layouts: {mark}\n").into_bytes();
    block.resize(BYTES as usize, 0);
    block
}

fn stamped(drive: &ReadClearance, mark: Mark) -> Result<Vec<u64>, TargetError> {
    let expected = block(mark);
    let mut found = Vec::new();
    for offset in offsets(drive.size_bytes()) {
        if read_block(drive, offset)? == expected {
            found.push(offset);
        }
    }
    Ok(found)
}

/// Reads a block; zeros beyond the end.
fn read_block(drive: &ReadClearance, offset: u64) -> Result<Vec<u8>, TargetError> {
    let file = drive.open(CACHED)?;
    // Layers above bypass the drive's page cache when writing.
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    let mut bytes = vec![0; BYTES as usize];
    rustix::io::pread(&file, &mut bytes[..], offset)
        .map_err(|errno| TargetError::of(drive.name(), "read its mark", errno))?;
    Ok(bytes)
}

fn write(drive: &WriteClearance, offsets: &[u64], bytes: &[u8]) -> Result<(), TargetError> {
    let failed = |errno| TargetError::of(drive.as_read().name(), "write its mark", errno);
    if offsets.is_empty() {
        return Ok(());
    }
    let file = drive.open(CACHED)?;
    for offset in offsets {
        match rustix::io::pwrite(&file, bytes, *offset) {
            Ok(written) if written == bytes.len() => {}
            Ok(_) => return Err(failed(Errno::IO)),
            Err(errno) => return Err(failed(errno)),
        }
    }
    rustix::fs::fsync(&file).map_err(failed)?;
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    Ok(())
}
