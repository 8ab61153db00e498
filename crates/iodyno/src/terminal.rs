//! Standard output and standard error: the only place that prints.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context as _, Result};
use iodyno_report::text::Style;
use iodyno_target::TargetError;

use crate::arguments::{Table, When};
use crate::context::Context;

/// Width that text gets where there is no terminal.
const PLAIN_WIDTH: usize = 100;

/// Writes `text` to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}

/// Writes `line` to standard error; there is nobody to tell if that fails.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Says what went wrong: the chain of causes on one line, and what to do.
pub(crate) fn complain(error: &anyhow::Error) {
    note(&format!("iodyno: {}", clean(&format!("{error:#}"))));
    if let Some(target) = error.downcast_ref::<TargetError>() {
        advise(target);
    }
}

/// What to do about a target that cannot be used.
pub(crate) fn advise(error: &TargetError) {
    let next = error.next_step();
    if !next.is_empty() {
        note(&format!("        next: {}", clean(&next)));
    }
}

/// Without control characters: a file's or a device's name may hold anything.
fn clean(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// The reader of our output went away, which is its right.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .or_else(|| error.root_cause().downcast_ref())
        .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// How text is to look on standard output.
pub(crate) fn style(context: &Context, table: &Table) -> Style {
    let is_terminal = io::stdout().is_terminal();
    let color = match context.color {
        When::Always => true,
        When::Never => false,
        When::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    };
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = terminal_size::terminal_size_of(io::stdout())
        .map(|(width, _)| usize::from(width.0))
        .filter(|width| *width > 0)
        .or(columns)
        .unwrap_or(PLAIN_WIDTH);
    Style { width, color, wide: table.wide, columns: table.columns.clone() }
}

/// Whether a live display makes sense.
pub(crate) fn is_live(context: &Context) -> bool {
    !context.quiet && io::stderr().is_terminal()
}
