//! `iodyno rules`: lists the rules behind the verdicts, or prints the page of one.

use anyhow::Result;
use iodyno_judge::{page, rules};
use iodyno_report::text::{json_text, page_text, rules_text};

use crate::arguments::{Rules, Table};
use crate::context::Context;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &Rules) -> Result<u8> {
    let asked = arguments.id.as_deref();
    let all = rules()
        .filter(|rule| asked.is_none_or(|id| rule.id == id))
        .map(|rule| (rule.id, rule.severity, rule.summary));
    let style = terminal::style(context, &Table::default());
    let text = match asked.and_then(page) {
        _ if context.json => {
            let document = iodyno_report::document::rules_document(all);
            json_text(&document)?
        }
        Some(page) => page_text(page, &style),
        None => rules_text(all, &style),
    };
    terminal::print(&text)?;
    Ok(0)
}
