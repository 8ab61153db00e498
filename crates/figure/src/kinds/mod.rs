//! Kinds of figures, one module each.

mod compare;
mod course;
mod grid;
mod headroom;
mod latency;
mod rounds;
mod scaling;
mod series_limit;
mod sweep;
mod time;
mod topology;

use std::collections::BTreeSet;

use iodyno_model::Histogram;

use crate::figure::{Figure, Form, Panel, Scale, Series};
use crate::naming::{by_name, names, values};
use crate::observation::{observations, reservations};
use crate::predicted::predictions;
use crate::{FigureError, Filter, Kind, Metric, Request, Source};

/// Makes the requested figure of these runs.
///
/// # Errors
/// There are no measurements to show.
pub fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut figure = match request.kind {
        Kind::Time => time::figure(request, sources),
        Kind::Latency => latency::figure(request, sources),
        Kind::Blocksize => sweep::blocksize(request, sources),
        Kind::Depth => sweep::depth(request, sources),
        Kind::Grid | Kind::Grid3d => grid::figure(request, sources),
        Kind::Compare | Kind::Ratio => compare::figure(request, sources),
        Kind::Scaling => scaling::figure(request, sources),
        Kind::Course => course::figure(request, sources),
        Kind::Convergence => rounds::convergence(request, sources),
        Kind::Window => rounds::window(request, sources),
        Kind::Headroom => headroom::figure(&request.headroom),
        Kind::Topology => topology::figure(request, sources),
    }?;
    // A machine has no caveats of measurements.
    if !matches!(request.kind, Kind::Topology | Kind::Headroom) {
        figure.notes.extend(reservations(&observations(request, sources)?, request));
    }
    for panel in &figure.panels {
        let ends = panel.cut_whiskers();
        if !ends.is_empty() {
            figure.notes.push(format!("A whisker is cut off: it ends at {ends}."));
        }
    }
    series_limit::limit(&mut figure);
    let has_knee = |panel: &Panel| panel.series().iter().any(|one| one.form == Form::Highlight);
    if figure.kind == Kind::Depth && figure.panels.iter().any(has_knee) {
        figure.notes.push("Knee: where throughput is highest above its chord (Kneedle).".into());
    }
    figure.title = request.title.clone().unwrap_or_else(|| title(request, sources));
    Ok(figure)
}

/// Default title: what is shown, and of which run.
fn title(request: &Request, sources: &[Source<'_>]) -> String {
    let metric = |usual: &str| request.metric.map_or_else(|| usual.to_owned(), Metric::name);
    let what = match request.kind {
        Kind::Time => format!("{} over time", metric("Rates and latencies")),
        Kind::Latency => "Latency distribution".to_owned(),
        Kind::Blocksize => format!("{} against block size", metric("Throughput")),
        Kind::Depth => "Throughput and latency under load".to_owned(),
        Kind::Grid | Kind::Grid3d => format!("{} by iodepth and numjobs", metric("IOPS")),
        Kind::Compare => format!("{} compared", metric("Rates and latencies")),
        Kind::Ratio => format!(
            "{} over {}",
            metric("Rates and latencies"),
            sources.first().map_or("the first", |first| first.label)
        ),
        Kind::Scaling => format!("{} against the number of drives", metric("Throughput")),
        Kind::Course => "Rates over the whole run".to_owned(),
        Kind::Convergence => "Convergence to steady state".to_owned(),
        Kind::Window => "Measurement window".to_owned(),
        Kind::Headroom => "Read p99 under load".to_owned(),
        Kind::Topology => "Storage topology".to_owned(),
    };
    match sources {
        [only] if !only.label.is_empty() => format!("{}: {what}", only.label),
        _ => what,
    }
}

/// Logarithmic if the values differ by more than a factor of 20.
fn latency_scale(series: &[Series]) -> Scale {
    let values = || series.iter().flat_map(|one| one.points.iter().map(|point| point.y));
    let (least, greatest) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    if least > 0.0 && greatest > 20.0 * least { Scale::Log } else { Scale::Linear }
}

/// Suggests the kind of figure for the measurements: their sweep, runs side by side, or else rates
/// over time.
pub fn suggested(filters: &[Filter], sources: &[Source<'_>]) -> Kind {
    suggestion(&Request { filters: filters.to_vec(), ..Request::new(Kind::Compare) }, sources)
}

/// As [`suggested`], for what the request admits, whatever its kind.
pub(crate) fn suggestion(request: &Request, sources: &[Source<'_>]) -> Kind {
    let Ok(mut shown) = observations(request, sources) else { return Kind::Compare };
    shown.extend(predictions(request, sources).0);
    // Largest number of values of an option within a series.
    let most = |option: &str, across: &[&str]| {
        let groups = by_name(&shown, &names(&shown, request, across));
        groups.iter().map(|(_, group)| values(group, option).len()).max().unwrap_or(0)
    };
    let drives: BTreeSet<usize> = shown.iter().map(|one| one.measurement.targets.len()).collect();
    let tables = by_name(&shown, &names(&shown, request, &grid::AXES));
    if shown.iter().any(|one| one.measurement.round.is_some()) {
        Kind::Convergence
    } else if tables.len() <= grid::MOST_PANELS && tables.iter().any(|(_, of)| grid::is_grid(of)) {
        Kind::Grid
    } else if ["iodepth", "numjobs"].iter().any(|option| most(option, &[option]) > 2) {
        Kind::Depth
    } else if most("bs", &["bs"]) > 2 {
        Kind::Blocksize
    } else if drives.len() > 1 && most("target", &["target"]) > 1 {
        Kind::Scaling
    } else if sources.len() > 1 || shown.len() > time::MOST_SERIES {
        Kind::Compare
    } else if shown.iter().any(time::has_series) {
        Kind::Time
    } else {
        Kind::Latency
    }
}

/// Error if no measurement has the requested metric.
fn unknown_metric(request: &Request) -> FigureError {
    let name = request.metric.map_or_else(|| "a rate or latency".into(), Metric::name);
    let why = match request.metric {
        Some(Metric::Percentile(_)) => {
            format!("; a percentile needs {} slower I/Os", Histogram::LEAST_BEYOND)
        }
        _ => String::new(),
    };
    FigureError::Nothing(format!("none of these measurements has {name}{why}"))
}
