//! Runs side by side, workload by workload, as they are or over the first.

use crate::figure::{Axis, Content, Figure, Form, Panel, Point, Scale, Series};
use crate::naming::{common, names, shared_names, workloads};
use crate::observation::{Observation, observations, value_of, whisker_notes};
use crate::predicted::{predicted_points, predictions};
use crate::{FigureError, Kind, Metric, Quantity, Request, Source};

/// Bars of one panel that a picture has room for.
const MOST_BARS: usize = 200;

/// What is compared unasked.
const METRICS: [Metric; 4] =
    [Metric::Iops, Metric::Bandwidth, Metric::Mean, Metric::Percentile(99.0)];

/// What is held against the first unasked.
const OVER_FIRST: [Metric; 2] = [Metric::Iops, Metric::Mean];

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    let mut notes = whisker_notes(&shown, &[], &[]);
    let (predicted, note) = predictions(request, sources);
    shown.extend(predicted);
    // A series is a run, or what has one value of the option that is asked for.
    let (categories, series) = match &request.series {
        Some(option) => (workloads(&shown, &[option.as_str()]), names(&shown, request, &[])),
        None => (
            shared_names(&shown).unwrap_or_else(|| workloads(&shown, &[])),
            shown.iter().map(|one| one.label.to_owned()).collect(),
        ),
    };
    let (rows, columns) = (in_order(&categories), in_order(&series));
    if rows.len() * columns.len() > MOST_BARS {
        return Err(FigureError::TooMany { what: format!("{} workloads", rows.len()) });
    }
    let at = |row: &String, column: &String| -> Vec<Observation<'_>> {
        let all = shown.iter().zip(categories.iter().zip(&series));
        all.filter(|(_, (a, b))| *a == row && *b == column).map(|(one, _)| *one).collect()
    };
    let over = (request.kind == Kind::Ratio).then(|| columns[0].as_str());
    if over.is_some() && columns.len() < 2 {
        let why = "the others are held against the first: several are needed";
        return Err(FigureError::Nothing(why.into()));
    }
    let usual = if over.is_some() { OVER_FIRST.to_vec() } else { METRICS.to_vec() };
    let metrics = request.metric.map_or(usual, |one| vec![one]);
    notes.extend(note.filter(|_| metrics.contains(&Metric::Iops)));
    let mut panels = Vec::new();
    for metric in metrics {
        let bars = |column: &String| {
            let bar = |(y, row): (usize, &String)| {
                let (here, y) = (at(row, column), y as f64);
                let measured = value_of(metric, &here);
                let measured = measured.map(|(x, interval)| Point { interval, ..Point::new(x, y) });
                let predicted = || {
                    let one = predicted_points(metric, &here, |_| Some(y)).pop()?;
                    Some(Point { x: one.y, y: one.x, ..one })
                };
                measured.or_else(predicted)
            };
            let points: Vec<Point> = rows.iter().enumerate().filter_map(bar).collect();
            let detail = String::new();
            (!points.is_empty()).then(|| Series {
                name: column.clone(),
                detail,
                form: Form::Bars,
                points,
            })
        };
        let mut series: Vec<Series> = columns.iter().filter_map(bars).collect();
        let (mut name, mut quantity) = (metric.name(), metric.quantity());
        if let Some(first) = over {
            (name, quantity) = (format!("{name} over {first}"), Quantity::Ratio);
            over_first(&mut series, first);
        }
        if !series.is_empty() {
            panels.push(Panel {
                title: String::new(),
                x: Axis { name, quantity, scale: Scale::Linear, end: None },
                y: Axis {
                    name: String::new(),
                    quantity: Quantity::Count,
                    scale: Scale::Categories(rows.clone()),
                    end: None,
                },
                content: Content::Series(series),
            });
        }
    }
    if panels.is_empty() {
        return Err(super::unknown_metric(request));
    }
    notes.extend(
        over.map(|first| format!("Whiskers are each one's own: those of {first} are at {first}.")),
    );
    Ok(Figure { kind: request.kind, title: String::new(), subtitle: common(&shown), panels, notes })
}

/// Makes each bar how many times that of the `first` series it is; what that
/// has no bar for is left out.
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
    series.retain(|one| !one.points.is_empty());
    if !series.is_empty() {
        series.push(Series {
            name: format!("as {first}"),
            detail: String::new(),
            form: Form::Guide,
            points: vec![Point::new(1.0, 0.0)],
        });
    }
}

fn in_order(names: &[String]) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        if !distinct.contains(name) {
            distinct.push(name.clone());
        }
    }
    distinct
}
