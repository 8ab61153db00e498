//! Presents a run: judged, as a summary, as full text, or in another tool's format.

use std::borrow::Cow;

use anyhow::Result;
use iodyno_campaign::{Order, Point, Study};
use iodyno_judge::limiter::is_explain_run;
use iodyno_judge::{BlocksEffect, ClaimBook, Expectation, Question, assess, exit_status};
use iodyno_model::{Assessment, DriveState, Predictions, Rounds, RunRecord, SkipReason, Skipped};
use iodyno_report::Judged;
use iodyno_report::document::{TargetRounds, run_document};
use iodyno_report::export::{Format, Results};
use iodyno_report::text::{
    Body, PlannedPoint, Style, blocks_effect_words, headroom_text, jobs_text, json_text, knees,
    predictions_text, pts_text, replay_text, rounds_text, run_heading, run_screen, run_text,
    run_text_in_rows, scaling_words, sentence,
};
use iodyno_store::Store;

use crate::arguments::Table;
use crate::commands::{explain, headroom};
use crate::context::Context;
use crate::terminal;

/// Basis of the verdicts and form of the output.
pub(crate) struct JudgeOptions<'a> {
    pub(crate) claims: &'a ClaimBook,
    pub(crate) baseline: Option<&'a RunRecord>,
    pub(crate) expect: Option<&'a Expectation>,
    pub(crate) require_verdict: bool,
    /// Name of the run in suggested commands; empty if the store could not keep it.
    pub(crate) run: &'a str,
    pub(crate) table: &'a Table,
    pub(crate) shape: OutputForm,
}

impl<'a> JudgeOptions<'a> {
    /// For the run just measured: judged against `claims` only, as a summary.
    pub(crate) const fn latest(claims: &'a ClaimBook, table: &'a Table) -> Self {
        Self {
            claims,
            baseline: None,
            expect: None,
            require_verdict: false,
            run: "last",
            table,
            shape: OutputForm::Summary,
        }
    }
}

/// Form of the output without `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputForm {
    /// The verdict, and a row or cell for each drive, job or point.
    Summary,
    /// Drives, measurements, findings.
    Text,
    /// Another tool's format.
    Format(Format),
}

impl OutputForm {
    /// The given format, else full text if `verbose`, else the summary.
    pub(crate) fn of(format: Option<Format>, verbose: bool) -> Self {
        format.map_or(if verbose { Self::Text } else { Self::Summary }, Self::Format)
    }
}

/// Judges, stores the assessment and prints; returns the exit status.
pub(crate) fn judge_and_print(
    context: &Context,
    store: &mut Store,
    record: &RunRecord,
    judging: &JudgeOptions<'_>,
) -> Result<u8> {
    let (assessment, status) = print(context, record, &named(store, record, judging))?;
    store.put_assessment(&record.run.id, &assessment)?;
    Ok(status)
}

/// Judges and stores the assessment; returns the text and the exit status.
pub(crate) fn judge(
    context: &Context,
    store: &mut Store,
    record: &RunRecord,
    judging: &JudgeOptions<'_>,
) -> Result<(String, u8)> {
    let judging = named(store, record, judging);
    let (assessment, text, status) = judged(context, record, &judging)?;
    store.put_assessment(&record.run.id, &assessment)?;
    Ok((text, status))
}

/// Without suggested commands for what the store could not keep; with the run's id in them where
/// `last` is another run: one that began later, or before the clock was set back.
fn named<'a>(store: &Store, record: &'a RunRecord, judging: &JudgeOptions<'a>) -> JudgeOptions<'a> {
    let is_last = || store.find("last").is_ok_and(|last| last.id == record.run.id);
    let run = match judging.run {
        _ if store.aside().is_some() => "",
        "last" if !is_last() => record.run.id.as_str(),
        run => run,
    };
    JudgeOptions { run, ..*judging }
}

/// Judges and prints; returns the assessment and the exit status.
pub(crate) fn print(
    context: &Context,
    record: &RunRecord,
    judging: &JudgeOptions<'_>,
) -> Result<(Assessment, u8)> {
    let (assessment, text, status) = judged(context, record, judging)?;
    terminal::print_verdict(&text, status)?;
    Ok((assessment, status))
}

/// The assessment of a run, its text and its exit status.
fn judged(
    context: &Context,
    record: &RunRecord,
    judging: &JudgeOptions<'_>,
) -> Result<(Assessment, String, u8)> {
    let assessment = assess(&Question {
        record,
        claims: judging.claims,
        baseline: judging.baseline,
        expect: judging.expect,
    });
    let status = exit_status(record, &assessment, judging.require_verdict) as u8;
    let shown =
        Presentation::new(context, judging, Judged { record, assessment: &assessment }, status);
    let text = match judging.shape {
        _ if context.json => shown.document()?,
        OutputForm::Format(format) => {
            let record = &*naming_not_begun(record, shown.study.as_ref());
            String::from_utf8(format.export(Results::Runs(&[Judged { record, ..shown.of }]))?)?
        }
        OutputForm::Summary => terminal::in_locale(shown.summary()?),
        OutputForm::Text => shown.text()?,
    };
    Ok((assessment, text, status))
}

/// The run with each measurement that a stop left out among those skipped.
fn naming_not_begun<'r>(record: &'r RunRecord, study: Option<&Study>) -> Cow<'r, RunRecord> {
    let left = study.map_or(Vec::new(), |study| study.not_begun(record));
    if left.is_empty() {
        return Cow::Borrowed(record);
    }
    let run = &record.run;
    let next = match run.is_resumable() {
        true => run.resume_command(run.selector()),
        false => String::new(),
    };
    let mut named = record.clone();
    named.run.skipped.extend(left.into_iter().map(|(step, targets)| Skipped {
        target: targets.join(" "),
        step: Some(step),
        why: SkipReason::Stopped,
        next: next.clone(),
    }));
    Cow::Owned(named)
}

/// A judged run with conclusions drawn from its measurements.
struct Presentation<'a> {
    context: &'a Context,
    judging: &'a JudgeOptions<'a>,
    of: Judged<'a>,
    status: u8,
    style: Style,
    study: Option<Study>,
    outlook: Option<Predictions>,
    /// Rounds of the plan, or those that conditioned the drives before it.
    rounds: Option<Rounds>,
}

impl<'a> Presentation<'a> {
    fn new(
        context: &'a Context,
        judging: &'a JudgeOptions<'a>,
        of: Judged<'a>,
        status: u8,
    ) -> Self {
        let run = &of.record.run;
        let style = terminal::style(context, judging.table);
        let study = Study::of(run);
        let outlook = study.as_ref().and_then(|study| study.outlook(of.record));
        let conditioned = study.as_ref().and_then(|study| study.preparation.as_ref()?.rounds());
        let rounds = run.rounds.as_ref().map(|plan| plan.rounds.clone()).or(conditioned);
        Self { context, judging, of, status, style, study, outlook, rounds }
    }

    fn document(&self) -> Result<String> {
        let (record, assessment) = (self.of.record, self.of.assessment);
        let mut document = run_document(record, assessment, self.status);
        document.outlook = self.outlook.clone();
        if record.run.kind.is_of_drives() {
            document.earlier_headroom = headroom::stored(self.context, record);
        }
        document.rounds = self.rounds.as_ref().map(|rounds| TargetRounds::of(rounds, record));
        Ok(json_text(&document)?)
    }

    fn summary(&self) -> Result<String> {
        let (context, record, style) = (self.context, self.of.record, &self.style);
        let is_of_drives = record.run.kind.is_of_drives();
        if self.judging.table.is_of_drives(is_of_drives) {
            return self.text();
        }
        if is_explain_run(record)
            && let Some(answer) = explain::shown(context, record, self.judging, style)
        {
            return Ok(answer);
        }
        let screen = |body: Body<'_>| {
            run_screen(record, self.of.assessment, self.status, body, self.judging.run, style)
        };
        if is_of_drives {
            return Ok(screen(Body::Drives(&first_few(headroom::lines(context, record)))));
        }
        if let Some(profile) = record.run.profile() {
            return Ok(screen(Body::Fit(&profile)));
        }
        if let Some(rounds) = &self.rounds {
            return Ok(screen(Body::Rounds(rounds)));
        }
        Ok(screen(Body::Rows {
            planned: &self.study.as_ref().map_or(Vec::new(), in_order),
            outlook: self.outlook.as_ref(),
            follows: &first_few(self.conclusions()),
        }))
    }

    fn text(&self) -> Result<String> {
        let (record, assessment, style) = (self.of.record, self.of.assessment, &self.style);
        // Runs without a host (fio's output) show only their jobs.
        if record.host().is_none() {
            let jobs = jobs_text(record, assessment, style);
            return Ok(format!("{}\n{jobs}", run_heading(record, style)));
        }
        let whole = match self.outlook.as_ref().is_some_and(|of| !of.headroom.is_empty()) {
            true => run_text_in_rows(record, assessment, self.status, style),
            false => run_text(record, assessment, self.status, style),
        };
        let mut parts = vec![whole?];
        let own = self.study.as_ref().and_then(Study::report_plan);
        if let Some(plan) = record.run.rounds.as_ref().or(own.as_ref()) {
            let prepared = prepared(self.context, record)?;
            parts.push(pts_text(record, plan, &prepared, style));
        }
        if let Some(rounds) = &self.rounds {
            parts.push(rounds_text(record, rounds, style));
        } else {
            let outlook = self.outlook.as_ref();
            parts.extend(outlook.map(|of| predictions_text(of, style)));
            parts.extend(outlook.map(|of| headroom_text(&of.headroom, style)));
            parts.push(replay_text(record, style));
            let mut lines = self.conclusions();
            if record.run.kind.is_of_drives() {
                lines.extend(headroom::lines(self.context, record));
            }
            parts.push(lines.iter().map(|line| sentence(line, style)).collect());
        }
        parts.retain(|part| !part.is_empty());
        Ok(parts.join("\n"))
    }

    /// Conclusions, one line each: knees, scaling over drives, effect of other block sizes.
    fn conclusions(&self) -> Vec<String> {
        let (record, assessment) = (self.of.record, self.of.assessment);
        let scaling = self.study.as_ref().and_then(|study| study.scaling.as_ref());
        let mut all = self.outlook.as_ref().map_or(Vec::new(), knees);
        all.extend(scaling.map_or(Vec::new(), |of| scaling_words(record, assessment, of)));
        all.extend(BlocksEffect::all(record).iter().map(blocks_effect_words));
        all
    }
}

/// Points of a study, in the order of its axes.
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
fn first_few(mut lines: Vec<String>) -> Vec<String> {
    const MAX: usize = 4;
    if let Some(more) = lines.len().checked_sub(MAX).filter(|more| *more > 0) {
        lines.truncate(MAX);
        lines.push(format!("and {more} more (-v)"));
    }
    lines
}

/// State of the run's drives when it began, from the store.
pub(crate) fn prepared(context: &Context, record: &RunRecord) -> Result<Vec<DriveState>> {
    let mut states = Vec::new();
    // A run measured elsewhere can be shown without a store.
    let Ok(store) = context.store_to_read() else { return Ok(states) };
    let namespaces = record.run.targets.iter().filter_map(|name| record.host()?.namespace(name));
    for (drive, namespace) in namespaces {
        if let (Some(serial), Some(nsid)) = (drive.serial.get(), namespace.nsid.get()) {
            states.extend(store.drive_state_at(serial, *nsid, record.run.started_ns)?);
        }
    }
    Ok(states)
}
