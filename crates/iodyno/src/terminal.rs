//! Standard output and standard error: the only place that prints.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use iodyno_campaign::CampaignError;
use iodyno_fio::read::Problem;
use iodyno_model::{Bytes, Drive, Fact, Host};
use iodyno_report::text::{self, Style};
use iodyno_target::{TargetError, as_root};

use crate::arguments::{Table, When};
use crate::context::Context;
use crate::live::Face;
use crate::screen::{self, Stream};

/// Of what cannot be read, so much is told.
const PROBLEMS: usize = 20;

/// Width that text gets where there is no terminal.
const PLAIN_WIDTH: usize = 100;

/// Standard output is a stream of records.
static IS_STREAM: AtomicBool = AtomicBool::new(false);

/// From now on nothing else is written to standard output: `--stream -` takes it.
pub(crate) fn give_output_to_stream() {
    IS_STREAM.store(true, Ordering::Relaxed);
}

/// Whether it does.
pub(crate) fn is_stream() -> bool {
    IS_STREAM.load(Ordering::Relaxed)
}

/// Writes `text` to standard output, and nothing in it that a terminal would act
/// upon but our own colours.
pub(crate) fn print(text: &str) -> Result<()> {
    write(text::harmless(text).as_bytes())
}

/// Writes bytes to standard output as they are: our own, or for other programs.
pub(crate) fn write(bytes: &[u8]) -> Result<()> {
    if is_stream() || screen::hold(Stream::Output, bytes) {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).context("standard output")
}

/// Says that a file was written, and how large it is.
pub(crate) fn written(context: &Context, path: &Path, bytes: usize, what: &str) -> Result<()> {
    if context.quiet {
        return Ok(());
    }
    let size = Bytes(bytes as u64).decimal();
    print(&clean(&format!("{} ({size}){what}\n", path.display())))
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether the locale's characters are UTF-8 (locale(7): the first of these
/// that is set decides).
pub(crate) fn is_utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// `text` in the characters that the locale has.
pub(crate) fn in_locale(text: String) -> String {
    if is_utf8() { text } else { text::ascii(&text) }
}

/// Says what could not be read, and where: the first of them.
pub(crate) fn problems(context: &Context, problems: &[Problem]) {
    if !problems.is_empty() {
        context.leave_out();
    }
    if context.quiet {
        return;
    }
    for problem in problems.iter().take(PROBLEMS) {
        note(&text::clean(&problem.to_string()));
    }
    if let Some(more) = problems.len().checked_sub(PROBLEMS).filter(|more| *more > 0) {
        note(&format!("and {more} more that could not be read"));
    }
}

/// Writes `line`, cleaned, to standard error, broken between words where that is
/// a terminal; there is nobody to tell if that fails.
pub(crate) fn note(line: &str) {
    let width = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| width.0.into());
    let line = broken(&clean(line), width.unwrap_or(usize::MAX));
    let line = format!("{line}\n");
    if !screen::hold(Stream::Error, line.as_bytes()) {
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }
}

/// Writes `line` over the one that was written so before, as much of it as there is room for.
pub(crate) fn live_line(line: &str) {
    let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| width.0);
    let shown: String = line.chars().take(usize::from(width).saturating_sub(1)).collect();
    if !screen::is_taken() {
        let _ = write!(io::stderr().lock(), "\r{shown}\x1b[K");
    }
}

/// `line` with a line break in place of a blank wherever it would be wider
/// than `width` otherwise. Words are never cut: a path has to be copied whole.
fn broken(line: &str, width: usize) -> String {
    let (mut text, mut used) = (String::with_capacity(line.len()), 0);
    for (n, word) in line.split(' ').enumerate() {
        let length = word.chars().count();
        if n > 0 && used + 1 + length > width {
            text.push('\n');
            used = 0;
        } else if n > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text
}

/// Says what went wrong: the chain of causes on one line, and what to do.
pub(crate) fn complain(error: &anyhow::Error) {
    complain_as("iodyno", error);
}

/// The same by the name under which it was called.
pub(crate) fn complain_as(program: &str, error: &anyhow::Error) {
    // A line that a file's text broken off makes does not look like one of ours.
    note(&format!("{program}: {}", told(error).replace('\n', "\n  ")));
    let of_campaign = || match error.downcast_ref::<CampaignError>() {
        Some(CampaignError::Target(target)) => Some(target),
        _ => None,
    };
    if let Some(target) = error.downcast_ref::<TargetError>().or_else(of_campaign) {
        advise(target);
    } else if let Some(campaign) = error.downcast_ref::<CampaignError>() {
        next(&campaign.next_step());
    }
}

/// Says how to get the facts that only root may read, where there are any.
pub(crate) fn advise_root(context: &Context, host: &Host) {
    let hidden = |drive: &Drive| {
        matches!(drive.health, Fact::NeedsRoot) || matches!(drive.identify, Fact::NeedsRoot)
    };
    if !context.quiet && !context.is_captured() && host.drives.iter().any(hidden) {
        note(&format!("Only root may read the drives' health. For all of it: {}", as_root()));
    }
}

/// What to do about a target that cannot be used.
pub(crate) fn advise(error: &TargetError) {
    next(&error.next_step());
}

fn next(step: &str) {
    if !step.is_empty() {
        note(&format!("        next: {step}"));
    }
}

/// The chain of causes, without those that an error's own text tells already.
fn told(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match told.as_str() {
        "" => cause,
        _ if told.contains(&cause) => told,
        _ => format!("{told}: {cause}"),
    })
}

/// A file's or a device's name may hold anything; the line breaks are ours.
fn clean(lines: &str) -> String {
    lines.split('\n').map(text::clean).collect::<Vec<_>>().join("\n")
}

/// The reader of our output went away, which is its right.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .or_else(|| error.root_cause().downcast_ref())
        .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

fn has_color(context: &Context, is_terminal: bool) -> bool {
    match context.color {
        When::Always => true,
        When::Never => false,
        When::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// How text is to look on standard output.
pub(crate) fn style(context: &Context, table: &Table) -> Style {
    let color = has_color(context, is_terminal());
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = terminal_size::terminal_size_of(io::stdout())
        .map(|(width, _)| usize::from(width.0))
        .filter(|width| *width > 0)
        .or(columns)
        .unwrap_or(PLAIN_WIDTH);
    Style { width, color, wide: table.wide, columns: table.columns.clone() }
}

/// How a screen is to look.
pub(crate) fn face(context: &Context) -> Face {
    Face { ascii: !is_utf8(), color: has_color(context, true) }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::{broken, told};

    #[test]
    fn lines_break_between_words_only() {
        assert_eq!(broken("one two three", 7), "one two\nthree");
        assert_eq!(broken("in /a/very/long/path x", 5), "in\n/a/very/long/path\nx");
        assert_eq!(broken("as it is", usize::MAX), "as it is");
    }

    #[test]
    fn a_cause_is_told_once() {
        let full = || anyhow!("no space left");
        assert_eq!(told(&full().context("the page")), "the page: no space left");
        assert_eq!(told(&full().context("/x: no space left")), "/x: no space left");
    }
}
