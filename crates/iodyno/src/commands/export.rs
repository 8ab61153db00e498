//! `iodyno runs export`: results for other programs.

use std::io::Write;

use anyhow::{Context as _, Result};
use iodyno_judge::{ClaimBook, Question, assess, exit_status};
use iodyno_model::{Assessment, RunRecord};
use iodyno_report::Judged;
use iodyno_report::document::run_document;
use iodyno_report::export::{write_csv, write_parquet};

use crate::arguments::{Export, ExportFormat};
use crate::context::{Context, Usage};
use crate::{sources, terminal};

pub(crate) fn run(context: &Context, arguments: &Export) -> Result<()> {
    let to_terminal = arguments.output.is_none() && terminal::is_terminal();
    if arguments.format == ExportFormat::Parquet && to_terminal {
        let text = "Parquet is not for terminals: name a file with -o FILE";
        return Err(Usage(text.into()).into());
    }
    let claims = context.claims(&arguments.datasheet)?;
    let mut runs = Vec::new();
    for word in &arguments.runs {
        let loaded = sources::load(context, word)?;
        terminal::problems(context, &loaded.problems);
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
        Some(path) => std::fs::File::create(path)
            .and_then(|mut file| file.write_all(&bytes))
            .map_err(|error| Usage(format!("{}: {error}", path.display())))
            .context("cannot be written"),
    }
}

/// What a run means by today's rules and these claims.
pub(crate) fn judged_anew(record: &RunRecord, claims: &ClaimBook) -> Assessment {
    assess(&Question { record, claims, baseline: None, expect: None })
}

/// The public document of one run, or an array of those of several.
pub(crate) fn documents(runs: &[Judged<'_>]) -> Result<String> {
    let document = |of: &Judged<'_>| {
        let status = exit_status(of.record, of.assessment, false);
        run_document(of.record, of.assessment, status as u8)
    };
    let text = match runs {
        [one] => serde_json::to_string_pretty(&document(one))?,
        all => serde_json::to_string_pretty(&all.iter().map(document).collect::<Vec<_>>())?,
    };
    Ok(text + "\n")
}
