//! Converts UTF-16, PowerShell's format for redirected output, to UTF-8.

use std::io::{self, Read};

/// Byte order of a code unit.
#[derive(Debug, Clone, Copy)]
pub(super) enum ByteOrder {
    LittleEndian,
    BigEndian,
}

/// Reader that yields UTF-8 from UTF-16.
pub(super) struct Utf8Reader<R> {
    input: R,
    order: ByteOrder,
    /// Bytes of an incomplete character.
    rest: Vec<u8>,
    ready: io::Cursor<Vec<u8>>,
}

impl ByteOrder {
    /// Byte order of a text that starts with a byte order mark; `None` if it is not UTF-16.
    pub(super) fn of(beginning: &[u8]) -> Option<Self> {
        match beginning {
            [0xff, 0xfe, ..] => Some(Self::LittleEndian),
            [0xfe, 0xff, ..] => Some(Self::BigEndian),
            _ => None,
        }
    }

    /// Converts `input`.
    pub(super) fn to_utf8<R: Read>(self, input: R) -> Utf8Reader<R> {
        Utf8Reader { input, order: self, rest: Vec::new(), ready: io::Cursor::default() }
    }

    fn unit(self, pair: &[u8]) -> u16 {
        let pair = [pair[0], pair[1]];
        match self {
            Self::LittleEndian => u16::from_le_bytes(pair),
            Self::BigEndian => u16::from_be_bytes(pair),
        }
    }
}

impl<R: Read> Read for Utf8Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const CHUNK_BYTES: u64 = 16 << 10;
        loop {
            let read = self.ready.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            let more = self.input.by_ref().take(CHUNK_BYTES).read_to_end(&mut self.rest)?;
            let units: Vec<u16> =
                self.rest.chunks_exact(2).map(|pair| self.order.unit(pair)).collect();
            // The first half of a surrogate pair waits for the second.
            let is_half = |unit: &u16| (0xd800..0xdc00).contains(unit);
            let waits = more > 0 && units.last().is_some_and(is_half);
            let units = &units[..units.len() - usize::from(waits)];
            self.rest.drain(..2 * units.len());
            if more == 0 {
                self.rest.clear();
            }
            if units.is_empty() && more == 0 {
                return Ok(0);
            }
            let text = String::from_utf16_lossy(units);
            self.ready = io::Cursor::new(text.trim_start_matches('\u{feff}').into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogate_pairs_are_decoded() {
        let text = "a\u{1f600}".repeat(20_000);
        for (order, mark) in
            [(ByteOrder::LittleEndian, [0xff, 0xfe]), (ByteOrder::BigEndian, [0xfe, 0xff])]
        {
            let units = text.encode_utf16().flat_map(|unit| match order {
                ByteOrder::LittleEndian => unit.to_le_bytes(),
                ByteOrder::BigEndian => unit.to_be_bytes(),
            });
            let bytes: Vec<u8> = mark.into_iter().chain(units).collect();
            let mut read = String::new();
            ByteOrder::of(&bytes).unwrap().to_utf8(&bytes[..]).read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
        }
    }
}
