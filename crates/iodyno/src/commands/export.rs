//! `iodyno runs export`: writes results for other programs.

use std::path::Path;

use anyhow::Result;
use iodyno_report::Judged;
use iodyno_report::export::{JSON, Results};

use crate::arguments::Export;
use crate::commands::{judged, rejudge};
use crate::context::{Context, bail_usage, write};
use crate::output::{Content, refuse_other};
use crate::{inputs, terminal};

pub(crate) fn run(context: &Context, arguments: &Export) -> Result<()> {
    let output = arguments.output.as_deref().filter(|path| *path != Path::new("-"));
    let to_terminal = output.is_none() && terminal::is_terminal();
    if arguments.format.is_binary() && to_terminal {
        let name = arguments.format.name();
        bail_usage!("{name} is binary: write it to a file with -o FILE");
    }
    if let Some(path) = output {
        let content = match arguments.format.name() {
            "csv" => Content::Csv,
            "parquet" => Content::Parquet,
            _ => Content::Document,
        };
        refuse_other(context, path, content)?;
    }
    let claims = context.claims(&arguments.sheets)?;
    let mut runs = Vec::new();
    for word in &arguments.runs {
        let loaded = inputs::load(context, word)?;
        let assessment = rejudge(&loaded.record, &claims);
        runs.push((loaded.record, assessment));
    }
    let bytes = arguments.format.export(Results::Runs(&judged(&runs)))?;
    match output {
        None => terminal::write(&bytes),
        Some(path) => write(path, &bytes),
    }
}

/// The public document of one run, or an array of several.
pub(crate) fn documents(runs: &[Judged<'_>]) -> Result<String> {
    Ok(String::from_utf8(JSON.export(Results::Runs(runs))?)?)
}
