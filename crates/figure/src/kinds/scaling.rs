//! Aggregate rate against the number of drives.

use crate::figure::{Axis, Figure, Form, Panel, Point, Scale, Series};
use crate::naming::{by_name, common, names};
use crate::observation::{observations, points, whisker_notes};
use crate::{FigureError, Metric, Quantity, Request, Source};

/// Guides end at this multiple of the highest value.
const BEYOND: f64 = 2.0;

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    shown.retain(|one| !one.measurement.targets.is_empty());
    let drives = |count: usize| count as f64;
    let mut counts: Vec<usize> = shown.iter().map(|one| one.measurement.targets.len()).collect();
    counts.sort_unstable();
    counts.dedup();
    if counts.len() < 2 {
        return Err(FigureError::Nothing(
            "measurements over different numbers of drives are needed, such as one drive alone \
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
            // Latencies do not add up.
            let adds_up = metric.quantity() != Quantity::Latency;
            series.extend(points.first().filter(|_| adds_up).cloned().map(|first| {
                let ideal =
                    |count: &usize| Point::new(drives(*count), first.y / first.x * drives(*count));
                let points = counts.iter().map(ideal).filter(|point| point.x >= first.x);
                Series::new("ideal", Form::Guide, points.collect())
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
        let x = Axis::new("Drives", Quantity::Count, Scale::Linear);
        panels.push(Panel::of_series(x, Axis::of_metric(metric), series));
    }
    if panels.is_empty() {
        return Err(super::unknown_metric(request));
    }
    let mut notes = whisker_notes(&panels);
    notes.push("Ideal: rate of the fewest drives, scaled by drive count.".into());
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
