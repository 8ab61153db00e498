//! Traces on the command line: summarise, convert.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use iodyno_files::{FileError, FileIdentity, NameOrigin, There};
use iodyno_fio::read::{plain, plain_name};
use iodyno_model::TraceSummary;
use iodyno_report::document::TraceDocument;
use iodyno_report::export::export_trace;
use iodyno_report::text::{damage_notes, json_text, trace_text};
use iodyno_trace::read::{Format, ReadError, Source};
use iodyno_trace::{Counter, Header, Io, Names, Reader, Traced, is_trace, write};

use crate::arguments::Show;
use crate::context::{Context, Usage, bail_usage};
use crate::terminal;

/// Length of the head that identifies a file's format, bytes.
const HEAD_BYTES: u64 = 4096;

type Input = Box<dyn BufRead>;

/// Shows the summary of a trace, or a stored summary; `None`: the word is no trace.
pub(crate) fn show(context: &Context, arguments: &Show) -> Result<Option<u8>> {
    let path = Path::new(&arguments.run);
    let Some(summary) = summary(context, path)? else { return Ok(None) };
    let style = terminal::style(context, &arguments.table);
    match context.json {
        true => terminal::print(&json_text(&TraceDocument::new(summary))?)?,
        false => terminal::print(&terminal::in_locale(trace_text(&summary, &style)))?,
    }
    Ok(Some(0))
}

/// Callback for each I/O of a trace, with what is known before it.
type OnIo<'a> = &'a mut dyn FnMut(&Header, &Names, &Io) -> Result<()>;

/// Summary of a trace file; `None`: it is no trace.
pub(crate) fn summary(context: &Context, path: &Path) -> Result<Option<TraceSummary>> {
    scan(context, path, &mut |_, _, _| Ok(()))
}

/// Reports missing parts of a trace file.
pub(crate) fn report_damage(context: &Context, path: &Path, damaged: u64, is_cut: bool) {
    for line in damage_notes(damaged, is_cut).iter().filter(|_| !context.quiet) {
        terminal::note(&format!("note: {}: {line}", path.display()));
    }
}

/// Passes over a trace once and returns its summary; `None`: it is no trace. The exit status
/// reports missing parts.
pub(crate) fn scan(context: &Context, path: &Path, take: OnIo<'_>) -> Result<Option<TraceSummary>> {
    if !path.is_file() {
        return Ok(None);
    }
    let (head, input) = head(path)?;
    if head.starts_with(b"{") && String::from_utf8_lossy(&head).contains(TraceDocument::SCHEMA) {
        let document: serde_json::Value = serde_json::from_reader(input)?;
        return Ok(Some(serde_json::from_value(document["trace"].clone())?));
    }
    let (summary, is_whole) = match open_input(path, &head, input)? {
        None => return Ok(None),
        Some(Traced::Ours { reader, .. }) => {
            let summary = scan_own(*reader, take)?;
            let is_whole = summary.damaged == 0;
            (summary, is_whole)
        }
        // Lines in other tools' traces that are not I/Os may be intended.
        Some(Traced::Others(source)) => (scan_foreign(*source, take)?, true),
    };
    if summary.is_cut || !is_whole {
        context.note_unreadable();
    }
    Ok(Some(summary))
}

/// Head of a file and the decompressed file from its start.
fn head(path: &Path) -> Result<(Vec<u8>, Input)> {
    let file = iodyno_files::open_to_read(path).map_err(|error| Usage(error.to_string()))?;
    let mut input = plain(BufReader::with_capacity(1 << 20, file))?;
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
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
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten();
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
    Ok(TraceSummary {
        source: reader.header().source.clone(),
        tick_ns: reader.header().tick_ns,
        lost: reader.lost(),
        unmatched: ending.unmatched,
        damaged: reader.damaged(),
        is_cut: reader.is_cut(),
        ..counter.summary(reader.names(), ending.duration_ns)
    })
}

fn scan_foreign(mut source: Source, take: OnIo<'_>) -> Result<TraceSummary> {
    let (mut counter, mut is_cut) = (Counter::default(), false);
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
            Err(ReadError::Entry { .. }) => {
                is_cut = true;
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(TraceSummary {
        source: header.source,
        tick_ns: header.tick_ns,
        unmatched: source.unmatched(),
        damaged: source.skipped().count,
        is_cut,
        ..counter.summary(source.names(), 0)
    })
}

/// Output file made from a trace. A newly created file is removed unless it is kept.
pub(crate) struct Output {
    path: PathBuf,
    made: Option<FileIdentity>,
}

impl Output {
    /// Creates an empty file at `path`, for output made from the trace at `of`.
    pub(crate) fn create(path: &Path, of: &Path) -> Result<(Self, File)> {
        let usage = |error: FileError| Usage(error.to_string());
        let absolute = std::path::absolute(path)?;
        let (file, made) = match iodyno_files::look(path, NameOrigin::User).map_err(usage)? {
            There::File(there) if identity(of) == Some(there) => {
                bail_usage!("{} is the trace itself; name another file", path.display());
            }
            There::Nothing => {
                let file = iodyno_files::create_new(path).map_err(usage)?;
                let made = rustix::fs::fstat(&file).ok().map(|stat| FileIdentity::of(&stat));
                (file, made)
            }
            _ => (iodyno_files::create(path, NameOrigin::User).map_err(usage)?, None),
        };
        Ok((Self { path: absolute, made }, file))
    }

    /// Keeps the file: it is complete.
    pub(crate) fn keep(mut self) {
        self.made = None;
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(made) = self.made {
            let _ = iodyno_files::remove(&self.path, |there| FileIdentity::of(there) == made);
        }
    }
}

fn identity(path: &Path) -> Option<FileIdentity> {
    let found = std::fs::metadata(path).ok()?;
    Some(FileIdentity { device: found.dev(), inode: found.ino() })
}

/// Refuses a trace that is not readable to its end, before an existing file is emptied for it.
fn refuse_unreadable(path: &Path, to: &Path) -> Result<()> {
    let is_there = matches!(iodyno_files::look(to, NameOrigin::User), Ok(There::File(_)));
    // A pipe can be read only once.
    if is_there
        && path.is_file()
        && let Some(mut trace) = open(path)?
    {
        let named = |error| Usage(format!("{}: {error}", path.display()));
        while trace.next_io().map_err(named)?.is_some() {}
    }
    Ok(())
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
    let mut output = None;
    let mut create = || {
        refuse_unreadable(path, to)?;
        let (made, file) = Output::create(to, path)?;
        output = Some(made);
        Ok::<_, anyhow::Error>(BufWriter::new(file))
    };
    let lacks = |reader: &Reader<Input>| (reader.damaged(), reader.is_cut());
    let (mut left_out, mut lacking) = (0, (0, false));
    match (opened, ending) {
        (Traced::Others(mut source), "iotrace") => {
            write::iotrace(&mut source, create()?)??;
            left_out = source.skipped().count;
        }
        (Traced::Ours { mut reader, .. }, "iolog") => {
            left_out = write::iolog(&mut reader, &mut create()?)?;
            lacking = lacks(&reader);
        }
        (Traced::Ours { mut reader, .. }, "parquet") => {
            export_trace(&mut reader, create()?)?;
            lacking = lacks(&reader);
        }
        (Traced::Others(_), "iolog" | "parquet") => {
            bail_usage!("import it first: -o FILE.iotrace");
        }
        _ => {
            bail_usage!(
                "-o writes .iotrace of other tools' traces, .iolog and .parquet of .iotrace"
            );
        }
    }
    if let Some(output) = output {
        output.keep();
    }
    let bytes = std::fs::metadata(to).map_or(0, |found| found.len());
    let what = match left_out {
        0 => String::new(),
        count => format!(", without {count} lines or commands that are no I/Os"),
    };
    terminal::report_written(context, to, bytes as usize, &what)?;
    let (damaged, is_cut) = lacking;
    if damaged > 0 || is_cut {
        context.note_unreadable();
    }
    report_damage(context, path, damaged, is_cut);
    Ok(0)
}
