//! `iodyno runs`: lists, exports or removes stored runs.

use std::time::{Duration, Instant};

use anyhow::Result;
use iodyno_model::{Bytes, distinct, own_command};
use iodyno_store::Store;

use crate::arguments::{Runs, RunsAction, Table};
use crate::commands::{accept, export, fleet};
use crate::context::Context;
use crate::push::Outbox;
use crate::terminal;

/// Time limit for pushing the outbox.
const PUSH_TIMEOUT: Duration = Duration::from_secs(600);
/// Runs listed without `--all`.
const SHOWN: usize = 20;
/// Exit status if some documents could not be pushed.
const SOME_LEFT: u8 = 4;

pub(crate) fn run(context: &Context, arguments: &Runs) -> Result<u8> {
    match &arguments.action {
        None => list(context, arguments.all)?,
        Some(RunsAction::Export(arguments)) => export::run(context, arguments)?,
        Some(RunsAction::Fleet(arguments)) => fleet::run(context, arguments)?,
        Some(RunsAction::Push) => {
            let outbox = Outbox::of(context.store_path());
            if accept::push(context, &outbox, Instant::now() + PUSH_TIMEOUT)? > 0 {
                return Ok(SOME_LEFT);
            }
        }
        Some(RunsAction::Rm { runs }) => {
            let mut store = context.store()?;
            // All runs are looked up before any is removed: a typing mistake removes nothing.
            let ids = runs.iter().map(|run| Ok(store.find(run)?.id));
            // Two words may name one run.
            for id in distinct(ids.collect::<Result<Vec<String>>>()?) {
                store.remove(&id)?;
                say(context, &format!("removed {id}"))?;
            }
            say_freed(context, &mut store)?;
        }
        Some(RunsAction::Prune { keep }) => {
            let mut store = context.store()?;
            let removed = store.prune(*keep)?;
            say(context, &format!("removed {removed}, kept at most {keep}"))?;
            say_freed(context, &mut store)?;
        }
    }
    Ok(0)
}

fn list(context: &Context, all: bool) -> Result<()> {
    let mut runs = match context.existing_store()? {
        Some(store) => store.runs()?,
        None => Vec::new(),
    };
    if runs.is_empty() && !context.quiet && iodyno_store::has_only_roots(context.store_path()) {
        terminal::note("those of root: sudo iodyno runs");
    }
    if context.json {
        let document = iodyno_report::document::runs_document(&runs);
        return terminal::print(&iodyno_report::text::json_text(&document)?);
    }
    let older = if all { 0 } else { runs.len().saturating_sub(SHOWN) };
    runs.truncate(runs.len() - older);
    let table = Table { wide: false, columns: None };
    let text = iodyno_report::text::runs_table(&runs, &terminal::style(context, &table));
    terminal::print(&terminal::in_locale(text))?;
    if older > 0 && !context.quiet {
        terminal::note(&format!("{older} older: {}", own_command("runs --all")));
    }
    Ok(())
}

/// Gives the space of removed runs back, and says how much.
fn say_freed(context: &Context, store: &mut Store) -> Result<()> {
    match store.shrink()? {
        0 => Ok(()),
        bytes => say(context, &format!("freed {}", Bytes(bytes).decimal())),
    }
}

fn say(context: &Context, line: &str) -> Result<()> {
    if context.quiet { Ok(()) } else { terminal::print(&format!("{line}\n")) }
}
