//! Logs of I/O that is to be made again: fio's text, versions 2 and 3, and blktrace's binary.
//!
//! A log is read as a stream, however long it is. Times are those at which I/Os were submitted.

mod blktrace;
mod scan;
mod text;

use std::fmt;
use std::io::{self, BufRead};

use thiserror::Error;

use crate::{Operation, Replay};
pub use scan::{Scanned, scan};

/// One I/O of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedIo {
    /// When, ns after the first entry.
    pub at_ns: u64,
    /// Number of its file among [`IologReader::files`].
    pub file: u16,
    /// What it did.
    pub operation: Operation,
    /// Offset, bytes; of a sync 0.
    pub offset: u64,
    /// Length, bytes; of a sync 0.
    pub length: u32,
}

/// Why a log cannot be made again.
#[derive(Debug, Error)]
pub enum IologError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is none of the formats.
    #[error("neither a blktrace nor an iolog of fio's versions 2 or 3")]
    Unknown,
    /// An entry that is not as its format says.
    #[error("{unit} {number}: {what}")]
    Entry {
        /// What is counted: lines or records.
        unit: &'static str,
        /// Which of them, from 1.
        number: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// It holds no I/O.
    #[error("it holds no I/O, or all of it is skipped")]
    Empty,
}

/// What a format says of the next entry.
enum Entry {
    /// An I/O, with its time as in the log, ns.
    Io { time_ns: u64, name: String, operation: Operation, offset: u64, length: u32 },
    /// Nothing before this time after the start, ns.
    Wait { until_ns: u64 },
    /// A file is named; its time counts.
    File { time_ns: u64, name: String },
}

enum Format {
    Text(text::Text),
    Blktrace(blktrace::Blktrace),
}

/// Reads a log, one I/O after the other.
pub struct IologReader {
    input: Box<dyn BufRead + Send>,
    format: Format,
    how: Replay,
    files: Vec<String>,
    /// Time of the entry before, as in the log, ns; 0: none had one.
    last_ns: u64,
    at_ns: u64,
}

impl fmt::Debug for IologReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IologReader").field("files", &self.files).finish_non_exhaustive()
    }
}

impl IologReader {
    /// Of a log, whose format shows in its first bytes; `how` it is to be made again.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn new(mut input: Box<dyn BufRead + Send>, how: &Replay) -> Result<Self, IologError> {
        let format = match blktrace::Blktrace::detect(input.fill_buf()?) {
            Some(blktrace) => Format::Blktrace(blktrace),
            None => Format::Text(text::Text::begin(&mut *input)?),
        };
        Ok(Self { input, format, how: how.clone(), files: Vec::new(), last_ns: 0, at_ns: 0 })
    }

    /// The files named so far, in the order of their numbers.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The next I/O that is not skipped; none at the end.
    ///
    /// # Errors
    /// It cannot be read on, or holds what its format does not know.
    pub fn next_io(&mut self) -> Result<Option<LoggedIo>, IologError> {
        loop {
            let entry = match &mut self.format {
                Format::Text(text) => text.entry(&mut *self.input)?,
                Format::Blktrace(blktrace) => blktrace.entry(&mut *self.input)?,
            };
            match entry {
                None => return Ok(None),
                Some(Entry::Wait { until_ns }) => {
                    if !self.how.no_stall {
                        self.at_ns = self.at_ns.max(until_ns);
                    }
                }
                Some(Entry::File { time_ns, name }) => {
                    self.pass(time_ns);
                    self.number(name)?;
                }
                Some(Entry::Io { time_ns, name, operation, offset, length }) => {
                    if self.how.skips(operation) {
                        continue;
                    }
                    self.pass(time_ns);
                    let file = self.number(name)?;
                    let offset = offset / u64::from(self.how.scale.max(1));
                    let offset = offset & !self.how.align_bytes.saturating_sub(1);
                    return Ok(Some(LoggedIo {
                        at_ns: self.at_ns,
                        file,
                        operation,
                        offset,
                        length,
                    }));
                }
            }
        }
    }

    /// Time goes on to that of an entry: fio's `delay_since_ttime` (iolog.c).
    fn pass(&mut self, time_ns: u64) {
        if self.last_ns != 0 && time_ns > self.last_ns && !self.how.no_stall {
            let delay_ns = u128::from(time_ns - self.last_ns) * 100;
            let scaled = delay_ns / u128::from(self.how.time_scale_percent.max(1));
            self.at_ns = self.at_ns.saturating_add(u64::try_from(scaled).unwrap_or(u64::MAX));
        }
        self.last_ns = time_ns;
    }

    fn number(&mut self, name: String) -> Result<u16, IologError> {
        let name = self.how.redirect.clone().unwrap_or(name);
        let known = self.files.iter().rposition(|known| *known == name);
        let number = known.unwrap_or_else(|| {
            self.files.push(name);
            self.files.len() - 1
        });
        let many = || self.format.wrong("it names more than 65535 files");
        u16::try_from(number).ok().filter(|number| *number < u16::MAX).ok_or_else(many)
    }
}

impl Format {
    fn wrong(&self, what: &'static str) -> IologError {
        match self {
            Self::Text(text) => text.wrong(what),
            Self::Blktrace(blktrace) => blktrace.wrong(what),
        }
    }
}

#[cfg(test)]
mod tests;
