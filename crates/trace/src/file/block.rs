//! Blocks of a trace file: a mark to find them by, kind, length and checksums.

use std::io::{BufRead, Read, Write};

use super::{END_MAGIC, TraceError};

/// Precedes every block, so that the next one is found after damage.
const MARK: [u8; 4] = [0xb1, b'I', b'O', 0x0c];
/// Mark, kind, length, checksum of the contents, checksum of these.
pub(super) const HEAD_BYTES: usize = 17;
/// Maximum length: a full chunk whose columns do not compress has 3.5 MB besides its names.
pub(super) const MOST_BYTES: u32 = 32 << 20;

/// Content of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A [`Header`](super::Header), JSON.
    Header = 1,
    /// I/Os.
    Chunk = 2,
    /// An [`Ending`](super::Ending), JSON.
    Ending = 3,
    /// Positions of all chunks.
    Index = 4,
    /// Counts of a model.
    Model = 5,
}

/// The head of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: u8,
    pub(super) length: u32,
    checksum: u32,
}

impl Head {
    pub(super) fn is(&self, kind: Kind) -> bool {
        self.kind == kind as u8
    }

    /// Parses a head; `None` if the bytes are not one.
    pub(super) fn parse(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| bytes[at + n]));
        let head = Self { kind: bytes[4], length: word(5), checksum: word(9) };
        let is_whole = bytes.starts_with(&MARK) && crc32c::crc32c(&bytes[..13]) == word(13);
        (is_whole && head.length <= MOST_BYTES).then_some(head)
    }
}

/// Writes a block. Returns its length including the head, bytes.
pub(super) fn write(to: &mut impl Write, kind: Kind, contents: &[u8]) -> Result<u64, TraceError> {
    let long = |_| std::io::Error::other("a block of more than 32 MiB");
    let length = u32::try_from(contents.len()).map_err(long)?;
    let mut head = MARK.to_vec();
    head.push(kind as u8);
    head.extend(length.to_le_bytes());
    head.extend(crc32c::crc32c(contents).to_le_bytes());
    head.extend(crc32c::crc32c(&head).to_le_bytes());
    to.write_all(&head)?;
    to.write_all(contents)?;
    Ok((head.len() + contents.len()) as u64)
}

/// Reads consecutive blocks.
#[derive(Debug)]
pub(super) struct Blocks<R> {
    input: R,
    at: u64,
    /// Bytes that were read and are parsed again.
    pushback: Vec<u8>,
}

impl<R: BufRead> Blocks<R> {
    pub(super) const fn new(input: R, at: u64) -> Self {
        Self { input, at, pushback: Vec::new() }
    }

    /// Returns the next block's head, position and contents; `None` at the end of the file. After
    /// an error, the next call searches for the next mark.
    pub(super) fn next(&mut self) -> Result<Option<(Head, u64, Vec<u8>)>, TraceError> {
        let at = self.at;
        let damaged = |what| Err(TraceError::Damaged { at, what });
        let mut head = std::mem::take(&mut self.pushback);
        self.fill(&mut head, HEAD_BYTES)?;
        // The 16 bytes after the index serve readers that start at the end.
        if head.is_empty() || head.len() == 16 && head.ends_with(&END_MAGIC) {
            return Ok(None);
        }
        let Ok(bytes) = <&[u8; HEAD_BYTES]>::try_from(&head[..]) else {
            self.at += head.len() as u64;
            return damaged("truncated block");
        };
        let Some(found) = Head::parse(bytes) else {
            self.seek_mark(head)?;
            return damaged("no block begins here");
        };
        let mut contents = Vec::new();
        self.fill(&mut contents, found.length as usize)?;
        self.at += (HEAD_BYTES + contents.len()) as u64;
        if contents.len() < found.length as usize {
            return damaged("truncated block");
        }
        if crc32c::crc32c(&contents) != found.checksum {
            return damaged("wrong block checksum");
        }
        Ok(Some((found, at, contents)))
    }

    /// Reads until `into` has `length` bytes or the input ends; memory grows only with the bytes
    /// read.
    fn fill(&mut self, into: &mut Vec<u8>, length: usize) -> Result<(), TraceError> {
        let more = length.saturating_sub(into.len()) as u64;
        self.input.by_ref().take(more).read_to_end(into)?;
        Ok(())
    }

    /// Skips to the next possible mark.
    fn seek_mark(&mut self, mut window: Vec<u8>) -> Result<(), TraceError> {
        loop {
            window.remove(0);
            self.at += 1;
            self.fill(&mut window, HEAD_BYTES)?;
            let is_end = window.len() < MARK.len();
            if is_end || window.starts_with(&MARK) {
                self.at += if is_end { window.len() as u64 } else { 0 };
                self.pushback = if is_end { Vec::new() } else { window };
                return Ok(());
            }
        }
    }
}
