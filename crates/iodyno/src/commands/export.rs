//! `iodyno runs export`: results for other programs.

use anyhow::Result;
use iodyno_report::Judged;
use iodyno_report::document::run_document;
use iodyno_report::export::{write_csv, write_parquet};
use iodyno_report::text::json_text;

use crate::arguments::{Export, ExportFormat};
use crate::commands::judged_anew;
use crate::context::{Context, Usage, refuse_unwritable, write};
use crate::{sources, terminal};

pub(crate) fn run(context: &Context, arguments: &Export) -> Result<()> {
    let to_terminal = arguments.output.is_none() && terminal::is_terminal();
    if arguments.format == ExportFormat::Parquet && to_terminal {
        let text = "Parquet is not for terminals: name a file with -o FILE";
        return Err(Usage(text.into()).into());
    }
    arguments.output.as_deref().map_or(Ok(()), refuse_unwritable)?;
    let claims = context.claims(&arguments.datasheet)?;
    let mut runs = Vec::new();
    for word in &arguments.runs {
        let loaded = sources::load(context, word)?;
        let assessment = judged_anew(&loaded.record, &claims);
        runs.push((loaded.record, assessment));
    }
    let judged: Vec<Judged<'_>> =
        runs.iter().map(|(record, assessment)| Judged { record, assessment }).collect();
    let mut bytes = Vec::new();
    match arguments.format {
        ExportFormat::Json => bytes.extend(documents(&judged)?.into_bytes()),
        ExportFormat::Csv => write_csv(&judged, &mut bytes)?,
        ExportFormat::Parquet => write_parquet(&judged, &mut bytes)?,
    }
    match &arguments.output {
        None => terminal::write(&bytes),
        Some(path) => write(path, &bytes),
    }
}

/// The public document of one run, or an array of those of several.
pub(crate) fn documents(runs: &[Judged<'_>]) -> Result<String> {
    let document =
        |of: &Judged<'_>| run_document(of.record, of.assessment, of.exit_status(false) as u8);
    Ok(match runs {
        [one] => json_text(&document(one))?,
        all => json_text(&all.iter().map(document).collect::<Vec<_>>())?,
    })
}
