//! blktrace's binary records, version 7 (linux/blktrace_api.h; fio's blktrace.c).

use std::io::{self, BufRead, ErrorKind, Read};

use super::ReadError;
use crate::event::{Event, Step};
use crate::{Actor, Device, Flags, Names, Operation};

/// `BLK_IO_TRACE_MAGIC` with the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const RECORD_BYTES: usize = 48;
// `BLK_TC_*`, shifted.
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const SYNC: u32 = 1 << 19;
const NOTIFY: u32 = 1 << 26;
const AHEAD: u32 = 1 << 27;
const META: u32 = 1 << 28;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;
/// `__BLK_TA_CGROUP`: a cgroup id begins the data after a record.
const CGROUP: u32 = 1 << 8;

/// True if a file that begins with `bytes` is a blktrace.
pub fn is_blktrace(bytes: &[u8]) -> bool {
    swapped(bytes).is_some()
}

/// Detects the other byte order; `None` if it is not a blktrace.
fn swapped(bytes: &[u8]) -> Option<bool> {
    let first = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
    let is_magic = |word: u32| word & !0xff == MAGIC;
    (is_magic(first) || is_magic(first.swap_bytes())).then(|| !is_magic(first))
}

/// A record with its raw bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Time, ns.
    pub time_ns: u64,
    /// First sector, in units of 512 bytes.
    pub sector: u64,
    /// Length, bytes.
    pub length: u32,
    action: u32,
    pid: u32,
    /// `major << 20 | minor`.
    pub device: u32,
    cgroup: Option<u64>,
    /// Process name, in a record that reports one.
    name: Option<[u8; 16]>,
}

impl Record {
    /// Returns the step, if it is a relevant one.
    pub const fn step(&self) -> Option<Step> {
        if self.action & NOTIFY != 0 {
            return None;
        }
        match self.action & 0xff {
            1 => Some(Step::Queued),
            6 => Some(Step::Requeued),
            7 => Some(Step::Issued),
            8 => Some(Step::Completed),
            _ => None,
        }
    }

    /// Returns the kind of request.
    pub const fn operation(&self) -> Operation {
        match self.action {
            action if action & DISCARD != 0 => Operation::Discard,
            action if action & FLUSH != 0 && self.length == 0 => Operation::Flush,
            action if action & WRITE != 0 => Operation::Write,
            _ if self.length == 0 => Operation::Other,
            _ => Operation::Read,
        }
    }

    /// True if a flush is requested, with or without data.
    pub const fn is_flush(&self) -> bool {
        self.action & (DISCARD | FLUSH) == FLUSH
    }

    fn flags(&self) -> Flags {
        let all = [
            (SYNC, Flags::SYNC),
            (META, Flags::META),
            (FUA, Flags::FUA),
            (FLUSH, Flags::PREFLUSH),
            (AHEAD, Flags::AHEAD),
        ];
        let set = all.into_iter().filter(|(bit, _)| self.action & bit != 0);
        set.fold(Flags::default(), |flags, (_, flag)| flags | flag)
    }
}

/// Position of reading in a file.
#[derive(Debug)]
pub struct Blktrace {
    swapped: bool,
    record: u64,
}

impl Blktrace {
    /// Begins a file that starts with `bytes`, if it is a blktrace.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        swapped(bytes).map(|swapped| Self { swapped, record: 0 })
    }

    /// Makes an error at the record that was read last.
    pub const fn wrong(&self, what: &'static str) -> ReadError {
        ReadError::Entry { unit: "record", number: self.record, what }
    }

    /// Returns the next record; `None` at the end.
    ///
    /// # Errors
    /// It cannot be read, is truncated, or has another version.
    pub fn record(&mut self, input: &mut dyn BufRead) -> Result<Option<Record>, ReadError> {
        if input.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.record += 1;
        let mut bytes = [0; RECORD_BYTES];
        match input.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Err(self.wrong("truncated record"));
            }
            read => read?,
        }
        let word = |at: usize| {
            let word = u32::from_ne_bytes([0, 1, 2, 3].map(|n| bytes[at + n]));
            if self.swapped { word.swap_bytes() } else { word }
        };
        let to_long = |bytes: [u8; 8]| {
            let long = u64::from_ne_bytes(bytes);
            if self.swapped { long.swap_bytes() } else { long }
        };
        let long = |at: usize| to_long([0, 1, 2, 3, 4, 5, 6, 7].map(|n| bytes[at + n]));
        let short = u16::from_ne_bytes([bytes[46], bytes[47]]);
        let rest_bytes = if self.swapped { short.swap_bytes() } else { short };
        let (magic, action) = (word(0), word(28));
        if magic & !0xff != MAGIC {
            return Err(self.wrong("wrong magic number"));
        }
        if magic & 0xff != VERSION {
            return Err(self.wrong("version is not 7"));
        }
        let mut rest = [0; 24];
        let kept = usize::from(rest_bytes).min(rest.len());
        let mut kept_bytes = input.take(kept as u64);
        let mut read = 0;
        while read < kept {
            match kept_bytes.read(&mut rest[read..kept])? {
                0 => break,
                more => read += more,
            }
        }
        io::copy(&mut input.take(u64::from(rest_bytes) - kept as u64), &mut io::sink())?;
        let has_cgroup = action & CGROUP != 0 && read >= 8;
        let cgroup = has_cgroup.then(|| to_long([0, 1, 2, 3, 4, 5, 6, 7].map(|n| rest[n])));
        let is_name = action & NOTIFY != 0 && action & 0xff == 0;
        let mut name = [0; 16];
        let behind = if has_cgroup { 8 } else { 0 };
        name.copy_from_slice(&rest[behind..behind + 16]);
        Ok(Some(Record {
            time_ns: long(8),
            sector: long(16),
            length: word(24),
            action,
            pid: word(32),
            device: word(36),
            cgroup,
            name: is_name.then_some(name),
        }))
    }
}

/// Converts records to events: devices and processes become numbers.
#[derive(Debug, Default)]
pub(super) struct Events {
    processes: std::collections::HashMap<u32, String>,
}

/// Maximum of processes whose names are stored.
const MOST_PROCESSES: usize = 1 << 16;

impl Events {
    pub(super) fn event(&mut self, record: &Record, names: &mut Names) -> Option<Event> {
        if let Some(name) = record.name {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            if self.processes.len() < MOST_PROCESSES {
                let name = String::from_utf8_lossy(&name[..end]).into_owned();
                self.processes.insert(record.pid, name);
            }
        }
        let step = record.step()?;
        let (major, minor) = (record.device >> 20, record.device & 0xf_ffff);
        let device = names.device(&Device::named(&format!("{major}:{minor}")))?;
        let process = self.processes.get(&record.pid).cloned();
        let actor = Actor { pid: Some(record.pid), process, cgroup: record.cgroup };
        Some(Event {
            at_ns: record.time_ns,
            device,
            step,
            operation: record.operation(),
            flags: record.flags(),
            sector: record.sector,
            sectors: record.length.div_ceil(512),
            actor: names.actor(&actor),
        })
    }
}
