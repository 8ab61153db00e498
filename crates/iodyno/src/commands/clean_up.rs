//! `iodyno clean-up`: removes leftovers of killed runs.

use anyhow::Result;
use iodyno_campaign::{Outcome, Undone};

use crate::arguments::CleanUp;
use crate::context::Context;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &CleanUp) -> Result<u8> {
    let mut store = context.store()?;
    let run = arguments.run.as_deref().map(|run| store.find(run)).transpose()?;
    let run_id = run.map(|run| run.id);
    if let Some(run_id) = &run_id {
        if arguments.ended {
            store.mark_ended(run_id)?;
        }
        store.refuse_running(run_id)?;
        if arguments.here {
            store.journal_adopt(run_id)?;
        }
    }
    let undone = iodyno_campaign::clean_up(&mut store, run_id.as_deref())?;
    let told: Vec<&Undone> =
        undone.iter().filter(|one| !matches!(one.outcome, Outcome::Gone)).collect();
    for Undone { what, outcome } in &told {
        terminal::print(&format!("{what}: {outcome}\n"))?;
    }
    // Recordings belong to no run: leftovers of all killed ones are removed.
    let recordings = iodyno_trace::tracefs::remove_stale().unwrap_or(0);
    if recordings > 0 {
        terminal::print(&format!("{recordings} killed recordings removed from tracefs\n"))?;
    }
    if told.is_empty() && recordings == 0 {
        terminal::print("No leftovers found.\n")?;
    }
    Ok(if undone.iter().all(|one| one.outcome.is_settled()) { 0 } else { 3 })
}
