//! What a text, a file or a folder holds.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::Path;

use iodyno_model::Measurement;

use super::clones::gathered;
use super::folder;
use super::log::looks_like_log;
use super::normal::normal;
use super::paste::restored;
use super::reports::reports;
use super::same_run::{behind, together};
use super::terse::terse;

/// Said where a text has nothing to read.
const NOTHING: &str = "nothing of fio's was found";
/// Larger than any report: what is larger is not read into memory.
const LARGEST_BYTES: u64 = 1 << 30;

/// What was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// The measurements, in the order in which they stand there.
    pub measurements: Vec<Measurement>,
    /// What could not be read, and where.
    pub problems: Vec<Problem>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// File, as it was named; empty where a text has no name.
    pub file: String,
    /// Line, from 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// What is wrong, in a sentence.
    pub what: String,
}

impl Problem {
    pub(super) fn new(file: &str, line: Option<usize>, what: impl Into<String>) -> Self {
        Self { file: file.into(), line, what: what.into() }
    }
}

/// A problem's words up to so many characters: they may quote a file.
const LONGEST: usize = 300;

/// `file:12: what is wrong`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let words: String = self.what.chars().take(LONGEST).collect();
        let cut = if words.len() < self.what.len() { "…" } else { "" };
        write!(f, "{}{line}: {words}{cut}", self.file)
    }
}

/// What `text` holds, whatever fio printed it as, and whatever stands around
/// it. What stands there in several formats counts once, as the one that says
/// most: JSON, terse, normal.
pub fn text(name: &str, text: &str) -> Imported {
    let text = restored(text);
    let json = reports(&text);
    let rest = without(&text, &json.taken);
    let lines = terse(&rest);
    let rest = without(&rest, &lines.taken);
    let mut normal = normal(name, &rest);
    // Its head without results is no damage where those are in another format.
    if normal.measurements.is_empty() && json.measurements.len() + lines.measurements.len() > 0 {
        normal.problems.clear();
    }

    let problems = json.problems.into_iter().chain(lines.problems);
    let problems = problems.map(|(line, what)| Problem::new(name, Some(line), what));
    let mut problems: Vec<Problem> = problems.chain(normal.problems).collect();
    let in_json = json.measurements.len();
    let measurements = together(json.measurements, lines.measurements);
    let mut measurements = together(measurements, normal.measurements);
    let mut others = measurements.split_off(in_json);
    // Only JSON tells how many clones a job has.
    let mut measurements = gathered(measurements);
    let mut next_phase = measurements.iter().map(|of| of.phase + 1).max().unwrap_or(0);
    behind(&mut next_phase, &mut others);
    measurements.extend(others);
    if measurements.is_empty() && problems.is_empty() {
        problems.push(Problem::new(name, None, NOTHING));
    }
    problems.sort_by_key(|problem| problem.line);
    Imported { measurements, problems }
}

/// What `input` holds, as of [`text`]; `name` is what problems call it.
///
/// # Errors
/// It cannot be read, or is too large to be a report.
pub fn stream(name: &str, mut input: impl BufRead) -> io::Result<Imported> {
    let beginning = input.fill_buf()?;
    let wide = [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| beginning.starts_with(*mark));
    // Neither tests' data nor pictures are worth reading to their end.
    if beginning.contains(&0) && !wide {
        return Ok(nothing(name));
    }
    if looks_like_log(beginning) {
        let what = "rows of a fio log, but its name does not say of what: \
                    NAME_bw.log, _iops.log, _lat.log, _clat.log, _slat.log, _clat_hist.log";
        let problems = vec![Problem::new(name, None, what)];
        return Ok(Imported { problems, ..Imported::default() });
    }
    let mut bytes = Vec::new();
    input.take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than any report of fio"));
    }
    Ok(text(name, &decoded(&bytes)))
}

/// What a file holds, or all files below a folder.
///
/// # Errors
/// It cannot be read at all.
pub fn path(path: &Path) -> io::Result<Imported> {
    if path.is_dir() { folder::folder(path) } else { folder::file(path) }
}

pub(super) fn nothing(name: &str) -> Imported {
    Imported { problems: vec![Problem::new(name, None, NOTHING)], ..Imported::default() }
}

/// The text of a file; PowerShell redirects output into UTF-16.
fn decoded(bytes: &[u8]) -> String {
    let units = |one: fn([u8; 2]) -> u16| {
        let pairs = bytes[2..].chunks_exact(2).map(|pair| one([pair[0], pair[1]]));
        String::from_utf16_lossy(&pairs.collect::<Vec<u16>>())
    };
    match bytes {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// `text` with its lines, and nothing in place of `taken`.
fn without(text: &str, taken: &[Range<usize>]) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut from = 0;
    let mut taken: Vec<&Range<usize>> = taken.iter().collect();
    taken.sort_by_key(|range| range.start);
    for range in taken {
        if range.start >= from {
            rest.push_str(&text[from..range.start]);
            let lines = text[range.clone()].matches('\n').count();
            rest.extend(std::iter::repeat_n('\n', lines));
            from = range.end;
        }
    }
    rest.push_str(&text[from..]);
    rest
}
