//! Reads and counts lines of a maximum length.

use std::io::{BufRead, Read};

use super::ReadError;

/// Maximum length of a line, bytes (fio's).
const LINE_BYTES: u64 = 4096;

/// Reads line by line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    number: u64,
    buffer: Vec<u8>,
}

impl Lines {
    pub(super) const fn wrong(&self, what: &'static str) -> ReadError {
        ReadError::Entry { unit: "line", number: self.number, what }
    }

    /// Number of the line that was read last, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next line; `None` at the end.
    pub(super) fn next(&mut self, input: &mut dyn BufRead) -> Result<Option<&str>, ReadError> {
        self.buffer.clear();
        self.number += 1;
        let read = input.take(LINE_BYTES).read_until(b'\n', &mut self.buffer)?;
        if read as u64 == LINE_BYTES {
            return Err(self.wrong("longer than 4096 bytes"));
        }
        let number = self.number;
        let line = std::str::from_utf8(&self.buffer);
        let what = "not UTF-8";
        let line = line.map_err(|_| ReadError::Entry { unit: "line", number, what })?;
        Ok((read > 0).then_some(line))
    }
}
