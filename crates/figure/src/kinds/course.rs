//! Shows a whole run, one measurement after the other: rates over time and over the data written so
//! far.

use std::collections::BTreeSet;

use iodyno_model::{Direction, Measurement, Window};

use crate::figure::{Axis, Figure, Form, MOST_SERIES, Panel, Point, Scale, Series, Stroke};
use crate::naming::common;
use crate::observation::{Observation, observations};
use crate::{FigureError, Metric, Quantity, Request, Source};

/// Approximate maximum of points per panel, more than a picture can show.
const POINTS: f64 = 1500.0;

/// One line of the figure: a direction of a measurement.
struct Stretch<'a> {
    name: String,
    one: Observation<'a>,
    /// Time from the start of its run, ns.
    start_ns: f64,
    /// Bytes written by its run before it started.
    written_bytes: f64,
}

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let shown = observations(request, sources)?;
    let stretches = stretches(&shown, sources);
    if stretches.is_empty() {
        return Err(FigureError::Nothing(
            "no measurement has a series over time and a start time".into(),
        ));
    }
    let metric = match request.metric {
        Some(metric @ (Metric::Iops | Metric::Bandwidth)) => metric,
        // I/Os of different sizes are not comparable.
        _ if shown.iter().any(|one| one.option("bs") != shown[0].option("bs")) => Metric::Bandwidth,
        _ => Metric::Iops,
    };
    let rate = |window: &Window| match metric {
        Metric::Bandwidth => window.bytes_per_s(),
        _ => window.iops(),
    };
    let ends = stretches.iter().map(|one| one.start_ns + length_ns(one.one.measurement));
    let end_ns = ends.fold(0.0, f64::max);
    let step_ns = end_ns / POINTS;
    let drawn = |y: &dyn Fn(&Window) -> Option<f64>, over_time: bool| {
        let line = |stretch: &Stretch<'_>| {
            let points = stretch.points(step_ns, y, over_time);
            (!points.is_empty())
                .then(|| Series::new(stretch.name.as_str(), Form::Line(Stroke::Solid), points))
        };
        let is_drawn = |stretch: &&Stretch<'_>| over_time || stretch.writes();
        stretches.iter().filter(is_drawn).filter_map(line).collect::<Vec<Series>>()
    };
    let time = || Axis {
        end: Some(request.xmax_ns.map_or(end_ns, |ns| ns as f64)),
        ..Axis::new("Time", Quantity::Time, Scale::Linear)
    };
    let mut panels = Vec::new();
    let mut panel = |x: Axis, y: (String, Quantity), series: Vec<Series>| {
        let scale = match y.1 {
            Quantity::Latency => super::latency_scale(&series),
            _ => Scale::Linear,
        };
        if !series.is_empty() {
            panels.push(Panel::of_series(x, Axis::new(y.0, y.1, scale), series));
        }
    };
    let rate_axis = || (metric.name(), metric.quantity());
    panel(time(), rate_axis(), drawn(&rate, true));
    let written = Axis::new("Written so far", Quantity::Data, Scale::Linear);
    panel(written, rate_axis(), drawn(&rate, false));
    let latency = (Metric::Mean.name(), Quantity::Latency);
    panel(time(), latency, drawn(&Window::latency_mean_ns, true));
    let subtitle = common(&shown);
    let notes = match stretches.iter().any(|one| one.start_ns > 0.0) {
        true => vec!["Measurements are at their times in the run.".to_owned()],
        false => Vec::new(),
    };
    Ok(Figure { kind: request.kind, title: String::new(), subtitle, panels, notes })
}

/// Observations with a series and a start time, ordered by time. They are named by measurement or,
/// if those are too many, by run, target and direction.
fn stretches<'a>(shown: &[Observation<'a>], sources: &[Source<'a>]) -> Vec<Stretch<'a>> {
    let several = sources.len() > 1;
    let several_targets =
        shown.iter().any(|one| one.measurement.targets != shown[0].measurement.targets);
    let name = |one: &Observation<'a>, by_name: bool| {
        let of = one.measurement;
        let mut words: Vec<String> = Vec::new();
        words.extend(several.then(|| one.label.to_owned()));
        words.extend(several_targets.then(|| of.targets.join(" ")));
        words.extend(by_name.then(|| of.name.clone()));
        let says = !by_name || of.total.len() > 1;
        words.extend(says.then(|| one.result.direction.name().to_owned()));
        words.join(" ")
    };
    let mut all: Vec<Stretch<'a>> = shown
        .iter()
        .filter_map(|one| {
            let of = one.measurement;
            let run = &sources.get(one.source())?.record.measurements;
            // Each target has its own time axis.
            let beside = || run.iter().filter(|other| other.targets == of.targets);
            let began = beside().filter_map(|other| other.started_ns).min()?;
            let before = beside().filter(|other| other.started_ns < of.started_ns);
            let written_bytes = before.map(|other| bytes_written(other) as f64).sum();
            (!one.result.series.windows().is_empty()).then(|| Stretch {
                name: name(one, true),
                one: *one,
                start_ns: of.started_ns.unwrap_or(began).abs_diff(began) as f64,
                written_bytes,
            })
        })
        .collect();
    let names: BTreeSet<&str> = all.iter().map(|one| one.name.as_str()).collect();
    if names.len() > MOST_SERIES {
        all.iter_mut().for_each(|stretch| stretch.name = name(&stretch.one, false));
    }
    all.sort_by(|a, b| a.start_ns.total_cmp(&b.start_ns));
    all
}

fn bytes_written(of: &Measurement) -> u64 {
    let result = of.result(Direction::Write);
    result.and_then(|result| result.whole_bytes.or(result.bytes)).unwrap_or(0)
}

fn length_ns(of: &Measurement) -> f64 {
    let windows = of.total.iter().filter_map(|result| result.series.windows().last());
    windows.map(|last| (last.start_ns + last.duration_ns) as f64).fold(0.0, f64::max)
}

impl Stretch<'_> {
    fn writes(&self) -> bool {
        self.one.result.direction == Direction::Write
    }

    /// Its windows, merged to at least `step_ns` each, at their middles.
    fn points(
        &self,
        step_ns: f64,
        y: &dyn Fn(&Window) -> Option<f64>,
        over_time: bool,
    ) -> Vec<Point> {
        let mut values = Vec::new();
        let (mut joined, mut written): (Option<Window>, f64) = (None, 0.0);
        let windows = self.one.result.series.whole();
        for (at, window) in windows.iter().enumerate() {
            let whole = match joined.take() {
                Some(mut before) => {
                    before.absorb(window);
                    before
                }
                None => *window,
            };
            if (whole.duration_ns as f64) < step_ns && at + 1 < windows.len() {
                joined = Some(whole);
                continue;
            }
            let bytes = whole.bytes.unwrap_or(0) as f64;
            let x = match over_time {
                true => self.start_ns + whole.start_ns as f64 + whole.duration_ns as f64 / 2.0,
                false => self.written_bytes + written + bytes / 2.0,
            };
            written += bytes;
            values.push((x, y(&whole)));
        }
        Series::line_points(values.into_iter())
    }
}
