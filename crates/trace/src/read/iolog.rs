//! fio's iolog as text, versions 2 and 3 (iolog.c, `read_iolog`).

use std::io::BufRead;

use super::ReadError;
use super::lines::Lines;

/// Action of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A trim.
    Trim,
    /// fsync.
    Sync,
    /// fdatasync.
    DataSync,
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// An I/O: its time as in the log, ns, its file's name, offset and length, bytes.
    Io {
        /// Time, ns.
        time_ns: u64,
        /// File name, as in the log.
        name: String,
        /// Action.
        action: Action,
        /// Offset, bytes; 0 for a sync.
        offset: u64,
        /// Length, bytes; 0 for a sync.
        length: u32,
    },
    /// Nothing happens before this time after the start, ns.
    Wait {
        /// Time, ns.
        until_ns: u64,
    },
    /// A file is named; its time counts.
    File {
        /// Time, ns.
        time_ns: u64,
        /// File name, as in the log.
        name: String,
    },
}

/// True if `line` is the first line of a log.
pub(super) fn is_head(line: &str) -> bool {
    version(line).is_some()
}

/// Returns whether each line begins with its time.
fn version(line: &str) -> Option<bool> {
    match line.trim_end() {
        "fio version 2 iolog" => Some(false),
        "fio version 3 iolog" => Some(true),
        _ => None,
    }
}

/// Position of reading in a log.
#[derive(Debug)]
pub struct Iolog {
    timed: bool,
    lines: Lines,
}

impl Iolog {
    /// Reads the first line.
    ///
    /// # Errors
    /// It cannot be read, or is not a log.
    pub fn begin(input: &mut dyn BufRead) -> Result<Self, ReadError> {
        let mut lines = Lines::default();
        let timed = version(lines.next(input)?.unwrap_or_default()).ok_or(ReadError::NotALog)?;
        Ok(Self { timed, lines })
    }

    /// Makes an error at the line that was read last.
    pub const fn wrong(&self, what: &'static str) -> ReadError {
        self.lines.wrong(what)
    }

    /// Returns the next entry; `None` at the end.
    ///
    /// # Errors
    /// It cannot be read, or is not in fio's format.
    pub fn entry(&mut self, input: &mut dyn BufRead) -> Result<Option<Entry>, ReadError> {
        loop {
            let Some(line) = self.lines.next(input)? else { return Ok(None) };
            if !line.trim().is_empty() {
                let entry = parse(line, self.timed);
                return entry.map(Some).map_err(|what| self.wrong(what));
            }
        }
    }
}

fn parse(line: &str, timed: bool) -> Result<Entry, &'static str> {
    let wrong = "expected time in us (version 3), file, action, and for I/O offset, length \
                 in bytes";
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
    let mut words = line.split_ascii_whitespace();
    let time_us = if timed { number(words.next()).ok_or(wrong)? } else { 0 };
    let time_ns = time_us.saturating_mul(1000);
    let (Some(name), Some(action)) = (words.next(), words.next()) else { return Err(wrong) };
    let (name, [offset, length]) = (name.to_owned(), [0; 2].map(|_| number(words.next())));
    let sync = |name, action| Ok(Entry::Io { time_ns, name, action, offset: 0, length: 0 });
    let action = match action {
        "add" | "open" | "close" => return Ok(Entry::File { time_ns, name }),
        "wait" if timed => return Err("version 3 has times, and no `wait`"),
        "wait" => {
            // Since the start, ms: fio's `read_iolog_get`, despite its manual.
            let until_ms = offset.ok_or(wrong)?;
            return Ok(Entry::Wait { until_ns: until_ms.saturating_mul(1_000_000) });
        }
        "read" => Action::Read,
        "write" => Action::Write,
        "trim" => Action::Trim,
        "sync" => return sync(name, Action::Sync),
        "datasync" => return sync(name, Action::DataSync),
        _ => return Err(wrong),
    };
    let length = length.and_then(|length| u32::try_from(length).ok());
    let (Some(offset), Some(length)) = (offset, length) else { return Err(wrong) };
    Ok(Entry::Io { time_ns, name, action, offset, length })
}
