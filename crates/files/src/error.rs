//! Why a file is not written.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// What stands where a regular file was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A disk, a partition, a loop device.
    BlockDevice,
    /// A character device that is neither a terminal nor /dev/null.
    CharacterDevice,
    /// A directory.
    Directory,
    /// A socket.
    Socket,
    /// A pipe, a terminal or /dev/null, where a file is needed.
    Stream,
    /// A symbolic link: to nothing, or where iodyno made the name up.
    SymbolicLink,
    /// A file with further names, where iodyno made this one up.
    HardLink,
    /// A file of /proc, /sys and the like: writing it changes the kernel.
    KernelFile,
}

/// Why a file is not written or removed.
#[derive(Debug, Error)]
pub enum FileError {
    /// What is there is not written to.
    #[error("{path} is {kind}, and is left as it is: {}", .kind.advice())]
    NotAFile {
        /// Its name.
        path: PathBuf,
        /// What it is.
        kind: Kind,
    },
    /// What is there is not read: it has no end, or waits for a keyboard.
    #[error("{path} is {kind}, and no file that could be read")]
    NotReadable {
        /// Its name.
        path: PathBuf,
        /// What it is.
        kind: Kind,
    },
    /// More than anybody writes.
    #[error("{path} is longer than {most_bytes} bytes, which no such file is")]
    TooLong {
        /// Its name.
        path: PathBuf,
        /// What is read at most, bytes.
        most_bytes: u64,
    },
    /// The directory for it is missing.
    #[error("{path}: there is no folder {folder}; make it first, or name another file")]
    NoFolder {
        /// The file's name.
        path: PathBuf,
        /// The folder that is missing.
        folder: PathBuf,
    },
    /// A new file was wanted.
    #[error("{path} exists already; name a new file")]
    Exists {
        /// Its name.
        path: PathBuf,
    },
    /// A log, or settings, are written in place of nothing but the same.
    #[error("{path} is there already and holds something else; name a new file")]
    NoLog {
        /// Its name.
        path: PathBuf,
    },
    /// The system does not let it be read.
    #[error("{path} cannot be read: {error}")]
    Unreadable {
        /// Its name.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The system refused.
    #[error("cannot write {path}: {error}")]
    System {
        /// Its name.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BlockDevice => "a block device",
            Self::CharacterDevice => "a character device",
            Self::Directory => "a folder",
            Self::Socket => "a socket",
            Self::Stream => "a pipe, a terminal or /dev/null",
            Self::SymbolicLink => "a symbolic link",
            Self::HardLink => "a file with other names (hard links)",
            Self::KernelFile => "a file of the kernel's (/proc, /sys)",
        })
    }
}

impl Kind {
    const fn advice(self) -> &'static str {
        match self {
            Self::BlockDevice | Self::CharacterDevice => {
                "devices are written by jobs alone; name a regular file"
            }
            Self::SymbolicLink => "remove the link, or name the file itself",
            _ => "name a regular file",
        }
    }
}
