//! `iodyno report`: runs as one HTML page.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::{Context as _, Result};
use iodyno_campaign::Study;
use iodyno_fio::read::Problem;
use iodyno_report::Judged;
use iodyno_report::page::{PageRun, is_page, page};

use crate::arguments::Report;
use crate::commands::show::{in_order, prepared};
use crate::commands::{judged_anew, outlook_of};
use crate::context::{Context, Usage, refuse_unwritable, write};
use crate::{inputs, terminal};

/// The exit status is 0 where the page was written: it tells the verdicts itself.
pub(crate) fn run(context: &Context, arguments: &Report) -> Result<u8> {
    let output = &arguments.output;
    refuse_unwritable(output)?;
    if !arguments.force {
        refuse_to_overwrite(output)?;
    }
    let claims = context.claims(&arguments.sheets.datasheet)?;
    let mut loaded = Vec::new();
    let words = arguments.runs.iter().map(|word| inputs::load_each(context, word));
    for one in words.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        let assessment = judged_anew(&one.record, &claims);
        let unread = one.problems.iter().map(Problem::to_string).collect();
        let prepared = prepared(context, &one.record)?;
        let outlook = outlook_of(&one.record);
        let planned = Study::of(&one.record.run).as_ref().map_or(Vec::new(), in_order);
        loaded.push((one.record, assessment, unread, prepared, outlook, planned));
    }
    let runs: Vec<PageRun<'_>> = loaded
        .iter()
        .map(
            |(record, assessment, unread, prepared, outlook, planned): &(
                _,
                _,
                Vec<String>,
                _,
                _,
                _,
            )| {
                PageRun {
                    judged: Judged { record, assessment },
                    unread,
                    prepared,
                    outlook: outlook.as_ref(),
                    planned,
                }
            },
        )
        .collect();
    let text = page(&runs, &claims)?;
    write(output, text.as_bytes())?;
    terminal::written(
        context,
        output,
        text.len(),
        ": open it in a browser, attach it, or print it.",
    )?;
    Ok(0)
}

/// What is there is overwritten only if it is an older report.
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
    Err(Usage(format!("{name} is there and is not a report; say another file with -o, or --force"))
        .into())
}
