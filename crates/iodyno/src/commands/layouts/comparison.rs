//! Prints the comparison of layouts.

use anyhow::Result;
use iodyno_judge::layouts::Layouts as Comparison;
use iodyno_model::{RunRecord, own_command, shell_word};
use iodyno_report::text::{json_text, layouts_text};

use crate::arguments::{Show, Table};
use crate::context::{Context, bail_usage};
use crate::terminal;

/// Prints the runs of an earlier `iodyno layouts`.
pub(crate) fn show(context: &Context, arguments: &Show, records: &[RunRecord]) -> Result<u8> {
    if arguments.format.is_some() || arguments.baseline.is_some() {
        bail_usage!("these are several runs: --format and --baseline need one (iodyno runs)");
    }
    let named: Vec<_> = records.iter().map(|one| (one.run.name.as_str(), one)).collect();
    if let Some(comparison) = Comparison::among(&named) {
        let page = own_command(&format!("report {}", shell_word(&arguments.run)));
        let further = [format!("Page: {page}")];
        terminal::print(&shown(context, &comparison, &arguments.table.table(), &further)?)?;
    }
    Ok(0)
}

/// Text or JSON document of the comparison; `further` are commands for more detail.
pub(super) fn shown(
    context: &Context,
    comparison: &Comparison<'_>,
    table: &Table,
    further: &[String],
) -> Result<String> {
    if context.json {
        let document = iodyno_report::document::layouts_document(&comparison.workloads());
        return Ok(json_text(&document)?);
    }
    let style = terminal::style(context, table);
    let text = layouts_text(comparison, further, &style);
    Ok(terminal::in_locale(text))
}
