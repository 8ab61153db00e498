//! fio's JSON documents in a text that holds other things as well.

use std::ops::Range;

use iodyno_model::Measurement;
use serde_json::Value;

use crate::read::document::{Document, ReadError};
use crate::read::json::{Run, document};
use crate::read::mend::mended;
use crate::read::same_run::behind;

/// The measurements in `output`, which may have other lines around its
/// documents. Of several reports of the same run the last one counts.
///
/// # Errors
/// As of [`documents`].
pub fn json(output: &str) -> Result<Vec<Measurement>, ReadError> {
    Ok(last_of_each_run(documents(output)?))
}

/// All documents in `output`, at least one, in order; everything outside of
/// documents is passed over.
///
/// # Errors
/// No document, or one that is damaged, or that has no jobs.
pub fn documents(output: &str) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    let mut from = 0;
    while let Some(start) = next_document(output, from) {
        let line = line_at(output, start);
        let (value, end) = parse(output, start)
            .map_err(|error| ReadError::NotJson { line, what: error.to_string() })?;
        from = end;
        for value in held(&value) {
            let document = document(value);
            documents.push(document.map_err(|member| ReadError::Missing { line, member })?);
        }
    }
    if documents.is_empty() { Err(ReadError::NoDocument) } else { Ok(documents) }
}

/// What a text holds in JSON, as far as it can be read.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// Its jobs, of several reports of the same run those of the last one.
    pub(super) measurements: Vec<Measurement>,
    /// What could not be read, with its line.
    pub(super) problems: Vec<(usize, String)>,
    /// Where the documents stand.
    pub(super) taken: Vec<Range<usize>>,
}

/// Everything in `output` that is fio's JSON, also what is left of documents
/// that were cut off or damaged: jobs and figures in front of the damage, and
/// whole jobs behind it.
pub(super) fn reports(output: &str) -> Reports {
    let mut reports = Reports::default();
    let (mut documents, mut loose) = (Vec::new(), Vec::new());
    // What is known of all jobs of the document that was damaged last.
    let mut run = Run::default();
    let mut from = 0;
    loop {
        let start = next_document(output, from);
        // Jobs that stand in no document: one is damaged, or its head is missing.
        loose.extend(loose_jobs(output, from..start.unwrap_or(output.len()), &run, &mut reports));
        let Some(start) = start else { break };
        let (value, end) = match parse(output, start) {
            Ok(found) => found,
            Err(error) => {
                let end = start + offset_of(&output[start..], &error);
                let what = format!("the report is cut off or damaged here: {}", because(&error));
                reports.problems.push((line_at(output, end), what));
                run = Run::default();
                from = end.max(start + 1);
                reports.taken.push(start..from);
                let Some(value) = mended(&output[start..end]) else { continue };
                run = Run::of(&value).unwrap_or_default();
                (value, from)
            }
        };
        from = end;
        reports.taken.push(start..end);
        for value in held(&value) {
            match document(value) {
                Ok(document) => documents.push(document),
                Err(member) => {
                    let what = format!("the report that begins here has no `{member}`");
                    reports.problems.push((line_at(output, start), what));
                }
            }
        }
    }
    reports.measurements = last_of_each_run(documents);
    let mut next_phase = reports.measurements.iter().map(|of| of.phase + 1).max().unwrap_or(0);
    behind(&mut next_phase, &mut loose);
    reports.measurements.extend(loose);
    // Of a job that is cut off before its first figure only the name is left.
    if !reports.problems.is_empty() {
        reports.measurements.retain(|one| !one.total.is_empty() || one.failure().is_some());
    }
    reports
}

fn last_of_each_run(documents: Vec<Document>) -> Vec<Measurement> {
    let continued = |pair: &[Document]| pair[0].continues_in(&pair[1]);
    let mut continued: Vec<bool> = documents.windows(2).map(continued).collect();
    continued.resize(documents.len(), false);
    let last = documents.into_iter().zip(continued).filter(|(_, continued)| !continued);
    let mut next_phase = 0;
    last.flat_map(|(mut document, _)| {
        behind(&mut next_phase, &mut document.measurements);
        document.measurements
    })
    .collect()
}

/// Whole jobs in a part of `output` that no document claims.
fn loose_jobs(
    output: &str,
    part: Range<usize>,
    run: &Run,
    reports: &mut Reports,
) -> Vec<Measurement> {
    let mut jobs = Vec::new();
    let mut from = part.start;
    while let Some(start) = object_with(output, "\"jobname\"", from..part.end) {
        from = match parse(output, start) {
            Ok((job, end)) => {
                jobs.push(run.measurement(&job, false));
                reports.taken.push(start..end);
                end
            }
            Err(_) => start + 1,
        };
    }
    if let (Some(first), true) = (jobs.first(), reports.problems.is_empty()) {
        let what = format!("the head of the report is missing before job `{}`", first.name);
        reports.problems.push((line_at(output, part.start), what));
    }
    jobs
}

/// Where the next document begins.
fn next_document(output: &str, from: usize) -> Option<usize> {
    const VERSION: &str = "\"fio version\"";
    let mut versions = output.get(from..)?.match_indices(VERSION).map(|(at, _)| from + at);
    versions.find_map(|at| {
        let before = output[from..at].trim_end();
        match before.ends_with('{') {
            true => Some(from + before.len() - 1),
            false => sorted_document(output, from..at),
        }
    })
}

/// Where a document begins whose members were sorted by others, with what is
/// behind `before` in the middle of it.
fn sorted_document(output: &str, before: Range<usize>) -> Option<usize> {
    /// Lines that may begin it.
    const BEGINNINGS: usize = 16;
    let mut line_start = before.start;
    let lines = output[before.clone()].split_inclusive('\n').map(|line| {
        let start = line_start + line.len() - line.trim_start().len();
        line_start += line.len();
        start
    });
    let mut beginnings = lines.filter(|at| output[*at..].starts_with('{')).take(BEGINNINGS);
    beginnings.find(|at| parse(output, *at).is_ok_and(|(_, end)| end > before.end))
}

/// The documents in `value`: itself, or what others put around them.
fn held(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(members) if !members.contains_key("fio version") => {
            members.values().flat_map(held).collect()
        }
        Value::Object(_) => vec![value],
        Value::Array(elements) => elements.iter().flat_map(held).collect(),
        _ => Vec::new(),
    }
}

/// Where an object begins in `part` whose first member is `member`.
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

/// The JSON value at `start`, and where it ends.
fn parse(output: &str, start: usize) -> Result<(Value, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(&output[start..]).into_iter::<Value>();
    let value = values.next().unwrap_or(Ok(Value::Null))?;
    Ok((value, start + values.byte_offset()))
}

/// Where `error` is in `text`, bytes.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let before: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut at = (before + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// What the parser says, without its line: that is the document's.
fn because(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.split(" at line ").next().unwrap_or(&words).to_owned()
}

/// Line of a place in `output`, from 1.
pub(super) fn line_at(output: &str, at: usize) -> usize {
    1 + output.as_bytes()[..at.min(output.len())].iter().filter(|byte| **byte == b'\n').count()
}
