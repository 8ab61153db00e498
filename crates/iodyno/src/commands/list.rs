//! `iodyno list`: the host and its drives.

use anyhow::Result;
use iodyno_host::Depth;
use iodyno_report::text::{drives_table, host_text};

use crate::arguments::List;
use crate::context::Context;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &List) -> Result<u8> {
    let host = iodyno_host::snapshot(context.source()?.as_ref(), Depth::Full);
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
