//! `iodyno model`: writes a small model of a trace, and job options that resemble it.

use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, Result};
use iodyno_report::document::ModelDocument;
use iodyno_report::text::{Damage, json_text, model_text};
use iodyno_trace::read::ReadError;
use iodyno_trace::{Header, Writer};

use crate::arguments::Model;
use crate::commands::model_options;
use crate::commands::traced;
use crate::context::{Context, Usage, bail_usage, write};
use crate::output::{Content, refuse_other};
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &Model) -> Result<u8> {
    let path = &arguments.trace;
    let name = path.display();
    path.metadata().map_err(|error| Usage(format!("{name} cannot be read: {error}")))?;
    for output in &arguments.output {
        let content = match ending(output) {
            "iomodel" => Content::Trace,
            "fio" | "toml" => Content::Options,
            _ => bail_usage!("{}: expected .iomodel, .fio or .toml", output.display()),
        };
        refuse_other(context, output, content)?;
    }
    let model = arguments.output.iter().find(|output| ending(output) == "iomodel");
    let into = || model.unwrap_or(path).display().to_string();
    let (mut writer, mut output) = (None, None);
    let mut names = iodyno_trace::Names::default();
    let scanned = traced::scan(context, path, &mut |header, known, io| {
        if writer.is_none() {
            let to: Box<dyn std::io::Write> = match model {
                Some(model) => {
                    let (made, file) = traced::begin(context, path, model, Content::Trace)?;
                    output = Some(made);
                    Box::new(BufWriter::new(file))
                }
                None => Box::new(std::io::sink()),
            };
            let source = format!("model of {}", header.source);
            let header = Header { source, seed: Some(arguments.seed), ..header.clone() };
            writer = Some(Writer::new(to, &header)?);
        }
        if known.devices().len() != names.devices().len() {
            names = known.clone();
        }
        writer.as_mut().map_or(Ok(()), |writer| writer.push(*io, known)).with_context(into)
    })?;
    let wrong = |what: &dyn std::fmt::Display| Usage(format!("{}: {what}", path.display()));
    let (summary, failure) = scanned.ok_or_else(|| wrong(&ReadError::Unknown))?;
    // A file that was cut off says where it ends; one that cannot be read may go on behind that.
    if let Some(error @ ReadError::Unreadable(_)) = failure {
        return Err(wrong(&error).into());
    }
    let mut writer = writer.ok_or_else(|| wrong(&"no I/O to make a model of"))?;
    let has_options = arguments.output.iter().any(|output| ending(output) != "iomodel");
    if has_options && !model_options::is_expressible(&summary) {
        return Err(
            wrong(&"no reads or writes that job options could make; use -o FILE.iomodel").into()
        );
    }
    writer.lost(summary.lost);
    let (_, ending_of) = writer.end(&names, summary.duration_ns, 0).with_context(into)?;
    if let Some(output) = output {
        output.keep().map_err(|error| Usage(error.to_string()))?;
    }
    let likeness = ending_of.likeness.unwrap_or_default();
    let bytes = model.and_then(|model| std::fs::metadata(model).ok()).map(|found| found.len());
    let style = terminal::style(context, &Default::default());
    match context.json {
        true => terminal::print(&json_text(&ModelDocument::new(likeness.clone(), &summary))?)?,
        false => {
            let text = model_text(&likeness, bytes, summary.lost, &style);
            terminal::print(&terminal::in_locale(text))?;
        }
    }
    traced::report_damage(context, path, Damage::of(&summary));
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("trace");
    for output in &arguments.output {
        let (bytes, what) = match ending(output) {
            "iomodel" => (bytes.unwrap_or(0) as usize, ""),
            kind => {
                let text = match kind {
                    "fio" => model_options::job_file(name, &summary, &likeness),
                    _ => model_options::plan(name, &summary, &likeness),
                };
                write(output, text.as_bytes())?;
                (text.len(), ", which keeps means only")
            }
        };
        if !context.json {
            terminal::report_written(context, output, bytes, what)?;
        }
    }
    Ok(0)
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}
