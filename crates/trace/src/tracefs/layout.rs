//! Finds the fields of an event by its `format` file: they move between kernels.

use std::path::Path;

use super::RecordError;
use crate::event::{Event, SECTOR_BYTES, Step, parse_rwbs};

/// Position of a field in an event, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    at: usize,
    length: usize,
}

impl Field {
    fn bytes<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        data.get(self.at..self.at.checked_add(self.length)?)
    }

    /// Reads a number of up to 8 bytes, in this machine's byte order.
    fn number(&self, data: &[u8]) -> Option<u64> {
        let bytes = self.bytes(data)?;
        match bytes.len() {
            1 => Some(bytes[0].into()),
            2 => Some(u16::from_ne_bytes(bytes.try_into().ok()?).into()),
            4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
            8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }

    /// Returns text up to its first NUL.
    fn text<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = self.bytes(data)?;
        Some(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
    }
}

/// Layout of a tracepoint of the block layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) id: u16,
    step: Step,
    pid: Field,
    dev: Field,
    sector: Field,
    sectors: Field,
    rwbs: Field,
    bytes: Option<Field>,
    comm: Option<Field>,
}

/// The tracepoints and their steps.
pub(super) const EVENTS: [(&str, Step); 4] = [
    ("block_bio_queue", Step::Queued),
    ("block_rq_issue", Step::Issued),
    ("block_rq_requeue", Step::Requeued),
    ("block_rq_complete", Step::Completed),
];

/// An event, with the kernel's device and process numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawEvent {
    pub(super) event: Event,
    pub(super) dev: u32,
    pub(super) pid: u32,
    pub(super) comm: [u8; 16],
}

impl Layout {
    /// Parses the text of a `format` file, which is at `path`.
    pub(super) fn parse(path: &Path, text: &str, step: Step) -> Result<Self, RecordError> {
        let missing = |field| RecordError::Layout { path: path.to_owned(), field };
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        let field = |name: &'static str| {
            text.lines().find_map(|line| field(line, name)).ok_or_else(|| missing(name))
        };
        Ok(Self {
            id: id.ok_or_else(|| missing("ID"))?,
            step,
            pid: field("common_pid")?,
            dev: field("dev")?,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            rwbs: field("rwbs")?,
            bytes: field("bytes").ok(),
            // Only who asked is of interest.
            comm: field("comm").ok().filter(|_| step == Step::Queued),
        })
    }

    /// Decodes an event; `None` if it is too short.
    pub(super) fn event(&self, at_ns: u64, data: &[u8]) -> Option<RawEvent> {
        let (operation, flags) = parse_rwbs(self.rwbs.text(data)?);
        let mut sectors = self.sectors.number(data)? as u32;
        // Passthrough commands have bytes and no sectors.
        if sectors == 0
            && let Some(bytes) = self.bytes
        {
            sectors = (bytes.number(data)?.div_ceil(SECTOR_BYTES)) as u32;
        }
        let mut comm = [0; 16];
        if let Some(text) = self.comm.as_ref().and_then(|field| field.text(data)) {
            let length = text.len().min(comm.len());
            comm[..length].copy_from_slice(&text[..length]);
        }
        let sector = self.sector.number(data)?;
        Some(RawEvent {
            event: Event {
                at_ns,
                device: 0,
                step: self.step,
                operation,
                flags,
                sector,
                sectors,
                actor: None,
            },
            dev: self.dev.number(data)? as u32,
            pid: self.pid.number(data)? as u32,
            comm,
        })
    }
}

/// Parses `field:unsigned int nr_sector; offset:24; size:4; signed:0;`, if its name is `name`.
fn field(line: &str, name: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declared = parts.next()?.rsplit([' ', '*']).next()?;
    if declared.split('[').next() != Some(name) {
        return None;
    }
    let mut number = |prefix| parts.next()?.strip_prefix(prefix)?.parse().ok();
    Some(Field { at: number("offset:")?, length: number("size:")? })
}
