//! Mismatches found by verification, and their descriptions.

use std::fmt;

use iodyno_model::Caveat;

use super::checksum::Checksum;
use super::header;

/// Smallest unit that drives and kernels write atomically, bytes.
const SECTOR: u64 = 512;

/// An interval with unexpected contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Offset of the interval, bytes.
    pub(crate) offset: u64,
    /// Length of the interval, bytes.
    pub(crate) length: u64,
    /// Kind of mismatch.
    pub(crate) kind: MismatchKind,
}

/// Kinds of mismatches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MismatchKind {
    /// No header, although one was written.
    NeverWritten {
        /// All bytes are zero.
        zeros: bool,
    },
    /// Apparently a header of fio's.
    Fio,
    /// Too short for a header: the rest at the end of a file.
    Short,
    /// The header is damaged.
    Header,
    /// The header is of another version of iodyno.
    Version {
        /// That version.
        found: u8,
    },
    /// Written with another interval or block size.
    Length {
        /// Length in the header, bytes.
        found: u32,
    },
    /// Written with another method.
    Method {
        /// Number of the job's method.
        expected: u8,
        /// Number in the header.
        found: u8,
    },
    /// Written for another offset.
    Misdirected {
        /// Offset in the header, bytes.
        found_offset: u64,
    },
    /// Holds the previous contents: a write was acknowledged and lost.
    LostWrite {
        /// Number of the last write.
        expected: Option<u64>,
        /// Number of the write found; `None`: an earlier run's.
        found: Option<u64>,
    },
    /// Holds a later write than expected.
    NewerWrite {
        /// Number of the expected write.
        expected: u64,
        /// Number of the write found.
        found: u64,
    },
    /// Another thread of the same run wrote it.
    OtherWriter {
        /// That thread's number.
        thread: u32,
    },
    /// The payload does not match the stored checksum.
    Checksum {
        /// The stored and the computed checksum.
        sums: Box<ChecksumPair>,
        /// Differences in the payload; `None`: the stored checksum itself is wrong.
        damage: Option<Damage>,
    },
    /// The payload is not the pattern, or not that of the write.
    Contents {
        /// Differences in the payload.
        damage: Damage,
    },
    /// Trimmed, but does not read as zeros.
    NotZero {
        /// First nonzero byte, counted from the interval's start.
        first: u64,
        /// Its value.
        found: u8,
    },
}

/// Two checksums that should be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChecksumPair {
    /// Stored in the header.
    pub(crate) expected: Checksum,
    /// Computed from the payload.
    pub(crate) found: Checksum,
}

/// The wrong bytes of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    /// First wrong byte, counted from the interval's start.
    pub(crate) first: u64,
    /// Last wrong byte.
    pub(crate) last: u64,
    /// Number of wrong bytes.
    pub(crate) bytes: u64,
    /// Number of wrong bits.
    pub(crate) bits: u64,
    /// Expected value of the first wrong byte.
    pub(crate) expected: u8,
    /// Its actual value.
    pub(crate) found: u8,
    /// Length of the interval, bytes.
    length: u64,
}

impl Damage {
    pub(super) const fn at(place: usize, expected: u8, found: u8, length: usize) -> Self {
        let place = place as u64;
        let length = length as u64;
        Self { first: place, last: place, bytes: 0, bits: 0, expected, found, length }
    }

    pub(super) const fn add(&mut self, place: usize, bits: u32) {
        self.last = place as u64;
        self.bytes += 1;
        self.bits += bits as u64;
    }

    /// True if whole sectors up to the end are wrong, as after a torn write. One in 256 unrelated
    /// bytes is right by chance.
    pub(crate) const fn torn(&self) -> bool {
        let rest = self.length - self.first;
        self.first > 0 && self.first.is_multiple_of(SECTOR) && self.bytes * 10 > rest * 9
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, bytes, bits, expected, found, length } = self;
        if *bits == 1 {
            write!(f, "one bit is flipped, in byte {first} ({expected:02x}, now {found:02x})")
        } else if self.torn() {
            write!(f, "from byte {first} on it holds something else: a torn write")
        } else if *bytes == 1 {
            write!(f, "byte {first} is {found:02x} instead of {expected:02x}")
        } else {
            write!(
                f,
                "{bytes} of {length} bytes are wrong, the first is byte {first} \
                 ({found:02x} instead of {expected:02x}), the last byte {last}"
            )
        }
    }
}

impl Mismatch {
    /// The caveat for a measurement.
    pub(crate) fn caveat(&self) -> Caveat {
        Caveat::Mismatch {
            offset: self.offset,
            length: self.length,
            what: Description(self).to_string(),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}: {}", self.offset, Description(self))
    }
}

/// Formats a mismatch without its offset.
struct Description<'a>(&'a Mismatch);

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            MismatchKind::NeverWritten { zeros: true } => write!(
                f,
                "the block holds zeros instead of what was written: a lost write, \
                 or one that never was"
            ),
            MismatchKind::NeverWritten { zeros: false } => write!(
                f,
                "the block holds nothing that iodyno wrote: a lost write, or something \
                 else wrote there"
            ),
            MismatchKind::Fio => write!(
                f,
                "the block looks like one that fio wrote, whose headers are others than \
                 iodyno's: verify it with --generator fio"
            ),
            MismatchKind::Short => write!(
                f,
                "the block's {} bytes have no room for a header: make the size a multiple of bs",
                self.0.length
            ),
            MismatchKind::Header => write!(f, "the header of the block is damaged"),
            MismatchKind::Version { found } => write!(
                f,
                "the block was written by another version of iodyno (header version {found}): \
                 verify it with that one"
            ),
            MismatchKind::Length { found } => write!(
                f,
                "the block was written in intervals of {found} bytes, not {}: verify it with \
                 the bs and verify_interval that it was written with",
                self.0.length
            ),
            MismatchKind::Method { expected, found } => {
                let (expected, found) =
                    (header::method_name(*expected), header::method_name(*found));
                write!(f, "the block was written with verify={found}, not verify={expected}")
            }
            MismatchKind::Misdirected { found_offset } => write!(
                f,
                "the block holds what was written to offset {found_offset}: a misdirected write"
            ),
            MismatchKind::LostWrite { expected, found } => {
                match found {
                    Some(found) => write!(f, "the block holds write {found}")?,
                    None => write!(f, "the block holds what an earlier run wrote")?,
                }
                match expected {
                    Some(expected) => write!(f, " instead of write {expected}: a lost write"),
                    None => write!(f, " instead of what this one did: a lost write"),
                }
            }
            MismatchKind::NewerWrite { expected, found } => write!(
                f,
                "the block holds write {found}, which is newer than write {expected}: writes to \
                 it overlapped (serialize_overlap=1 prevents that)"
            ),
            MismatchKind::OtherWriter { thread } => write!(
                f,
                "the block was written by thread {thread} of this run: jobs that verify must not \
                 write to the same place (offset_increment keeps them apart)"
            ),
            MismatchKind::Checksum { sums, damage } => {
                let ChecksumPair { expected, found } = &**sums;
                write!(f, "the block's checksum is {found} instead of {expected}: ")?;
                match damage {
                    Some(damage) => write!(f, "{damage}"),
                    None => write!(f, "the data is right, the stored checksum is wrong"),
                }
            }
            MismatchKind::Contents { damage } => {
                write!(f, "the block does not hold what was written: {damage}")
            }
            MismatchKind::NotZero { first, found } => write!(
                f,
                "the block was trimmed and does not read as zeros: byte {first} is {found:02x}"
            ),
        }
    }
}
