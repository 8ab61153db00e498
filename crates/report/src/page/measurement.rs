//! Section of a measurement: figures, yardsticks and conditions.

use std::collections::BTreeSet;

use iodyno_figure::Kind;
use iodyno_judge::Index;
use iodyno_model::{
    Bytes, DirectionResult, JudgedMeasurement, Measurement, Metric, Validity, format_count,
};

use super::conditions::conditions;
use super::data::FigureView;
use super::latency;
use super::table::{Cell, Table};
use crate::Judged;
use crate::text::figure::{self, measured};
use crate::text::ink::Ink;
use crate::text::jobs::{self, besides};
use crate::text::measurements::{default_metric, judgement_items, notes, parts, step_name, title};
use crate::text::words::clean;

/// Measurement, for the template.
#[derive(Debug)]
pub(super) struct MeasurementView {
    /// Element id.
    pub(super) id: String,
    /// Name.
    pub(super) title: String,
    /// Workload and targets, in a few words.
    pub(super) io: String,
    /// Validity, and failure.
    pub(super) marks: Vec<Cell>,
    /// Error; empty if it did not fail.
    pub(super) failure: String,
    /// Rates by direction.
    pub(super) rates: Option<Table>,
    /// Latencies by direction.
    pub(super) latencies: Option<Table>,
    /// Verdicts: mark, figure and yardstick.
    pub(super) verdicts: Vec<(Cell, String)>,
    /// Caveats, a sentence each.
    pub(super) notes: Vec<String>,
    /// Share of each target.
    pub(super) parts: String,
    /// Conditions, and other statistics of its jobs.
    pub(super) conditions: Vec<(String, String)>,
    /// Figures of this measurement only.
    pub(super) figures: Vec<FigureView>,
}

impl MeasurementView {
    pub(super) fn new(
        record: &Index<'_>,
        of: &Measurement,
        judged: Option<&JudgedMeasurement>,
        id: String,
        figures: Vec<FigureView>,
    ) -> Self {
        let metrics = judged.map_or(&[][..], |judged| &judged.metrics);
        let metric = metrics.first().map_or(default_metric(of), |first| first.metric);
        let several = of.targets.len() > 1;
        let mut conditions = conditions(of);
        let besides = besides(of).into_iter().filter(|(_, words)| !words.is_empty());
        conditions.extend(besides.map(|(what, words)| (what.to_string(), words.join(" · "))));
        Self {
            id,
            title: step_name(record.run.kind, &of.name),
            io: io_on(of),
            marks: marks(of, judged),
            failure: of.failure().map(clean).unwrap_or_default(),
            rates: (!of.total.is_empty()).then(|| rates(&of.total)),
            latencies: latency::table(&of.total),
            verdicts: metrics
                .iter()
                .filter(|_| of.failure().is_none())
                .map(|one| (Cell::verdict(one.verdict), judgement_items(one).join(" · ")))
                .collect(),
            notes: notes(of, judged, &[]),
            parts: if several { parts(record, of, metric).join(" · ") } else { String::new() },
            conditions,
            figures,
        }
    }
}

/// Returns FAILED if it failed, then its validity.
pub(super) fn marks(of: &Measurement, judged: Option<&JudgedMeasurement>) -> Vec<Cell> {
    let failed = of.failure().map(|_| Cell::mark("FAILED", Ink::Bad));
    failed.into_iter().chain(judged.map(|judged| Cell::validity(judged.validity))).collect()
}

/// Formats IOPS for a column of them.
pub(super) fn iops(result: &DirectionResult) -> Cell {
    Cell::estimate(result.iops, figure::iops)
}

/// Describes the workload: `randread · 4 KiB · depth 16 · io_uring`.
pub(super) fn io(of: &Measurement) -> String {
    jobs::io(&of.workload).join(" · ")
}

/// Describes workload and targets: `randread · 4 KiB · depth 16 · io_uring on nvme0n1`.
pub(super) fn io_on(of: &Measurement) -> String {
    let words = [io(of), if of.targets.is_empty() { String::new() } else { title(of) }];
    words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" on ")
}

/// Counts the invalid and the qualified ones among measurements shown together, with the rules
/// responsible.
pub(super) fn invalid_counts(of: &[&JudgedMeasurement]) -> Vec<(Cell, String)> {
    let those = |validity: Validity| {
        let those: Vec<_> = of.iter().filter(|judged| judged.validity == validity).collect();
        let rules: BTreeSet<&str> = those
            .iter()
            .flat_map(|judged| judged.decisive())
            .map(|reason| reason.rule.as_str())
            .collect();
        let rules = clean(&rules.into_iter().collect::<Vec<_>>().join(", "));
        let words = format!("{} of {} measurements ({rules})", those.len(), of.len());
        (!those.is_empty()).then(|| (Cell::validity(validity), words))
    };
    [Validity::Invalid, Validity::Qualified].into_iter().filter_map(those).collect()
}

/// Judgements of the invalid measurements of these runs, for their figures; the reasons stand beside
/// these, see [`invalid_counts`].
pub(super) fn invalid(runs: &[Judged<'_>]) -> Vec<iodyno_figure::Judged> {
    let of_run = |(source, run): (usize, &Judged<'_>)| {
        let all = run.assessment.measurements.iter();
        let invalid = all.filter(|judged| judged.validity == Validity::Invalid);
        let drawn = invalid.map(move |judged| iodyno_figure::Judged {
            source,
            measurement: judged.measurement,
            validity: judged.validity,
            reservations: Vec::new(),
            ceilings: Vec::new(),
        });
        drawn.collect::<Vec<_>>()
    };
    runs.iter().enumerate().flat_map(of_run).collect()
}

/// Judgements of the measurements of these runs that a figure of this kind draws, of those
/// `of` interest.
pub(super) fn drawn<'a>(
    kind: Kind,
    runs: &[Judged<'a>],
    of: impl Fn(usize) -> bool,
) -> Vec<&'a JudgedMeasurement> {
    let mut all: Vec<&JudgedMeasurement> = Vec::new();
    for run in runs {
        let measured = |judged: &&JudgedMeasurement| {
            let measurement = run.record.measurements.get(judged.measurement);
            measurement.is_some_and(|one| one.failure().is_none()) && of(judged.measurement)
        };
        all.extend(run.assessment.measurements.iter().filter(measured));
    }
    let is_valid = |judged: &&JudgedMeasurement| judged.validity != Validity::Invalid;
    if kind.leaves_out_invalid() && all.iter().any(is_valid) {
        all.retain(is_valid);
    }
    all
}

fn rates(results: &[DirectionResult]) -> Table {
    let columns = ["rate", ">IOPS", ">bandwidth", ">I/Os", ">data", ">errors", ">short", "steady"];
    let row = |result: &DirectionResult| {
        let count = |of: Option<u64>| Cell::text(of.map(number).unwrap_or_default());
        let errors = match result.errors {
            Some(errors) if errors > 0 => Cell { class: "bad", ..count(Some(errors)) },
            errors => count(errors),
        };
        let bandwidth = |rate: &_| measured(Metric::Bandwidth, rate);
        vec![
            Cell::text(result.direction.name()),
            iops(result),
            Cell::estimate(result.bandwidth, bandwidth),
            count(result.ios),
            Cell::text(result.bytes.map(|bytes| Bytes(bytes).binary()).unwrap_or_default()),
            errors,
            count(result.short_ios.filter(|short| *short > 0)),
            Cell::text(result.steady.map_or("", |steady| if steady { "yes" } else { "no" })),
        ]
    };
    Table::of(&columns, results.iter().map(row).collect()).without_empty(1)
}

fn number(count: u64) -> String {
    format_count(count as f64)
}
