//! Events of the block layer: a request is queued, issued, completed.

use crate::{Flags, Operation};

/// Sector size of the block layer, bytes.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// A step in the life of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Submitted to the block layer (`Q`, `block_bio_queue`); an attempt, which may be repeated.
    Queued,
    /// Issued to the driver (`D`, `block_rq_issue`).
    Issued,
    /// Put back from the driver into the queue (`R`, `block_rq_requeue`).
    Requeued,
    /// Completed (`C`, `block_rq_complete`).
    Completed,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Time, ns.
    pub at_ns: u64,
    /// Number of the device in [`Names`](crate::Names).
    pub device: u16,
    /// Step of the request.
    pub step: Step,
    /// Kind of request.
    pub operation: Operation,
    /// Flags.
    pub flags: Flags,
    /// First sector, in units of 512 bytes.
    pub sector: u64,
    /// Length, sectors of 512 bytes.
    pub sectors: u32,
    /// Process, as a number in [`Names`](crate::Names).
    pub actor: Option<u32>,
}

/// Parses operation and flags from the kernel's letters (`blk_fill_rwbs`): `FWFSM`.
pub(crate) fn parse_rwbs(letters: &[u8]) -> (Operation, Flags) {
    let (mut flags, mut rest) = (Flags::default(), letters);
    if let [b'F', b'R' | b'W' | b'D' | b'F' | b'N', ..] = letters {
        flags = flags | Flags::PREFLUSH;
        rest = &letters[1..];
    }
    let operation = match rest.first() {
        Some(b'R') => Operation::Read,
        Some(b'W') => Operation::Write,
        Some(b'D') => Operation::Discard,
        Some(b'F') => Operation::Flush,
        _ => Operation::Other,
    };
    for letter in rest.iter().skip(1) {
        flags = flags
            | match letter {
                b'F' => Flags::FUA,
                b'A' => Flags::AHEAD,
                b'S' => Flags::SYNC,
                b'M' => Flags::META,
                _ => Flags::default(),
            };
    }
    (operation, flags)
}
