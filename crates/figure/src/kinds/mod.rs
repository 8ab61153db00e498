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

use iodyno_model::Histogram;

use crate::figure::{Figure, Form, Panel, Scale, Series};
use crate::naming::{by_name, names};
use crate::observation::{left_out, observations, places, reservations};
use crate::predicted::predictions;
use crate::{FigureError, Filter, Kind, Metric, Request, Source};

/// Makes a figure of runs.
type Draw = fn(&Request, &[Source<'_>]) -> Result<Figure, FigureError>;

/// What belongs to a kind, besides its name.
pub(crate) struct KindSpec {
    /// What the title says in place of a requested metric; empty: it has none.
    metrics: &'static str,
    /// Rest of the title.
    title: &'static str,
    /// Panels side by side, if there is room.
    pub(crate) columns: usize,
    draw: Draw,
}

/// Returns what belongs to a kind.
pub(crate) fn spec(kind: Kind) -> KindSpec {
    const RATES: &str = "Rates and latencies";
    let row = |metrics, title, columns, draw: Draw| KindSpec { metrics, title, columns, draw };
    match kind {
        Kind::Time => row(RATES, " over time", 1, time::figure),
        Kind::Latency => row("", "Latency distribution", 2, latency::figure),
        Kind::Blocksize => row("Throughput", " against block size", 2, sweep::blocksize),
        Kind::Depth => row("", "Throughput and latency under load", 3, sweep::depth),
        Kind::Grid | Kind::Grid3d => row("IOPS", " by iodepth and numjobs", 2, grid::figure),
        Kind::Compare => row(RATES, " compared", 2, compare::figure),
        Kind::Ratio => row(RATES, " over ", 2, compare::figure),
        Kind::Scaling => row("Throughput", " against the number of targets", 2, scaling::figure),
        Kind::Course => row("", "Rates over the whole run", 1, course::figure),
        Kind::Convergence => row("", "Convergence to steady state", 3, rounds::convergence),
        Kind::Window => row("", "Measurement window", 3, rounds::window),
        Kind::Headroom => row("", "Read p99 under load", 1, headroom::figure),
        Kind::Topology => row("", "Storage topology", 1, topology::figure),
    }
}

/// Makes the requested figure of these runs.
///
/// # Errors
/// There are no measurements to show.
pub fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut figure = (spec(request.kind).draw)(request, sources)?;
    // A machine has no caveats of measurements.
    if !matches!(request.kind, Kind::Topology | Kind::Headroom) {
        let shown = observations(request, sources)?;
        figure.notes.extend(left_out(request, sources, &shown));
        figure.notes.extend(reservations(&shown, request));
    }
    let cut: Vec<String> = figure.panels.iter_mut().map(Panel::cut_whiskers).collect();
    series_limit::limit(&mut figure);
    // Heat maps have no whiskers.
    if !figure.is_heat_map() {
        let cut = cut.iter().filter(|ends| !ends.is_empty());
        figure.notes.extend(cut.map(|ends| format!("A whisker is cut off: {ends}.")));
    }
    let has_knee = |panel: &Panel| panel.series().iter().any(|one| one.form == Form::Highlight);
    if figure.kind == Kind::Depth && figure.panels.iter().any(has_knee) {
        figure
            .notes
            .push("Knee: the fewest outstanding I/Os within 5 % of the highest rate.".into());
    }
    figure.title = request.title.clone().unwrap_or_else(|| title(request, sources));
    Ok(figure)
}

/// Default title: what is shown, and of which run.
fn title(request: &Request, sources: &[Source<'_>]) -> String {
    let KindSpec { metrics, title, .. } = spec(request.kind);
    let metric = request.metric.filter(|_| !metrics.is_empty()).map(Metric::name);
    let mut what = metric.unwrap_or_else(|| metrics.to_owned()) + title;
    if request.kind == Kind::Ratio {
        what.push_str(sources.first().map_or("the first", |first| first.label));
    }
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
    let most = |option: &str| {
        let groups = by_name(&shown, &names(&shown, request, &[option]));
        let counts = groups.iter().map(|(_, of)| places(of, |one| one.place(option)).len());
        counts.max().unwrap_or(0)
    };
    // The rest differs in more than the number of targets, and cannot be laid on one line.
    let scales = || {
        let groups = by_name(&shown, &names(&shown, request, &["target"]));
        groups.iter().any(|(_, group)| scaling::counts(group).len() > 1)
    };
    let tables = by_name(&shown, &names(&shown, request, &grid::AXES));
    if shown.iter().any(|one| one.measurement.round.is_some()) {
        Kind::Convergence
    } else if tables.len() <= grid::MOST_PANELS && tables.iter().any(|(_, of)| grid::is_grid(of)) {
        Kind::Grid
    } else if ["iodepth", "numjobs"].into_iter().any(|option| most(option) > 2) {
        Kind::Depth
    } else if most("bs") > 2 {
        Kind::Blocksize
    } else if scales() {
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
