//! `iodyno show`: prints a run again, judged anew.

use std::fmt::Write as _;

use anyhow::Result;
use iodyno_campaign::Study;
use iodyno_judge::{ClaimBook, Expectation, Question, assess, exit_status};
use iodyno_model::{Assessment, Rounds, RunRecord, RunState};
use iodyno_report::Judged;
use iodyno_report::document::{Outlook, TargetRounds, run_document};
use iodyno_report::junit::junit;
use iodyno_report::ocp::ocp;
use iodyno_report::openmetrics::openmetrics;
use iodyno_report::text::{
    RoundsPlan, Style, jobs_text, outlook_text, pts_text, results_table, rounds_text, run_heading,
    run_text,
};
use iodyno_store::Store;

use crate::arguments::{Format, Show, Table};
use crate::context::Context;
use crate::{sources, terminal};

/// What a run is judged by and how it is shown.
pub(crate) struct Judging<'a> {
    pub(crate) claims: &'a ClaimBook,
    pub(crate) baseline: Option<&'a RunRecord>,
    pub(crate) expect: Option<&'a Expectation>,
    pub(crate) accept_unjudged: bool,
    pub(crate) table: &'a Table,
    pub(crate) shape: Shape,
}

/// What is printed unless JSON is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Drives, measurements, findings.
    Text,
    /// Jobs in a few lines each, as `run` shows them.
    Jobs,
    /// Measurements in a line each, as `sweep` shows them.
    Results,
    /// What another tool reads.
    Format(Format),
}

impl Shape {
    /// Text, unless a format is asked for.
    pub(crate) fn of(format: Option<Format>) -> Self {
        format.map_or(Self::Text, Self::Format)
    }
}

pub(crate) fn run(context: &Context, arguments: &Show) -> Result<u8> {
    let claims = context.claims(&arguments.datasheet)?;
    let load = |word: &str| Ok::<_, anyhow::Error>(sources::load(context, word)?.record);
    let record = load(&arguments.run)?;
    let baseline = arguments.baseline.as_deref().map(load).transpose()?;
    print(
        context,
        &record,
        &Judging {
            claims: &claims,
            baseline: baseline.as_ref(),
            expect: None,
            accept_unjudged: false,
            table: &arguments.table,
            shape: Shape::of(arguments.format),
        },
    )
    .map(|(_, status)| status)
}

/// Judges, stores the assessment and prints; the exit status.
pub(crate) fn judge_and_print(
    context: &Context,
    store: &mut Store,
    record: &RunRecord,
    judging: &Judging<'_>,
) -> Result<u8> {
    let (assessment, status) = print(context, record, judging)?;
    store.put_assessment(&record.run.id, &assessment)?;
    Ok(status)
}

/// Judges and stores the assessment; the text to print, and the exit status.
pub(crate) fn judge(
    context: &Context,
    store: &mut Store,
    record: &RunRecord,
    judging: &Judging<'_>,
) -> Result<(String, u8)> {
    let (assessment, text, status) = assessed(context, record, judging)?;
    store.put_assessment(&record.run.id, &assessment)?;
    Ok((text, status))
}

fn print(context: &Context, record: &RunRecord, judging: &Judging<'_>) -> Result<(Assessment, u8)> {
    let (assessment, text, status) = assessed(context, record, judging)?;
    terminal::print(&text)?;
    Ok((assessment, status))
}

fn assessed(
    context: &Context,
    record: &RunRecord,
    judging: &Judging<'_>,
) -> Result<(Assessment, String, u8)> {
    let question = Question {
        record,
        claims: judging.claims,
        baseline: judging.baseline,
        expect: judging.expect,
    };
    let assessment = assess(&question);
    let status = exit_status(record, &assessment, judging.accept_unjudged);
    let judged = Judged { record, assessment: &assessment };
    let style = terminal::style(context, judging.table);
    let study = Study::parse(&record.run.plan, &record.run.plan_name).ok();
    let outlook = study.as_ref().and_then(|study| study.outlook(&record.measurements));
    let beyond = outlook.as_ref().map_or(String::new(), |outlook| outlook_text(outlook, &style));
    let study = study.and_then(|study| study.rounds.clone().map(|rounds| (study, rounds)));
    let text = match judging.shape {
        _ if context.json => {
            let mut document = run_document(record, &assessment, status as u8);
            document.outlook = outlook.as_ref().map(Outlook::from);
            document.rounds = study.as_ref().map(|(_, rounds)| TargetRounds::of(rounds, record));
            format!("{}\n", serde_json::to_string_pretty(&document)?)
        }
        Shape::Format(Format::Junit) => String::from_utf8(junit(judged)?)?,
        Shape::Format(Format::Ocp) => ocp(judged)?,
        Shape::Format(Format::Openmetrics) => openmetrics(judged),
        Shape::Results => {
            let next = match record.run.state {
                RunState::Done => "iodyno show last says all of it",
                _ => "iodyno resume goes on",
            };
            let table = match &study {
                Some((_, rounds)) => in_rounds(record, rounds, &style),
                None => results_table(record, Some(&assessment), &style),
            };
            let table = with(table, &beyond);
            format!("{table}\nKept as {}: {next}\n", record.run.id)
        }
        Shape::Jobs => {
            let jobs = jobs_text(record, &assessment, &style);
            format!("{jobs}\nKept as {}: iodyno show last\n", record.run.id)
        }
        // Of fio's jobs there is nothing but what they did.
        Shape::Text if record.host().is_none() => {
            format!(
                "{}\n{}",
                run_heading(&record.run, &style),
                jobs_text(record, &assessment, &style)
            )
        }
        Shape::Text => {
            let text = run_text(record, &assessment, status as u8, &style)?;
            match &study {
                Some((study, rounds)) => {
                    let plan = RoundsPlan { rounds, about: &study.about, before: &study.before };
                    let report = pts_text(record, &plan, &style);
                    format!("{text}\n{report}\n{}", rounds_text(record, rounds, &style))
                }
                None => with(text, &beyond),
            }
        }
    };
    Ok((assessment, text, status as u8))
}

/// `text`, and behind it what there is `beyond` it.
fn with(text: String, beyond: &str) -> String {
    if beyond.is_empty() { text } else { format!("{text}\n{beyond}") }
}

/// Rounds in short, and a line for each point that came after them.
fn in_rounds(record: &RunRecord, rounds: &Rounds, style: &Style) -> String {
    let mut text = rounds_text(record, rounds, style);
    let mut after = record.clone();
    after.measurements.retain(|of| of.round.is_none());
    if !after.measurements.is_empty() {
        let _ = write!(text, "\nAfter the rounds\n{}", results_table(&after, None, style));
    }
    text
}
