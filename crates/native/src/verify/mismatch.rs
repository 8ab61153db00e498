//! What was found instead of what was expected, told to the person who waits
//! for it.

use std::fmt;

use iodyno_model::Caveat;

use super::checksum::Checksum;
use super::header;

/// Bytes that drives and kernels write as a whole, at the least.
const SECTOR: u64 = 512;

/// An interval that does not hold what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Of the interval, bytes.
    pub(crate) offset: u64,
    /// Of the interval, bytes.
    pub(crate) length: u64,
    /// What is wrong.
    pub(crate) kind: Kind,
}

/// What is wrong with an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There is no header, where one was written.
    NeverWritten {
        /// All of its bytes are zero.
        zeros: bool,
    },
    /// There is what looks like a header of fio's.
    Fio,
    /// It is too short for a header: what is left at the end of a file.
    Short,
    /// There is a header, and bits of it are wrong.
    Header,
    /// The header is of another version of iodyno.
    Version {
        /// That version.
        found: u8,
    },
    /// It was written with another interval or block size.
    Length {
        /// Bytes, as the header says.
        found: u32,
    },
    /// It was written with another method.
    Method {
        /// Number of the job's method.
        expected: u8,
        /// Number in the header.
        found: u8,
    },
    /// It was written for another place.
    Misdirected {
        /// Offset that the header holds, bytes.
        found_offset: u64,
    },
    /// It holds what was there before: a write was acknowledged and lost.
    LostWrite {
        /// Number of the last write.
        expected: Option<u64>,
        /// Number of the write that is there; `None`: an earlier run's.
        found: Option<u64>,
    },
    /// It holds a later write than the last that was expected.
    NewerWrite {
        /// Number of the expected write.
        expected: u64,
        /// Number of the write that is there.
        found: u64,
    },
    /// Another thread of the same run wrote it.
    OtherWriter {
        /// That thread's number.
        thread: u32,
    },
    /// The payload's checksum is not what the header says.
    Checksum {
        /// Of the header and of what is there.
        sums: Box<Sums>,
        /// What differs in the payload; `None`: nothing, the stored checksum
        /// itself is wrong.
        damage: Option<Damage>,
    },
    /// The payload is not the pattern, or not what the write made.
    Contents {
        /// What differs.
        damage: Damage,
    },
    /// It was trimmed, and does not read as zeros.
    NotZero {
        /// First byte that is not zero, counted from the interval's start.
        first: u64,
        /// Its value.
        found: u8,
    },
}

/// Two checksums that should be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sums {
    /// In the header.
    pub(crate) expected: Checksum,
    /// Of what is there.
    pub(crate) found: Checksum,
}

/// Which bytes of an interval are wrong.
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
    /// What the first wrong byte should be.
    pub(crate) expected: u8,
    /// What it is.
    pub(crate) found: u8,
    /// Of the interval, bytes.
    length: u64,
}

impl Damage {
    pub(super) const fn first(place: usize, expected: u8, found: u8, length: usize) -> Self {
        let place = place as u64;
        let length = length as u64;
        Self { first: place, last: place, bytes: 0, bits: 0, expected, found, length }
    }

    pub(super) const fn add(&mut self, place: usize, bits: u32) {
        self.last = place as u64;
        self.bytes += 1;
        self.bits += bits as u64;
    }

    /// Whole sectors to the end hold something else: what a write leaves that
    /// was cut in two. Of unrelated bytes one in 256 is right by chance.
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
    /// As a measurement has it.
    pub(crate) fn caveat(&self) -> Caveat {
        Caveat::Mismatch { offset: self.offset, length: self.length, what: What(self).to_string() }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}: {}", self.offset, What(self))
    }
}

/// What is wrong, without where.
struct What<'a>(&'a Mismatch);

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::NeverWritten { zeros: true } => write!(
                f,
                "the block holds zeros instead of what was written: a lost write, \
                 or one that never was"
            ),
            Kind::NeverWritten { zeros: false } => write!(
                f,
                "the block holds nothing that iodyno wrote: a lost write, or something \
                 else wrote there"
            ),
            Kind::Fio => write!(
                f,
                "the block looks like one that fio wrote, whose headers are others than \
                 iodyno's: verify it with --generator fio"
            ),
            Kind::Short => write!(
                f,
                "the block's {} bytes have no room for a header: make the size a multiple of bs",
                self.0.length
            ),
            Kind::Header => write!(f, "the header of the block is damaged"),
            Kind::Version { found } => write!(
                f,
                "the block was written by another version of iodyno (header version {found}): \
                 verify it with that one"
            ),
            Kind::Length { found } => write!(
                f,
                "the block was written in intervals of {found} bytes, not {}: verify it with \
                 the bs and verify_interval that it was written with",
                self.0.length
            ),
            Kind::Method { expected, found } => {
                let (expected, found) = (header::name(*expected), header::name(*found));
                write!(f, "the block was written with verify={found}, not verify={expected}")
            }
            Kind::Misdirected { found_offset } => write!(
                f,
                "the block holds what was written to offset {found_offset}: a misdirected write"
            ),
            Kind::LostWrite { expected, found } => {
                match found {
                    Some(found) => write!(f, "the block holds write {found}")?,
                    None => write!(f, "the block holds what an earlier run wrote")?,
                }
                match expected {
                    Some(expected) => write!(f, " instead of write {expected}: a lost write"),
                    None => write!(f, " instead of what this one did: a lost write"),
                }
            }
            Kind::NewerWrite { expected, found } => write!(
                f,
                "the block holds write {found}, which is newer than write {expected}: writes to \
                 it overlapped (serialize_overlap=1 prevents that)"
            ),
            Kind::OtherWriter { thread } => write!(
                f,
                "the block was written by thread {thread} of this run: jobs that verify must not \
                 write to the same place (offset_increment keeps them apart)"
            ),
            Kind::Checksum { sums, damage } => {
                let Sums { expected, found } = &**sums;
                write!(f, "the block's checksum is {found} instead of {expected}: ")?;
                match damage {
                    Some(damage) => write!(f, "{damage}"),
                    None => write!(f, "the data is right, the stored checksum is wrong"),
                }
            }
            Kind::Contents { damage } => {
                write!(f, "the block does not hold what was written: {damage}")
            }
            Kind::NotZero { first, found } => write!(
                f,
                "the block was trimmed and does not read as zeros: byte {first} is {found:02x}"
            ),
        }
    }
}
