//! `iodyno show`: prints a run again, judged anew.

use anyhow::Result;
use iodyno_campaign::{Order, Point, Study};
use iodyno_judge::limiter::is_of_question;
use iodyno_judge::{BlocksEffect, ClaimBook, Expectation, Question, assess, exit_status};
use iodyno_model::{Assessment, DriveState, RunRecord, shell_word};
use iodyno_report::Judged;
use iodyno_report::document::{TargetRounds, run_document};
use iodyno_report::export::{Format, Results};
use iodyno_report::text::{
    Body, PlannedPoint, blocks_effect_words, details_text, headroom_text, jobs_text, json_text,
    knees, predictions_text, pts_text, replay_text, rounds_text, run_heading, run_screen, run_text,
    scaling_words, sentence,
};
use iodyno_store::Store;

use crate::arguments::{Show, Table};
use crate::commands::layouts::held;
use crate::commands::{explain, headroom, traced};
use crate::context::Context;
use crate::{inputs, terminal};

/// What a run is judged by and how it is shown.
pub(crate) struct Judging<'a> {
    pub(crate) claims: &'a ClaimBook,
    pub(crate) baseline: Option<&'a RunRecord>,
    pub(crate) expect: Option<&'a Expectation>,
    pub(crate) require_verdict: bool,
    /// What the commands that say more of it call it.
    pub(crate) run: &'a str,
    pub(crate) table: &'a Table,
    pub(crate) shape: Shape,
}

impl<'a> Judging<'a> {
    /// Of what was just measured, against `claims` alone, at a glance.
    pub(crate) const fn last(claims: &'a ClaimBook, table: &'a Table) -> Self {
        Self {
            claims,
            baseline: None,
            expect: None,
            require_verdict: false,
            run: "last",
            table,
            shape: Shape::Glance,
        }
    }
}

/// What is printed unless JSON is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The verdict, and a row or a cell for each drive, job or point.
    Glance,
    /// Drives, measurements, findings.
    Text,
    /// What another tool reads.
    Format(Format),
}

impl Shape {
    /// Text, all of it if it is to be `verbose`, unless a format is asked for.
    pub(crate) fn of(format: Option<Format>, verbose: bool) -> Self {
        format.map_or(if verbose { Self::Text } else { Self::Glance }, Self::Format)
    }
}

pub(crate) fn run(context: &Context, arguments: &Show) -> Result<u8> {
    if let Some(status) = traced::show(context, arguments)? {
        return Ok(status);
    }
    let claims = context.claims(&arguments.sheets)?;
    let load = |word: &str| Ok::<_, anyhow::Error>(inputs::load(context, word)?.record);
    let mut loaded = inputs::load_each(context, &arguments.run)?;
    let record = match (loaded.pop(), loaded.is_empty()) {
        (Some(one), true) => one.record,
        (last, _) => {
            loaded.extend(last);
            let records: Vec<RunRecord> = loaded.into_iter().map(|one| one.record).collect();
            return held::show(context, arguments, &records);
        }
    };
    let baseline = arguments.baseline.as_deref().map(load).transpose()?;
    let earlier = earlier_judged(context, &record);
    let (assessment, status) = print(
        context,
        &record,
        &Judging {
            claims: &claims,
            baseline: baseline.as_ref(),
            expect: None,
            require_verdict: false,
            run: &shell_word(&arguments.run),
            table: &arguments.table,
            shape: Shape::of(arguments.format, arguments.verbose || arguments.details),
        },
    )?;
    if arguments.details {
        let style = terminal::style(context, &arguments.table);
        terminal::print(&format!("\n{}", details_text(&record, &style)))?;
    }
    if let Some(earlier) = earlier.filter(|earlier| earlier.ruleset != assessment.ruleset)
        && !context.quiet
    {
        terminal::note(&format!(
            "judged anew: {} by ruleset {}; it was {} by ruleset {}",
            assessment.verdict.label(),
            assessment.ruleset,
            earlier.verdict.label(),
            iodyno_report::text::clean(&earlier.ruleset)
        ));
    }
    Ok(status)
}

/// What a run in the store was judged to mean when it was made.
fn earlier_judged(context: &Context, record: &RunRecord) -> Option<Assessment> {
    let store = context.store_to_read().ok()?;
    store.assessment(&record.run.id).ok().flatten()
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
    let status = exit_status(record, &assessment, judging.require_verdict);
    let judged = Judged { record, assessment: &assessment };
    let style = terminal::style(context, judging.table);
    let study = Study::of(&record.run);
    let outlook = study.as_ref().and_then(|study| study.outlook(record));
    let plan = record.run.rounds.as_ref();
    // Rounds are the plan's own, or those that conditioned the drives before it.
    let conditioned = study.as_ref().and_then(|study| study.preparation.as_ref()?.rounds());
    let rounds = plan.map(|plan| plan.rounds.clone()).or(conditioned);
    let lines = || {
        let scaling = study.as_ref().and_then(|study| study.scaling.as_ref());
        let mut all = outlook.as_ref().map_or(Vec::new(), knees);
        all.extend(scaling.map_or(Vec::new(), |of| scaling_words(record, &assessment, of)));
        all.extend(BlocksEffect::all(record).iter().map(blocks_effect_words));
        all
    };
    let text = match judging.shape {
        _ if context.json => {
            let mut document = run_document(record, &assessment, status as u8);
            document.outlook = outlook.clone();
            if record.run.kind.is_of_drives() {
                document.earlier_headroom = headroom::stored(context, record);
            }
            document.rounds = rounds.as_ref().map(|rounds| TargetRounds::of(rounds, record));
            json_text(&document)?
        }
        Shape::Format(format) => String::from_utf8(format.export(Results::Runs(&[judged]))?)?,
        Shape::Glance if !judging.table.is_of_drives(record.run.kind.is_of_drives()) => {
            let of_question =
                is_of_question(record).then(|| explain::shown(context, record, judging, &style));
            let of_question = of_question.flatten();
            let (follows, planned, profile);
            let body = match &rounds {
                _ if record.run.kind.is_of_drives() => {
                    follows = few(headroom::lines(context, record));
                    Body::Drives(&follows)
                }
                _ if record.run.profile().is_some() => {
                    profile = record.run.profile();
                    profile.as_ref().map_or(Body::Drives(&[]), Body::Fit)
                }
                Some(rounds) => Body::Rounds(rounds),
                None => {
                    follows = few(lines());
                    planned = study.as_ref().map_or(Vec::new(), in_order);
                    Body::Rows { planned: &planned, outlook: outlook.as_ref(), follows: &follows }
                }
            };
            of_question.unwrap_or_else(|| {
                run_screen(record, &assessment, status as u8, body, judging.run, &style)
            })
        }
        // Of fio's jobs there is nothing but what they did.
        Shape::Glance | Shape::Text if record.host().is_none() => {
            let jobs = jobs_text(record, &assessment, &style);
            format!("{}\n{jobs}", run_heading(&record.run, &style))
        }
        Shape::Glance | Shape::Text => {
            let mut parts = vec![run_text(record, &assessment, status as u8, &style)?];
            match &rounds {
                Some(rounds) => {
                    if let Some(plan) = plan {
                        let prepared = prepared(context, record)?;
                        parts.push(pts_text(record, plan, &prepared, &style));
                    }
                    parts.push(rounds_text(record, rounds, &style));
                }
                None => {
                    parts.extend(outlook.as_ref().map(|of| predictions_text(of, &style)));
                    parts.extend(outlook.as_ref().map(|of| headroom_text(&of.headroom, &style)));
                    parts.push(replay_text(record, &style));
                    let mut lines = lines();
                    if record.run.kind.is_of_drives() {
                        lines.extend(headroom::lines(context, record));
                    }
                    parts.push(lines.iter().map(|line| sentence(line, &style)).collect());
                }
            }
            parts.retain(|part| !part.is_empty());
            parts.join("\n")
        }
    };
    let text = match judging.shape {
        Shape::Glance if !context.json => terminal::in_locale(text),
        _ => text,
    };
    Ok((assessment, text, status as u8))
}

/// The points of a study, in the order of its axes.
pub(crate) fn in_order(study: &Study) -> Vec<PlannedPoint> {
    let mut study = study.clone();
    study.order = Order::Written;
    let mut planned: Vec<PlannedPoint> = Vec::new();
    for Point { title, part, at, .. } in study.points(0) {
        if !planned.iter().any(|known| known.title == title) {
            planned.push(PlannedPoint { title, part, at });
        }
    }
    planned
}

/// The first of `lines`, and how many more there are.
fn few(mut lines: Vec<String>) -> Vec<String> {
    const MOST: usize = 4;
    if let Some(more) = lines.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.truncate(MOST);
        lines.push(format!("and {more} more (-v)"));
    }
    lines
}

/// The states that the drives of a run were in when it began, as the store has them.
pub(crate) fn prepared(context: &Context, record: &RunRecord) -> Result<Vec<DriveState>> {
    let mut states = Vec::new();
    // What was measured elsewhere can be shown where there is no store.
    let Ok(store) = context.store_to_read() else { return Ok(states) };
    let namespaces = record.run.targets.iter().filter_map(|name| record.host()?.namespace(name));
    for (drive, namespace) in namespaces {
        if let (Some(serial), Some(nsid)) = (drive.serial.get(), namespace.nsid.get()) {
            states.extend(store.drive_state_at(serial, *nsid, record.run.started_ns)?);
        }
    }
    Ok(states)
}
