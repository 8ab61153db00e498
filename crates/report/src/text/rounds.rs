//! Rounds: how what was tracked converged, the window, and the averages over it.

use iodyno_judge::{Convergence, Track, is_whole, limits};
use iodyno_model::{Measurement, Metric, Rounds, RunRecord, RunState};

use super::Style;
use super::figure::stated;
use super::host::counted;
use super::ink::Ink;
use super::rounds_tables::{convergence, name, over_window};
use super::words::{Hanging, clean, display_width};

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
            convergence(asked, &found).text(style),
            found.tracks.iter().map(|track| window(asked, &found, track, style)).collect(),
        ]
        .into_iter()
        .chain(over_window(asked, &found, &all).iter().map(|table| table.text(style)))
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

/// What a figure is divided by to be written in which unit.
const fn unit(metric: Metric) -> (f64, &'static str) {
    match metric {
        Metric::Bandwidth => (1e6, "MB/s"),
        Metric::Iops => (1.0, "IOPS"),
        Metric::LatencyMean => (1e3, "us"),
    }
}
