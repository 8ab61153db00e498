//! `iodyno rules`: what `check` looks for.

use anyhow::Result;
use iodyno_judge::rules;
use iodyno_model::Severity;

use crate::context::Context;
use crate::terminal;

pub(crate) fn run(context: &Context) -> Result<u8> {
    let all = rules().iter().map(|rule| (rule.id(), rule.severity(), rule.summary()));
    let text = if context.json {
        let document = iodyno_report::document::rules_document(all);
        format!("{}\n", serde_json::to_string_pretty(&document)?)
    } else {
        let width = rules().iter().map(|rule| rule.id().len()).max().unwrap_or(0);
        let line = |(id, severity, summary): (&str, Severity, &str)| {
            let severity = match severity {
                Severity::Info => "INFO",
                Severity::Warn => "WARN",
                Severity::Fail => "FAIL",
            };
            format!("{id:width$}  {severity}  {summary}\n")
        };
        all.map(line).collect()
    };
    terminal::print(&text)?;
    Ok(0)
}
