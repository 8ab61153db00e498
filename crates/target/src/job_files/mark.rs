//! Recognizes files that iodyno laid out and that nobody has changed since.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Advice, Stat, XattrFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// Name of the extended attribute.
const NAME: &str = "user.iodyno.laid_out";
/// Version of its value: a checksum of inode number, size, time of the last write and some blocks.
/// The inode number distinguishes the file from a copy that kept the attribute, the rest from other
/// content. It is short: a longer one would not fit into an ext4 inode, and take a block. Version 1
/// was the inode number.
const VERSION: u32 = 2;
/// Blocks in the checksum besides the first and the last: the time of the last write is only as
/// precise as a kernel tick.
const SAMPLES: u64 = 64;
const BLOCK_BYTES: u64 = 4096;

/// Marks a file when dropped, after everything that iodyno wrote into it. A kill before that leaves
/// a mark that does not match, or none.
#[derive(Debug)]
pub(crate) struct MarkOnDrop(pub(crate) OwnedFd);

impl MarkOnDrop {
    /// Marks it in its present state.
    pub(crate) fn now(&self) {
        set(&self.0);
    }
}

impl Drop for MarkOnDrop {
    fn drop(&mut self) {
        self.now();
    }
}

/// Marks a file in its present state. Without support for user extended attributes it stays
/// unmarked, and is written again only with permission.
fn set(file: &OwnedFd) {
    let Ok(stat) = rustix::fs::fstat(file) else { return };
    if stat.st_nlink == 0 {
        return;
    }
    if let Ok(value) = value(file, &stat) {
        let _ = rustix::fs::fsetxattr(file, NAME, value.as_bytes(), XattrFlags::empty());
    }
}

/// True if iodyno laid this file out and its content is unchanged.
pub(crate) fn is_ours(file: &OwnedFd) -> bool {
    let mut bytes = [0; 64];
    let (Ok(stat), Ok(length)) =
        (rustix::fs::fstat(file), rustix::fs::fgetxattr(file, NAME, &mut bytes[..]))
    else {
        return false;
    };
    let found = bytes.get(..length);
    value(file, &stat).is_ok_and(|value| found == Some(value.as_bytes()))
}

/// Returns the value that the mark of a file would have now; `None`: it cannot be read.
pub(super) fn of(file: &OwnedFd) -> Option<String> {
    value(file, &rustix::fs::fstat(file).ok()?).ok()
}

/// True if writing this file loses nothing: its content is iodyno's, or it is empty, as touch(1)
/// and mktemp(1) make files for others to write.
pub(crate) fn is_free(file: &OwnedFd) -> bool {
    let is_empty = |stat: Stat| stat.st_size == 0 && stat.st_nlink > 0;
    rustix::fs::fstat(file).is_ok_and(is_empty) || is_ours(file)
}

/// True if `path` is a file that iodyno laid out and nobody has written since: it may be written
/// again without permission.
pub fn is_laid_out(path: &Path) -> bool {
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file && File::open(path).is_ok_and(|file| is_ours(&file.into()))
}

/// Returns version, and the first 128 bits of the SHA-256 of the inode facts and sampled blocks.
fn value(file: &OwnedFd, stat: &Stat) -> Result<String, Errno> {
    let Stat { st_ino, st_size, st_mtime, st_mtime_nsec, .. } = stat;
    let mut sum = Sha256::new();
    sum.update(format!("{st_ino} {st_size} {st_mtime} {st_mtime_nsec} "));
    // Keep all but the samples out of the page cache; advice only.
    let _ = rustix::fs::fadvise(file, 0, None, Advice::Random);
    let mut block = [0; BLOCK_BYTES as usize];
    for offset in sampled(u64::try_from(*st_size).unwrap_or(0)) {
        let length = rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut block[..], offset))?;
        sum.update(&block[..length]);
        let length = std::num::NonZeroU64::new(BLOCK_BYTES);
        let _ = rustix::fs::fadvise(file.as_fd(), offset, length, Advice::DontNeed);
    }
    let digits =
        sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(format!("{VERSION} {digits}"))
}

/// Returns offsets of the sampled blocks: the first, the last, and others spread over the file by
/// the golden ratio, the same for each file of a size.
fn sampled(size_bytes: u64) -> impl Iterator<Item = u64> {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let blocks = size_bytes.div_ceil(BLOCK_BYTES);
    let spread = (1..=SAMPLES).map(move |n| {
        let part = n.wrapping_mul(GOLDEN);
        ((u128::from(part) * u128::from(blocks)) >> 64) as u64
    });
    let all = [0, blocks.saturating_sub(1)].into_iter().chain(spread);
    all.filter(move |_| blocks > 0).map(|block| block * BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_in_the_file_and_all_over_it() {
        for size_bytes in [0, 1, 4096, 4097, 1 << 20, u64::MAX >> 1] {
            assert!(sampled(size_bytes).all(|offset| offset < size_bytes), "{size_bytes}");
        }
        let size_bytes = 1 << 40;
        let mut places: Vec<u64> = sampled(size_bytes).collect();
        places.sort_unstable();
        assert_eq!((places[0], *places.last().unwrap()), (0, size_bytes - BLOCK_BYTES));
        let widest = places.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(widest < size_bytes / 20, "{widest}");
    }
}
