//! Against block size, and against queue depth.

use crate::figure::{Axis, Content, Figure, Form, Panel, Point, Scale, Series};
use crate::knee::knee;
use crate::observation::{
    Observation, by_name, common, names, observations, points, whisker_notes,
};
use crate::{FigureError, Metric, Quantity, Request, Source};

/// IOPS and bandwidth against block size.
pub(super) fn blocksize(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let shown = with_number(request, sources, "bs", "block size")?;
    let metrics = request.metric.map_or(vec![Metric::Iops, Metric::Bandwidth], |one| vec![one]);
    let named = by_name(&shown, &names(&shown, request, &["bs"]));
    let mut panels = Vec::new();
    for metric in metrics {
        let points = |group: &[Observation<'_>]| points(metric, group, |one| one.number("bs"));
        let series: Vec<Series> =
            named.iter().filter_map(|(name, group)| line(name, points(group))).collect();
        let y = axis(&metric.name(), metric.quantity(), Scale::Linear);
        panels.extend(panel(ticked("Block size", Quantity::Size, &series), y, series));
    }
    finished(request, &shown, panels, whisker_notes(&shown, &["bs"], &["bs"]))
}

/// Throughput and latency against queue depth, and against each other.
pub(super) fn depth(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let shown = with_number(request, sources, "iodepth", "queue depth")?;
    let (rate, latency) = match request.metric {
        Some(Metric::Bandwidth) => (Metric::Bandwidth, Metric::Mean),
        Some(Metric::Iops) | None => (Metric::Iops, Metric::Mean),
        Some(latency) => (Metric::Iops, latency),
    };
    let named = by_name(&shown, &names(&shown, request, &["iodepth"]));
    let (mut rates, mut latencies, mut tradeoffs) = (Vec::new(), Vec::new(), Vec::new());
    let mut notes = whisker_notes(&shown, &["iodepth"], &["iodepth"]);
    for (name, group) in &named {
        let against = |metric| points(metric, group, |one| one.number("iodepth"));
        let mut of_rate = against(rate);
        if of_rate.len() < 2 && rate == Metric::Iops {
            of_rate = searched(group).unwrap_or(of_rate);
        }
        let of_latency = against(latency);
        let knee = knee(&of_rate.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>());
        let depth = knee.map(|at| of_rate[at].x);
        let both = tradeoff(&of_rate, &of_latency);
        for (panel, points) in
            [(&mut rates, of_rate), (&mut latencies, of_latency), (&mut tradeoffs, both)]
        {
            let label = depth.map(at_depth);
            let at =
                |point: &&Point| Some(point.x) == depth || label.as_ref() == Some(&point.label);
            let marked = points.iter().find(at).cloned();
            panel.extend(line(name, points));
            panel.extend(marked.zip(depth).map(|(point, depth)| {
                let label = format!("knee: {depth}");
                let points = vec![Point { label, interval: None, ..point }];
                Series { name: name.clone(), detail: "knee".into(), form: Form::Highlight, points }
            }));
        }
    }
    if rates.iter().any(|one| one.form == Form::Highlight) {
        notes.push(
            "Knee: the depth at which throughput is highest above its chord (Kneedle).".into(),
        );
    }
    let x = |series: &[Series]| ticked("Queue depth", Quantity::Count, series);
    let latency_axis =
        |series: &[Series]| axis(&latency.name(), Quantity::Latency, super::latency_scale(series));
    let rate_axis = || axis(&rate.name(), rate.quantity(), Scale::Linear);
    let mut panels = Vec::new();
    panels.extend(panel(x(&rates), rate_axis(), rates));
    panels.extend(panel(x(&latencies), latency_axis(&latencies), latencies));
    panels.extend(panel(rate_axis(), latency_axis(&tradeoffs), tradeoffs));
    finished(request, &shown, panels, notes)
}

/// What the request admits and has the option, which is a number.
fn with_number<'a>(
    request: &Request,
    sources: &[Source<'a>],
    option: &str,
    name: &str,
) -> Result<Vec<Observation<'a>>, FigureError> {
    let mut shown = observations(request, sources)?;
    shown.retain(|one| one.number(option).is_some());
    if shown.is_empty() {
        return Err(FigureError::Nothing(format!("no measurement says its {name} ({option})")));
    }
    Ok(shown)
}

fn axis(name: &str, quantity: Quantity, scale: Scale) -> Axis {
    Axis { name: name.into(), quantity, scale, end: None }
}

/// An axis with ticks at what was measured, by doublings.
fn ticked(name: &str, quantity: Quantity, series: &[Series]) -> Axis {
    let mut ticks: Vec<f64> =
        series.iter().flat_map(|one| one.points.iter().map(|point| point.x)).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    axis(name, quantity, Scale::Doublings(ticks))
}

fn line(name: &str, points: Vec<Point>) -> Option<Series> {
    (!points.is_empty()).then(|| Series {
        name: name.into(),
        detail: String::new(),
        form: Form::Marked,
        points,
    })
}

fn panel(x: Axis, y: Axis, series: Vec<Series>) -> Option<Panel> {
    let content = Content::Series(series);
    let is_empty = matches!(&content, Content::Series(series) if series.is_empty());
    (!is_empty).then(|| Panel { title: String::new(), x, y, content })
}

/// Depths that the search for the depth that suffices tried, with their IOPS.
fn searched(group: &[Observation<'_>]) -> Option<Vec<Point>> {
    let [one] = group else { return None };
    let mut tried = one.measurement.conditions.depths_tried.clone();
    tried.sort_by_key(|(depth, _)| *depth);
    tried.dedup_by_key(|(depth, _)| *depth);
    let points = tried.into_iter().map(|(depth, iops)| Point::new(f64::from(depth), iops));
    Some(points.filter(|point| point.y.is_finite()).collect()).filter(|all: &Vec<_>| all.len() > 1)
}

/// Latency against rate: the points of the same depth, by depth.
fn tradeoff(rates: &[Point], latencies: &[Point]) -> Vec<Point> {
    let at = |rate: &Point| {
        let latency = latencies.iter().find(|latency| latency.x == rate.x)?;
        Some(Point { label: at_depth(rate.x), ..Point::new(rate.y, latency.y) })
    };
    rates.iter().filter_map(at).collect()
}

fn at_depth(depth: f64) -> String {
    format!("depth {depth}")
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
