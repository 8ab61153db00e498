//! Compares runs workload by workload, as values or as ratios to the first run.

use std::cmp::Ordering;

use iodyno_model::distinct;

use crate::figure::{Axis, Figure, Form, MOST_SERIES, Panel, Point, Scale, Series};
use crate::naming::{common, names, shared_names, workloads};
use crate::observation::{Observation, observations, point_of, table_notes, whisker_notes};
use crate::predicted::{predicted_points, predictions};
use crate::request::number;
use crate::{FigureError, Kind, Metric, Quantity, Request, Source};

/// Maximum number of bars in one panel.
const MOST_BARS: usize = 200;

/// Default metrics.
const METRICS: [Metric; 4] =
    [Metric::Iops, Metric::Bandwidth, Metric::Mean, Metric::Percentile(99.0)];

/// Default metrics of ratios.
const OVER_FIRST: [Metric; 2] = [Metric::Iops, Metric::Mean];

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    let measured = shown.clone();
    let (predicted, note) = predictions(request, sources);
    shown.extend(predicted);
    let table = Table::of(request, &shown);
    if table.rows.len() * table.columns.len() > MOST_BARS {
        let (count, name) = (table.rows.len(), &shown[0].measurement.name);
        return Err(FigureError::TooMany {
            what: format!("{count} workloads, such as name={name}"),
        });
    }
    let is_table = table.rows.len() > MOST_SERIES && table.columns.len() > MOST_SERIES;
    let over = (request.kind == Kind::Ratio).then(|| table.columns[0].as_str());
    if over.is_some() && table.columns.len() < 2 {
        let why = "ratios to the first run need several runs";
        return Err(FigureError::Nothing(why.into()));
    }
    let usual = if over.is_some() { OVER_FIRST.to_vec() } else { METRICS.to_vec() };
    let metrics = request.metric.map_or(usual, |one| vec![one]);
    let panels: Vec<Panel> =
        metrics.iter().filter_map(|metric| table.panel(*metric, over)).collect();
    if panels.is_empty() {
        return Err(super::unknown_metric(request));
    }
    let mut notes = match is_table {
        true => table_notes(&measured, &[], &[]),
        false => whisker_notes(&panels),
    };
    let has_whiskers = !notes.is_empty();
    notes.extend(note.filter(|_| metrics.contains(&Metric::Iops)));
    notes.extend(
        over.filter(|_| !is_table && has_whiskers)
            .map(|first| format!("Error bars are per run; those of {first} are at {first}.")),
    );
    Ok(Figure { kind: request.kind, title: String::new(), subtitle: common(&shown), panels, notes })
}

/// Observations by workload and series.
struct Table<'a> {
    /// Observations with their row and column.
    cells: Vec<(Observation<'a>, String, String)>,
    /// Workloads, in the order of the runs or of their grid.
    rows: Vec<String>,
    /// Series: runs, or values of the requested option.
    columns: Vec<String>,
}

impl<'a> Table<'a> {
    fn of(request: &Request, shown: &[Observation<'a>]) -> Self {
        let (categories, series) = match &request.series {
            Some(option) => (workloads(shown, &[option.as_str()]), names(shown, request, &[])),
            None => (
                shared_names(shown).unwrap_or_else(|| workloads(shown, &[])),
                shown.iter().map(|one| one.label.to_owned()).collect(),
            ),
        };
        let rows = sort_grid(distinct(categories.clone()));
        let columns = distinct(series.clone());
        let named = shown.iter().zip(categories.into_iter().zip(series));
        let cells = named.map(|(one, (row, column))| (*one, row, column)).collect();
        Self { cells, rows, columns }
    }

    /// Bars of one metric, relative to the series `over`; `None` if no observation has it.
    fn panel(&self, metric: Metric, over: Option<&str>) -> Option<Panel> {
        let mut series: Vec<Series> =
            self.columns.iter().map(|column| self.bars(metric, column)).collect();
        let (mut name, mut quantity) = (metric.name(), metric.quantity());
        if let Some(first) = over {
            (name, quantity) = (format!("{name} over {first}"), Quantity::Ratio);
            over_first(&mut series, first);
        }
        let (x, y) =
            (Axis::new(name, quantity, Scale::Linear), Axis::of_categories("", self.rows.clone()));
        let is_known = series.iter().any(|one| !one.points.is_empty());
        is_known.then(|| Panel::of_series(x, y, series))
    }

    fn bars(&self, metric: Metric, column: &str) -> Series {
        let bar = |(y, row): (usize, &String)| self.bar(metric, y as f64, row, column);
        let points = self.rows.iter().enumerate().filter_map(bar).collect();
        Series::new(column, Form::Bars, points)
    }

    /// The measured value, or else the predicted one.
    fn bar(&self, metric: Metric, y: f64, row: &str, column: &str) -> Option<Point> {
        let all = self.cells.iter().filter(|(_, of, by)| of == row && by == column);
        let here: Vec<Observation<'_>> = all.map(|(one, ..)| *one).collect();
        let predicted = || predicted_points(metric, &here, |_| Some(y)).pop();
        let upright = point_of(metric, &here, y).or_else(predicted)?;
        Some(Point { x: upright.y, y, ..upright })
    }
}

/// Sorts points of a grid, such as `bs=4k iodepth=1`, by value: a sweep measures its corners first.
/// Values that are no numbers stay in order; workloads with other names do, too.
fn sort_grid(rows: Vec<String>) -> Vec<String> {
    let split = |row: &String| -> Option<(Vec<String>, Vec<String>)> {
        let pairs = row.split(' ').map(|word| word.split_once('='));
        pairs.map(|pair| pair.map(|(option, value)| (option.into(), value.into()))).collect()
    };
    let points: Option<Vec<_>> = rows.iter().map(split).collect();
    let Some(points) = points.filter(|all| all.iter().all(|(options, _)| *options == all[0].0))
    else {
        return rows;
    };
    let place = |at: usize, value: &String| {
        let first = || points.iter().position(|(_, values)| values[at] == *value);
        number(value).or_else(|| Some(first()? as f64))
    };
    let places = |(_, values): &(_, Vec<String>)| -> Vec<Option<f64>> {
        values.iter().enumerate().map(|(at, value)| place(at, value)).collect()
    };
    let mut placed: Vec<_> = points.iter().map(places).zip(rows).collect();
    placed.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    placed.into_iter().map(|(_, row)| row).collect()
}

/// Divides each bar by that of the `first` series; drops bars without a counterpart there.
fn over_first(series: &mut Vec<Series>, first: &str) {
    let known = series.iter().find(|one| one.name == first);
    let bases: Vec<(f64, f64)> =
        known.iter().flat_map(|one| &one.points).map(|point| (point.y, point.x)).collect();
    for one in &mut *series {
        one.points.retain_mut(|point| {
            let base = bases.iter().find(|(row, base)| *row == point.y && *base > 0.0);
            if let Some((_, base)) = base {
                point.x /= base;
                point.interval = point.interval.map(|(low, high)| (low / base, high / base));
            }
            base.is_some()
        });
    }
    if series.iter().any(|one| !one.points.is_empty()) {
        series.push(Series::new(format!("as {first}"), Form::Guide, vec![Point::new(1.0, 0.0)]));
    }
}
