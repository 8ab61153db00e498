//! Prints the comparison of layouts.

use anyhow::Result;
use iodyno_judge::layouts::Layouts as Comparison;
use iodyno_model::{RunRecord, RunState, own_command, shell_word};
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
        let state = stored_state(context, &arguments.run)?;
        let table = arguments.table.table();
        terminal::print(&shown(context, &comparison, state, &table, &further)?)?;
    }
    Ok(0)
}

/// State of all runs of an `iodyno layouts`, also of layouts that could not be built.
fn stored_state(context: &Context, name: &str) -> Result<RunState> {
    let lead = format!("{name} ");
    let runs = context.store_to_read()?.runs()?;
    let of_name = runs.iter().filter(|run| run.name.starts_with(&lead));
    Ok(state_of(of_name.map(|run| run.state)))
}

/// State of the whole: the first of these that is among `states`, else done.
pub(super) fn state_of(states: impl Iterator<Item = RunState>) -> RunState {
    let states: Vec<RunState> = states.collect();
    let worst = [RunState::Running, RunState::Interrupted, RunState::Failed];
    worst.into_iter().find(|state| states.contains(state)).unwrap_or(RunState::Done)
}

/// Text or JSON document of the comparison; `further` are commands for more detail.
pub(super) fn shown(
    context: &Context,
    comparison: &Comparison<'_>,
    state: RunState,
    table: &Table,
    further: &[String],
) -> Result<String> {
    if context.json {
        let document = iodyno_report::document::layouts_document(state, &comparison.workloads());
        return Ok(json_text(&document)?);
    }
    let style = terminal::style(context, table);
    let text = layouts_text(comparison, further, &style);
    Ok(terminal::in_locale(text))
}
