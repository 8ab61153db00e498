//! Imports fio's results from a text, a stream, a file or a folder.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::Path;

use super::clones::merge_clones;
use super::findings::{Imported, NOTHING, Problem, nothing};
use super::folder;
use super::log::looks_like_log;
use super::normal::normal;
use super::plain::plain;
use super::reports::reports;
use super::same_run::{merge_formats, shift_phases};
use super::sieve;
use super::terse::terse;
use super::unescape::unescape;
use super::utf16::ByteOrder;

/// Texts up to this size are read as a whole; of longer ones only the parts near fio's output.
const WHOLE_BYTES: u64 = 4 << 20;
/// Bytes that suffice to tell text from binary data.
const HEAD_BYTES: usize = 64 << 10;
/// Imports all fio output in `text`, in any format, ignoring the rest. A run in several formats
/// counts once, as the most detailed: JSON, terse, normal.
pub fn text(name: &str, text: &str) -> Imported {
    import_text(name, text.to_owned())
}

fn import_text(name: &str, text: String) -> Imported {
    let text = unescape(text);
    let json = reports(&text);
    let rest = without_ranges(text, &json.taken);
    let lines = terse(&rest);
    let rest = without_ranges(rest, &lines.taken);
    let mut normal = normal(name, &rest);
    drop(rest);
    // A head without results is no damage if another format has the results.
    if normal.measurements.is_empty() && json.measurements.len() + lines.measurements.len() > 0 {
        normal.problems.clear();
    }

    let problems = json.problems.into_iter().chain(lines.problems);
    let problems = problems.map(|(line, what)| Problem::new(name, Some(line), what));
    let mut problems: Vec<Problem> = problems.chain(normal.problems).collect();
    let in_json = json.measurements.len();
    let measurements = merge_formats(json.measurements, lines.measurements);
    let mut measurements = merge_formats(measurements, normal.measurements);
    let mut others = measurements.split_off(in_json);
    // Only JSON states how many clones a job has.
    let mut measurements = merge_clones(measurements);
    let mut next_phase = measurements.iter().map(|of| of.phase + 1).max().unwrap_or(0);
    shift_phases(&mut next_phase, &mut others);
    measurements.extend(others);
    if measurements.is_empty() && problems.is_empty() {
        problems.push(Problem::new(name, None, NOTHING));
    }
    problems.sort_by_key(|problem| problem.line);
    Imported { measurements, problems }
}

/// Imports `input` as [`text`] does, compressed or not; `name` is used in problems. The input may
/// be endless: only parts near fio's output take memory, and reading stops after a long stretch
/// without any.
///
/// # Errors
/// Unreadable, or too large to be a report.
pub fn stream(name: &str, input: impl BufRead) -> io::Result<Imported> {
    let mut input = plain(input)?;
    let mut beginning = Vec::new();
    input.by_ref().take(WHOLE_BYTES).read_to_end(&mut beginning)?;
    let head = &beginning[..beginning.len().min(HEAD_BYTES)];
    let byte_order = ByteOrder::of(head);
    // Neither test data nor images are worth reading to the end.
    if head.contains(&0) && byte_order.is_none() {
        return Ok(nothing(name));
    }
    if looks_like_log(head) {
        let what = "rows of a fio log, but its name lacks the log type: \
                    NAME_bw.log, _iops.log, _lat.log, _clat.log, _slat.log, _clat_hist.log";
        let problems = vec![Problem::new(name, None, what)];
        return Ok(Imported { problems, ..Imported::default() });
    }
    let is_all = (beginning.len() as u64) < WHOLE_BYTES;
    let input = io::Cursor::new(beginning).chain(input);
    let input: Box<dyn Read> = match byte_order {
        Some(byte_order) => Box::new(byte_order.to_utf8(input)),
        None => Box::new(input),
    };
    let parts = if is_all { sieve::all(input)? } else { sieve::near_fio(input)? };
    let mut imported = import_text(name, parts.text);
    for problem in &mut imported.problems {
        problem.line = problem.line.map(|line| parts.lines.of(line));
    }
    if let Some(line) = parts.given_up {
        let what = "no fio output for a GiB: the rest is not read";
        imported.problems.push(Problem::new(name, Some(line), what));
    }
    Ok(imported)
}

/// Imports a file, or all files below a folder.
///
/// # Errors
/// Unreadable.
pub fn path(path: &Path) -> io::Result<Imported> {
    if path.is_dir() { folder::folder(path) } else { folder::file(path) }
}

/// `text` without the ranges `taken`; line breaks stay.
fn without_ranges(text: String, taken: &[Range<usize>]) -> String {
    let mut taken: Vec<&Range<usize>> = taken.iter().collect();
    taken.sort_by_key(|range| range.start);
    let mut bytes = text.into_bytes();
    let (mut end, mut from) = (0, 0);
    for range in taken.into_iter().chain([&(bytes.len()..bytes.len())]) {
        if range.start < from {
            continue;
        }
        bytes.copy_within(from..range.start, end);
        end += range.start - from;
        for at in range.clone() {
            if bytes[at] == b'\n' {
                bytes[end] = b'\n';
                end += 1;
            }
        }
        from = range.end;
    }
    bytes.truncate(end);
    bytes.shrink_to_fit();
    // Only whole characters were removed, so this is valid UTF-8.
    String::from_utf8(bytes).unwrap_or_default()
}
