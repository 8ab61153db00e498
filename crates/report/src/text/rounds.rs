//! Rounds: how what was tracked converged, the window, and the averages over it.

use std::ops::RangeInclusive;

use iodyno_judge::{Convergence, Track, figure, is_whole, limits};
use iodyno_model::{Histogram, Measurement, Metric, Rounds, RunRecord, RunState};

use super::Style;
use super::figure::stated;
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::rounds_matrix::matrices;
use super::rounds_recovery::recovery;
use super::words::{Hanging, clean, display_width};
use crate::percentiles::percentiles;

/// The percentile that the specification asks for.
const FIVE_NINES: f64 = 99.999;

/// What rounds came to, for one target after the other: whether steady state was
/// reached, each tracked figure in each round, what the window says with the
/// line through it, and each point's averages over the window.
pub fn rounds_text(record: &RunRecord, asked: &Rounds, style: &Style) -> String {
    let sections = Convergence::by_target(asked, record).into_iter().map(|(targets, found)| {
        let is_of = |of: &&Measurement| of.targets == targets && is_whole(of);
        let all: Vec<&Measurement> = record.measurements.iter().filter(is_of).collect();
        let over = record.run.state == RunState::Done;
        [
            verdict(&targets.join(" "), asked, &found, over, style),
            convergence(asked, &found, style),
            found.tracks.iter().map(|track| window(asked, &found, track, style)).collect(),
            matrices(asked, &found, &all, style),
            averages(asked, &found, &all, style),
            recovery(asked, &found, &all, style),
        ]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
    });
    sections.collect::<Vec<_>>().join("\n")
}

fn verdict(target: &str, asked: &Rounds, found: &Convergence, over: bool, style: &Style) -> String {
    let (ink, words) = verdict_words(target, asked, found, over);
    let hanging = Hanging {
        lead: String::new(),
        lead_width: 0,
        indent: 0,
        width: style.width,
        separator: "; ",
        ink,
        color: style.color,
    };
    hanging.lines(&words)
}

/// Whether steady state was reached, how often the range was written by then, and
/// which rounds are the window.
pub(crate) fn verdict_words(
    target: &str,
    asked: &Rounds,
    found: &Convergence,
    over: bool,
) -> (Ink, Vec<String>) {
    let rounds = found.rounds();
    let (ink, words) = match found.steady_in {
        Some(round) => (Ink::Good, format!("reached in round {round} of at most {}", asked.most)),
        None if over || rounds >= asked.most || found.full_in.is_some() => {
            (Ink::Bad, format!("NOT REACHED in {}", counted(rounds as usize, "round")))
        }
        None => (Ink::Open, format!("not reached yet, after {rounds} of at most {}", asked.most)),
    };
    let mut items = vec![format!("Steady state on {}: {words}", clean(target))];
    if let Some((times, most)) = found.written_times.last().zip(asked.written_times) {
        items.push(format!(
            "the tested range was written {times:.1} times over (the test ends at {most})"
        ));
    }
    items.extend(found.window(asked).map(|window| {
        let (first, last) = (window.start(), window.end());
        format!("the window is rounds {first} to {last}")
    }));
    (ink, items)
}

/// A line for each round.
fn convergence(asked: &Rounds, found: &Convergence, style: &Style) -> String {
    let heading =
        |track: &Track| format!("{} {}", clean(&track.tracked.point), name(&track.tracked.metric));
    let headings: Vec<String> = found.tracks.iter().map(heading).collect();
    let column = |heading, right| GridColumn { heading, priority: 0, right };
    let tracked = headings.iter().map(|heading| column(heading, true));
    let columns: Vec<GridColumn<'_>> =
        [column("ROUND", true)].into_iter().chain(tracked).chain([column("", false)]).collect();
    let window = found.window(asked);
    let rounds = found.rounds();
    let row = |round: u32| {
        let value = |track: &Track| {
            let value = track.values.get(round as usize - 1).copied().flatten();
            value.map_or("-".into(), |value| stated(track.tracked.metric, value))
        };
        let in_window = window.as_ref().is_some_and(|window| window.contains(&round));
        let mut cells = vec![plain(round.to_string())];
        cells.extend(found.tracks.iter().map(|track| plain(value(track))));
        cells.push(plain(if in_window { "window".into() } else { String::new() }));
        cells
    };
    let rows: Vec<_> = (1..=rounds).map(row).collect();
    grid(&columns, &rows, style, style.wide).text
}

/// What the window says of a tracked figure, with the line through it.
fn window(asked: &Rounds, found: &Convergence, track: &Track, style: &Style) -> String {
    let lead = format!("{} {}", clean(&track.tracked.point), name(&track.tracked.metric));
    let hanging = Hanging {
        lead_width: display_width(&lead),
        lead: Ink::Bold.paint(&lead, style.color),
        indent: display_width(&lead) + 2,
        width: style.width,
        separator: ", ",
        ink: Ink::Plain,
        color: style.color,
    };
    hanging.lines(&window_words(asked, found, track))
}

/// The same without what it is about.
pub(crate) fn window_words(asked: &Rounds, found: &Convergence, track: &Track) -> Vec<String> {
    let metric = track.tracked.metric;
    match (&track.window, found.window(asked)) {
        (Some(window), Some(rounds)) => {
            let verdict = match window.is_steady(limits(asked)) {
                true => "steady",
                false => "NOT STEADY",
            };
            let (divisor, unit) = unit(metric);
            let (start, slope) = (window.first_fitted() / divisor, window.slope / divisor);
            let sign = if slope < 0.0 { '-' } else { '+' };
            vec![
                verdict.into(),
                format!("average {}", stated(metric, window.average)),
                format!(
                    "range {:.1} % of it (at most {} %)",
                    window.excursion() * 100.0,
                    asked.excursion_percent
                ),
                format!(
                    "slope {:.1} % (at most {} %)",
                    window.slope_excursion() * 100.0,
                    asked.slope_percent
                ),
                format!(
                    "fit {start:.1} {sign} {:.2} x (round - {}) {unit}",
                    slope.abs(),
                    rounds.start()
                ),
            ]
        }
        _ => vec![format!("fewer than {} rounds in a row are known", asked.window)],
    }
}

/// Each point's averages over the window; its longest latency is that of all of it.
fn averages(asked: &Rounds, found: &Convergence, all: &[&Measurement], style: &Style) -> String {
    let Some((heading, rows)) = average_cells(asked, found, all) else { return String::new() };
    format!("{heading}\n{}", grid(&AVERAGES, &rows, style, style.wide).text)
}

/// Columns of [`average_cells`].
pub(crate) const AVERAGES: [GridColumn<'static>; 6] = {
    const fn column(heading: &'static str, priority: u8, right: bool) -> GridColumn<'static> {
        GridColumn { heading, priority, right }
    }
    [
        column("POINT", 0, false),
        column("IOPS", 0, true),
        column("BANDWIDTH", 1, true),
        column("MEAN LATENCY", 2, true),
        column("99.999 %", 4, true),
        column("LONGEST", 3, true),
    ]
};

/// What they are averages over, and a row for each point; `None`: no window.
pub(crate) fn average_cells(
    asked: &Rounds,
    found: &Convergence,
    all: &[&Measurement],
) -> Option<(String, Vec<Vec<GridCell>>)> {
    let window = found.window(asked)?;
    let within: Vec<&&Measurement> =
        all.iter().filter(|of| of.round.is_some_and(|round| window.contains(&round))).collect();
    let mut names: Vec<&str> = Vec::new();
    for of in &within {
        if !names.contains(&of.name.as_str()) {
            names.push(&of.name);
        }
    }
    let rows: Vec<Vec<GridCell>> = names
        .iter()
        .map(|name| {
            let of: Vec<&Measurement> =
                within.iter().filter(|of| of.name == *name).map(|of| **of).collect();
            let mean = |metric| mean(metric, &of).filter(|_| of.len() == window.clone().count());
            let [five_nines, longest] = slowest(&of);
            [
                clean(name),
                cell(Metric::Iops, mean(Metric::Iops)),
                mean(Metric::Bandwidth).map_or("-".into(), |mean| stated(Metric::Bandwidth, mean)),
                cell(Metric::LatencyMean, mean(Metric::LatencyMean)),
                five_nines,
                longest,
            ]
            .map(plain)
            .into()
        })
        .collect();
    Some((format!("Averages over {}", of_window(found, &window)), rows))
}

/// Which rounds the window is, and what is wrong with it.
pub(super) fn of_window(found: &Convergence, window: &RangeInclusive<u32>) -> String {
    let doubt = if found.steady_in.is_some() { "" } else { ", NOT IN STEADY STATE" };
    format!("rounds {} to {}{doubt}", window.start(), window.end())
}

/// The mean of a figure over measurements; `None` where one of them has none.
pub(super) fn mean(metric: Metric, of: &[&Measurement]) -> Option<f64> {
    let values: Option<Vec<f64>> = of.iter().map(|of| figure(metric, of)).collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// The percentile that the specification asks for and the longest time of
/// all I/Os of measurements, in words.
pub(super) fn slowest(of: &[&Measurement]) -> [String; 2] {
    let mut latency = Histogram::default();
    for result in of.iter().flat_map(|of| &of.total) {
        latency.merge(&result.latency);
    }
    let five_nines = percentiles(&latency, &[FIVE_NINES]).first().map(|one| one.value_ns);
    [five_nines, latency.max_ns()].map(|ns| cell(Metric::LatencyMean, ns.map(|ns| ns as f64)))
}

/// A figure in a table whose heading says of what.
pub(super) fn cell(metric: Metric, value: Option<f64>) -> String {
    value.map_or("-".into(), |value| stated(metric, value).replace(" IOPS", ""))
}

pub(super) fn plain(text: String) -> GridCell {
    GridCell { text, ink: Ink::Plain }
}

pub(crate) const fn name(metric: &Metric) -> &'static str {
    match metric {
        Metric::Bandwidth => "bandwidth",
        Metric::Iops => "IOPS",
        Metric::LatencyMean => "mean latency",
    }
}

/// What a figure is divided by to be written in which unit.
const fn unit(metric: Metric) -> (f64, &'static str) {
    match metric {
        Metric::Bandwidth => (1e6, "MB/s"),
        Metric::Iops => (1.0, "IOPS"),
        Metric::LatencyMean => (1e3, "us"),
    }
}
