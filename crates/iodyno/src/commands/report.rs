//! `iodyno report`: writes runs as one HTML page.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::{Context as _, Result};
use iodyno_campaign::Study;
use iodyno_fio::read::Problem;
use iodyno_model::{Assessment, DriveState, Predictions, Rounds, RunRecord};
use iodyno_report::Judged;
use iodyno_report::page::{PageRun, is_page, page, trace_page};
use iodyno_report::text::PlannedPoint;

use crate::arguments::Report;
use crate::commands::present::{in_order, prepared};
use crate::commands::{rejudge, traced};
use crate::context::{Context, Usage, refuse_unwritable, write};
use crate::inputs::{Loaded, load_each};
use crate::terminal;

/// A run with additional data for its page.
struct Shown {
    record: RunRecord,
    assessment: Assessment,
    unread: Vec<String>,
    prepared: Vec<DriveState>,
    outlook: Option<Predictions>,
    conditioned: Option<Rounds>,
    planned: Vec<PlannedPoint>,
}

impl Shown {
    fn page_run(&self) -> PageRun<'_> {
        PageRun {
            judged: Judged { record: &self.record, assessment: &self.assessment },
            unread: &self.unread,
            prepared: &self.prepared,
            outlook: self.outlook.as_ref(),
            conditioned: self.conditioned.as_ref(),
            planned: &self.planned,
        }
    }
}

/// Writes the page. Exit status 0 means that it was written; verdicts are on the page.
pub(crate) fn run(context: &Context, arguments: &Report) -> Result<u8> {
    let output = &arguments.output;
    refuse_unwritable(output)?;
    if !arguments.force {
        refuse_to_overwrite(output)?;
    }
    if let [word] = &arguments.runs[..]
        && let Some(summary) = traced::summary(context, Path::new(word))?
    {
        return finish(context, output, &trace_page(word, &summary)?);
    }
    let claims = context.claims(&arguments.sheets)?;
    let mut loaded = Vec::new();
    let words = arguments.runs.iter().map(|word| load_each(context, word));
    for Loaded { record, problems, .. } in words.collect::<Result<Vec<_>>>()?.into_iter().flatten()
    {
        let study = Study::of(&record.run);
        loaded.push(Shown {
            assessment: rejudge(&record, &claims),
            unread: problems.iter().map(Problem::to_string).collect(),
            prepared: prepared(context, &record)?,
            outlook: study.as_ref().and_then(|study| study.outlook(&record)),
            conditioned: study.as_ref().and_then(|study| study.preparation.as_ref()?.rounds()),
            planned: study.as_ref().map_or(Vec::new(), in_order),
            record,
        });
    }
    let runs: Vec<PageRun<'_>> = loaded.iter().map(Shown::page_run).collect();
    finish(context, output, &page(&runs, &claims)?)
}

fn finish(context: &Context, output: &Path, text: &str) -> Result<u8> {
    write(output, text.as_bytes())?;
    terminal::report_written(
        context,
        output,
        text.len(),
        ": open it in a browser, attach it, or print it.",
    )?;
    Ok(0)
}

/// Refuses to overwrite any file but an older report.
fn refuse_to_overwrite(output: &Path) -> Result<()> {
    let name = output.display();
    let kind = match fs::metadata(output) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Usage(format!("{name}: {error}")).into()),
    };
    let mut head = Vec::new();
    if kind.is_file() {
        let file = fs::File::open(output).map_err(|error| Usage(format!("{name}: {error}")))?;
        file.take(512).read_to_end(&mut head).with_context(|| name.to_string())?;
    }
    if kind.is_file() && (head.is_empty() || is_page(&head)) {
        return Ok(());
    }
    Err(Usage(format!("{name} exists and is not a report; use another file with -o, or --force"))
        .into())
}
