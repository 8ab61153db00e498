//! Inflates compressed logs (`log_store_compressed`): fio's samples in zlib streams.

use std::io::{self, BufRead, Read, Write};

use flate2::bufread::ZlibDecoder;

use crate::out::{LogColumns, LogRow, SAMPLE_BYTES, direction_of_flags, write_row};

/// Writes the log in `input` as text, as fio's `--inflate-log` does.
///
/// # Errors
/// `input` is unreadable, not such a log, or truncated; `to` is not writable.
pub fn inflate_log(input: impl BufRead, to: &mut impl Write) -> io::Result<()> {
    let mut samples = Streams(Some(ZlibDecoder::new(input)));
    let mut head = [0; SAMPLE_BYTES];
    while fill(&mut samples, &mut head)? {
        let columns = LogColumns::of_flags(u32_at(&head, 24));
        let [offset, issue_time] = [columns.offset, columns.issue_time].map(|there| {
            let mut number = [0; 8];
            match there && fill(&mut samples, &mut number)? {
                true => Ok(u64::from_ne_bytes(number)),
                false => io::Result::Ok(0),
            }
        });
        let row = LogRow {
            time_ms: u64_at(&head, 0),
            value: u64_at(&head, 8),
            max: u64_at(&head, 16),
            direction: direction_of_flags(u32_at(&head, 24)),
            bs: u64_at(&head, 32),
            offset: offset?,
            priority: u16::from_ne_bytes([head[28], head[29]]),
            issue_time_ns: issue_time?,
        };
        write_row(to, columns, &row)?;
    }
    Ok(())
}

fn u64_at(bytes: &[u8; SAMPLE_BYTES], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |number| u64::from_ne_bytes(*number))
}

fn u32_at(bytes: &[u8; SAMPLE_BYTES], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |number| u32::from_ne_bytes(*number))
}

/// Fills `buffer`; returns `false` at the end of the input.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    let first = loop {
        match from.read(&mut buffer[..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            first => break first?,
        }
    };
    if first > 0 {
        from.read_exact(&mut buffer[first..])?;
    }
    Ok(first > 0)
}

/// Consecutive zlib streams; `None` at the end.
struct Streams<R>(Option<ZlibDecoder<R>>);

impl<R: BufRead> Read for Streams<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(mut stream) = self.0.take() {
            let count = stream.read(buffer)?;
            if count > 0 {
                self.0 = Some(stream);
                return Ok(count);
            }
            let mut input = stream.into_inner();
            if !input.fill_buf()?.is_empty() {
                self.0 = Some(ZlibDecoder::new(input));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::Direction;

    use super::*;
    use crate::out::LogWriter;

    #[test]
    fn inflated_log_equals_the_plain_one() {
        let directory = tempfile::tempdir().unwrap();
        let row = |number: u64| LogRow {
            time_ms: number,
            value: 60_752,
            max: 70_000,
            direction: Direction::Write,
            bs: 4096,
            offset: number << 12,
            priority: 0x2004,
            issue_time_ns: 12 + number,
        };
        for bits in 0..16_u32 {
            let columns = LogColumns {
                offset: bits & 1 > 0,
                priority: bits & 2 > 0,
                issue_time: bits & 4 > 0,
                both: bits & 8 > 0,
                compressed: false,
            };
            let [plain, compressed] = [false, true].map(|compressed| {
                let path = directory.path().join(format!("{bits}-{compressed}"));
                let columns = LogColumns { compressed, ..columns };
                let mut log = LogWriter::create(&path, columns).unwrap();
                (0..1000).for_each(|number| log.row(&row(number)).unwrap());
                log.finish().unwrap();
                std::fs::read(path).unwrap()
            });
            assert!(compressed.len() < plain.len());
            // fio ends a stream when its buffer is full.
            let twice = [&compressed[..], &compressed].concat();
            let mut text = Vec::new();
            inflate_log(&twice[..], &mut text).unwrap();
            assert_eq!(text, [&plain[..], &plain].concat());
            assert!(inflate_log(&compressed[..compressed.len() - 9], &mut text).is_err());
        }
        assert!(inflate_log(&b"0, 1, 2, 3"[..], &mut Vec::new()).is_err());
    }
}
