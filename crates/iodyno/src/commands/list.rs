//! `iodyno list`: the host and its drives, as a table or as a tree.

use anyhow::Result;
use iodyno_host::Depth;
use iodyno_model::{Host, topology};
use iodyno_report::document::{history_document, list_document, tree_document};
use iodyno_report::text::{history_text, json_text, list_text, tree_text};

use crate::arguments::{List, Table};
use crate::context::Context;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &List) -> Result<u8> {
    let host = iodyno_host::snapshot(context.source()?.as_ref(), Depth::Full);
    if arguments.history {
        return history(context, &host, &arguments.table.table());
    }
    let style = terminal::style(context, &arguments.table.table());
    let text = match (context.json, arguments.tree) {
        (true, true) => json_text(&tree_document(&host))?,
        (true, false) => json_text(&list_document(&host))?,
        (false, true) => tree_text(&topology(&host), !terminal::is_utf8(), &style),
        (false, false) => terminal::in_locale(list_text(&host, &style)?),
    };
    terminal::print(&text)?;
    terminal::advise_root(context, &host);
    Ok(0)
}

/// Prints the history of drives, including those of other machines.
fn history(context: &Context, host: &Host, table: &Table) -> Result<u8> {
    let states = match context.existing_store()? {
        Some(store) => store.drive_states()?,
        None => Vec::new(),
    };
    let text = match context.json {
        true => {
            let document = history_document(&states, host);
            json_text(&document)?
        }
        false => terminal::in_locale(history_text(&states, host, &terminal::style(context, table))),
    };
    terminal::print(&text)?;
    Ok(0)
}
