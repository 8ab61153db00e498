//! Rounds to steady state: tracked figures over all rounds and over the measurement window, drawn
//! as in the SNIA PTS.

use iodyno_model::distinct;

use crate::figure::{Axis, Content, Figure, Form, Panel, Point, Scale, Series, Stroke};
use crate::naming::common;
use crate::observation::observations;
use crate::{FigureError, Quantity, Request, Source, Track, TrackWindow};

/// Maximum number of panels.
const MOST_PANELS: usize = 12;

/// Each tracked figure over all rounds.
pub(super) fn convergence(
    request: &Request,
    sources: &[Source<'_>],
) -> Result<Figure, FigureError> {
    let tracks = tracks(request, sources)?;
    let verdict = |track: &&Track| titled(track.verdict.clone(), track, &tracks, sources, false);
    let mut notes = distinct(tracks.iter().map(verdict));
    if tracks.iter().any(|track| track.window.is_some()) {
        notes.push("Ringed: the measurement window.".into());
    }
    let panel = |track: &&Track| {
        let rounds = (1..).map(f64::from).zip(&track.values);
        let rounds: Vec<(f64, Option<f64>)> = rounds.map(|(x, y)| (x, *y)).collect();
        let mut series = measured("each round", &rounds);
        series.extend(track.window.as_ref().map(|window| Series {
            name: "each round".into(),
            detail: "window".into(),
            form: Form::Highlight,
            points: points(rounds.iter().filter(|(x, _)| {
                let (first, last) = (window.rounds.start(), window.rounds.end());
                (f64::from(*first)..=f64::from(*last)).contains(x)
            })),
        }));
        let end = Some(track.values.len() as f64 + 1.0);
        Panel {
            title: titled(String::new(), track, &tracks, sources, true),
            x: Axis { end, ..Axis::new("Round", Quantity::Count, Scale::Linear) },
            y: Axis::of_metric(track.metric),
            content: Content::Series(series),
        }
    };
    finished(request, sources, tracks.iter().map(panel).collect(), notes)
}

/// Each tracked figure over the window: its average, the allowed band, and the fitted line.
pub(super) fn window(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut tracks = tracks(request, sources)?;
    tracks.retain(|track| track.window.is_some());
    if tracks.is_empty() {
        return Err(FigureError::Nothing("there are too few rounds for a window".into()));
    }
    let notes =
        tracks.iter().map(|track| titled(track.words.clone(), track, &tracks, sources, true));
    let notes = notes.map(|note| format!("{note}.")).collect();
    let panels = tracks.iter().filter_map(|track| {
        let window = track.window.as_ref()?;
        let title = titled(String::new(), track, &tracks, sources, true);
        Some(Panel {
            title,
            x: Axis::of_categories(
                "Round",
                window.rounds.clone().map(|round| round.to_string()).collect(),
            ),
            y: Axis::of_metric(track.metric),
            content: Content::Series(lines(track, window)),
        })
    });
    let panels = panels.collect();
    finished(request, sources, panels, notes)
}

fn lines(track: &Track, window: &TrackWindow) -> Vec<Series> {
    let rounds: Vec<(f64, Option<f64>)> = window
        .rounds
        .clone()
        .enumerate()
        .map(|(at, round)| (at as f64, track.values.get(round as usize - 1).copied().flatten()))
        .collect();
    let last = rounds.len().saturating_sub(1) as f64;
    let line = |name: &str, form, from: f64, to: f64| {
        Series::new(name, form, vec![Point::new(0.0, from), Point::new(last, to)])
    };
    let mut series = measured("each round", &rounds);
    let average = window.average;
    series.push(line("average", Form::Line(Stroke::Solid), average, average));
    let fitted = (window.fit_first, window.fit_first + window.fit_slope * last);
    series.push(line("best line", Form::Line(Stroke::Dashed), fitted.0, fitted.1));
    let (low, high) = (100.0 - window.band_percent, 100.0 + window.band_percent);
    let band = format!("{high} % and {low} % of the average");
    for percent in [high, low] {
        let at = average * percent / 100.0;
        series.push(line(&band, Form::Guide, at, at));
    }
    series
}

/// Tracked figures that the request admits.
fn tracks<'r>(request: &'r Request, sources: &[Source<'_>]) -> Result<Vec<&'r Track>, FigureError> {
    let shown = observations(request, sources)?;
    let is_shown = |track: &&Track| {
        let mut own = shown.iter().filter(|one| one.source() == track.source);
        request.metric.is_none_or(|metric| metric == track.metric)
            && own.any(|one| {
                one.measurement.name == track.point && one.measurement.targets == track.targets
            })
    };
    let tracks: Vec<&Track> = request.rounds.iter().filter(is_shown).collect();
    match tracks.len() {
        0 => Err(FigureError::Nothing(
            "nothing was tracked over rounds (iodyno sweep snia-iops measures in rounds)".into(),
        )),
        1..=MOST_PANELS => Ok(tracks),
        several => Err(FigureError::TooMany { what: format!("{several} tracked figures") }),
    }
}

/// `words` after their subject: the run and the target if there are several, and the point.
fn titled(
    words: String,
    track: &Track,
    tracks: &[&Track],
    sources: &[Source<'_>],
    with_point: bool,
) -> String {
    let mut of: Vec<String> = Vec::new();
    if tracks.iter().any(|other| other.source != track.source) {
        of.extend(sources.get(track.source).map(|source| source.label.to_owned()));
    }
    if tracks.iter().any(|other| other.targets != track.targets) {
        of.push(track.targets.join(" "));
    }
    if with_point {
        of.push(track.point.clone());
    }
    of.extend(Some(words).filter(|words| !words.is_empty()));
    of.join(": ")
}

fn points<'p>(rounds: impl Iterator<Item = &'p (f64, Option<f64>)>) -> Vec<Point> {
    rounds.filter_map(|(x, y)| Some(Point::new(*x, (*y).filter(|y| y.is_finite())?))).collect()
}

/// Lines through the measured values, with gaps for rounds without one.
fn measured(name: &str, rounds: &[(f64, Option<f64>)]) -> Vec<Series> {
    let stretches = rounds.split(|(_, y)| y.is_none_or(|y| !y.is_finite()));
    let known = stretches.filter(|stretch| !stretch.is_empty());
    known.map(|stretch| Series::new(name, Form::Marked, points(stretch.iter()))).collect()
}

fn finished(
    request: &Request,
    sources: &[Source<'_>],
    panels: Vec<Panel>,
    notes: Vec<String>,
) -> Result<Figure, FigureError> {
    let shown = observations(request, sources)?;
    let is_tracked = |name: &str| request.rounds.iter().any(|track| track.point == name);
    let tracked: Vec<_> =
        shown.into_iter().filter(|one| is_tracked(&one.measurement.name)).collect();
    let subtitle = common(&tracked);
    Ok(Figure { kind: request.kind, title: String::new(), subtitle, panels, notes })
}
