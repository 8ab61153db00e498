//! One I/O of a trace.

use std::ops::BitOr;

/// What an I/O did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    /// From the device.
    #[default]
    Read,
    /// To the device.
    Write,
    /// Blocks that are no longer needed (trim, unmap).
    Discard,
    /// The volatile write cache becomes durable; it has no address.
    Flush,
    /// Whatever else: passthrough commands, zone management, zeroes without data.
    Other,
}

impl Operation {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Discard, Self::Flush, Self::Other];

    /// Its name in tables.
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

/// Properties of an I/O, as the block layer's `rwbs` tells them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// Somebody waits for it (`S`).
    pub const SYNC: Self = Self(1);
    /// Metadata of a file system (`M`).
    pub const META: Self = Self(2);
    /// Durable before it completes (`F` behind the operation).
    pub const FUA: Self = Self(4);
    /// The cache is flushed first (`F` in front of the operation).
    pub const PREFLUSH: Self = Self(8);
    /// Read ahead (`A`).
    pub const AHEAD: Self = Self(16);
    /// How many bits there are.
    pub(crate) const BITS: u32 = 5;

    /// Those of a number; higher bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & ((1 << Self::BITS) - 1))
    }

    /// As a number.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of `others` are set.
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

/// How long an I/O took, ns, as far as its source knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Latency {
    /// Not known, or it did not complete while it was watched.
    #[default]
    Unknown,
    /// From the application or the block layer to completion, undivided.
    Whole(u64),
    /// From dispatch to the driver until completion.
    Device(u64),
    /// Both parts.
    Split {
        /// Queued until dispatched to the driver.
        queue: u64,
        /// Dispatched until completed.
        device: u64,
    },
}

impl Latency {
    /// Each of its parts changed.
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

    /// All of it that is known, ns.
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
    /// When it was asked for, ns after the trace's start.
    pub at_ns: u64,
    /// Its device, among [`Names::devices`](crate::Names::devices).
    pub device: u16,
    /// What it did.
    pub operation: Operation,
    /// Its properties.
    pub flags: Flags,
    /// Where it begins, bytes; 0 of a flush.
    pub offset: u64,
    /// How long it is, bytes.
    pub length: u32,
    /// How long it took.
    pub latency: Latency,
    /// Who asked for it, among [`Names::actors`](crate::Names::actors).
    pub actor: Option<u32>,
}

impl Io {
    /// Where it ends, bytes.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.length as u64)
    }
}
