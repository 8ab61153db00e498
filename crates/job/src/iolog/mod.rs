//! Logs of I/O that is to be made again: fio's text, versions 2 and 3, and blktrace's binary.
//!
//! A log is read as a stream, however long it is. Times are those at which I/Os were submitted.

mod scan;

use std::fmt;
use std::io::{self, BufRead};

use iodyno_trace::Step;
use iodyno_trace::read::ReadError;
use iodyno_trace::read::blktrace::{Blktrace, Record};
use iodyno_trace::read::iolog::{Action, Entry, Iolog};
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
    /// It cannot be read, or is not as its format says.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It holds no I/O.
    #[error("it holds no I/O, or all of it is skipped")]
    Empty,
}

impl From<io::Error> for IologError {
    fn from(error: io::Error) -> Self {
        Self::Read(error.into())
    }
}

enum Format {
    Text(Iolog),
    /// With the devices by number, and their names.
    Blktrace(Blktrace, Vec<(u32, String)>),
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
        let format = match Blktrace::detect(input.fill_buf()?) {
            Some(blktrace) => Format::Blktrace(blktrace, Vec::new()),
            None => Format::Text(Iolog::begin(&mut *input)?),
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
            match self.format.entry(&mut *self.input)? {
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
                Some(Entry::Io { time_ns, name, action, offset, length }) => {
                    let operation = match action {
                        Action::Read => Operation::Read,
                        Action::Write => Operation::Write,
                        Action::Trim => Operation::Trim,
                        Action::Sync => Operation::Sync,
                        Action::DataSync => Operation::DataSync,
                    };
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
    fn entry(&mut self, input: &mut dyn BufRead) -> Result<Option<Entry>, ReadError> {
        let (blktrace, names) = match self {
            Self::Text(log) => return log.entry(input),
            Self::Blktrace(blktrace, names) => (blktrace, names),
        };
        while let Some(record) = blktrace.record(input)? {
            // What was asked for, before it is merged or split: as fio.
            if record.step() == Some(Step::Queued)
                && let Some((action, offset, length)) = asked_for(&record)
            {
                let (time_ns, name) = (record.time_ns, name(names, record.device));
                return Ok(Some(Entry::Io { time_ns, name, action, offset, length }));
            }
        }
        Ok(None)
    }

    fn wrong(&self, what: &'static str) -> IologError {
        IologError::Read(match self {
            Self::Text(log) => log.wrong(what),
            Self::Blktrace(blktrace, _) => blktrace.wrong(what),
        })
    }
}

/// What a record asks for, with offset and length, bytes; as fio, a flush goes without its data.
fn asked_for(record: &Record) -> Option<(Action, u64, u32)> {
    const SECTOR_BYTES: u64 = 512;
    if record.is_flush() {
        return Some((Action::Sync, 0, 0));
    }
    let action = match record.operation() {
        iodyno_trace::Operation::Discard => Action::Trim,
        iodyno_trace::Operation::Write => Action::Write,
        _ => Action::Read,
    };
    let offset = record.sector.saturating_mul(SECTOR_BYTES);
    (record.length > 0).then_some((action, offset, record.length))
}

/// The device of a number in a trace, `major << 20 | minor`, as it is called on this machine.
fn name(names: &mut Vec<(u32, String)>, device: u32) -> String {
    if let Some((_, name)) = names.iter().find(|(known, _)| *known == device) {
        return name.clone();
    }
    let (major, minor) = (device >> 20, device & 0xf_ffff);
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok();
    let name = link.as_deref().and_then(|link| link.file_name()?.to_str());
    // Whatever it is called, replay_redirect takes its place.
    let name = name.map_or(format!("{major}:{minor}"), |name| format!("/dev/{name}"));
    names.push((device, name.clone()));
    name
}

#[cfg(test)]
mod tests;
