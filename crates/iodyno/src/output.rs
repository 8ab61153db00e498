//! Refuses output files that would destroy the store, or a file of another kind.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use anyhow::Result;
use iodyno_files::{NameOrigin, There};
use iodyno_job::IOLOG_HEAD;
use iodyno_judge::fit::SETTINGS_HEAD;
use iodyno_report::document::TraceDocument;
use iodyno_report::page::is_page;
use iodyno_trace::is_trace;

use crate::arguments::WritePermissions;
use crate::commands::traced::is_same;
use crate::context::{Context, Usage, bail_usage};

/// Length of the head that tells contents apart, bytes.
const HEAD_BYTES: u64 = 512;

/// Beginning of the schema of runs, of any version.
const DOCUMENT_SCHEMA: &str = "iodyno.run/";

/// First words of options that are made from a trace.
pub(crate) const OPTIONS_HEAD: &str = "# Of the trace ";

/// Content of a file that a command writes, by which an older one is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Page,
    /// A trace or a model.
    Trace,
    TraceSummary,
    Iolog,
    Parquet,
    /// Job options or a plan made from a trace.
    Options,
    /// Settings for an application.
    Settings,
    /// Records of `--stream`.
    Stream,
    /// A run's public document, or several.
    Document,
    Csv,
    Svg,
    Png,
    /// What `run --output` writes: iodyno's summary, or fio's reports.
    Summary,
}

impl Content {
    const ALL: [Self; 13] = [
        Self::Page,
        Self::Trace,
        Self::TraceSummary,
        Self::Iolog,
        Self::Parquet,
        Self::Options,
        Self::Settings,
        Self::Stream,
        Self::Document,
        Self::Csv,
        Self::Svg,
        Self::Png,
        Self::Summary,
    ];

    fn begins(self, head: &[u8]) -> bool {
        match self {
            Self::Page => is_page(head),
            Self::Trace => is_trace(head),
            Self::TraceSummary => is_summary(head),
            Self::Iolog => head.starts_with(IOLOG_HEAD),
            Self::Parquet => head.starts_with(b"PAR1"),
            Self::Options => head.starts_with(OPTIONS_HEAD.as_bytes()),
            Self::Settings => head.starts_with(SETTINGS_HEAD.as_bytes()),
            Self::Stream => head.starts_with(br#"{"type":"#),
            Self::Document => {
                (head.starts_with(b"{") || head.starts_with(b"[")) && holds(head, DOCUMENT_SCHEMA)
            }
            Self::Csv => head.starts_with(b"run_id,"),
            Self::Svg => head.starts_with(b"<svg "),
            Self::Png => head.starts_with(b"\x89PNG"),
            Self::Summary => is_report(head),
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Page => "a report",
            Self::Trace => "a trace or model",
            Self::TraceSummary => "a trace's summary",
            Self::Iolog => "an iolog",
            Self::Parquet => "a Parquet table",
            Self::Options => "options made from a trace",
            Self::Settings => "settings that iodyno fit wrote",
            Self::Stream => "a stream of iodyno's records",
            Self::Document => "a run's document",
            Self::Csv => "a table of results",
            Self::Svg => "an SVG picture",
            Self::Png => "a PNG picture",
            Self::Summary => "a report of a run",
        })
    }
}

/// True if a file that begins with `head` is a summary that `record` wrote.
pub(crate) fn is_summary(head: &[u8]) -> bool {
    head.starts_with(b"{") && holds(head, TraceDocument::SCHEMA)
}

fn holds(head: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(head).contains(text)
}

/// True for a report in one of fio's formats, all of which name its version, and for iodyno's own,
/// which begins with a verdict in capitals.
fn is_report(head: &[u8]) -> bool {
    let verdict = head.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    verdict > 3 && head[verdict..].starts_with(b"  ") || holds(head, "fio-")
}

/// Refuses an output that is one of the `targets`, by whatever name: it would be measured, and then
/// overwritten.
pub(crate) fn refuse_targets<'t>(
    output: &Path,
    targets: impl IntoIterator<Item = &'t Path>,
) -> Result<()> {
    match targets.into_iter().find(|target| is_same(output, target)) {
        Some(_) => Err(overwrites_target(output).into()),
        None => Ok(()),
    }
}

/// The error for an output that is measured itself.
pub(crate) fn overwrites_target(output: &Path) -> Usage {
    Usage(format!(
        "{} is a target of this run, and the output would overwrite it: name another file",
        output.display()
    ))
}

/// Refuses early a file that cannot be written, and one of the store.
pub(crate) fn refuse_unwritable(context: &Context, path: &Path) -> Result<()> {
    refuse_store(context, path)?;
    let found = iodyno_files::look(path, NameOrigin::User);
    found.map(drop).map_err(|error| Usage(error.to_string()).into())
}

/// Refuses the store and the files kept beside it.
pub(crate) fn refuse_store(context: &Context, path: &Path) -> Result<()> {
    if let Some(store) = context.stores().find(|store| iodyno_store::is_part_of(store, path)) {
        bail_usage!(
            "{} belongs to the run store {}, left unchanged: name another file",
            path.display(),
            store.display()
        );
    }
    Ok(())
}

/// Refuses words that would allow writing the store or what is kept beside it.
pub(crate) fn refuse_store_words(context: &Context, permissions: &WritePermissions) -> Result<()> {
    permissions.allow_write.iter().try_for_each(|word| refuse_store(context, Path::new(word)))
}

/// Like [`refuse_unwritable`], but also refuses an existing file that is neither empty nor of the
/// `wanted` kind.
pub(crate) fn refuse_other(context: &Context, path: &Path, wanted: Content) -> Result<()> {
    refuse_unwritable(context, path)?;
    let usage = |error: &dyn fmt::Display| Usage(error.to_string());
    let there = iodyno_files::look(path, NameOrigin::User).map_err(|error| usage(&error))?;
    if !matches!(there, There::File(_)) {
        return Ok(());
    }
    let mut head = Vec::new();
    let file = iodyno_files::open_to_read(path).map_err(|error| usage(&error))?;
    let read = file.take(HEAD_BYTES).read_to_end(&mut head);
    let name = path.display();
    read.map_err(|error| Usage(format!("{name} cannot be read: {error}")))?;
    if head.is_empty() || wanted.begins(&head) {
        return Ok(());
    }
    let found = match Content::ALL.into_iter().find(|content| content.begins(&head)) {
        Some(found) => format!("is {found}"),
        None if head.starts_with(b"SQLite format 3\0") => "is a database".into(),
        None => "has other content".into(),
    };
    let advice = match wanted {
        Content::Page => "use another file with -o, or --force",
        Content::Settings => "name another file, then merge the two",
        _ => "remove it, or name another file",
    };
    bail_usage!("{name} exists and {found}, not {wanted}: {advice}");
}
