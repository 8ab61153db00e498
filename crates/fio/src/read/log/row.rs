//! Parses rows of a log.

use std::io::{self, BufRead, Read};

/// A row: one I/O, or the average of all I/Os in a window (`log_avg_msec`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Row {
    /// End, ms since the start, or since 1970 (`log_unix_epoch`).
    pub(super) time_ms: u64,
    pub(super) value: u64,
    /// 0 read, 1 write, 2 trim.
    pub(super) direction: usize,
    /// Block size, bytes; 0 in a window.
    pub(super) bs: u64,
    pub(super) columns: usize,
    /// Column after `bs`: offset or priority.
    pub(super) fifth: u64,
    /// A column is hexadecimal, as priorities are since fio 3.28.
    pub(super) hex: bool,
}

/// Skipped rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Damage {
    /// Line of the first one, from 1.
    pub(super) line: usize,
    pub(super) rows: usize,
}

impl Row {
    /// Parses `time, value, direction, bs` and optional columns.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        const MOST: usize = 8;
        let mut columns = Columns::new(line);
        let mut values = [0; MOST];
        let mut count = 0;
        while let Some(value) = columns.next()? {
            *values.get_mut(count)? = value;
            count += 1;
        }
        // With log_window_value=both the maximum follows the mean.
        let both = count >= 6 && values[2] > 2;
        let direction = 2 + usize::from(both);
        let row = Self {
            time_ms: values[0],
            value: values[1],
            direction: usize::try_from(values[direction]).ok()?,
            bs: values[direction + 1],
            columns: count,
            fifth: values[direction + 2],
            hex: columns.hex,
        };
        (count >= 4 && row.direction <= 2).then_some(row)
    }
}

/// Numbers separated by commas.
pub(super) struct Columns<'a> {
    rest: &'a [u8],
    hex: bool,
}

impl<'a> Columns<'a> {
    pub(super) const fn new(line: &'a [u8]) -> Self {
        Self { rest: line, hex: false }
    }

    /// Returns the next number, `Some(None)` at the end, `None` if invalid.
    #[expect(clippy::option_option, reason = "the end is no damage")]
    pub(super) fn next(&mut self) -> Option<Option<u64>> {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
        if self.rest.is_empty() {
            return Some(None);
        }
        let mut value: u64 = 0;
        let before = self.rest.len();
        let mut radix = 10;
        if let [b'0', b'x', rest @ ..] = self.rest {
            self.rest = rest;
            self.hex = true;
            radix = 16;
        }
        while let [byte, rest @ ..] = self.rest {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' if radix == 16 => byte - b'a' + 10,
                _ => break,
            };
            value = value.checked_mul(radix)?.checked_add(digit.into())?;
            self.rest = rest;
        }
        if self.rest.len() == before {
            return None;
        }
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
        match self.rest {
            [b',', rest @ ..] => self.rest = rest,
            [] => {}
            _ => return None,
        }
        Some(Some(value))
    }
}

/// Calls `take` for each non-empty line of `input`; rejected lines count as damage.
pub(super) fn each_line(
    mut input: impl BufRead,
    mut take: impl FnMut(&[u8]) -> bool,
) -> io::Result<Damage> {
    /// Longest line, bytes: a histogram's row has at most 50 kB.
    const LONGEST: u64 = 1 << 20;
    /// Reading stops after this many bytes without a valid row: a compressed file may be endless.
    const LONGEST_WITHOUT: u64 = 1 << 30;
    let mut damage = Damage::default();
    let (mut line, mut number, mut without) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        if (&mut input).take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(damage);
        }
        number += 1;
        without += line.len() as u64;
        if line.trim_ascii().is_empty() || !take(&line) {
            damage.rows += usize::from(!line.trim_ascii().is_empty());
            damage.line = if damage.rows == 1 { number } else { damage.line };
        } else {
            without = 0;
        }
        if without > LONGEST_WITHOUT {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no log row in a GiB"));
        }
    }
}

/// True if a text that begins like this is a log, whatever its name.
pub(crate) fn looks_like_log(beginning: &[u8]) -> bool {
    const EXAMINED_LINES: usize = 8;
    let lines: Vec<&[u8]> = beginning
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .collect();
    // The last line may be truncated.
    let whole = &lines[..lines.len().saturating_sub(1).max(1).min(lines.len())];
    let rows = whole.iter().take(EXAMINED_LINES).filter(|line| Row::parse(line).is_some()).count();
    2 * rows > whole.len().min(EXAMINED_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_all_versions_are_parsed() {
        let parsed = |line: &str| Row::parse(line.as_bytes());
        let row =
            Row { time_ms: 53, value: 46022, direction: 0, bs: 4096, columns: 4, ..Row::default() };
        assert_eq!(parsed("53, 46022, 0, 4096\n"), Some(row));
        let offset = parsed("0, 55173, 1, 4096, 1011712, 0x0003").unwrap();
        assert_eq!((offset.columns, offset.fifth, offset.hex), (6, 1_011_712, true));
        let both = parsed("500, 160390, 8535539, 2, 0, 0").unwrap();
        assert_eq!((both.value, both.direction, both.bs), (160_390, 2, 0));
        for bad in ["3000, 50", "garbage", "1, 2, 3, 4096", "1,,0,4096", "-1, 2, 0, 4", ""] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
        assert_eq!(parsed("99999999999999999999, 1, 0, 0"), None);
    }
}
