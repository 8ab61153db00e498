//! Finds fio's JSON documents in a text that contains other things as well.

use std::ops::Range;

use iodyno_model::Measurement;
use serde::de::DeserializeOwned;

use crate::read::document::{Document, ReadError};
use crate::read::findings::{TOO_MANY, most_jobs};
use crate::read::json::{DocumentHead, document};
use crate::read::limited::{LimitedObject, LimitedValue};
use crate::read::line_numbers::LineNumbers;
use crate::read::same_run::shift_phases;
use crate::read::truncated_json::complete_part;

/// Measurements in `output`, which may have other lines around its documents. Of several reports of
/// the same run the last one counts.
///
/// # Errors
/// See [`documents`].
pub fn json(output: &str) -> Result<Vec<Measurement>, ReadError> {
    Ok(last_of_each_run(documents(output)?))
}

/// All documents in `output`, at least one, in order; everything outside of documents is skipped.
///
/// # Errors
/// No document, or one that is damaged or has no jobs.
pub fn documents(output: &str) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    let mut from = 0;
    let mut lines = LineNumbers::new(output);
    while let Some(start) = next_document(output, from) {
        let line = lines.at(start);
        let (head, end) = parse::<LimitedObject>(output, start)
            .map_err(|error| ReadError::NotJson { line, what: error.to_string() })?;
        from = end;
        let document = document(&head, &mut json_of(&output[start..end]), most_jobs(output.len()));
        documents.push(document.map_err(|member| ReadError::Missing { line, member })?);
    }
    if documents.is_empty() { Err(ReadError::NoDocument) } else { Ok(documents) }
}

/// JSON reports found in a text, as far as readable.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// Jobs; of several reports of the same run those of the last one.
    pub(super) measurements: Vec<Measurement>,
    /// Unreadable parts, with their line.
    pub(super) problems: Vec<(usize, String)>,
    /// Byte ranges of the documents.
    pub(super) taken: Vec<Range<usize>>,
}

/// Reads all of fio's JSON in `output`, including the remains of truncated or damaged documents:
/// jobs and figures before the damage, and whole jobs after it.
pub(super) fn reports(output: &str) -> Reports {
    let mut reports = Reports::default();
    let (mut documents, mut loose) = (Vec::<Document>::new(), Vec::new());
    let mut lines = LineNumbers::new(output);
    // Common properties of the last damaged document.
    let mut run = DocumentHead::default();
    let mut from = 0;
    let (mut left, mut left_out) = (most_jobs(output.len()), false);
    loop {
        let start = next_document(output, from);
        left_out |= left == 0 && start.is_some();
        if left_out {
            break;
        }
        // Jobs outside of documents: a document is damaged, or its head is missing.
        let part = from..start.unwrap_or(output.len());
        let found = loose_jobs(output, part, &run, left, &mut lines, &mut reports);
        left -= found.len();
        loose.extend(found);
        let Some(start) = start else { break };
        let found = match parse::<LimitedObject>(output, start) {
            Ok((head, end)) => {
                from = end;
                document(&head, &mut json_of(&output[start..end]), left)
            }
            Err(error) => {
                let end = start + offset_of(&output[start..], &error);
                let what = format!("the report is cut off or damaged here: {}", because(&error));
                reports.problems.push((lines.at(end), what));
                run = DocumentHead::default();
                from = end.max(start + 1);
                reports.taken.push(start..from);
                let whole = complete_part(&output[start..end]);
                let whole = whole.map(|(end, brackets)| (&output[start..start + end], brackets));
                let json = || {
                    let (text, brackets) = whole.as_ref()?;
                    let bytes = std::io::Read::chain(text.as_bytes(), brackets.as_slice());
                    Some(serde_json::Deserializer::from_reader(bytes))
                };
                let head = json().map(|mut json| serde::Deserialize::deserialize(&mut json));
                let Some(Ok::<LimitedObject, _>(head)) = head else { continue };
                run = DocumentHead::of(&head.kept).unwrap_or_default();
                json().map_or(Err("jobs"), |mut json| document(&head, &mut json, left))
            }
        };
        reports.taken.push(start..from);
        match found {
            Ok(document) => {
                left -= document.measurements.len();
                left_out |= document.left_out > 0;
                if let Some(earlier) = documents.pop_if(|last| last.is_superseded_by(&document)) {
                    left += earlier.measurements.len();
                }
                documents.push(document);
            }
            Err(member) => {
                let what = format!("the report starting here has no `{member}`");
                reports.problems.push((lines.at(start), what));
            }
        }
    }
    if left_out {
        reports.problems.push((lines.at(from), TOO_MANY.into()));
    }
    reports.measurements = in_phases(documents);
    let mut next_phase = reports.measurements.iter().map(|of| of.phase + 1).max().unwrap_or(0);
    shift_phases(&mut next_phase, &mut loose);
    reports.measurements.extend(loose);
    // A job truncated before its first figure has only a name.
    if !reports.problems.is_empty() {
        reports.measurements.retain(|one| !one.total.is_empty() || one.failure().is_some());
    }
    reports
}

fn last_of_each_run(documents: Vec<Document>) -> Vec<Measurement> {
    let mut last = Vec::<Document>::new();
    for document in documents {
        last.pop_if(|earlier| earlier.is_superseded_by(&document));
        last.push(document);
    }
    in_phases(last)
}

/// Measurements of consecutive runs, numbered as successive phases.
fn in_phases(documents: Vec<Document>) -> Vec<Measurement> {
    let mut next_phase = 0;
    let mut all = Vec::new();
    for mut document in documents {
        shift_phases(&mut next_phase, &mut document.measurements);
        // Measurements of the first document keep their allocation.
        match all.is_empty() {
            true => all = document.measurements,
            false => all.append(&mut document.measurements),
        }
    }
    all
}

/// Whole jobs in a part of `output` outside of all documents, at most `most`.
fn loose_jobs(
    output: &str,
    part: Range<usize>,
    run: &DocumentHead,
    most: usize,
    lines: &mut LineNumbers<'_>,
    reports: &mut Reports,
) -> Vec<Measurement> {
    let mut jobs = Vec::new();
    let mut from = part.start;
    while jobs.len() < most
        && let Some(start) = object_with(output, "\"jobname\"", from..part.end)
    {
        from = match parse::<LimitedValue>(output, start) {
            Ok((LimitedValue(job), end)) => {
                jobs.push(run.measurement(&job, false));
                reports.taken.push(start..end);
                end
            }
            // A damaged job contains no other job before the damage.
            Err(error) => (start + offset_of(&output[start..], &error)).max(start + 1),
        };
    }
    if let (Some(first), true) = (jobs.first(), reports.problems.is_empty()) {
        let what = format!("the report's head is missing before job `{}`", first.name);
        reports.problems.push((lines.at(part.start), what));
    }
    jobs
}

/// Byte offset of the next document.
fn next_document(output: &str, from: usize) -> Option<usize> {
    const VERSION: &str = "\"fio version\"";
    let mut from = from;
    loop {
        let at = from + output.get(from..)?.find(VERSION)?;
        let before = output[from..at].trim_end();
        if before.ends_with('{') {
            return Some(from + before.len() - 1);
        }
        if let Some(start) = sorted_document(output, from..at) {
            return Some(start);
        }
        from = at + VERSION.len();
    }
}

/// Byte offset of a document whose members were sorted by another program, so that the text at the
/// end of `before` is in its middle, whatever was put around it.
fn sorted_document(output: &str, before: Range<usize>) -> Option<usize> {
    /// Number of lines tried as its beginning.
    const BEGINNINGS: usize = 16;
    let mut line_start = before.start;
    let lines = output[before.clone()].split_inclusive('\n').map(|line| {
        let blank = |c: char| c.is_whitespace() || c == ',';
        let start = line_start + line.len() - line.trim_start_matches(blank).len();
        line_start += line.len();
        start
    });
    let mut beginnings = lines.filter(|at| output[*at..].starts_with('{')).take(BEGINNINGS);
    beginnings.find_map(|at| {
        let start = at + innermost(&output[at..before.end])?;
        let (_, end) = parse::<LimitedObject>(output, start).ok()?;
        (end > before.end).then_some(start)
    })
}

/// Byte offset of the innermost object open at the end of `json`; `None` if there is none.
fn innermost(json: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut bytes = json.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => loop {
                match bytes.next()?.1 {
                    b'\\' => drop(bytes.next()),
                    b'"' => break,
                    _ => {}
                }
            },
            b'{' => open.push(Some(at)),
            b'[' => open.push(None),
            b'}' | b']' => drop(open.pop()?),
            _ => {}
        }
    }
    *open.last()?
}

/// Byte offset of an object in `part` whose first member is `member`.
fn object_with(output: &str, member: &str, part: Range<usize>) -> Option<usize> {
    let mut from = part.start;
    loop {
        let at = from + output.get(from..part.end)?.find(member)?;
        let before = output[part.start..at].trim_end();
        if before.ends_with('{') {
            return Some(part.start + before.len() - 1);
        }
        from = at + member.len();
    }
}

/// Parses the JSON value at `start`; returns it and its end.
fn parse<T: DeserializeOwned>(output: &str, start: usize) -> Result<(T, usize), serde_json::Error> {
    let mut values = json_of(&output[start..]).into_iter::<T>();
    let value = values.next().ok_or_else(|| serde::de::Error::custom("end of text"))??;
    Ok((value, start + values.byte_offset()))
}

fn json_of(text: &str) -> serde_json::Deserializer<serde_json::de::StrRead<'_>> {
    serde_json::Deserializer::from_str(text)
}

/// Byte offset of `error` in `text`.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let before: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut at = (before + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The parser's message without its line number, which counts from the document's start.
fn because(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.split(" at line ").next().unwrap_or(&words).to_owned()
}
