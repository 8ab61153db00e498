//! Layouts held against each other, as they are printed.

use anyhow::Result;
use iodyno_judge::layouts::Layouts as Held;
use iodyno_model::RunRecord;
use iodyno_report::text::{OF_ONE_RUN, ON_FILES, json_text, layouts_text};

use crate::arguments::{Show, Table};
use crate::context::{Context, Usage};
use crate::terminal;

/// Prints the runs of an `iodyno layouts` again.
pub(crate) fn show(context: &Context, arguments: &Show, records: &[RunRecord]) -> Result<u8> {
    if arguments.format.is_some() || arguments.baseline.is_some() {
        let what = "these are several runs: --format and --baseline are of one (iodyno runs)";
        return Err(Usage(what.into()).into());
    }
    let named: Vec<_> = records.iter().map(|one| (one.run.name.as_str(), one)).collect();
    if let Some(held) = Held::among(&named) {
        terminal::print(&shown(context, &held, &arguments.table, held.are_on_files())?)?;
    }
    Ok(0)
}

/// The table with what has to be known of it, or the document of it.
pub(super) fn shown(
    context: &Context,
    held: &Held<'_>,
    table: &Table,
    are_on_files: bool,
) -> Result<String> {
    let workloads = held.workloads();
    if context.json {
        let document = iodyno_report::layouts_document(&workloads);
        return Ok(json_text(&document)?);
    }
    let text = layouts_text(&workloads, held.drives(), &terminal::style(context, table));
    let mut text = format!("{text}\n{OF_ONE_RUN}\n");
    if are_on_files {
        text = text + ON_FILES + "\n";
    }
    Ok(text)
}
