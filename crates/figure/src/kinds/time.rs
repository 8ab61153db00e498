//! Rates and latencies over time.

use iodyno_model::{Histogram, LatencyWindow, Window};

use crate::figure::{Axis, Content, Figure, Form, Panel, Point, Scale, Series, Stroke};
use crate::naming::{common, names};
use crate::observation::{Observation, listed, observations, sort};
use crate::{FigureError, Metric, Quantity, Request, Source};

/// Percentiles over time, and their line styles.
const PERCENTILES: [(f64, Stroke); 3] =
    [(50.0, Stroke::Solid), (99.0, Stroke::Dashed), (99.9, Stroke::Dotted)];

/// Maximum number of series drawn with several percentiles.
pub(super) const MOST_SERIES: usize = 4;

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    sort(&mut shown);
    shown.retain(|one| has_series(one));
    if shown.is_empty() {
        return Err(FigureError::Nothing(
            "no measurement has a series over time: let fio write logs (write_bw_log, \
             write_iops_log, write_lat_log) beside its report, or measure with iodyno run"
                .into(),
        ));
    }
    let names = number_duplicates(names(&shown, request, &[]));
    let named: Vec<_> = names.iter().map(String::as_str).zip(shown.iter().copied()).collect();
    let wanted = |metric: Metric| request.metric.is_none_or(|asked| asked == metric);
    let mut panels = Vec::new();
    if wanted(Metric::Iops) {
        panels.extend(rates(request, &named, Metric::Iops, Window::iops));
    }
    if wanted(Metric::Bandwidth) {
        panels.extend(rates(request, &named, Metric::Bandwidth, Window::bytes_per_s));
    }
    let (of_latencies, note) = latencies(request, &named);
    panels.extend(of_latencies);
    if panels.is_empty() {
        let metric = request.metric.map_or_else(String::new, Metric::name);
        return Err(FigureError::Nothing(format!(
            "{metric} over time is not known: rates need a log of them, percentiles a histogram \
             log (fio's write_hist_log) or a run of iodyno's own, and {} slower I/Os at a time",
            Histogram::LEAST_BEYOND
        )));
    }
    share_axis(&mut panels);
    Ok(Figure {
        kind: request.kind,
        title: String::new(),
        subtitle: common(&shown),
        panels,
        notes: note.into_iter().collect(),
    })
}

pub(super) fn has_series(one: &Observation<'_>) -> bool {
    !one.result.series.windows().is_empty() || !one.result.latency_series.windows().is_empty()
}

/// Numbers equal names: each measurement has its own line.
pub(super) fn number_duplicates(names: Vec<String>) -> Vec<String> {
    let numbered = |n: usize| {
        let before = names[..n].iter().filter(|name| **name == names[n]).count();
        match before {
            0 => names[n].clone(),
            _ => format!("{} ({})", names[n], before + 1),
        }
    };
    (0..names.len()).map(numbered).collect()
}

/// Ends all panels at the last value of any, and names only the lowest axis.
fn share_axis(panels: &mut [Panel]) {
    let points = panels.iter().flat_map(Panel::series).flat_map(|one| &one.points);
    let end = points.map(|point| point.x).fold(0.0, f64::max);
    let lowest = panels.len() - 1;
    for (n, panel) in panels.iter_mut().enumerate() {
        panel.x.end = panel.x.end.or((end > 0.0).then_some(end));
        if n < lowest {
            panel.x.name.clear();
        }
    }
}

fn time_axis(request: &Request) -> Axis {
    Axis {
        end: request.xmax_ns.map(|ns| ns as f64),
        ..Axis::new("Time", Quantity::Time, Scale::Linear)
    }
}

/// Middle of the interval; `None` beyond the end of the axis.
fn midpoint(request: &Request, start_ns: u64, duration_ns: u64) -> Option<f64> {
    let middle = start_ns as f64 + duration_ns as f64 / 2.0;
    (!request.xmax_ns.is_some_and(|end| middle > end as f64)).then_some(middle)
}

type Named<'a> = (&'a str, Observation<'a>);

fn line(name: &str, detail: String, stroke: Stroke, points: Vec<Point>) -> Option<Series> {
    let form = Form::Line(stroke);
    (!points.is_empty()).then(|| Series { name: name.into(), detail, form, points })
}

fn rate_points(
    request: &Request,
    one: &Observation<'_>,
    value: impl Fn(&Window) -> Option<f64>,
) -> Vec<Point> {
    let windows = one.result.series.whole();
    let places = windows.iter().map(|window| (window.start_ns, window.duration_ns, value(window)));
    points(request, places)
}

/// Points at the middles of windows, (start, length, value), with gaps where there is no window or
/// none of them has a value.
fn points(request: &Request, windows: impl Iterator<Item = (u64, u64, Option<f64>)>) -> Vec<Point> {
    let mut end_ns = 0;
    let values = windows.flat_map(|(start_ns, duration_ns, value)| {
        let missing_ns = start_ns.saturating_sub(end_ns);
        // Windows follow each other within a fraction of their length.
        let missing = (missing_ns > duration_ns / 2)
            .then(|| midpoint(request, end_ns, missing_ns).map(|x| (x, None)));
        end_ns = start_ns.saturating_add(duration_ns);
        let here = midpoint(request, start_ns, duration_ns).map(|x| (x, value));
        missing.flatten().into_iter().chain(here)
    });
    Series::line_points(values)
}

fn rates(
    request: &Request,
    named: &[Named<'_>],
    metric: Metric,
    value: impl Fn(&Window) -> Option<f64> + Copy,
) -> Option<Panel> {
    let series: Vec<Series> = named
        .iter()
        .filter_map(|(name, one)| {
            line(name, String::new(), Stroke::Solid, rate_points(request, one, value))
        })
        .collect();
    (!series.is_empty())
        .then(|| Panel::of_series(time_axis(request), Axis::of_metric(metric), series))
}

/// Percentiles if there are histograms over time, else means; not both, whose lines could not be
/// compared. With a note on who lacks percentiles.
fn latencies(request: &Request, named: &[Named<'_>]) -> (Option<Panel>, Option<String>) {
    let percentiles: Vec<(f64, Stroke)> = match request.metric {
        None if named.len() <= MOST_SERIES => PERCENTILES.to_vec(),
        None => vec![(99.0, Stroke::Solid)],
        Some(Metric::Percentile(percent)) => vec![(percent, Stroke::Solid)],
        Some(Metric::Mean) => Vec::new(),
        Some(_) => return (None, None),
    };
    let only_percentiles = matches!(request.metric, Some(Metric::Percentile(_)));
    let (mut series, mut means, mut lacking) = (Vec::new(), Vec::new(), Vec::new());
    for (name, one) in named {
        let before = series.len();
        for &(percent, stroke) in &percentiles {
            if only_percentiles || is_mostly_known(one, percent) {
                let points = percentile_points(request, one, percent);
                series.extend(line(name, format!("p{percent}"), stroke, points));
            }
        }
        if series.len() == before && !only_percentiles {
            let points = rate_points(request, one, Window::latency_mean_ns);
            let mean = line(name, "mean".into(), Stroke::Solid, points);
            lacking.extend(mean.as_ref().map(|_| (*name).to_owned()));
            means.extend(mean);
        }
    }
    let note = (!series.is_empty() && !means.is_empty())
        .then(|| format!("Percentiles over time are not known of {}.", listed(&lacking)));
    if series.is_empty() {
        series = means;
    }
    let y = Axis::new("Latency", Quantity::Latency, super::latency_scale(&series));
    let panel = (!series.is_empty()).then(|| Panel {
        title: stroke_legend(&series),
        x: time_axis(request),
        y,
        content: Content::Series(series),
    });
    (panel, note)
}

/// Legend of the line styles: `Latency: p50 solid, p99 dashed`.
fn stroke_legend(series: &[Series]) -> String {
    let mut known: Vec<(&str, &str)> = Vec::new();
    for one in series {
        let stroke = match one.form {
            Form::Line(Stroke::Dashed) => "dashed",
            Form::Line(Stroke::Dotted) => "dotted",
            _ => "solid",
        };
        if !known.contains(&(&one.detail, stroke)) {
            known.push((&one.detail, stroke));
        }
    }
    let words: Vec<String> = match known.as_slice() {
        [(only, "solid")] => vec![(*only).to_owned()],
        _ => known.iter().map(|(detail, stroke)| format!("{detail} {stroke}")).collect(),
    };
    format!("Latency: {}", words.join(", "))
}

/// True if the percentile is known in most windows that have I/Os.
fn is_mostly_known(one: &Observation<'_>, percent: f64) -> bool {
    let used = || one.result.latency_series.windows().iter().filter(|of| !of.latency.is_empty());
    let is_known = |of: &&LatencyWindow| of.latency.percentile_ns(percent).is_some();
    2 * used().filter(is_known).count() > used().count()
}

fn percentile_points(request: &Request, one: &Observation<'_>, percent: f64) -> Vec<Point> {
    let windows = one.result.latency_series.windows().iter();
    points(
        request,
        windows.map(|window| {
            let known = window.latency.percentile_ns(percent);
            (window.start_ns, window.duration_ns, known.map(|ns| ns as f64))
        }),
    )
}
