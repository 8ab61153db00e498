//! Inputs and outputs of a stream: files and devices, requests, regions and planned work.

use thiserror::Error;

use crate::Operation;

/// The error of a job that does not fit its files or devices: what does not, and what would.
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

/// Size and block size of a file or device that a job works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Size, bytes; for a file that is to be laid out, the size afterwards; `u64::MAX` for one that
    /// grows until the device is full (`fill_device`).
    pub size_bytes: u64,
    /// Offsets and lengths must be multiples of this, bytes; 1 through the page cache.
    pub block_bytes: u32,
}

/// One I/O to issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    /// Offset in its file, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u32,
    /// Index of its file, in the order of the rooms.
    pub file: u16,
    /// Read, write or trim; a stream makes no syncs.
    pub operation: Operation,
}

impl Request {
    /// True if both touch the same bytes.
    #[must_use]
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.file == other.file
            && self.offset < other.offset + other.length as u64
            && other.offset < self.offset + self.length as u64
    }
}

/// A part of a file that a job may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Index of the file, in the order of the rooms.
    pub file: u16,
    /// Start, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u64,
}

/// The work of a stream, if it is not ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedWork {
    /// Requests.
    pub ios: u64,
    /// Bytes of all directions together.
    pub bytes: u64,
}
