//! `iodyno report`: writes runs as one HTML page.

use std::path::Path;

use anyhow::Result;
use iodyno_campaign::Study;
use iodyno_fio::read::Problem;
use iodyno_model::{Assessment, DriveState, Predictions, Rounds, RunRecord};
use iodyno_report::Judged;
use iodyno_report::page::{PageRun, page, trace_page};
use iodyno_report::text::PlannedPoint;

use crate::arguments::Report;
use crate::commands::present::{in_order, prepared};
use crate::commands::{rejudge, traced};
use crate::context::{Context, write};
use crate::inputs::{Loaded, load_each};
use crate::output::{Content, refuse_other, refuse_unwritable};
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
    match arguments.force {
        true => refuse_unwritable(context, output)?,
        false => refuse_other(context, output, Content::Page)?,
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
    terminal::report_written(context, output, text.len(), "")?;
    Ok(0)
}
