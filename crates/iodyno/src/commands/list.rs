//! `iodyno list`: the host and its drives.

use anyhow::Result;
use iodyno_host::Depth;
use iodyno_model::Host;
use iodyno_report::text::{drives_table, history_text, host_text};
use iodyno_store::StoreError;

use crate::arguments::{List, Table};
use crate::context::Context;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &List) -> Result<u8> {
    let host = iodyno_host::snapshot(context.source()?.as_ref(), Depth::Full);
    if arguments.history {
        return history(context, &host, &arguments.table);
    }
    let text = if context.json {
        let document = iodyno_report::document::list_document(&host);
        format!("{}\n", serde_json::to_string_pretty(&document)?)
    } else {
        let style = terminal::style(context, &arguments.table);
        format!("{}\n{}", host_text(&host, &style), drives_table(&host, None, &style)?)
    };
    terminal::print(&text)?;
    terminal::advise_root(context, &host);
    Ok(0)
}

/// What drives were put through, those of other machines too.
fn history(context: &Context, host: &Host, table: &Table) -> Result<u8> {
    let states = match context.store_to_read() {
        Ok(store) => store.drive_states()?,
        // Nothing was done yet: nothing to tell, and no error.
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::Missing { .. })) => {
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    let text = match context.json {
        true => {
            let document = iodyno_report::document::history_document(&states, host);
            format!("{}\n", serde_json::to_string_pretty(&document)?)
        }
        false => history_text(&states, host, &terminal::style(context, table)),
    };
    terminal::print(&text)?;
    Ok(0)
}
