//! Reads logs of I/O for replay: fio's iolog text, versions 2 and 3, and blktrace's binary format.
//!
//! A log is read as a stream, so its length is unlimited. Times are those of submission.

mod scan;

use std::fmt;
use std::io::{self, BufRead};

use iodyno_trace::Step;
use iodyno_trace::read::ReadError;
use iodyno_trace::read::blktrace::{Blktrace, Record};
use iodyno_trace::read::iolog::{Action, Entry, Iolog};
use thiserror::Error;

use crate::{Operation, Replay};
pub use scan::{LogSummary, scan};

/// One I/O of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedIo {
    /// Time since the first entry, ns.
    pub at_ns: u64,
    /// Index of its file in [`IologReader::files`].
    pub file: u16,
    /// Its operation.
    pub operation: Operation,
    /// Offset, bytes; 0 for a sync.
    pub offset: u64,
    /// Length, bytes; 0 for a sync.
    pub length: u32,
}

/// Why a log cannot be replayed.
#[derive(Debug, Error)]
pub enum IologError {
    /// The log is unreadable or malformed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log holds no I/O to replay.
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
    /// With the names of the devices seen so far, by device number.
    Blktrace(Blktrace, Vec<(u32, String)>),
}

/// Reads the I/Os of a log one by one.
pub struct IologReader {
    input: Box<dyn BufRead + Send>,
    format: Format,
    options: Replay,
    files: Vec<String>,
    /// Time stamp of the previous entry in the log, ns; 0: no entry had one yet.
    last_ns: u64,
    at_ns: u64,
}

impl fmt::Debug for IologReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IologReader").field("files", &self.files).finish_non_exhaustive()
    }
}

impl IologReader {
    /// Opens a log, detecting its format from the first bytes; `options` say how it is replayed.
    ///
    /// # Errors
    /// The input is unreadable or not a log.
    pub fn new(mut input: Box<dyn BufRead + Send>, options: &Replay) -> Result<Self, IologError> {
        let format = match Blktrace::detect(input.fill_buf()?) {
            Some(blktrace) => Format::Blktrace(blktrace, Vec::new()),
            None => Format::Text(Iolog::begin(&mut *input)?),
        };
        let options = options.clone();
        Ok(Self { input, format, options, files: Vec::new(), last_ns: 0, at_ns: 0 })
    }

    /// The files named so far, in order of their index.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Returns the next I/O that is not skipped, or `None` at the end.
    ///
    /// # Errors
    /// The rest of the log is unreadable or malformed.
    pub fn next_io(&mut self) -> Result<Option<LoggedIo>, IologError> {
        loop {
            match self.format.entry(&mut *self.input)? {
                None => return Ok(None),
                Some(Entry::Wait { until_ns }) => {
                    if !self.options.no_stall {
                        self.at_ns = self.at_ns.max(until_ns);
                    }
                }
                Some(Entry::File { time_ns, name }) => {
                    self.advance_to(time_ns);
                    self.file_index(name)?;
                }
                Some(Entry::Io { time_ns, name, action, offset, length }) => {
                    let operation = match action {
                        Action::Read => Operation::Read,
                        Action::Write => Operation::Write,
                        Action::Trim => Operation::Trim,
                        Action::Sync => Operation::Sync,
                        Action::DataSync => Operation::DataSync,
                    };
                    if self.options.skips(operation) {
                        continue;
                    }
                    self.advance_to(time_ns);
                    let file = self.file_index(name)?;
                    let offset = offset / u64::from(self.options.scale.max(1));
                    let offset = offset & !self.options.align_bytes.saturating_sub(1);
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

    /// Advances the replay time to that of an entry: fio's `delay_since_ttime` (iolog.c).
    fn advance_to(&mut self, time_ns: u64) {
        if self.last_ns != 0 && time_ns > self.last_ns && !self.options.no_stall {
            let delay_ns = u128::from(time_ns - self.last_ns) * 100;
            let scaled = delay_ns / u128::from(self.options.time_scale_percent.max(1));
            self.at_ns = self.at_ns.saturating_add(u64::try_from(scaled).unwrap_or(u64::MAX));
        }
        self.last_ns = time_ns;
    }

    fn file_index(&mut self, name: String) -> Result<u16, IologError> {
        let name = self.options.redirect.clone().unwrap_or(name);
        let known = self.files.iter().rposition(|known| *known == name);
        let index = known.unwrap_or_else(|| {
            self.files.push(name);
            self.files.len() - 1
        });
        let too_many = || self.format.error("it names more than 65535 files");
        u16::try_from(index).ok().filter(|index| *index < u16::MAX).ok_or_else(too_many)
    }
}

impl Format {
    fn entry(&mut self, input: &mut dyn BufRead) -> Result<Option<Entry>, ReadError> {
        let (blktrace, names) = match self {
            Self::Text(log) => return log.entry(input),
            Self::Blktrace(blktrace, names) => (blktrace, names),
        };
        while let Some(record) = blktrace.record(input)? {
            // As fio: the queued request, before it is merged or split.
            if record.step() == Some(Step::Queued)
                && let Some((action, offset, length)) = queued_io(&record)
            {
                let (time_ns, name) = (record.time_ns, device_name(names, record.device));
                return Ok(Some(Entry::Io { time_ns, name, action, offset, length }));
            }
        }
        Ok(None)
    }

    fn error(&self, what: &'static str) -> IologError {
        IologError::Read(match self {
            Self::Text(log) => log.wrong(what),
            Self::Blktrace(blktrace, _) => blktrace.wrong(what),
        })
    }
}

/// The action, offset and length (bytes) of a queued record; as in fio, a flush drops its data.
fn queued_io(record: &Record) -> Option<(Action, u64, u32)> {
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

/// The name on this machine of a trace's device number, `major << 20 | minor`.
fn device_name(names: &mut Vec<(u32, String)>, device: u32) -> String {
    if let Some((_, name)) = names.iter().find(|(known, _)| *known == device) {
        return name.clone();
    }
    let (major, minor) = (device >> 20, device & 0xf_ffff);
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok();
    let name = link.as_deref().and_then(|link| link.file_name()?.to_str());
    // An unknown device keeps its number: replay_redirect can replace it.
    let name = name.map_or(format!("{major}:{minor}"), |name| format!("/dev/{name}"));
    names.push((device, name.clone()));
    name
}

#[cfg(test)]
mod tests;
