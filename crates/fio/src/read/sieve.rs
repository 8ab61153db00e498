//! The parts of a long text that are near something of fio's, in bounded memory.

use std::io::{self, Read};
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// A text is judged in blocks of whole lines, bytes; a longer line is parted.
const BLOCK_BYTES: usize = 64 << 10;
/// Blocks that are kept behind one with something of fio's.
const KEPT_BEHIND: u64 = 4;
/// Longer than any report.
const LARGEST_BYTES: usize = 1 << 30;
/// Where nothing of fio's has been for so long, nothing will be.
const LONGEST_WITHOUT_BYTES: u64 = 1 << 30;

/// What stands in every few lines of whatever fio prints, in each of its formats.
const MARKS: [&str; 24] = [
    "fio",
    "jobname",
    "groupid=",
    "(g=",
    "IOPS",
    "iops",
    "io=",
    "BW=",
    "bw",
    "lat (",
    "lat(",
    "err=",
    "percentile",
    "issued",
    "%=",
    "rw=",
    "iodepth",
    "Run status",
    "_ns",
    "\"bins\"",
    "job options",
    "ioengine",
    "usr=",
    "[global]",
];

/// What of a text is near something of fio's.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) text: String,
    pub(super) lines: Lines,
    /// Line at which reading ended before the input did.
    pub(super) given_up: Option<usize>,
}

/// Which lines of an input those of its parts were.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<(usize, usize)>);

impl Lines {
    /// The line of the input that was made `line`.
    pub(super) fn of(&self, line: usize) -> usize {
        let part = self.0.partition_point(|(first, _)| *first <= line);
        let part = part.checked_sub(1).map(|part| self.0[part]);
        part.map_or(line, |(first, of_input)| of_input + (line - first))
    }
}

/// All of a short text.
pub(super) fn all(mut input: impl Read) -> io::Result<Parts> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let lossy =
        |error: std::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
    Ok(Parts { text: String::from_utf8(bytes).unwrap_or_else(lossy), ..Parts::default() })
}

/// What of `input` is near something of fio's.
///
/// # Errors
/// It cannot be read, or that is more than any report.
pub(super) fn near_fio(mut input: impl Read) -> io::Result<Parts> {
    static MARKED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(MARKS).ok());
    let is_near = |block: &[u8]| MARKED.as_ref().is_none_or(|marks| marks.is_match(block));
    let mut parts = Parts::default();
    let (mut block, mut before) = (Vec::new(), Vec::new());
    // Lines of the input, and of what is kept of it, that were ended.
    let (mut line, mut line_before, mut kept) = (1, 1, 1);
    let (mut behind, mut without_bytes, mut gap) = (0, 0, false);
    while fill(&mut input, &mut block)? {
        let end = end_of(&block);
        let (here, rest) = block.split_at(end);
        let lines = here.iter().filter(|byte| **byte == b'\n').count();
        let near = is_near(here);
        if near && behind == 0 && !before.is_empty() {
            parts.keep(&before, line_before, &mut kept, gap);
            gap = false;
        }
        behind = if near { KEPT_BEHIND + 1 } else { behind };
        if behind > 0 {
            parts.keep(here, line, &mut kept, gap);
            (behind, without_bytes, gap) = (behind - 1, 0, false);
            before.clear();
        } else {
            gap |= !before.is_empty();
            without_bytes += here.len() as u64;
            before.clear();
            before.extend_from_slice(here);
            line_before = line;
        }
        line += lines;
        let rest = rest.len();
        block.drain(..end);
        debug_assert_eq!(block.len(), rest);
        if parts.text.len() > LARGEST_BYTES {
            let what = "more than any report of fio";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        if without_bytes > LONGEST_WITHOUT_BYTES {
            parts.given_up = Some(line);
            break;
        }
    }
    Ok(parts)
}

impl Parts {
    /// Keeps a block that begins in `line` of the input, `kept` being the line of the text.
    fn keep(&mut self, block: &[u8], line: usize, kept: &mut usize, behind_gap: bool) {
        if behind_gap {
            if !self.text.is_empty() {
                self.text.push('\n');
                *kept += 1;
            }
            self.lines.0.push((*kept, line));
        }
        for (n, line) in block.split_inclusive(|byte| *byte == b'\n').enumerate() {
            // Nearly half of a JSON+ report are blanks in front of members. The first line may
            // have begun in the block before.
            let member =
                Some(line.trim_ascii_start()).filter(|line| n > 0 && line.starts_with(b"\""));
            for chunk in member.unwrap_or(line).utf8_chunks() {
                self.text.push_str(chunk.valid());
                let is_told = self.text.ends_with(char::REPLACEMENT_CHARACTER);
                if !chunk.invalid().is_empty() && !is_told {
                    self.text.push(char::REPLACEMENT_CHARACTER);
                }
            }
        }
        *kept += block.iter().filter(|byte| **byte == b'\n').count();
    }
}

/// Fills a block up; `false` where nothing is left.
fn fill(input: &mut impl Read, block: &mut Vec<u8>) -> io::Result<bool> {
    let wanted = BLOCK_BYTES.saturating_sub(block.len()) as u64;
    input.by_ref().take(wanted).read_to_end(block)?;
    Ok(!block.is_empty())
}

/// Where the last whole line of a block ends, or its last whole character.
fn end_of(block: &[u8]) -> usize {
    if block.len() < BLOCK_BYTES {
        return block.len();
    }
    let line = block.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
    let goes_on = |byte: &u8| byte & 0xc0 == 0x80;
    let character = || block.iter().rev().take(4).position(|byte| !goes_on(byte));
    line.or_else(|| Some(block.len() - 1 - character()?))
        .filter(|end| *end > 0)
        .unwrap_or(block.len())
}
