//! One I/O of a trace.

use std::ops::BitOr;

/// Operation of an I/O.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    /// From the device.
    #[default]
    Read,
    /// To the device.
    Write,
    /// Deallocates blocks (trim, unmap).
    Discard,
    /// Makes the volatile write cache durable; it has no address.
    Flush,
    /// Anything else: passthrough commands, zone management, write zeroes.
    Other,
}

impl Operation {
    /// All operations, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Discard, Self::Flush, Self::Other];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
            Self::Other => "other",
        }
    }
}

/// Flags of an I/O, from the block layer's `rwbs`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// Synchronous: somebody waits for it (`S`).
    pub const SYNC: Self = Self(1);
    /// File-system metadata (`M`).
    pub const META: Self = Self(2);
    /// Durable before it completes (`F` after the operation).
    pub const FUA: Self = Self(4);
    /// The cache is flushed first (`F` before the operation).
    pub const PREFLUSH: Self = Self(8);
    /// Read-ahead (`A`).
    pub const AHEAD: Self = Self(16);
    /// Number of flags.
    pub(crate) const BITS: u32 = 5;

    /// Converts from a number; higher bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & ((1 << Self::BITS) - 1))
    }

    /// Converts to a number.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// True if all of `others` are set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Latency of an I/O, ns, as far as its source records it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Latency {
    /// Unknown, or not completed during the recording.
    #[default]
    Unknown,
    /// From the application or the block layer to completion, undivided.
    Whole(u64),
    /// From dispatch to the driver until completion.
    Device(u64),
    /// Both parts.
    Split {
        /// From queueing to dispatch to the driver.
        queue: u64,
        /// From dispatch to completion.
        device: u64,
    },
}

impl Latency {
    /// Applies `change` to each of its parts.
    #[must_use]
    pub(crate) fn map(self, change: impl Fn(u64) -> u64) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Whole(ns) => Self::Whole(change(ns)),
            Self::Device(ns) => Self::Device(change(ns)),
            Self::Split { queue, device } => {
                Self::Split { queue: change(queue), device: change(device) }
            }
        }
    }

    /// Total of the known parts, ns.
    pub const fn total(self) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Whole(ns) | Self::Device(ns) => Some(ns),
            Self::Split { queue, device } => Some(queue.saturating_add(device)),
        }
    }

    /// The device's part, ns.
    pub const fn device(self) -> Option<u64> {
        match self {
            Self::Device(ns) | Self::Split { device: ns, .. } => Some(ns),
            Self::Unknown | Self::Whole(_) => None,
        }
    }

    /// The part before dispatch, ns.
    pub const fn queue(self) -> Option<u64> {
        match self {
            Self::Split { queue, .. } => Some(queue),
            _ => None,
        }
    }
}

/// One I/O.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Io {
    /// Submission time, ns after the trace's start.
    pub at_ns: u64,
    /// Device, as an index of [`Names::devices`](crate::Names::devices).
    pub device: u16,
    /// Operation.
    pub operation: Operation,
    /// Flags.
    pub flags: Flags,
    /// Start address, bytes; 0 for a flush.
    pub offset: u64,
    /// Length, bytes.
    pub length: u32,
    /// Latency.
    pub latency: Latency,
    /// Submitter, as an index of [`Names::actors`](crate::Names::actors).
    pub actor: Option<u32>,
}

impl Io {
    /// End address, bytes.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.length as u64)
    }
}
