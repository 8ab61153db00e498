//! `iodyno report`: runs as one HTML page.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::{Context as _, Result};
use iodyno_fio::read::Problem;
use iodyno_judge::{Question, assess, exit_status};
use iodyno_model::Bytes;
use iodyno_report::page::{PageRun, is_page, page};
use iodyno_report::text::clean;

use crate::arguments::Report;
use crate::context::{Context, Usage};
use crate::{sources, terminal};

/// The exit status is 0 where the page was written: it tells the verdicts itself.
pub(crate) fn run(context: &Context, arguments: &Report) -> Result<u8> {
    let output = &arguments.output;
    if !arguments.force {
        refuse_to_overwrite(output)?;
    }
    let claims = context.claims(&arguments.datasheet)?;
    let mut loaded = Vec::new();
    for word in &arguments.runs {
        loaded.push(sources::load(context, word)?);
    }
    let mut judged = Vec::new();
    for (word, one) in arguments.runs.iter().zip(&loaded) {
        let record = &one.record;
        let question = Question { record, claims: &claims, baseline: None, expect: None };
        let assessment = assess(&question);
        let status = exit_status(record, &assessment, false) as u8;
        let unread: Vec<String> = one.problems.iter().map(sentence).collect();
        unread.iter().for_each(|line| terminal::note(line));
        if record.measurements.is_empty() && !unread.is_empty() {
            return Err(Usage(format!("{word}: nothing of it could be read")).into());
        }
        judged.push((record, assessment, status, unread));
    }
    let runs: Vec<PageRun<'_>> = judged
        .iter()
        .map(|(record, assessment, exit_status, unread)| PageRun {
            record,
            assessment,
            exit_status: *exit_status,
            unread,
        })
        .collect();
    let text = page(&runs)?;
    write(output, &text)?;
    let size = Bytes(text.len() as u64).decimal();
    terminal::print(&format!(
        "{} ({size}): open it in a browser, attach it, or print it.\n",
        output.display()
    ))?;
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
    if kind.is_dir() {
        return Err(Usage(format!("{name} is a folder; say -o {name}/report.html")).into());
    }
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

fn write(output: &Path, text: &str) -> Result<()> {
    fs::write(output, text).map_err(|error| Usage(format!("{}: {error}", output.display())).into())
}

fn sentence(problem: &Problem) -> String {
    let Problem { file, line, what } = problem;
    clean(&match line {
        Some(line) => format!("{file}:{line}: {what}"),
        None => format!("{file}: {what}"),
    })
}
