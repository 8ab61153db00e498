//! blktrace's binary records, version 7 (linux/blktrace_api.h; fio's blktrace.c).

use std::io::{self, BufRead, ErrorKind, Read};

use super::{Entry, IologError};
use crate::Operation;

/// `BLK_IO_TRACE_MAGIC` with the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const RECORD_BYTES: usize = 48;
const SECTOR_BYTES: u64 = 512;
/// `__BLK_TA_QUEUE`: what is asked for, before it is merged or split.
const QUEUE: u32 = 1;
// `BLK_TC_*`, shifted.
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;

/// Where in a trace the reading is.
pub(super) struct Blktrace {
    /// It is of a machine with the other byte order.
    swapped: bool,
    record: u64,
    /// Devices by number, and their names.
    names: Vec<(u32, String)>,
}

impl Blktrace {
    /// Whether a file that begins with `bytes` is one.
    pub(super) fn detect(bytes: &[u8]) -> Option<Self> {
        let first = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
        let is_magic = |word: u32| word & !0xff == MAGIC;
        let swapped = !is_magic(first);
        (is_magic(first) || is_magic(first.swap_bytes())).then_some(Self {
            swapped,
            record: 0,
            names: Vec::new(),
        })
    }

    pub(super) const fn wrong(&self, what: &'static str) -> IologError {
        IologError::Entry { unit: "record", number: self.record, what }
    }

    pub(super) fn entry(&mut self, input: &mut dyn BufRead) -> Result<Option<Entry>, IologError> {
        loop {
            if input.fill_buf()?.is_empty() {
                return Ok(None);
            }
            self.record += 1;
            let mut bytes = [0; RECORD_BYTES];
            match input.read_exact(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err(self.wrong("it ends within a record"));
                }
                read => read?,
            }
            let word = |at: usize| {
                let word = u32::from_ne_bytes([0, 1, 2, 3].map(|n| bytes[at + n]));
                if self.swapped { word.swap_bytes() } else { word }
            };
            let long = |at: usize| {
                let long = u64::from_ne_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|n| bytes[at + n]));
                if self.swapped { long.swap_bytes() } else { long }
            };
            let short = u16::from_ne_bytes([bytes[46], bytes[47]]);
            let rest_bytes = if self.swapped { short.swap_bytes() } else { short };
            let (magic, time_ns, sector) = (word(0), long(8), long(16));
            let (length, action, device) = (word(24), word(28), word(36));
            if magic & !0xff != MAGIC {
                return Err(self.wrong("its magic number is wrong"));
            }
            if magic & 0xff != VERSION {
                return Err(self.wrong("its version is not 7"));
            }
            io::copy(&mut input.take(rest_bytes.into()), &mut io::sink())?;
            if action & 0xffff != QUEUE || action & NOTIFY != 0 {
                continue;
            }
            let name = self.name(device)?;
            if action & (DISCARD | FLUSH) == FLUSH {
                let operation = Operation::Sync;
                return Ok(Some(Entry::Io { time_ns, name, operation, offset: 0, length: 0 }));
            }
            let operation = match action {
                action if action & DISCARD != 0 => Operation::Trim,
                action if action & WRITE != 0 => Operation::Write,
                _ => Operation::Read,
            };
            if length > 0 {
                let offset = sector.saturating_mul(SECTOR_BYTES);
                return Ok(Some(Entry::Io { time_ns, name, operation, offset, length }));
            }
        }
    }

    /// The device of a number in a trace, `major << 20 | minor`, as it is called on this machine.
    fn name(&mut self, device: u32) -> Result<String, IologError> {
        if let Some((_, name)) = self.names.iter().find(|(known, _)| *known == device) {
            return Ok(name.clone());
        }
        let (major, minor) = (device >> 20, device & 0xf_ffff);
        let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok();
        let name = link.as_deref().and_then(|link| link.file_name()?.to_str());
        // Whatever it is called, replay_redirect takes its place.
        let name = name.map_or(format!("{major}:{minor}"), |name| format!("/dev/{name}"));
        self.names.push((device, name.clone()));
        Ok(name)
    }
}
