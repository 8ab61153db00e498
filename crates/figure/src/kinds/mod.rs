//! The kinds of figures, a module each.

mod latency;
mod time;

use std::collections::BTreeSet;

use crate::figure::{Figure, Scale, Series};
use crate::observation::{observations, values};
use crate::{FigureError, Filter, Kind, Request, Source};

/// The figure that is asked for, of these runs.
///
/// # Errors
/// Nothing was measured that it could show.
pub fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut figure = match request.kind {
        Kind::Time => time::figure(request, sources),
        Kind::Latency => latency::figure(request, sources),
        _ => Err(FigureError::Nothing("this kind is not built yet".into())),
    }?;
    figure.title = request.title.clone().unwrap_or_else(|| title(request.kind, sources));
    Ok(figure)
}

/// A title of ours: what is shown, and of which run.
fn title(kind: Kind, sources: &[Source<'_>]) -> String {
    let what = match kind {
        Kind::Time => "Rates and latencies over time",
        Kind::Latency => "Latencies",
        Kind::Blocksize => "Throughput against block size",
        Kind::Depth => "Throughput and latency against queue depth",
        Kind::Grid | Kind::Grid3d => "By queue depth and number of jobs",
        Kind::Compare => "Comparison",
        Kind::Scaling => "Scaling with the number of drives",
    };
    match sources {
        [only] if !only.label.is_empty() => format!("{}: {}", only.label, what.to_lowercase()),
        _ => what.to_owned(),
    }
}

/// Logarithmic where the values differ by more than a factor of 20.
fn latency_scale(series: &[Series]) -> Scale {
    let values = || series.iter().flat_map(|one| one.points.iter().map(|point| point.y));
    let (least, greatest) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    if least > 0.0 && greatest > 20.0 * least { Scale::Log } else { Scale::Linear }
}

/// The kind of figure that the measurements suggest: the sweep that they are,
/// runs side by side, else what happened over time.
pub fn suggested(filters: &[Filter], sources: &[Source<'_>]) -> Kind {
    let request = Request { filters: filters.to_vec(), ..Request::new(Kind::Compare) };
    let Ok(shown) = observations(&request, sources) else { return Kind::Compare };
    let many = |option: &str, n: usize| values(&shown, option).len() >= n;
    let targets: BTreeSet<usize> = shown.iter().map(|one| one.measurement.targets.len()).collect();
    if many("iodepth", 2) && many("numjobs", 2) {
        Kind::Grid
    } else if many("iodepth", 3) {
        Kind::Depth
    } else if many("bs", 3) {
        Kind::Blocksize
    } else if targets.len() > 1 {
        Kind::Scaling
    } else if sources.len() > 1 || shown.len() > time::MOST_SERIES {
        Kind::Compare
    } else if shown.iter().any(time::has_series) {
        Kind::Time
    } else {
        Kind::Latency
    }
}
