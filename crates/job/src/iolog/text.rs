//! fio's iolog as text, versions 2 and 3 (iolog.c, `read_iolog`).

use std::io::{BufRead, Read};

use super::{Entry, IologError};
use crate::Operation;

/// No line is longer, bytes (fio's).
const LINE_BYTES: u64 = 4096;

/// Where in a text the reading is.
pub(super) struct Text {
    /// Each line begins with its time.
    timed: bool,
    line: u64,
    buffer: Vec<u8>,
}

impl Text {
    /// Reads the first line.
    pub(super) fn begin(input: &mut dyn BufRead) -> Result<Self, IologError> {
        let mut text = Self { timed: false, line: 0, buffer: Vec::new() };
        let first = text.next_line(input)?.unwrap_or_default();
        text.timed = match first.trim_end() {
            "fio version 2 iolog" => false,
            "fio version 3 iolog" => true,
            _ => return Err(IologError::Unknown),
        };
        Ok(text)
    }

    pub(super) const fn wrong(&self, what: &'static str) -> IologError {
        IologError::Entry { unit: "line", number: self.line, what }
    }

    /// The next line; none at the end.
    fn next_line(&mut self, input: &mut dyn BufRead) -> Result<Option<String>, IologError> {
        self.buffer.clear();
        self.line += 1;
        let read = input.take(LINE_BYTES).read_until(b'\n', &mut self.buffer)?;
        if read as u64 == LINE_BYTES {
            return Err(self.wrong("it is longer than 4096 bytes"));
        }
        let line = std::str::from_utf8(&self.buffer);
        let line = line.map_err(|_| self.wrong("it is not UTF-8"))?;
        Ok((read > 0).then(|| line.to_owned()))
    }

    pub(super) fn entry(&mut self, input: &mut dyn BufRead) -> Result<Option<Entry>, IologError> {
        let line = loop {
            match self.next_line(input)? {
                None => return Ok(None),
                Some(line) if line.trim().is_empty() => {}
                Some(line) => break line,
            }
        };
        let expected = "a time in us (version 3), a file, an action, and of I/O offset and length \
                        in bytes were expected";
        let wrong = || self.wrong(expected);
        let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
        let mut words = line.split_ascii_whitespace();
        let time_us = if self.timed { number(words.next()).ok_or_else(wrong)? } else { 0 };
        let time_ns = time_us.saturating_mul(1000);
        let (Some(name), Some(action)) = (words.next(), words.next()) else { return Err(wrong()) };
        let (name, [offset, length]) = (name.to_owned(), [0; 2].map(|_| number(words.next())));
        let operation = match action {
            "add" | "open" | "close" => return Ok(Some(Entry::File { time_ns, name })),
            "wait" if self.timed => return Err(self.wrong("version 3 has times, and no `wait`")),
            "wait" => {
                // Since the start, ms: fio's `read_iolog_get`, whatever its manual says.
                let until_ms = offset.ok_or_else(wrong)?;
                return Ok(Some(Entry::Wait { until_ns: until_ms.saturating_mul(1_000_000) }));
            }
            "read" => Operation::Read,
            "write" => Operation::Write,
            "trim" => Operation::Trim,
            "sync" => return Ok(Some(sync(time_ns, name, Operation::Sync))),
            "datasync" => return Ok(Some(sync(time_ns, name, Operation::DataSync))),
            _ => return Err(wrong()),
        };
        let length = length.and_then(|length| u32::try_from(length).ok());
        let (Some(offset), Some(length)) = (offset, length) else { return Err(wrong()) };
        Ok(Some(Entry::Io { time_ns, name, operation, offset, length }))
    }
}

const fn sync(time_ns: u64, name: String, operation: Operation) -> Entry {
    Entry::Io { time_ns, name, operation, offset: 0, length: 0 }
}
