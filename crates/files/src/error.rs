//! Errors of writing, reading and removing files.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::links::PlantedLink;

/// Kind of object in place of a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Disk, partition or loop device.
    BlockDevice,
    /// Character device other than a terminal or /dev/null.
    CharacterDevice,
    /// Directory.
    Directory,
    /// Socket.
    Socket,
    /// Pipe, terminal or /dev/null, where a file is needed.
    Stream,
    /// Symbolic link: dangling, or at a name made up by iodyno.
    SymbolicLink,
    /// File with several hard links, at a name made up by iodyno.
    HardLink,
    /// File that a loop device lies on.
    LoopFile,
    /// Another user's pipe in a folder that others may write.
    PlantedPipe,
    /// File of /proc, /sys and the like: writing it changes the kernel.
    KernelFile,
}

/// Reason why a file is not written, read or removed.
#[derive(Debug, Error)]
pub enum FileError {
    /// The object is not written to.
    #[error("{path} is {kind}, left unchanged: {}", .kind.advice())]
    NotAFile {
        /// Path.
        path: PathBuf,
        /// Kind of object.
        kind: Kind,
    },
    /// Who planted the link chose what would be written.
    #[error("{path} leads over {link}: name where it leads")]
    PlantedLink {
        /// Path.
        path: PathBuf,
        /// The link.
        link: PlantedLink,
    },
    /// Another program would open it by name, whatever is there by then.
    #[error("{path} is written by fio, in a folder that everybody may write: name one of your own")]
    SharedFolder {
        /// Path.
        path: PathBuf,
    },
    /// The object is not read: it is endless, or waits for a keyboard.
    #[error("{path} is {kind}, not a readable file")]
    NotReadable {
        /// Path.
        path: PathBuf,
        /// Kind of object.
        kind: Kind,
    },
    /// Longer than the limit.
    #[error("{path} is too long: more than {most_bytes} bytes")]
    TooLong {
        /// Path.
        path: PathBuf,
        /// Limit, bytes.
        most_bytes: u64,
    },
    /// Its directory is missing.
    #[error("{path}: there is no folder {folder}; create it or name another file")]
    NoFolder {
        /// Path of the file.
        path: PathBuf,
        /// Missing folder.
        folder: PathBuf,
    },
    /// The file exists, but must be new.
    #[error("{path} already exists; name a new file")]
    Exists {
        /// Path.
        path: PathBuf,
    },
    /// A log or settings file only replaces one of its kind.
    #[error("{path} already exists with other content; name a new file")]
    NoLog {
        /// Path.
        path: PathBuf,
    },
    /// The system does not allow reading it.
    #[error("{path} cannot be read: {error}")]
    Unreadable {
        /// Path.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The system refused.
    #[error("cannot write {path}: {error}")]
    System {
        /// Path.
        path: PathBuf,
        /// Error of the system.
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
            Self::LoopFile => "the file of a loop device",
            Self::PlantedPipe => "another user's pipe in a folder that others may write",
            Self::KernelFile => "a kernel file (/proc, /sys)",
        })
    }
}

impl Kind {
    const fn advice(self) -> &'static str {
        match self {
            Self::BlockDevice | Self::CharacterDevice => {
                "only jobs write devices; name a regular file"
            }
            Self::SymbolicLink => "remove the link, or name the file itself",
            _ => "name a regular file",
        }
    }
}
