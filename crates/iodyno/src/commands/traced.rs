//! Traces on the command line: summarise, convert.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use iodyno_files::{FileIdentity, Replacement, folder_of};
use iodyno_fio::read::{plain, plain_name};
use iodyno_model::TraceSummary;
use iodyno_report::document::TraceDocument;
use iodyno_report::export::export_trace;
use iodyno_report::text::{Damage, damage_notes, json_text, trace_text};
use iodyno_trace::read::{Format, ReadError, Source};
use iodyno_trace::{Counter, Header, Io, Names, Reader, Traced, is_trace, write};

use crate::arguments::Show;
use crate::context::{Context, Usage, bail_usage};
use crate::output::{Content, is_summary, refuse_other};
use crate::terminal;

/// Length of the head that identifies a file's format, bytes.
const HEAD_BYTES: u64 = 4096;

/// Precedes UTF-8 text of some programs.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

type Input = Box<dyn BufRead>;

/// Shows the summary of a trace, or a stored summary; `None`: the word is no trace.
pub(crate) fn show(context: &Context, arguments: &Show) -> Result<Option<u8>> {
    let path = Path::new(&arguments.run);
    let Some(summary) = summary(context, path)? else { return Ok(None) };
    let style = terminal::style(context, &arguments.table.table());
    match context.json {
        true => terminal::print(&json_text(&TraceDocument::new(summary))?)?,
        false => terminal::print(&terminal::in_locale(trace_text(&summary, &style)))?,
    }
    Ok(Some(0))
}

/// Callback for each I/O of a trace, with what is known before it.
type OnIo<'a> = &'a mut dyn FnMut(&Header, &Names, &Io) -> Result<()>;

/// Summary of a trace file, also of one that is readable only at its beginning; `None`: it is no
/// trace.
pub(crate) fn summary(context: &Context, path: &Path) -> Result<Option<TraceSummary>> {
    Ok(scan(context, path, &mut |_, _, _| Ok(()))?.map(|(summary, _)| summary))
}

/// Reports missing and displaced parts of a trace file, also by the exit status.
pub(crate) fn report_damage(context: &Context, path: &Path, damage: Damage) {
    if damage != Damage::default() {
        context.note_unreadable();
    }
    for line in damage_notes(damage) {
        note(context, path, &line);
    }
}

fn note(context: &Context, path: &Path, line: &str) {
    if !context.quiet {
        terminal::note(&format!("note: {}: {line}", path.display()));
    }
}

/// Passes over a trace once; returns its summary and the error that ended it early. `None`: it is
/// no trace. The exit status reports missing parts.
pub(crate) fn scan(
    context: &Context,
    path: &Path,
    take: OnIo<'_>,
) -> Result<Option<(TraceSummary, Option<ReadError>)>> {
    if !path.is_file() {
        return Ok(None);
    }
    let (head, input) = head(path)?;
    if is_summary(&head) {
        let document: serde_json::Value = serde_json::from_reader(input)?;
        return Ok(Some((serde_json::from_value(document["trace"].clone())?, None)));
    }
    let (summary, failure) = match open_input(path, &head, input)? {
        None => return Ok(None),
        Some(Traced::Ours { reader, .. }) => (scan_own(*reader, take)?, None),
        Some(Traced::Others(source)) => scan_foreign(*source, take)?,
    };
    if Damage::of(&summary) != Damage::default() {
        context.note_unreadable();
    }
    if let Some(failure) = &failure {
        note(context, path, &format!("{failure}: only the I/Os before that count"));
    }
    Ok(Some((summary, failure)))
}

/// Head of a file and the decompressed file from its start.
fn head(path: &Path) -> Result<(Vec<u8>, Input)> {
    let named = |error: std::io::Error| Usage(format!("{}: {error}", path.display()));
    let file = iodyno_files::open_to_read(path).map_err(|error| Usage(error.to_string()))?;
    let mut input = plain(BufReader::with_capacity(1 << 20, file)).map_err(named)?;
    let mut head = Vec::new();
    let read = input.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
    // A compressed file that was cut off has a beginning, too; its end is reported there.
    if head.is_empty() {
        read.map_err(named)?;
    }
    if head.starts_with(BYTE_ORDER_MARK) {
        head.drain(..BYTE_ORDER_MARK.len());
    }
    let input = Cursor::new(head.clone()).chain(input);
    Ok((head, Box::new(input)))
}

/// Opens the trace in a file; `None`: the format is unknown.
///
/// # Errors
/// It cannot be read.
pub(crate) fn open(path: &Path) -> Result<Option<Traced>> {
    let (head, input) = head(path)?;
    open_input(path, &head, input)
}

fn open_input(path: &Path, head: &[u8], input: Input) -> Result<Option<Traced>> {
    let mut inputs = vec![input];
    match Format::of(head) {
        None if !is_trace(head) => return Ok(None),
        Some(Format::Blktrace) => {
            for other in per_cpu(path) {
                inputs.push(self::head(&other)?.1);
            }
        }
        _ => {}
    }
    let named = |error| Usage(format!("{}: {error}", path.display()));
    Ok(Some(Traced::open(inputs).map_err(named)?))
}

/// The other files of a `NAME.blktrace.CPU`.
fn per_cpu(path: &Path) -> Vec<PathBuf> {
    let stem = |path: &Path| {
        let name = plain_name(path.file_name()?.to_str()?).to_owned();
        let (stem, cpu) = name.rsplit_once('.')?;
        (stem.ends_with(".blktrace") && cpu.parse::<u32>().is_ok()).then(|| stem.to_owned())
    };
    let Some(own) = stem(path) else { return Vec::new() };
    let entries = std::fs::read_dir(folder_of(path)).into_iter().flatten();
    let others = entries.flatten().map(|entry| entry.path());
    let others = others.filter(|other| {
        stem(other).as_ref() == Some(&own) && other.file_name() != path.file_name()
    });
    others.collect()
}

fn scan_own(mut reader: Reader<Input>, take: OnIo<'_>) -> Result<TraceSummary> {
    let mut counter = Counter::default();
    while let Some(chunk) = reader.next_undamaged_chunk()? {
        for io in &chunk.ios {
            counter.count(io);
            take(reader.header(), reader.names(), io)?;
        }
    }
    let ending = reader.ending().cloned().unwrap_or_default();
    let mut summary = TraceSummary {
        source: reader.header().source.clone(),
        tick_ns: reader.header().tick_ns,
        lost: reader.lost(),
        unmatched: ending.unmatched,
        damaged: reader.damaged(),
        is_cut: reader.is_cut(),
        ..counter.summary(reader.names(), ending.duration_ns)
    };
    if reader.header().anonymous {
        summary.number_actors();
    }
    Ok(summary)
}

fn scan_foreign(mut source: Source, take: OnIo<'_>) -> Result<(TraceSummary, Option<ReadError>)> {
    let (mut counter, mut failure) = (Counter::default(), None);
    let mut header = Header {
        source: source.format().name().into(),
        tick_ns: source.format().tick_ns(),
        ..Header::default()
    };
    loop {
        match source.next_io() {
            Ok(None) => break,
            Ok(Some(io)) => {
                counter.count(&io);
                header.started_ns = source.started_ns();
                take(&header, source.names(), &io)?;
            }
            // The I/Os before the damage are shown.
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let summary = TraceSummary {
        source: header.source,
        tick_ns: header.tick_ns,
        unmatched: source.unmatched(),
        damaged: source.skipped().count,
        displaced: source.displaced(),
        is_cut: failure.is_some(),
        ..counter.summary(source.names(), 0)
    };
    Ok((summary, failure))
}

/// Begins the file at `to`, for output made from the trace at `path`; it is kept when it is whole.
pub(crate) fn begin(
    context: &Context,
    path: &Path,
    to: &Path,
    content: Content,
) -> Result<(Replacement, File)> {
    if is_same(path, to) {
        bail_usage!("{} is the trace itself; name another file", to.display());
    }
    refuse_other(context, to, content)?;
    Ok(Replacement::begin(to).map_err(|error| Usage(error.to_string()))?)
}

/// True if both names are of one file.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

fn identity(path: &Path) -> Option<FileIdentity> {
    rustix::fs::stat(path).ok().map(|stat| FileIdentity::of(&stat))
}

/// Converts a trace: `to` ends in `.iotrace`, `.iolog` or `.parquet`.
pub(crate) fn convert(context: &Context, paths: &[String], to: &Path) -> Result<u8> {
    let [path] = paths else {
        bail_usage!("-o converts a single trace");
    };
    let path = Path::new(path);
    let opened =
        open(path)?.ok_or_else(|| Usage(format!("{}: {}", path.display(), ReadError::Unknown)))?;
    let ending = to.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let content = match (&opened, ending) {
        (Traced::Others(_), "iotrace") => Content::Trace,
        (Traced::Ours { .. }, "iolog") => Content::Iolog,
        (Traced::Ours { .. }, "parquet") => Content::Parquet,
        (Traced::Others(_), "iolog" | "parquet") => {
            bail_usage!("import it first: -o FILE.iotrace");
        }
        _ => {
            bail_usage!(
                "-o writes .iotrace of other tools' traces, .iolog and .parquet of .iotrace"
            );
        }
    };
    let (replacement, file) = begin(context, path, to, content)?;
    let mut file = BufWriter::new(file);
    let into = || to.display().to_string();
    let (mut left_out, mut damage) = (0, Damage::default());
    match opened {
        Traced::Others(mut source) => {
            let named = |error| Usage(format!("{}: {error}", path.display()));
            write::iotrace(&mut source, file).map_err(named)?.with_context(into)?;
            left_out = source.skipped().count;
            damage.displaced = source.displaced();
        }
        Traced::Ours { mut reader, .. } => {
            match content {
                Content::Iolog => {
                    left_out = write::iolog(&mut reader, &mut file).with_context(into)?;
                }
                _ => export_trace(&mut reader, file).with_context(into)?,
            }
            damage = Damage { damaged: reader.damaged(), is_cut: reader.is_cut(), displaced: 0 };
        }
    }
    replacement.keep().map_err(|error| Usage(error.to_string()))?;
    let bytes = std::fs::metadata(to).map_or(0, |found| found.len());
    let what = match left_out {
        0 => String::new(),
        count => format!(", without {count} lines or commands that are no I/Os"),
    };
    terminal::report_written(context, to, bytes as usize, &what)?;
    if left_out > 0 && content == Content::Trace {
        context.note_unreadable();
    }
    report_damage(context, path, damage);
    Ok(0)
}
