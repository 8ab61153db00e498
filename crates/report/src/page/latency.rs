//! Latency table of a measurement.

use iodyno_model::{DirectionResult, Estimate, LatencyKind, Metric, format_count};

use super::table::{Cell, Table};
use crate::percentiles::percentiles_of_kind;
use crate::text::figure::{estimated, percentile_value};

/// Percentiles with a column, if known.
const SHOWN: [f64; 7] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

/// Builds a row for each known direction and kind of latency; `None` if there are none.
pub(super) fn table(results: &[DirectionResult]) -> Option<Table> {
    let mut columns = vec!["latency".to_string(), ">I/Os".into(), ">min".into(), ">mean".into()];
    columns.extend(SHOWN.iter().map(|percent| format!(">p{percent}")));
    columns.extend([">max".to_string(), ">st. dev.".into()]);
    let mut rows = Vec::new();
    for result in results {
        let kinds = [LatencyKind::Total, LatencyKind::Completion, LatencyKind::Submission];
        rows.extend(kinds.into_iter().filter_map(|kind| row(result, kind)));
    }
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    (!rows.is_empty()).then(|| Table::of(&names, rows).without_empty(1))
}

fn row(result: &DirectionResult, kind: LatencyKind) -> Option<Vec<Cell>> {
    let stated = result.stated.as_ref().map(|stated| stated.of(kind));
    let bins = result.bins(kind);
    let mean = result.mean_of(kind);
    let max = result.max_of(kind);
    let percentile = |percent: f64| percentile(result, kind, percent);
    if mean.is_none() && max.is_none() && SHOWN.iter().all(|p| percentile(*p).text == "-") {
        return None;
    }
    let binned = |ns: Option<f64>| ns.map(Estimate::bare);
    let min = binned(bins.and_then(|bins| bins.min_ns()).map(|ns| ns as f64));
    let deviation = binned(bins.and_then(|bins| bins.stdev_ns()));
    let name = match kind {
        LatencyKind::Total => result.direction.name().to_string(),
        kind => format!("{} {}", result.direction.name(), kind.fio_name()),
    };
    let mut row = vec![Cell { class: "whole", ..Cell::text(name) }];
    row.push(Cell::text(bins.map_or_else(String::new, |bins| format_count(bins.count() as f64))));
    row.push(duration(min.or_else(|| stated?.min_ns)));
    row.push(duration(mean));
    row.extend(SHOWN.iter().map(|percent| percentile(*percent)));
    row.push(duration(max));
    row.push(duration(deviation.or_else(|| stated?.stdev_ns)));
    Some(row)
}

/// Returns the percentile with its interval: from the bins if enough I/Os are beyond it, or as
/// stated by a report if there are no bins.
pub(super) fn percentile(result: &DirectionResult, kind: LatencyKind, percent: f64) -> Cell {
    if result.bins(kind).is_some() {
        let known = percentiles_of_kind(result, kind, &[percent]);
        let Some(known) = known.first() else { return Cell::text("") };
        let hint = if known.is_open { "± ?: too few slow I/Os for an interval." } else { "" };
        return Cell { hint, ..Cell::text(percentile_value(known)) };
    }
    duration(result.percentile_of(kind, percent))
}

/// Formats a duration with its interval, if any.
pub(super) fn duration(of: Option<Estimate>) -> Cell {
    Cell::estimate(of, |ns| estimated(Metric::LatencyMean, ns))
}
