//! Summary table of a run's measurements.

use iodyno_model::{
    Assessment, DirectionResult, JudgedMeasurement, LatencyKind, Measurement, Metric, RunRecord,
    Validity, Verdict,
};

use super::latency::{duration, percentile};
use super::measurement::{self, io, io_on};
use super::table::{Cell, Table};
use crate::text::figure::estimated;
use crate::text::measurements::step_name;
use crate::text::totals;

/// Builds a row for each direction of these measurements and of totals of job groups. `id` returns
/// the element id of a measurement; only the first `details` have an element.
pub(super) fn measurements(
    record: &RunRecord,
    assessment: &Assessment,
    lines: &[usize],
    details: usize,
    id: impl Fn(usize) -> String,
) -> Table {
    // If all have the same targets, these are named above.
    let one_place = record.measurements.windows(2).all(|two| two[0].targets == two[1].targets);
    let mut rows = Vec::new();
    let totals = totals::totals_of(record);
    for &n in lines {
        let of = &record.measurements[n];
        let judged = assessment.of(n);
        let mut lead = vec![
            match (step_name(record.run.kind, &of.name), n < details) {
                (name, true) => Cell::link(name, &id(n)),
                (name, false) => Cell::text(name),
            },
            Cell { class: "words", ..Cell::text(if one_place { io(of) } else { io_on(of) }) },
        ];
        let verdict = match record.host() {
            Some(_) => verdict(judged),
            None => Cell::default(),
        };
        let tail = [validity(of, judged), verdict];
        if of.total.is_empty() {
            rows.push([&lead[..], &vec![Cell::text(""); FIGURES], &tail].concat());
        }
        for result in &of.total {
            rows.push([&lead[..], &figures(result, of.total.len() > 1), &tail].concat());
            // The second direction is in the row below.
            lead = vec![Cell::default(), Cell::default()];
        }
        for total in totals.iter().filter(|total| total.members.last() == Some(&n)) {
            let mut lead = vec![Cell::text(totals::title(total, record)), Cell::default()];
            for result in &total.total {
                let figures = figures(result, total.total.len() > 1);
                rows.push([&lead[..], &figures, &[Cell::default(), Cell::default()]].concat());
                lead = vec![Cell::default(), Cell::default()];
            }
        }
    }
    let columns = [
        "measurement",
        "I/O",
        "",
        ">IOPS",
        ">bandwidth",
        ">mean latency",
        ">p99",
        "validity",
        "verdict",
    ];
    Table::of(&columns, rows).without_empty(1)
}

/// Columns of a result.
const FIGURES: usize = 5;

/// Returns the direction, if there are several, and its results.
fn figures(result: &DirectionResult, of_several: bool) -> [Cell; FIGURES] {
    // Completion latencies are marked as such: the total is longer.
    let of_kind = |kind: LatencyKind, mut cell: Cell| {
        if kind != LatencyKind::Total {
            cell.text = format!("{} {}", kind.fio_name(), cell.text);
        }
        cell
    };
    let mean = result.mean_latency().map(|(kind, mean)| of_kind(kind, duration(Some(mean))));
    let p99 = result.percentile(99.0).map(|(kind, _)| (kind, percentile(result, kind, 99.0)));
    // With too few I/Os there is no percentile of any kind to name.
    let p99 = p99.filter(|(_, cell)| cell.text != "-").map(|(kind, cell)| of_kind(kind, cell));
    let direction = if of_several { result.direction.name().into() } else { String::new() };
    [
        Cell { text: direction, ..Cell::default() },
        measurement::iops(result),
        Cell::estimate(result.bandwidth, |rate| estimated(Metric::Bandwidth, rate)),
        mean.unwrap_or_else(|| Cell::text("")),
        p99.unwrap_or_else(|| Cell::text("")),
    ]
}

fn validity(of: &Measurement, judged: Option<&JudgedMeasurement>) -> Cell {
    measurement::marks(of, judged).into_iter().next().unwrap_or_else(|| Cell::text(""))
}

/// Returns the worst verdict on the metrics; none for an invalid measurement.
fn verdict(judged: Option<&JudgedMeasurement>) -> Cell {
    let worst = judged
        .filter(|judged| judged.validity != Validity::Invalid)
        .and_then(|judged| judged.metrics.iter().map(|metric| metric.verdict).max());
    Cell::verdict(worst.unwrap_or(Verdict::Unjudged))
}
