//! Aggregate rate against the number of targets.

use std::collections::BTreeSet;

use crate::figure::{Axis, Figure, Form, Panel, Point, Scale, Series};
use crate::naming::{by_name, common, names};
use crate::observation::{Observation, observations, points, whisker_notes};
use crate::{FigureError, Metric, Quantity, Request, Source};

/// Guides end at this multiple of the highest value.
const BEYOND: f64 = 2.0;

/// Name of the line of proportional rates.
const IDEAL: &str = "ideal";

/// Different numbers of targets, of those that are known.
pub(super) fn counts(all: &[Observation<'_>]) -> Vec<usize> {
    let counts = all.iter().map(|one| one.measurement.targets.len()).filter(|count| *count > 0);
    counts.collect::<BTreeSet<_>>().into_iter().collect()
}

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    shown.retain(|one| !one.measurement.targets.is_empty());
    let drives = |count: usize| count as f64;
    let counts = counts(&shown);
    if counts.len() < 2 {
        return Err(FigureError::Nothing(
            "measurements of different numbers of targets are needed, such as one drive alone \
             and all at once"
                .into(),
        ));
    }
    let metrics = request.metric.map_or(vec![Metric::Bandwidth, Metric::Iops], |one| vec![one]);
    let named = by_name(&shown, &names(&shown, request, &["target"]));
    let mut panels = Vec::new();
    for metric in metrics {
        let mut series = Vec::new();
        for (name, group) in &named {
            let points = points(metric, group, |one| Some(drives(one.measurement.targets.len())));
            // Latencies do not add up, and a single count has nothing to compare with the ideal.
            let adds_up = metric.quantity() != Quantity::Latency && points.len() > 1;
            series.extend(points.first().filter(|_| adds_up).cloned().map(|first| {
                let ideal =
                    |count: &usize| Point::new(drives(*count), first.y / first.x * drives(*count));
                let points = counts.iter().map(ideal).filter(|point| point.x >= first.x);
                Series::new(IDEAL, Form::Guide, points.collect())
            }));
            if !points.is_empty() {
                series.push(Series::new(name, Form::Marked, points));
            }
        }
        if series.is_empty() {
            continue;
        }
        let ceiling = counts.iter().filter_map(|count| {
            let here = shown.iter().filter(|one| one.measurement.targets.len() == *count);
            let judged = here.filter_map(|one| one.judged(request));
            let known = judged.flat_map(|judged| &judged.ceilings).filter(|(of, _)| *of == metric);
            let lowest =
                known.map(|(_, bound)| *bound).filter(|b| b.is_finite()).reduce(f64::min)?;
            Some(Point::new(drives(*count), lowest))
        });
        let ceiling: Vec<Point> = ceiling.collect();
        // A distant ceiling would squeeze the values.
        let measured = series.iter().filter(|one| one.form != Form::Guide);
        let most = measured.flat_map(|one| &one.points).map(|point| point.y).fold(0.0, f64::max);
        if ceiling.iter().any(|point| point.y <= BEYOND * most) {
            series.push(Series::new("ceiling", Form::Guide, ceiling));
        }
        for one in &mut series {
            one.points = cut(&one.points, BEYOND * most);
        }
        series.retain(|one| !one.points.is_empty());
        let x = Axis::new("Targets", Quantity::Count, Scale::Linear);
        panels.push(Panel::of_series(x, Axis::of_metric(metric), series));
    }
    if panels.is_empty() {
        return Err(super::unknown_metric(request));
    }
    let mut notes = whisker_notes(&panels);
    if panels.iter().flat_map(Panel::series).any(|one| one.name == IDEAL) {
        notes.push("Ideal: rate of the fewest targets, scaled by their number.".into());
    }
    let subtitle = common(&shown);
    Ok(Figure { kind: request.kind, title: String::new(), subtitle, panels, notes })
}

/// Cuts a line at `most`.
fn cut(points: &[Point], most: f64) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for point in points {
        match kept.last() {
            _ if point.y <= most => kept.push(point.clone()),
            Some(last) => {
                let part = (most - last.y) / (point.y - last.y);
                kept.push(Point::new(last.x + part * (point.x - last.x), most));
                break;
            }
            None => break,
        }
    }
    kept
}
