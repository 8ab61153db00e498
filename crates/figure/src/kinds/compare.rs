//! Runs side by side, workload by workload.

use crate::figure::{Axis, Content, Figure, Form, Panel, Point, Scale, Series};
use crate::naming::{common, names, workloads};
use crate::observation::{Observation, observations, value_of, whisker_notes};
use crate::predicted::{predicted_points, predictions};
use crate::{FigureError, Metric, Quantity, Request, Source};

/// Bars of one panel that a picture has room for.
const MOST_BARS: usize = 200;

/// What is compared unasked.
const METRICS: [Metric; 4] =
    [Metric::Iops, Metric::Bandwidth, Metric::Mean, Metric::Percentile(99.0)];

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    let mut notes = whisker_notes(&shown, &[], &[]);
    let (predicted, note) = predictions(request, sources);
    shown.extend(predicted);
    // A series is a run, or what has one value of the option that is asked for.
    let (categories, series) = match &request.series {
        Some(option) => (workloads(&shown, &[option.as_str()]), names(&shown, request, &[])),
        None => (workloads(&shown, &[]), shown.iter().map(|one| one.label.to_owned()).collect()),
    };
    let (rows, columns) = (in_order(&categories), in_order(&series));
    if rows.len() * columns.len() > MOST_BARS {
        return Err(FigureError::TooMany { what: format!("{} workloads", rows.len()) });
    }
    let at = |row: &String, column: &String| -> Vec<Observation<'_>> {
        let all = shown.iter().zip(categories.iter().zip(&series));
        all.filter(|(_, (a, b))| *a == row && *b == column).map(|(one, _)| *one).collect()
    };
    let metrics = request.metric.map_or(METRICS.to_vec(), |one| vec![one]);
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
        let series: Vec<Series> = columns.iter().filter_map(bars).collect();
        if !series.is_empty() {
            panels.push(Panel {
                title: String::new(),
                x: Axis {
                    name: metric.name(),
                    quantity: metric.quantity(),
                    scale: Scale::Linear,
                    end: None,
                },
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
    Ok(Figure { kind: request.kind, title: String::new(), subtitle: common(&shown), panels, notes })
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
