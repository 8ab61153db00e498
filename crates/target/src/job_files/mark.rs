//! How a file that iodyno laid out is known again.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::XattrFlags;

/// The extended attribute's name.
const NAME: &str = "user.iodyno.laid_out";
/// The version of what it says: version and inode number, so that a copy that
/// took the attribute along is not taken for ours.
const VERSION: u32 = 1;

/// Marks a file that was just made. Where the file system has no extended
/// attributes of users it stays unmarked, and is written again only with
/// permission.
pub(crate) fn set(file: &OwnedFd) {
    if let Ok(stat) = rustix::fs::fstat(file) {
        let value = value(stat.st_ino);
        let _ = rustix::fs::fsetxattr(file, NAME, value.as_bytes(), XattrFlags::empty());
    }
}

/// Whether iodyno laid this file out.
pub(crate) fn is_ours(file: &OwnedFd) -> bool {
    let mut bytes = [0; 64];
    let (Ok(stat), Ok(length)) =
        (rustix::fs::fstat(file), rustix::fs::fgetxattr(file, NAME, &mut bytes[..]))
    else {
        return false;
    };
    bytes.get(..length) == Some(value(stat.st_ino).as_bytes())
}

/// Whether there is a file of this name that iodyno laid out: it may be written
/// again without a permission of its own.
pub fn is_laid_out(path: &Path) -> bool {
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file && File::open(path).is_ok_and(|file| is_ours(&file.into()))
}

fn value(inode: u64) -> String {
    format!("{VERSION} {inode}")
}
