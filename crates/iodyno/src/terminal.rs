//! Standard output and standard error; the only module that prints.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use iodyno_campaign::CampaignError;
use iodyno_fio::read::Problem;
use iodyno_model::{Bytes, Drive, Fact, Host};
use iodyno_report::text::{self, Style};
use iodyno_target::{TargetError, permission_step};

use crate::arguments::{Table, When};
use crate::context::Context;
use crate::live::TerminalCaps;
use crate::screen::{self, Stream};
use crate::supervisor::require_output;

/// Maximum number of problems printed.
const MAX_PROBLEMS: usize = 20;

/// Text width without a terminal, columns.
const PLAIN_WIDTH: usize = 100;

/// Set if standard output is a stream of records.
static IS_STREAM: AtomicBool = AtomicBool::new(false);

/// Reserves standard output for `--stream -`: nothing else is written to it from now on.
pub(crate) fn reserve_output() {
    IS_STREAM.store(true, Ordering::Relaxed);
}

/// True if standard output is reserved for the stream.
pub(crate) fn is_stream() -> bool {
    IS_STREAM.load(Ordering::Relaxed)
}

/// Writes `text` to standard output without control characters other than our own colours.
pub(crate) fn print(text: &str) -> Result<()> {
    write(text::harmless(text).as_bytes())
}

/// Writes bytes to standard output as they are: our own, or meant for other programs.
pub(crate) fn write(bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() || is_stream() || screen::hold(Stream::Output, bytes) {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    let written = require_output().and_then(|()| out.write_all(bytes)).and_then(|()| out.flush());
    written.context("standard output")
}

/// Prints the text of a verdict with this exit status.
pub(crate) fn print_verdict(text: &str, status: u8) -> Result<()> {
    unless_outweighed(print(text), status)
}

/// A verdict, whose status is not 0, outweighs a failure to print or keep it: the failure is only
/// told, unless the reader of our output has gone.
pub(crate) fn unless_outweighed(outcome: Result<()>, status: u8) -> Result<()> {
    match outcome {
        Err(error) if status != 0 => {
            if !is_closed_pipe(&error) {
                print_error(&error);
            }
            Ok(())
        }
        outcome => outcome,
    }
}

/// Prints a written file's path and size.
pub(crate) fn report_written(
    context: &Context,
    path: &Path,
    bytes: usize,
    what: &str,
) -> Result<()> {
    if context.quiet {
        return Ok(());
    }
    let size = Bytes(bytes as u64).decimal();
    print(&clean(&format!("{} ({size}){what}\n", path.display())))
}

/// True if standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// True if the locale is UTF-8 (locale(7): the first of these variables that is set decides).
pub(crate) fn is_utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Converts `text` to characters of the locale.
pub(crate) fn in_locale(text: String) -> String {
    if is_utf8() { text } else { text::ascii(&text) }
}

/// Prints the first problems of unreadable input, with their places.
pub(crate) fn print_problems(context: &Context, problems: &[Problem]) {
    if !problems.is_empty() {
        context.note_unreadable();
    }
    if context.quiet {
        return;
    }
    for problem in problems.iter().take(MAX_PROBLEMS) {
        note(&text::clean(&problem.to_string()));
    }
    if let Some(more) = problems.len().checked_sub(MAX_PROBLEMS).filter(|more| *more > 0) {
        note(&format!("and {more} more unreadable"));
    }
}

/// Writes `line`, cleaned, to standard error, wrapped between words on a terminal. Write errors are
/// ignored: there is nowhere to report them.
pub(crate) fn note(line: &str) {
    let width = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| width.0.into());
    let line = wrapped(&clean(line), width.unwrap_or(usize::MAX));
    let line = format!("{line}\n");
    if !screen::hold(Stream::Error, line.as_bytes()) {
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }
}

/// Overwrites the previous live line with `line`, without the parts beyond the terminal's width.
pub(crate) fn live_line(line: &str) {
    let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| width.0);
    let mut shown: String = line.chars().take(usize::from(width).saturating_sub(1)).collect();
    if shown.len() < line.len()
        && let Some(at) = shown.rfind("  ")
    {
        shown.truncate(at);
    }
    if !screen::is_taken() {
        let _ = write!(io::stderr().lock(), "\r{shown}\x1b[K");
    }
}

/// Wraps `text` at `width` between words; continued lines are indented by two more. Words are never
/// cut: a path has to be copied whole.
fn wrapped(text: &str, width: usize) -> String {
    text.split('\n').map(|line| wrapped_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let (mut text, mut used) = (" ".repeat(indent), indent);
    for (n, word) in line[indent..].split(' ').enumerate() {
        let length = word.chars().count();
        if n > 0 && used + 1 + length > width {
            text.push('\n');
            text.push_str(&" ".repeat(indent + 2));
            used = indent + 2;
        } else if n > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text
}

/// Prints an error: the chain of causes on one line, and the next step.
pub(crate) fn print_error(error: &anyhow::Error) {
    print_error_as("iodyno", error);
}

/// As [`print_error`], with the name under which the program was called.
pub(crate) fn print_error_as(program: &str, error: &anyhow::Error) {
    // Continuation lines are indented, so that a file's text cannot pass for one of our lines.
    note(&format!("{program}: {}", cause_chain(error).replace('\n', "\n  ")));
    let of_campaign = || match error.downcast_ref::<CampaignError>() {
        Some(CampaignError::Target(target)) => Some(target),
        _ => None,
    };
    if let Some(target) = error.downcast_ref::<TargetError>().or_else(of_campaign) {
        print_next_step(target);
    } else if let Some(campaign) = error.downcast_ref::<CampaignError>() {
        next(&campaign.next_step());
    } else if error.chain().any(is_without_descriptors) {
        next("allow more open files: ulimit -n 1024");
    }
}

/// True if this process has as many files open as it may (EMFILE).
fn is_without_descriptors(cause: &(dyn std::error::Error + 'static)) -> bool {
    let errno = cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    errno == Some(rustix::io::Errno::MFILE.raw_os_error())
}

/// Tells how to read the facts that require root, if any are missing.
pub(crate) fn advise_root(context: &Context, host: &Host) {
    let hidden = |drive: &Drive| {
        matches!(drive.health, Fact::NeedsRoot) || matches!(drive.identify, Fact::NeedsRoot)
    };
    if !context.quiet && !context.is_captured() && host.drives.iter().any(hidden) {
        note(&format!("Reading drive health requires root: {}", permission_step()));
    }
}

/// Prints the next step for a target that cannot be used.
pub(crate) fn print_next_step(error: &TargetError) {
    next(&error.next_step());
}

fn next(step: &str) {
    if !step.is_empty() {
        note(&format!("        next: {step}"));
    }
}

/// Chain of causes, without those that an error's own text already contains.
fn cause_chain(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        _ if text.contains(&cause) => text,
        _ => format!("{text}: {cause}"),
    })
}

/// Removes control characters from names of files and devices; line breaks are ours and stay.
fn clean(lines: &str) -> String {
    lines.split('\n').map(text::clean).collect::<Vec<_>>().join("\n")
}

/// True if the reader of our output closed the pipe, which is not a failure.
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
        When::Auto => {
            is_terminal
                && !screen::is_dumb()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    }
}

/// Style of text on standard output.
pub(crate) fn style(context: &Context, table: &Table) -> Style {
    let color = has_color(context, is_terminal());
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = terminal_size::terminal_size_of(io::stdout())
        .map(|(width, _)| usize::from(width.0))
        .or(columns)
        .filter(|width| *width > 0)
        .unwrap_or(PLAIN_WIDTH);
    Style { width, color, wide: table.wide, columns: table.columns.clone() }
}

/// Style of a full screen.
pub(crate) fn caps(context: &Context) -> TerminalCaps {
    TerminalCaps { ascii: !is_utf8(), color: has_color(context, true) }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::{cause_chain, wrapped};

    #[test]
    fn lines_break_between_words_only() {
        assert_eq!(wrapped("one two three", 7), "one two\n  three");
        assert_eq!(wrapped("in /a/very/long/path x", 5), "in\n  /a/very/long/path\n  x");
        assert_eq!(wrapped("  next: do this\nor that", 10), "  next: do\n    this\nor that");
        assert_eq!(wrapped("as it is", usize::MAX), "as it is");
    }

    #[test]
    fn causes_are_not_repeated() {
        let full = || anyhow!("no space left");
        assert_eq!(cause_chain(&full().context("the page")), "the page: no space left");
        assert_eq!(cause_chain(&full().context("/x: no space left")), "/x: no space left");
    }
}
