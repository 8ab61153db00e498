//! `iodyno list`: the host and its drives, as a table or as a tree.

use anyhow::Result;
use iodyno_host::Depth;
use iodyno_model::topology;
use iodyno_report::document::{list_document, tree_document};
use iodyno_report::text::{drives_table, host_text, tree_text};
use serde_json::to_string_pretty;

use crate::arguments::List;
use crate::context::Context;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &List) -> Result<u8> {
    let host = iodyno_host::snapshot(context.source()?.as_ref(), Depth::Full);
    let style = terminal::style(context, &arguments.table);
    let text = match (context.json, arguments.tree) {
        (true, true) => to_string_pretty(&tree_document(&host))? + "\n",
        (true, false) => to_string_pretty(&list_document(&host))? + "\n",
        (false, true) => tree_text(&topology(&host), !terminal::is_utf8(), &style),
        (false, false) => {
            format!("{}\n{}", host_text(&host, &style), drives_table(&host, None, &style)?)
        }
    };
    terminal::print(&text)?;
    terminal::advise_root(context, &host);
    Ok(0)
}
