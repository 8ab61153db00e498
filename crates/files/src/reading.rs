//! Reads a file named by the user, up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use crate::door::kind_of;
use crate::error::{FileError, Kind};

/// Reads a regular file or a pipe, at most `most_bytes`.
///
/// # Errors
/// It is a device, a terminal or a folder, is longer, or is unreadable.
pub fn read(path: &Path, most_bytes: u64) -> Result<Vec<u8>, FileError> {
    read_stream(open_to_read(path)?, path, most_bytes)
}

/// Opens a regular file or a pipe for reading.
///
/// # Errors
/// It is a device, a terminal or a folder, or is unreadable.
pub fn open_to_read(path: &Path) -> Result<File, FileError> {
    let failed = |errno: Errno| FileError::Unreadable { path: path.into(), error: errno.into() };
    let found = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    let stat = fstat(&found).map_err(failed)?;
    let is_pipe = FileType::from_raw_mode(stat.st_mode) == FileType::Fifo;
    match kind_of(&stat) {
        None => {}
        Some(Kind::Stream) if is_pipe => {}
        Some(kind) => return Err(FileError::NotReadable { path: path.into(), kind }),
    }
    let reopened = reopen(&found, OFlags::RDONLY | OFlags::CLOEXEC);
    reopened.map_err(|error| FileError::Unreadable { path: path.into(), error })
}

/// Opens the inode that an `O_PATH` descriptor holds, whatever has its name by now.
///
/// # Errors
/// As open(2); without /proc, an error that it is not mounted, since the file itself exists.
pub(crate) fn reopen(held: &impl AsRawFd, flags: OFlags) -> io::Result<File> {
    match open(format!("/proc/self/fd/{}", held.as_raw_fd()), flags, Mode::empty()) {
        Err(Errno::NOENT) => {
            let why = "/proc is not mounted: mount -t proc proc /proc";
            Err(io::Error::new(io::ErrorKind::Unsupported, why))
        }
        opened => Ok(opened?.into()),
    }
}

/// True if the file system that contains `path`, or will contain it, is mounted read-only.
pub fn is_read_only(path: &Path) -> bool {
    let there = path.ancestors().find_map(|path| rustix::fs::statvfs(path).ok());
    there.is_some_and(|found| found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// Reads all of an open stream named `path`, at most `most_bytes`.
///
/// # Errors
/// It is longer, or is unreadable.
pub fn read_stream(stream: impl Read, path: &Path, most_bytes: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    match stream.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes) {
        Err(error) => Err(FileError::Unreadable { path: path.into(), error }),
        Ok(read) if read as u64 > most_bytes => {
            Err(FileError::TooLong { path: path.into(), most_bytes })
        }
        Ok(_) => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_files_are_not_read() {
        for path in ["/dev/zero", "/dev/null", "/dev/full", "/dev/ptmx", "/"] {
            let error = read(Path::new(path), 1 << 20).unwrap_err();
            assert!(matches!(error, FileError::NotReadable { .. }), "{error}");
        }
        let endless = std::io::repeat(0);
        let error = read_stream(endless, Path::new("standard input"), 1 << 20).unwrap_err();
        assert!(matches!(error, FileError::TooLong { .. }), "{error}");
    }

    #[test]
    fn files_and_pipes_are_read_whole() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789").unwrap();
        assert_eq!(read(file.path(), 10).unwrap(), b"0123456789");
        assert!(matches!(read(file.path(), 9), Err(FileError::TooLong { most_bytes: 9, .. })));
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut writer, b"piped").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(read(Path::new(&path), 10).unwrap(), b"piped");
    }
}
