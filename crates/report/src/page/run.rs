//! Section of a run: its facts, findings and measurements.

use std::collections::BTreeMap;

use iodyno_figure::{Figure, Kind, Request, Source, figure, figures_of_run};
use iodyno_judge::limiter::is_explain_run;
use iodyno_judge::{ClaimBook, Index};
use iodyno_model::{
    BlockDevice, Bytes, Fact, Finding, Host, Origin, Predictions, Run, RunKind, RunRecord,
    shell_word,
};

use super::data::FigureView;
use super::explained::ExplainedView;
use super::lead::{self, AttentionView};
use super::measurement::{MeasurementView, drawn, invalid, invalid_counts};
use super::replay::ReplayView;
use super::room::Room;
use super::rounds::RoundsView;
use super::summary;
use super::table::{Cell, Table};
use crate::document::{FitDocument, FitSetting};
use crate::paged::PageRun;
use crate::text::drives::{NO_SYSFS, drives};
use crate::text::findings::{evidence, headline, missing, outcomes, severity_label};
use crate::text::host::{counted, machine, storage};
use crate::text::ink::Ink;
use crate::text::measurements::step_name;
use crate::text::outlook::{knees, predictions, tried_out};
use crate::text::runs::{origin, started, state, took};
use crate::text::words::clean;
use crate::{Judged, layers};

/// Run, for the template.
#[derive(Debug)]
pub(super) struct RunView {
    /// Element id.
    pub(super) id: String,
    pub(super) title: String,
    /// Heading level.
    pub(super) level: u8,
    /// Overall verdict and its text; none for imported fio output.
    pub(super) verdict: Option<(Cell, String)>,
    /// Host, start and duration, in a line.
    pub(super) about: String,
    /// Failures and warnings, one for each cause.
    pub(super) attention: Vec<AttentionView>,
    /// Figure that illustrates the verdict.
    pub(super) lead: Option<FigureView>,
    /// A row for each drive of a check, or for each bound of an application.
    pub(super) glance: Option<Table>,
    /// Recommended settings of an application: (where to put them, lines, reason).
    pub(super) settings: Vec<(String, String, String)>,
    /// Parts of the section: (suffix of the id, title).
    pub(super) contents: Vec<(&'static str, &'static str)>,
    /// True if measurements and figures are the subject of the run, not only evidence.
    pub(super) unfolded: bool,
    /// Facts of the run: (name, value).
    pub(super) facts: Vec<(&'static str, String)>,
    /// Answers of `iodyno explain`.
    pub(super) explained: Vec<ExplainedView>,
    /// Drives, or what stands in for them.
    pub(super) drives: Option<Table>,
    pub(super) drives_note: &'static str,
    /// Findings, worst first.
    pub(super) findings: Vec<FindingView>,
    /// Outcomes of the rules.
    pub(super) outcomes: String,
    /// Information that rules lack: (rules, missing information).
    pub(super) missing: Vec<(String, String)>,
    /// Machine: (name, value).
    pub(super) host: Vec<(&'static str, String)>,
    /// Block devices and their settings.
    pub(super) blocks: Option<Table>,
    /// Storage topology of the machine.
    pub(super) topology: Option<FigureView>,
    /// Results of a replayed trace.
    pub(super) replay: Option<ReplayView>,
    /// Results of a plan in rounds.
    pub(super) rounds: Option<RoundsView>,
    /// Predicted points, and a note on them.
    pub(super) predicted: Option<(Table, String)>,
    /// Knees of curves, a sentence each.
    pub(super) knees: Vec<String>,
    /// All measurements, in one line each.
    pub(super) summary: Option<Table>,
    /// Figures that combine several measurements.
    pub(super) figures: Vec<FigureView>,
    pub(super) measurements: Vec<MeasurementView>,
    /// Number of measurements and figures not shown; empty if none.
    pub(super) left_out: String,
    /// Requested but not measured: (what, why, command to type).
    pub(super) skipped: Vec<(String, String, String)>,
    /// Unreadable parts of its files.
    pub(super) unread: Vec<String>,
    /// Plan, as TOML.
    pub(super) plan: String,
}

/// Finding, for the template.
#[derive(Debug)]
pub(super) struct FindingView {
    pub(super) mark: Cell,
    pub(super) what: String,
    /// Evidence: (what, value).
    pub(super) evidence: Vec<(String, String)>,
    pub(super) why: String,
    pub(super) next: String,
    pub(super) rule: String,
}

/// Returns the run's name; without one, its host and start.
pub(super) fn title(record: &RunRecord) -> String {
    let run = &record.run;
    if !run.name.is_empty() {
        return clean(&run.name);
    }
    let host = record.host().and_then(|host| host.hostname.value());
    let started = format!("{} UTC", started(run));
    clean(&host.map_or_else(|| started.clone(), |host| format!("{host}, {started}")))
}

/// Returns the element id of the run of this number, from 1.
pub(super) fn id(number: usize) -> String {
    format!("run-{number}")
}

impl RunView {
    pub(super) fn new(
        run: &PageRun<'_>,
        title: &str,
        (number, level): (usize, u8),
        claims: &ClaimBook,
        room: &mut Room,
    ) -> Self {
        let PageRun { judged, unread, .. } = *run;
        let Judged { record, assessment } = judged;
        let host = record.host();
        let table = host.map(|host| drives(host, Some((record, assessment)), None));
        let table = table.filter(|table| !table.rows.is_empty());
        let element = |n: usize| format!("run-{number}-{}", n + 1);
        let mut rounds = RoundsView::new(run);
        let lead = match &mut rounds {
            // The first figure of rounds is the convergence to steady state.
            Some(rounds) if !rounds.figures.is_empty() => Some((None, rounds.figures.remove(0))),
            _ => lead::lead(run).map(|(kind, view)| (Some(kind), view)),
        };
        let (lead_kind, lead) = lead.map_or((None, None), |(kind, view)| (kind, Some(view)));
        let count = record.measurements.len();
        let (details, lines) = (room.details(count), room.lines(count));
        let mut figures = figures_of_run(record, run.outlook, &invalid(&[judged]), details);
        // Figures of single rounds would be many and alike; the rounds section has their results.
        let in_rounds = |index: &usize| record.measurements[*index].round.is_some();
        figures.retain(|(_, of)| rounds.is_none() || !of.iter().any(in_rounds));
        let (mut several, mut alone) = (Vec::new(), BTreeMap::<usize, Vec<FigureView>>::new());
        let is_lead = |figure: &Figure, of: &[usize]| {
            Some(figure.kind) == lead_kind && (of.len() > 1 || count == 1)
        };
        figures.retain(|(figure, of)| !is_lead(figure, of));
        let made = figures.len();
        for (figure, of) in figures {
            let shown = drawn(figure.kind, &[judged], |n| of.len() > 1 && of.contains(&n));
            let Some(view) = room.figure(&figure, invalid_counts(&shown)) else { continue };
            match of[..] {
                [only] => alone.entry(only).or_default().push(view),
                _ => several.push(view),
            }
        }
        let shown = several.len() + alone.values().map(Vec::len).sum::<usize>();
        // Sweeps with more points than one figure can show have several figures.
        let lead = lead.or_else(|| (!several.is_empty()).then(|| several.remove(0)));
        let by_key = Index::of(record);
        let views = run.in_order(details).into_iter().map(|n| {
            let figures = alone.remove(&n).unwrap_or_default();
            let of = &record.measurements[n];
            MeasurementView::new(&by_key, of, assessment.of(n), element(n), figures)
        });
        let glance = lead::glance_table(record, assessment);
        let mut view = Self {
            id: id(number),
            title: title.into(),
            level,
            verdict: lead::verdict(run),
            about: about(record),
            attention: lead::attention(record, assessment),
            lead,
            contents: Vec::new(),
            unfolded: glance.is_none() && !is_explain_run(record),
            glance,
            settings: FitDocument::of(record, assessment).map_or_else(Vec::new, settings),
            facts: facts(record),
            explained: ExplainedView::all(record, claims),
            drives: table.map(|table| Table::of_grid(&table.headings, table.rows)),
            drives_note: match host {
                Some(host) if host.no_sysfs => NO_SYSFS,
                Some(host) if host.drives.is_empty() => "No NVMe drive on this machine.",
                _ => "",
            },
            findings: assessment.findings.iter().map(finding).collect(),
            outcomes: rules(&outcomes(assessment), assessment.rules.len()),
            missing: missing(assessment)
                .into_iter()
                .map(|(missing, rules)| (rules.join(", "), missing))
                .collect(),
            host: host.map_or_else(Vec::new, host_facts),
            blocks: host.and_then(blocks),
            topology: topology(record),
            summary: (!record.measurements.is_empty()).then(|| {
                summary::measurements(record, assessment, &run.in_order(lines), details, element)
            }),
            left_out: left_out(record, details, lines, made - shown),
            measurements: views.collect(),
            figures: several,
            replay: ReplayView::new(record, room),
            rounds,
            predicted: run.outlook.filter(|of| !of.predictions.is_empty()).map(predicted),
            knees: run.outlook.map(knees).unwrap_or_default(),
            skipped: record.run.skipped.iter().map(|one| skipped(record.run.kind, one)).collect(),
            unread: unread.iter().map(|line| clean(line)).collect(),
            plan: record.run.plan.lines().map(clean).collect::<Vec<_>>().join("\n"),
        };
        // Advice that stands above is not repeated.
        for finding in &mut view.findings {
            if view.attention.iter().any(|of| of.next == finding.next) {
                finding.next.clear();
            }
        }
        view.contents = view.parts();
        view
    }

    /// Lists the parts with their titles.
    fn parts(&self) -> Vec<(&'static str, &'static str)> {
        let findings = !self.findings.is_empty() || !self.outcomes.is_empty();
        let parts = [
            (!self.skipped.is_empty(), "skipped", "Not measured"),
            (self.replay.is_some(), "replay", "Recorded and replayed"),
            (self.rounds.is_some(), "rounds", "Rounds"),
            (findings, "findings", "Findings and their evidence"),
            (self.has_experiments(), "experiments", "Bounds, experiments and suspects"),
            (!self.figures.is_empty(), "figures", "Figures"),
            (self.summary.is_some(), "measurements", "Measurements"),
            (self.drives.is_some(), "drives", "Drives"),
            (!self.host.is_empty(), "host", "Host"),
            (true, "run", "Run and plan"),
        ];
        let there = parts.into_iter().filter(|(is_there, ..)| *is_there);
        there.map(|(_, part, title)| (part, title)).collect()
    }

    /// True if an explanation has more than a sentence.
    pub(super) fn has_experiments(&self) -> bool {
        self.explained.iter().any(|of| !of.tables.is_empty())
    }
}

/// Returns `db17 · 2026-11-22 20:42 UTC · 74 s · iodyno check`, without host and start where these
/// are its [`title`].
fn about(record: &RunRecord) -> String {
    let known = facts(record).into_iter();
    let all = ["host", "started", "took", "command", "origin", "state"];
    let Run { name, origin, .. } = &record.run;
    // Imported files may be called by their own names.
    let in_title = name.is_empty() && !matches!(origin, Origin::Imported(_));
    let shown = if in_title { &all[2..] } else { &all };
    let shown = known.filter(|(what, _)| shown.contains(what));
    shown.map(|(_, value)| value).collect::<Vec<_>>().join(" · ")
}

/// Describes what was left out for lack of room.
fn left_out(record: &RunRecord, details: usize, lines: usize, figures: usize) -> String {
    let count = record.measurements.len();
    let mut parts = Vec::new();
    if lines < count {
        parts.push(format!("{lines} of {count} measurements in the table"));
    }
    if details < count {
        parts.push(format!("{details} of {count} with their details"));
    }
    if figures > 0 {
        parts.push(format!("all but {}", counted(figures, "figure")));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!(
            "This page shows {}. For all: iodyno show {}",
            parts.join(", "),
            clean(&shell_word(&record.run.id))
        ),
    }
}

fn settings(of: FitDocument) -> Vec<(String, String, String)> {
    let lines = |text: String| text.lines().map(clean).collect::<Vec<_>>().join("\n");
    let one = |one: FitSetting| {
        let why =
            [&one.why].into_iter().chain(&one.doubts).map(|line| clean(line)).collect::<Vec<_>>();
        (clean(&one.apply), lines(one.text.unwrap_or_default()), why.join(" "))
    };
    of.settings.into_iter().map(one).collect()
}

fn predicted(outlook: &Predictions) -> (Table, String) {
    let (columns, rows) = predictions(outlook);
    (Table::of_grid(&columns, rows), tried_out(outlook))
}

fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let run = &record.run;
    let host = record.host().and_then(|host| host.hostname.value());
    let by = if matches!(run.origin, Origin::Imported(_)) { "read by" } else { "written by" };
    let known = [
        ("host", host.unwrap_or_default()),
        (if record.is_undated() { "read on" } else { "started" }, format!("{} UTC", started(run))),
        ("took", took(run)),
        ("command", run.command.clone()),
        ("targets", run.targets.join(", ")),
        ("origin", origin(run).unwrap_or_default()),
        ("state", state(run).unwrap_or_default()),
        ("run", run.id.clone()),
        (by, format!("iodyno {}", run.writer)),
    ];
    let known = known.into_iter().map(|(what, value)| (what, clean(&value)));
    known.filter(|(_, value)| !value.is_empty()).collect()
}

fn finding(of: &Finding) -> FindingView {
    FindingView {
        mark: Cell::mark(severity_label(of.severity), Ink::of_severity(of.severity)),
        what: headline(of),
        evidence: evidence(of),
        why: clean(&of.why),
        next: clean(&of.next),
        rule: clean(&of.rule),
    }
}

fn rules(outcomes: &[String], count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!("{}: {}", counted(count, "rule"), outcomes.join(" · ")),
    }
}

/// Describes the machine as needed to repeat the measurements.
fn host_facts(host: &Host) -> Vec<(&'static str, String)> {
    let mut lines = machine(host);
    lines.extend(storage(host).into_iter().map(|text| ("Storage", text)));
    let settings = [
        ("Kernel command line", host.kernel.command_line.value()),
        ("CPU governor", host.cpus.governor.value()),
    ];
    lines.extend(settings.into_iter().filter_map(|(what, value)| Some((what, value?))));
    lines.into_iter().map(|(what, value)| (what, clean(&value))).collect()
}

fn topology(record: &RunRecord) -> Option<FigureView> {
    let known = record.host().is_some_and(|host| !host.blocks.is_empty());
    let asked = Request::new(Kind::Topology);
    let made = known.then(|| figure(&asked, &[Source::new("", record)]))?.ok()?;
    Some(FigureView::new(&made, Vec::new()))
}

/// Builds the table of block devices, with the settings that affect measurements.
fn blocks(host: &Host) -> Option<Table> {
    fn known<T>(fact: &Fact<T>, text: impl Fn(&T) -> String) -> Cell {
        Cell::text(fact.get().map(|value| clean(&text(value))).unwrap_or_default())
    }
    // True for loop devices and others without capacity.
    let is_empty = |block: &BlockDevice| block.size.get() == Some(&Bytes(0));
    let row = |block: &BlockDevice| {
        let queue = &block.queue;
        vec![
            Cell::text(clean(&block.name)),
            Cell::text(clean(&layers::kind(&block.kind))),
            known(&block.size, |bytes| bytes.decimal()),
            Cell::text(clean(&block.stands_on.join(", "))),
            Cell::text(clean(&layers::uses_of(host, &[block]).join(", "))),
            known(&queue.scheduler, Clone::clone),
            known(&queue.nr_requests, u32::to_string),
            known(&queue.hardware_queues, u32::to_string),
            known(&queue.logical_block_bytes, u32::to_string),
            known(&queue.write_cache, Clone::clone),
        ]
    };
    let columns = [
        "block device",
        "kind",
        ">size",
        "stands on",
        "used by",
        "scheduler",
        ">nr_requests",
        ">queues",
        ">block",
        "write cache",
    ];
    let rows: Vec<Vec<Cell>> =
        host.blocks.iter().filter(|block| !is_empty(block)).map(row).collect();
    (!rows.is_empty()).then(|| Table::of(&columns, rows).without_empty(1))
}

fn skipped(kind: RunKind, of: &iodyno_model::Skipped) -> (String, String, String) {
    let what = match &of.step {
        Some(step) => format!("{}, {}", clean(&of.target), step_name(kind, step)),
        None => clean(&of.target),
    };
    (what, clean(&of.why.to_string()), clean(&of.next))
}
