//! What a stream is made for, and what it makes.

use thiserror::Error;

use crate::Operation;

/// A job that does not fit its files or devices: what does not, and what would, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unfit(pub String);

impl From<Unfit> for String {
    fn from(error: Unfit) -> Self {
        error.0
    }
}

impl From<String> for Unfit {
    fn from(what: String) -> Self {
        Self(what)
    }
}

/// A file or device that a job works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Its size as it is, bytes: of a file that is to be laid out, after that;
    /// `u64::MAX` of one that grows until the device is full (`fill_device`).
    pub size_bytes: u64,
    /// Offsets and lengths have to be multiples of this many bytes: 1 through
    /// the page cache.
    pub block_bytes: u32,
}

/// One I/O to be made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    /// Where it starts in its file, bytes.
    pub offset: u64,
    /// How long it is, bytes.
    pub length: u32,
    /// The number of its file, in the order of the rooms.
    pub file: u16,
    /// Read, write or trim; a stream makes no syncs.
    pub operation: Operation,
}

/// A stretch of a file that a job may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The number of the file, in the order of the rooms.
    pub file: u16,
    /// Start, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u64,
}

/// How much a stream will make, if it is not ended before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// Requests.
    pub ios: u64,
    /// Bytes of all directions together.
    pub bytes: u64,
}
