//! Extracts the parts of a long text near fio's output, in bounded memory.

use std::io::{self, Read};
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Size of the blocks of whole lines that are checked, bytes; longer lines are split.
const BLOCK_BYTES: usize = 64 << 10;
/// Blocks kept after one that contains fio's output.
const KEPT_BEHIND: u64 = 4;
/// Largest text that is kept, bytes: longer than any report.
const LARGEST_BYTES: usize = 1 << 30;
/// Reading stops after this many bytes without fio's output.
const LONGEST_WITHOUT_BYTES: u64 = 1 << 30;

/// Substrings that occur every few lines in each of fio's formats.
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

/// Parts of a text near fio's output.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) text: String,
    pub(super) lines: Lines,
    /// Line at which reading stopped before the end of the input.
    pub(super) given_up: Option<usize>,
}

/// Maps lines of the parts to lines of the input.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<(usize, usize)>);

impl Lines {
    /// Line of the input that became `line`.
    pub(super) fn of(&self, line: usize) -> usize {
        let part = self.0.partition_point(|(first, _)| *first <= line);
        let part = part.checked_sub(1).map(|part| self.0[part]);
        part.map_or(line, |(first, of_input)| of_input + (line - first))
    }
}

/// Returns all of a short text.
pub(super) fn all(mut input: impl Read) -> io::Result<Parts> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let lossy =
        |error: std::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
    Ok(Parts { text: String::from_utf8(bytes).unwrap_or_else(lossy), ..Parts::default() })
}

/// Returns the parts of `input` near fio's output.
///
/// # Errors
/// Unreadable, or the parts are larger than any report.
pub(super) fn near_fio(mut input: impl Read) -> io::Result<Parts> {
    static MARKED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(MARKS).ok());
    let is_near = |block: &[u8]| MARKED.as_ref().is_none_or(|marks| marks.is_match(block));
    let mut parts = Parts::default();
    let (mut block, mut before) = (Vec::new(), Vec::new());
    // Line numbers in the input and in the kept text.
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
            let what = "larger than any fio report";
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
    /// Keeps a block that begins at `line` of the input and at `kept` of the text.
    fn keep(&mut self, block: &[u8], line: usize, kept: &mut usize, behind_gap: bool) {
        if behind_gap {
            if !self.text.is_empty() {
                self.text.push('\n');
                *kept += 1;
            }
            self.lines.0.push((*kept, line));
        }
        for (n, line) in block.split_inclusive(|byte| *byte == b'\n').enumerate() {
            // Indentation makes up nearly half of a JSON+ report. The first line may have begun in
            // the block before.
            let member =
                Some(line.trim_ascii_start()).filter(|line| n > 0 && line.starts_with(b"\""));
            for chunk in member.unwrap_or(line).utf8_chunks() {
                self.text.push_str(chunk.valid());
                let is_marked = self.text.ends_with(char::REPLACEMENT_CHARACTER);
                if !chunk.invalid().is_empty() && !is_marked {
                    self.text.push(char::REPLACEMENT_CHARACTER);
                }
            }
        }
        *kept += block.iter().filter(|byte| **byte == b'\n').count();
    }
}

/// Fills up a block; returns `false` at the end of the input.
fn fill(input: &mut impl Read, block: &mut Vec<u8>) -> io::Result<bool> {
    let wanted = BLOCK_BYTES.saturating_sub(block.len()) as u64;
    input.by_ref().take(wanted).read_to_end(block)?;
    Ok(!block.is_empty())
}

/// End of the last whole line of a block, or else of its last whole character.
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
