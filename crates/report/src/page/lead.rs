//! Top of a run's section: verdict, attention list, a row for each drive of a check, and the one
//! figure that shows it.

use iodyno_figure::{
    Axis, Content, Figure, Form, Kind, Metric as Drawn, Panel, Point, Quantity, Request, Scale,
    Series, Source, figure, suggested,
};
use iodyno_judge::limiter::is_explain_run;
use iodyno_model::{
    Assessment, JudgedMeasurement, Metric, RunRecord, Severity, Validity, Verdict, add_missing,
};

use super::data::FigureView;
use super::measurement::{drawn as drawn_of, invalid, invalid_counts};
use super::table::{Cell, Table};
use crate::paged::PageRun;
use crate::text::attention::entries;
use crate::text::drives::short_name;
use crate::text::findings::severity_label;
use crate::text::glance_table::{expectation, glance};
use crate::text::ink::Ink;
use crate::text::measurements::step_name;
use crate::text::rows::{caveats, clause as clause_of_rows};
use crate::text::screen::{clause, warnings};
use crate::text::words::clean;
use crate::text::{fit, headroom, rounds, verdict_words};

/// Maximum number of drives in the figure; the slowest are shown.
const MOST_DRIVES: usize = 12;

/// Finding that needs attention, for the template.
#[derive(Debug)]
pub(super) struct AttentionView {
    pub(super) mark: Cell,
    pub(super) what: String,
    /// Advice; may be empty.
    pub(super) next: String,
}

/// Returns the overall verdict and its text; `None` for imported results, whose machine is unknown,
/// and for a run of `explain`, which has an answer instead.
pub(super) fn verdict(run: &PageRun<'_>) -> Option<(Cell, String)> {
    let (record, assessment) = (run.judged.record, run.judged.assessment);
    record.host().filter(|_| !is_explain_run(record))?;
    let status = run.judged.exit_status(false);
    let (verdict, words) = verdict_words(&record.run, assessment, status as u8);
    let mut mark = Cell::verdict(verdict);
    let mut clauses = vec![words];
    if let Some(profile) = record.run.profile() {
        clauses = vec![fit::clause(record, assessment, &profile)];
    } else if !record.run.kind.is_of_drives() {
        let (mut label, mut clause) = clause_of_rows(record, assessment, run.planned);
        let of_plan = record.run.rounds.as_ref().map(|plan| &plan.rounds);
        if let Some(asked) = of_plan.or(run.conditioned) {
            (label, clause) = rounds::clause(record, asked, label, clause);
        } else if let Some(outlook) = run.outlook.filter(|of| !of.headroom.is_empty()) {
            clause = headroom::clause(&outlook.headroom);
        }
        mark = Cell::mark(label.0, label.1);
        clauses = vec![clause];
        clauses.extend(warnings(&entries(record, assessment)));
    } else if status as u8 <= 1 {
        let glance = glance(record, assessment);
        let entries = entries(record, assessment);
        clauses = vec![clause(record, &entries, verdict, &glance)];
        clauses.extend(glance.uncompared.iter().map(|[result, _]| result.clone()));
        clauses.extend(warnings(&entries));
    }
    Some((mark, clauses.join(", ")))
}

/// Returns failures and warnings, one for each cause, and why jobs and points are not valid.
pub(super) fn attention(record: &RunRecord, assessment: &Assessment) -> Vec<AttentionView> {
    let view = |one: crate::text::attention::Entry<'_>| AttentionView {
        mark: Cell::mark(severity_label(one.severity), Ink::of_severity(one.severity)),
        what: clean(&one.what),
        next: clean(one.next),
    };
    let mut all: Vec<_> = entries(record, assessment).into_iter().map(view).collect();
    // The tables of drives and bounds show validity with their verdicts.
    let kind = record.run.kind;
    if !kind.is_of_drives() && !is_explain_run(record) && record.run.profile().is_none() {
        let invalid = caveats(record, assessment, |of| of.validity == Validity::Invalid);
        all.extend(invalid.into_iter().map(|(_, what)| AttentionView {
            mark: Cell::mark(severity_label(Severity::Warn), Ink::Doubt),
            what,
            next: String::new(),
        }));
    }
    all
}

/// Builds a row for each drive of a check, or for each bound of an application.
pub(super) fn glance_table(record: &RunRecord, assessment: &Assessment) -> Option<Table> {
    if let Some(profile) = record.run.profile() {
        let (columns, rows) = fit::cells(record, assessment, &profile);
        return Some(Table::of_grid(&columns, rows));
    }
    let of = record.run.kind.is_of_drives().then(|| glance(record, assessment))?;
    let (mut columns, mut rows) = of.cells();
    // The verdict comes second, where a phone still shows it.
    columns[1..].rotate_right(1);
    rows.iter_mut().for_each(|row| row[1..].rotate_right(1));
    of.says_something().then(|| Table::of_grid(&columns, rows))
}

/// Returns the figure that illustrates the verdict, with the number of measurements that are not
/// valid: measured over expected for each drive, else the figure that suits the measurements.
pub(super) fn lead(run: &PageRun<'_>) -> Option<(Kind, FigureView)> {
    let (record, assessment) = (run.judged.record, run.judged.assessment);
    let drawn = ratio_figure(record, assessment).or_else(|| {
        let sources = [Source { outlook: run.outlook, ..Source::new("", record) }];
        let judged = invalid(&[run.judged]);
        let of = |kind, metric| {
            let request = Request { metric, judged: judged.clone(), ..Request::new(kind) };
            figure(&request, &sources).ok()
        };
        let headroom = run.outlook.map_or(&[][..], |outlook| &outlook.headroom);
        if !headroom.is_empty() {
            let headroom = headroom.to_vec();
            return figure(&Request { headroom, ..Request::new(Kind::Headroom) }, &sources).ok();
        }
        match record.measurements.is_empty() {
            true => of(Kind::Topology, None),
            false if is_explain_run(record) => of(Kind::Compare, Some(Drawn::Iops)),
            false => of(suggested(&[], &sources), None).or_else(|| of(Kind::Compare, None)),
        }
    })?;
    // Shares include only valid measurements.
    let marks = match drawn.kind {
        Kind::Ratio => Vec::new(),
        kind => invalid_counts(&drawn_of(kind, &[run.judged], |_| true)),
    };
    Some((drawn.kind, FigureView::new(&drawn, marks)))
}

/// Draws measured over expected for each target measured alone; inverted for latencies, so that
/// more is better.
fn ratio_figure(record: &RunRecord, assessment: &Assessment) -> Option<Figure> {
    let mut found: Vec<(&str, String, Point)> = Vec::new();
    let (mut bases, mut alone): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut has_latencies = false;
    for (at, of) in record.measurements.iter().enumerate() {
        let ([target], Some(judged)) = (of.targets.as_slice(), assessment.of(at)) else { continue };
        add_missing(&mut alone, [short_name(target)]);
        let Some((metric, point, basis)) = ratio_point(judged) else { continue };
        has_latencies |= metric == Metric::LatencyMean;
        found.push((short_name(target), step_name(record.run.kind, &of.name), point));
        add_missing(&mut bases, [basis]);
    }
    let mut drives: Vec<(&str, f64)> = Vec::new();
    for (drive, _, point) in &found {
        match drives.iter_mut().find(|(known, _)| known == drive) {
            Some((_, least)) => *least = least.min(point.x),
            None => drives.push((drive, point.x)),
        }
    }
    let all = drives.len();
    alone.retain(|name| drives.iter().all(|(known, _)| known != name));
    let mut least: Vec<f64> = drives.iter().map(|(_, least)| *least).collect();
    least.sort_by(f64::total_cmp);
    if let Some(most) = least.get(MOST_DRIVES - 1) {
        drives.retain(|(_, least)| least <= most);
        drives.truncate(MOST_DRIVES);
    }
    let mut series: Vec<Series> = Vec::new();
    for (drive, name, point) in found {
        let Some(row) = drives.iter().position(|(known, _)| *known == drive) else { continue };
        let point = Point { y: row as f64, ..point };
        match series.iter_mut().find(|one| one.name == name) {
            Some(one) => one.points.push(point),
            None => series.push(Series {
                name,
                detail: String::new(),
                form: Form::Bars,
                points: vec![point],
            }),
        }
    }
    if series.is_empty() {
        return None;
    }
    series.push(Series {
        name: "expected".into(),
        detail: String::new(),
        form: Form::Guide,
        points: vec![Point::new(1.0, 0.0)],
    });
    let mut notes = Vec::new();
    if has_latencies {
        notes.push("Latencies are expected over measured, so that longer is better.".to_owned());
    }
    if !alone.is_empty() {
        notes.push(format!("Not compared: {}.", clean(&alone.join(", "))));
    }
    let axis = |quantity, scale| Axis { name: String::new(), quantity, scale, end: None };
    let names = drives.iter().map(|(name, _)| clean(name)).collect();
    let panel = Panel {
        title: String::new(),
        x: Axis {
            name: format!("Of the {}", bases.join(" or ")),
            ..axis(Quantity::Share, Scale::Linear)
        },
        y: axis(Quantity::Count, Scale::Categories(names)),
        content: Content::Series(series),
    };
    Some(Figure {
        kind: Kind::Ratio,
        title: "Measured over expected, by drive".into(),
        subtitle: match all > MOST_DRIVES {
            true => format!("the {MOST_DRIVES} slowest of {all}"),
            false => String::new(),
        },
        panels: vec![panel],
        notes,
    })
}

/// Returns the first compared metric of a valid measurement, it as a share of its yardstick, and the
/// yardstick's name.
fn ratio_point(judged: &JudgedMeasurement) -> Option<(Metric, Point, &'static str)> {
    if judged.validity == Validity::Invalid {
        return None;
    }
    let of = judged.metrics.iter().find(|of| of.verdict != Verdict::Unjudged)?;
    let (expected, basis) = expectation(of)?;
    let share = |value: f64| match of.metric {
        Metric::LatencyMean => expected / value,
        _ => value / expected,
    };
    let ends = of.estimate.known_bounds().map(|(low, high)| (share(low), share(high)));
    let point = Point {
        interval: ends.map(|(a, b)| (a.min(b), a.max(b))).filter(|(low, _)| *low > 0.0),
        ..Point::new(share(of.estimate.value), 0.0)
    };
    point.x.is_finite().then_some((of.metric, point, basis.name()))
}
