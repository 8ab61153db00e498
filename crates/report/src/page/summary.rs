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
        let mut lead = [
            match (step_name(record.run.kind, &of.name), n < details) {
                (name, true) => Cell::link(name, &id(n)),
                (name, false) => Cell::text(name),
            },
            match record.host() {
                Some(_) => verdict(judged),
                None => Cell::default(),
            },
            validity(of, judged),
            Cell { class: "words", ..Cell::text(if one_place { io(of) } else { io_on(of) }) },
        ];
        if of.total.is_empty() {
            rows.push([&lead[..], &vec![Cell::text(""); FIGURES]].concat());
        }
        for result in &of.total {
            rows.push([&lead[..], &figures(result, of.total.len() > 1)].concat());
            // The second direction is in the row below.
            lead = Default::default();
        }
        for total in totals.iter().filter(|total| total.members.last() == Some(&n)) {
            let mut lead: [Cell; 4] = Default::default();
            lead[0] = Cell::text(totals::title(total, record));
            for result in &total.total {
                rows.push([&lead[..], &figures(result, total.total.len() > 1)].concat());
                lead = Default::default();
            }
        }
    }
    let columns = [
        "measurement",
        "verdict",
        "validity",
        "I/O",
        "",
        ">IOPS",
        ">bandwidth",
        ">mean latency",
        ">p99",
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
    let p99 = result.known_percentile(99.0);
    let p99 = p99.map(|(kind, _)| of_kind(kind, percentile(result, kind, 99.0)));
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

/// Returns the worst verdict on the metrics; none for an invalid measurement, whose validity stands
/// beside it.
fn verdict(judged: Option<&JudgedMeasurement>) -> Cell {
    if judged.is_some_and(|judged| judged.validity == Validity::Invalid) {
        return Cell::text("");
    }
    let metrics = judged.map_or(&[][..], |judged| &judged.metrics);
    let worst = metrics.iter().map(|metric| metric.verdict).max();
    Cell::verdict(worst.unwrap_or(Verdict::Unjudged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_measurement_has_no_verdict() {
        let judged = |validity| JudgedMeasurement {
            measurement: 0,
            validity,
            reasons: Vec::new(),
            metrics: Vec::new(),
        };
        assert_eq!(verdict(Some(&judged(Validity::Invalid))).text, "-");
        assert_eq!(verdict(Some(&judged(Validity::Valid))).text, "UNJUDGED");
    }
}
