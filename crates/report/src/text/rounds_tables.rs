//! Tables of rounds, for text and page.

use std::ops::RangeInclusive;

use iodyno_judge::{Convergence, Track, total_figure};
use iodyno_model::{Histogram, Measurement, Metric, Rounds, distinct, format_count};

use super::Style;
use super::figure::stated;
use super::grid::{GridCell, GridColumn, grid};
use super::rounds_matrix::matrices;
use super::rounds_recovery::recovery;
use super::words::clean;
use crate::percentiles::percentiles;

/// Percentile required by the specification.
const FIVE_NINES: f64 = 99.999;

/// Table with a heading.
pub(crate) struct RoundsTable {
    /// Heading; may be empty.
    pub(crate) heading: String,
    pub(crate) columns: Vec<GridColumn<'static>>,
    /// A cell per column.
    pub(crate) rows: Vec<Vec<GridCell>>,
}

impl RoundsTable {
    /// Renders the table with its heading.
    pub(super) fn text(&self, style: &Style) -> String {
        let table = grid(&self.columns, &self.rows, style, style.wide).text;
        match self.heading.is_empty() {
            true => table,
            false => format!("{}\n{table}", self.heading),
        }
    }
}

/// Tables of the measurement window: averages by two dimensions, averages of all points, and
/// recovery by pauses.
pub(crate) fn over_window(
    asked: &Rounds,
    found: &Convergence,
    all: &[&Measurement],
) -> Vec<RoundsTable> {
    let mut tables = matrices(asked, found, all);
    tables.extend(averages(asked, found, all));
    tables.extend(recovery(asked, found, all));
    tables
}

/// A line per round with the tracked figures.
pub(crate) fn convergence(asked: &Rounds, found: &Convergence) -> RoundsTable {
    let heading =
        |track: &Track| format!("{} {}", clean(&track.tracked.point), name(&track.tracked.metric));
    let tracked = found.tracks.iter().map(|track| GridColumn::new(heading(track), 0, true));
    let columns = [GridColumn::new("ROUND", 0, true)]
        .into_iter()
        .chain(tracked)
        .chain([GridColumn::new("", 0, false)]);
    let window = found.window(asked);
    let row = |round: u32| {
        let value = |track: &Track| {
            let value = track.values.get(round as usize - 1).copied().flatten();
            value.map_or("-".into(), |value| stated(track.tracked.metric, value))
        };
        let in_window = window.as_ref().is_some_and(|window| window.contains(&round));
        let mut cells = vec![GridCell::plain(round.to_string())];
        cells.extend(found.tracks.iter().map(|track| GridCell::plain(value(track))));
        cells.push(GridCell::plain(if in_window { "window".into() } else { String::new() }));
        cells
    };
    RoundsTable {
        heading: String::new(),
        columns: columns.collect(),
        rows: (1..=found.rounds()).map(row).collect(),
    }
}

/// Each point's averages over the window, with its longest latency overall; `None`: no window.
fn averages(asked: &Rounds, found: &Convergence, all: &[&Measurement]) -> Option<RoundsTable> {
    let window = found.window(asked)?;
    let within: Vec<&&Measurement> =
        all.iter().filter(|of| of.round.is_some_and(|round| window.contains(&round))).collect();
    let rows = distinct(within.iter().map(|of| of.name.as_str()))
        .iter()
        .map(|name| {
            let of: Vec<&Measurement> =
                within.iter().filter(|of| of.name == *name).map(|of| **of).collect();
            let mean = |metric| mean(metric, &of).filter(|_| of.len() == window.clone().count());
            let [five_nines, longest] = slowest(&of);
            [
                clean(name),
                cell(Metric::Iops, mean(Metric::Iops)),
                mean(Metric::Bandwidth).map_or("-".into(), |mean| stated(Metric::Bandwidth, mean)),
                cell(Metric::LatencyMean, mean(Metric::LatencyMean)),
                five_nines,
                longest,
            ]
            .map(GridCell::plain)
            .into()
        })
        .collect();
    let columns = [
        GridColumn::new("POINT", 0, false),
        GridColumn::new("IOPS", 0, true),
        GridColumn::new("BANDWIDTH", 1, true),
        GridColumn::new("MEAN LATENCY", 2, true),
        GridColumn::new("P99.999", 4, true),
        GridColumn::new("LONGEST", 3, true),
    ];
    Some(RoundsTable {
        heading: format!("Averages over {}", of_window(found, &window)),
        columns: columns.into(),
        rows,
    })
}

/// Rounds of the window, and whether it is not in steady state.
pub(super) fn of_window(found: &Convergence, window: &RangeInclusive<u32>) -> String {
    let doubt = if found.steady_in.is_some() { "" } else { ", NOT IN STEADY STATE" };
    format!("rounds {} to {}{doubt}", window.start(), window.end())
}

/// Mean of a metric over measurements; `None` if one of them lacks it.
pub(super) fn mean(metric: Metric, of: &[&Measurement]) -> Option<f64> {
    let values: Option<Vec<f64>> = of.iter().map(|of| total_figure(metric, of)).collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// The percentile required by the specification and the longest latency over all I/Os.
pub(super) fn slowest(of: &[&Measurement]) -> [String; 2] {
    let mut latency = Histogram::default();
    for result in of.iter().flat_map(|of| &of.total) {
        latency.merge(&result.latency);
    }
    let five_nines = percentiles(&latency, &[FIVE_NINES]).first().map(|one| one.value_ns);
    [five_nines, latency.max_ns()].map(|ns| cell(Metric::LatencyMean, ns.map(|ns| ns as f64)))
}

/// Figure in a table whose heading names the metric.
pub(super) fn cell(metric: Metric, value: Option<f64>) -> String {
    match (metric, value) {
        (_, None) => "-".into(),
        (Metric::Iops, Some(iops)) => format_count(iops),
        (_, Some(value)) => stated(metric, value),
    }
}

pub(crate) const fn name(metric: &Metric) -> &'static str {
    match metric {
        Metric::Bandwidth => "bandwidth",
        Metric::Iops => "IOPS",
        Metric::LatencyMean => "mean latency",
    }
}
