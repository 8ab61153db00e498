//! Records of VMware's vscsiStats, as published by CloudPhysics: 32 bytes, little-endian.

use std::io::{BufRead, ErrorKind};

use super::ReadError;
use super::tables::Row;
use crate::event::SECTOR_BYTES;
use crate::{Io, Operation};

const RECORD_BYTES: usize = 32;

/// Returns the operation of a SCSI command, if it is a block command.
const fn operation(command: u16) -> Option<Operation> {
    match command {
        // READ 6, 10, 12, 16.
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Operation::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(Operation::Write),
        0x42 => Some(Operation::Discard),
        0x35 | 0x91 => Some(Operation::Flush),
        _ => None,
    }
}

fn record(bytes: &[u8; RECORD_BYTES]) -> Option<Io> {
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| bytes[at + n]));
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let operation = operation(word(12) as u16)?;
    let offset = long(16).checked_mul(SECTOR_BYTES)?;
    let offset = if operation == Operation::Flush { 0 } else { offset };
    let at_ns = long(24).checked_mul(1000)?;
    Some(Io { at_ns, operation, offset, length: word(4), ..Io::default() })
}

/// Detects the format. There is no magic number: several records have to be plausible.
pub(super) fn is_vscsi(head: &[u8]) -> bool {
    const LOOKED_AT: usize = 8;
    let (records, _) = head.as_chunks::<RECORD_BYTES>();
    let records = &records[..records.len().min(LOOKED_AT)];
    let found: Vec<Io> = records.iter().filter_map(record).collect();
    let is_data = |io: &Io| io.operation == Operation::Flush || io.length.is_multiple_of(512);
    records.len() >= 2 && found.len() == records.len() && found.iter().all(is_data)
}

/// Reads record by record.
#[derive(Debug, Default)]
pub(super) struct Vscsi {
    number: u64,
}

impl Vscsi {
    /// Number of the record that was read last, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    const fn wrong(&self, what: &'static str) -> ReadError {
        ReadError::Entry { unit: "record", number: self.number, what }
    }

    /// Returns the next record: `None` at the end; `Some(None)` for other commands.
    pub(super) fn row(
        &mut self,
        input: &mut dyn BufRead,
    ) -> Result<Option<Option<Row>>, ReadError> {
        if input.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let mut bytes = [0; RECORD_BYTES];
        match input.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.wrong("it ends within a record"))
            }
            Err(error) => Err(error.into()),
            Ok(()) => {
                let io = record(&bytes);
                Ok(Some(io.map(|io| Row { io, device: "disk".into(), actor: None })))
            }
        }
    }
}
