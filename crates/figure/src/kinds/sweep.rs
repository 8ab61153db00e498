//! Rates and latencies against block size or queue depth.

use iodyno_model::Knee;

use crate::figure::{Axis, Figure, Form, MOST_SERIES, Panel, Point, Scale, Series};
use crate::naming::{by_name, common, names};
use crate::observation::{
    Observation, observations, places, points, sort, table_notes, whisker_notes,
};
use crate::predicted::{predicted_points, predictions};
use crate::{FigureError, Metric, Quantity, Request, Source};

/// IOPS and bandwidth against block size.
pub(super) fn blocksize(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    let (predicted, note) = predictions(request, sources);
    shown.extend(predicted);
    sort(&mut shown);
    keep_numbers(&mut shown, "bs")?;
    let metrics = request.metric.map_or(vec![Metric::Iops, Metric::Bandwidth], |one| vec![one]);
    let named = by_name(&shown, &names(&shown, request, &["bs"]));
    let mut panels = Vec::new();
    for metric in metrics {
        let lines = |(name, group): &(String, Vec<Observation<'_>>)| {
            let x = |one: &Observation<'_>| one.number("bs");
            [line(name, points(metric, group, x)), predicted_series(name, metric, group, x)]
        };
        let series: Vec<Series> = named.iter().flat_map(lines).flatten().collect();
        let y = Axis::of_metric(metric);
        panels.extend(panel(ticked("Block size", Quantity::Size, &series), y, series));
    }
    let mut notes = notes_of(named.len(), &panels, &shown, "bs");
    notes.extend(note.filter(|_| request.metric.is_none_or(|one| one == Metric::Iops)));
    finished(request, &shown, panels, notes)
}

/// Throughput and latency against queue depth, and against each other; against the number of jobs
/// if only that varies.
pub(super) fn depth(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    let (predicted, note) = predictions(request, sources);
    shown.extend(predicted);
    sort(&mut shown);
    let swept = |option| places(&shown, |one| one.place(option)).len() > 1;
    let (option, name) = match swept("numjobs") && !swept("iodepth") {
        true => ("numjobs", "Jobs"),
        false => ("iodepth", "Queue depth"),
    };
    keep_numbers(&mut shown, option)?;
    let (rate, latency) = match request.metric {
        Some(Metric::Bandwidth) => (Metric::Bandwidth, Metric::Mean),
        Some(Metric::Iops) | None => (Metric::Iops, Metric::Mean),
        Some(latency) => (Metric::Iops, latency),
    };
    let named = by_name(&shown, &names(&shown, request, &[option]));
    let (mut rates, mut latencies, mut tradeoffs) = (Vec::new(), Vec::new(), Vec::new());
    for (series_name, group) in &named {
        let against = |metric| points(metric, group, |one| one.place(option));
        let mut of_rate = against(rate);
        if of_rate.len() < 2 && rate == Metric::Iops && option == "iodepth" {
            of_rate = searched(group).unwrap_or(of_rate);
        }
        let of_latency = against(latency);
        let depth = group.iter().find(|one| is_knee(one, sources)).and_then(|at| at.place(option));
        let both = tradeoff(option, &of_rate, &of_latency);
        for (panel, points) in
            [(&mut rates, of_rate), (&mut latencies, of_latency), (&mut tradeoffs, both)]
        {
            let marked = depth.and_then(|depth| highlight(series_name, option, depth, &points));
            panel.extend(line(series_name, points));
            panel.extend(marked);
        }
        rates.extend(predicted_series(series_name, rate, group, |one| one.place(option)));
    }
    if latencies.is_empty() && request.metric == Some(latency) {
        return Err(super::unknown_metric(request));
    }
    let x = |series: &[Series]| ticked(name, Quantity::Count, series);
    let latency_axis = |series: &[Series]| {
        Axis::new(latency.name(), Quantity::Latency, super::latency_scale(series))
    };
    let rate_axis = || Axis::of_metric(rate);
    let mut panels = Vec::new();
    panels.extend(panel(x(&rates), rate_axis(), rates));
    panels.extend(panel(x(&latencies), latency_axis(&latencies), latencies));
    panels.extend(panel(rate_axis(), latency_axis(&tradeoffs), tradeoffs));
    let mut notes = notes_of(named.len(), &panels, &shown, option);
    notes.extend(note.filter(|_| rate == Metric::Iops));
    if option == "iodepth" && shown.iter().any(Observation::ignores_depth) {
        notes.push("Jobs of engines that wait for each I/O are at depth 1.".into());
    }
    finished(request, &shown, panels, notes)
}

/// Notes on whiskers or, for more series than a panel shows as lines, on repeated points.
fn notes_of(
    series: usize,
    panels: &[Panel],
    shown: &[Observation<'_>],
    option: &str,
) -> Vec<String> {
    match series > MOST_SERIES {
        true => table_notes(shown, &[option], &[option]),
        false => whisker_notes(panels),
    }
}

/// True for the point that the sweep's outlook names as the knee of its curve.
fn is_knee(of: &Observation<'_>, sources: &[Source<'_>]) -> bool {
    let (source, measurement) = of.place;
    let knees = sources[source].outlook.map_or(&[][..], |outlook| &outlook.knees);
    let is_named = |knee: &&Knee| {
        !knee.is_unclear && (knee.knee != knee.most || !(knee.is_first || knee.is_last))
    };
    of.predicted.is_none()
        && knees.iter().filter(is_named).any(|knee| knee.measurement == measurement)
}

/// Keeps the observations with a numeric value of the option.
fn keep_numbers(shown: &mut Vec<Observation<'_>>, option: &str) -> Result<(), FigureError> {
    shown.retain(|one| one.number(option).is_some());
    match shown.is_empty() {
        true => Err(FigureError::Nothing(format!("no measurement has an {option}"))),
        false => Ok(()),
    }
}

/// Axis with ticks at the measured values, by doublings.
fn ticked(name: &str, quantity: Quantity, series: &[Series]) -> Axis {
    let mut ticks: Vec<f64> =
        series.iter().flat_map(|one| one.points.iter().map(|point| point.x)).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    Axis::new(name, quantity, Scale::Doublings(ticks))
}

fn line(name: &str, points: Vec<Point>) -> Option<Series> {
    (!points.is_empty()).then(|| Series::new(name, Form::Marked, points))
}

/// Predicted points, next to the line of measured ones.
fn predicted_series(
    name: &str,
    metric: Metric,
    group: &[Observation<'_>],
    x_of: impl Fn(&Observation<'_>) -> Option<f64>,
) -> Option<Series> {
    let points = predicted_points(metric, group, x_of);
    (!points.is_empty()).then(|| Series {
        name: name.into(),
        detail: "predicted".into(),
        form: Form::Points,
        points,
    })
}

/// The highlighted point of a depth, found by its label if it has one.
fn highlight(name: &str, option: &str, depth: f64, points: &[Point]) -> Option<Series> {
    let label = at(option, depth);
    let is_at = |point: &&Point| match point.label.is_empty() {
        true => point.x == depth,
        false => point.label == label,
    };
    let point = points.iter().find(is_at)?;
    Some(Series {
        name: name.into(),
        detail: "knee".into(),
        form: Form::Highlight,
        points: vec![Point { label: format!("knee: {depth}"), ..Point::new(point.x, point.y) }],
    })
}

fn panel(x: Axis, y: Axis, series: Vec<Series>) -> Option<Panel> {
    (!series.is_empty()).then(|| Panel::of_series(x, y, series))
}

/// Depths tried by the search for a sufficient depth, with their IOPS.
fn searched(group: &[Observation<'_>]) -> Option<Vec<Point>> {
    let [one] = group else { return None };
    let mut tried = one.measurement.conditions.depths_tried.clone();
    tried.sort_by_key(|(depth, _)| *depth);
    tried.dedup_by_key(|(depth, _)| *depth);
    let points = tried.into_iter().map(|(depth, iops)| Point::new(f64::from(depth), iops));
    Some(points.filter(|point| point.y.is_finite()).collect()).filter(|all: &Vec<_>| all.len() > 1)
}

/// Latency against rate, paired by depth.
fn tradeoff(option: &str, rates: &[Point], latencies: &[Point]) -> Vec<Point> {
    let at = |rate: &Point| {
        let latency = latencies.iter().find(|latency| latency.x == rate.x)?;
        Some(Point { label: at(option, rate.x), ..Point::new(rate.y, latency.y) })
    };
    rates.iter().filter_map(at).collect()
}

fn at(option: &str, value: f64) -> String {
    format!("{option}={value}")
}

fn finished(
    request: &Request,
    shown: &[Observation<'_>],
    panels: Vec<Panel>,
    notes: Vec<String>,
) -> Result<Figure, FigureError> {
    if panels.is_empty() {
        return Err(super::unknown_metric(request));
    }
    let subtitle = common(shown);
    Ok(Figure { kind: request.kind, title: String::new(), subtitle, panels, notes })
}
