//! Results of rounds: convergence of the tracked figures, the window, and its averages.

use iodyno_judge::{Convergence, Track, is_whole, limits};
use iodyno_model::{Measurement, Metric, Rounds, RunKind, RunRecord, RunState};

use super::Style;
use super::attention::whole;
use super::figure::stated;
use super::host::counted;
use super::ink::Ink;
use super::results::table_of;
use super::rounds_tables::{convergence, name, over_window};
use super::words::{Hanging, clean, display_width};

/// Results per target: whether steady state was reached, each tracked figure by round, the
/// steadiness and fitted line of the window, and each point's averages over it.
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

/// Label and clause of the first line, derived from those of any run: whether steady state was
/// reached.
pub(crate) fn clause(
    record: &RunRecord,
    asked: &Rounds,
    (label, ink): (&'static str, Ink),
    clause: String,
) -> ((&'static str, Ink), String) {
    let all = Convergence::by_target(asked, record);
    let unsteady = all.iter().filter(|(_, found)| found.steady_in.is_none()).count();
    let is_over = record.run.state == RunState::Done;
    let (on, words) = match all.as_slice() {
        [] => return ((label, ink), clause),
        [(targets, found)] => (clean(&targets.join(" ")), reached(asked, found, is_over).1),
        more if unsteady == 0 => (counted(more.len(), "target"), "reached".into()),
        more => (format!("{unsteady} of {} targets", more.len()), "NOT REACHED".into()),
    };
    let words = match record.run.kind {
        RunKind::Prepare => format!("{clause}, steady state {words}"),
        _ => format!("Steady state on {on}: {words}"),
    };
    match (label, unsteady) {
        ("DONE", 1..) => (("WARN", Ink::Doubt), words),
        _ => ((label, ink), words),
    }
}

/// Short results: measurements before the rounds, each point's averages over the window, unsteady
/// figures, and measurements after the rounds.
pub(super) fn tables(record: &RunRecord, asked: &Rounds, style: &Style) -> String {
    let all = Convergence::by_target(asked, record);
    let mut sections = vec![outside_rounds(record, true, style)];
    for (targets, found) in &all {
        let is_of = |of: &&Measurement| of.targets == *targets && is_whole(of);
        let own: Vec<&Measurement> = record.measurements.iter().filter(is_of).collect();
        if all.len() > 1 {
            let is_over = record.run.state == RunState::Done;
            sections.push(verdict(&targets.join(" "), asked, found, is_over, style));
        }
        sections.extend(over_window(asked, found, &own).iter().map(|table| table.text(style)));
        let is_unsteady =
            |track: &&Track| !track.window.as_ref().is_some_and(|it| it.is_steady(limits(asked)));
        let unsteady = found.tracks.iter().filter(is_unsteady).map(|track| {
            let words = steadiness_words(asked, found, track);
            let what = format!("{} {}", track.tracked.point, name(&track.tracked.metric));
            whole("WARN", Ink::Doubt, &format!("{what}: {}", words.join(", ")), style)
        });
        sections.push(unsteady.collect());
    }
    sections.push(outside_rounds(record, false, style));
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// Points measured before the rounds, or after them.
fn outside_rounds(record: &RunRecord, before: bool, style: &Style) -> String {
    let first = record.measurements.iter().find(|of| of.round.is_some()).map(|of| of.phase);
    let is_wanted = |n: &usize| {
        let of = &record.measurements[*n];
        of.round.is_none() && first.is_none_or(|first| of.phase < first) == before
    };
    let order: Vec<usize> = (0..record.measurements.len()).filter(is_wanted).collect();
    let heading = if before { "Before the rounds" } else { "After the rounds" };
    match order.is_empty() {
        true => String::new(),
        false => format!("{heading}\n{}", table_of(record, None, &order, style)),
    }
}

fn verdict(target: &str, asked: &Rounds, found: &Convergence, over: bool, style: &Style) -> String {
    let (ink, words) = verdict_words(target, asked, found, over);
    Hanging { separator: "; ", ink, ..Hanging::of(style) }.lines(&words)
}

/// Whether steady state was reached.
fn reached(asked: &Rounds, found: &Convergence, over: bool) -> (Ink, String) {
    let rounds = found.rounds();
    match found.steady_in {
        Some(round) => (Ink::Good, format!("reached in round {round} of at most {}", asked.most)),
        None if over || rounds >= asked.most || found.full_in.is_some() => {
            (Ink::Bad, format!("NOT REACHED in {}", counted(rounds as usize, "round")))
        }
        None => (Ink::Open, format!("not reached yet, after {rounds} of at most {}", asked.most)),
    }
}

/// Whether steady state was reached, how often the range had been written by then, and the rounds
/// of the window.
pub(crate) fn verdict_words(
    target: &str,
    asked: &Rounds,
    found: &Convergence,
    over: bool,
) -> (Ink, Vec<String>) {
    let (ink, words) = reached(asked, found, over);
    let mut items = vec![format!("Steady state on {}: {words}", clean(target))];
    if let Some(most) = asked.written_times {
        items.push(match found.written_times.last() {
            Some(times) => {
                format!("tested range written {times:.1} times (the test ends at {most})")
            }
            None => format!("size of the tested range unknown: no end after {most} times"),
        });
    }
    items.extend(found.window(asked).map(|window| {
        let (first, last) = (window.start(), window.end());
        format!("window: rounds {first} to {last}")
    }));
    (ink, items)
}

/// Steadiness and fitted line of a tracked figure, with its name.
fn window(asked: &Rounds, found: &Convergence, track: &Track, style: &Style) -> String {
    let lead = format!("{} {}", clean(&track.tracked.point), name(&track.tracked.metric));
    let after = Hanging::after(&lead, Ink::Bold, display_width(&lead) + 2, style);
    Hanging { separator: ", ", ..after }.lines(&window_words(asked, found, track))
}

/// Steadiness and fitted line.
pub(crate) fn window_words(asked: &Rounds, found: &Convergence, track: &Track) -> Vec<String> {
    let mut words = steadiness_words(asked, found, track);
    if let (Some(window), Some(rounds)) = (&track.window, found.window(asked)) {
        let (divisor, unit) = unit(track.tracked.metric);
        let (start, slope) = (window.first_fitted() / divisor, window.slope / divisor);
        let sign = if slope < 0.0 { '-' } else { '+' };
        words.push(format!(
            "fit {start:.1} {sign} {:.2} x (round - {}) {unit}",
            slope.abs(),
            rounds.start()
        ));
    }
    words
}

/// Steadiness without the fitted line.
fn steadiness_words(asked: &Rounds, found: &Convergence, track: &Track) -> Vec<String> {
    match (&track.window, found.window(asked)) {
        (Some(window), Some(_)) => {
            let verdict = match window.is_steady(limits(asked)) {
                true => "steady",
                false => "NOT STEADY",
            };
            vec![
                verdict.into(),
                format!("average {}", stated(track.tracked.metric, window.average)),
                format!(
                    "range {:.1} % (at most {} %)",
                    window.excursion() * 100.0,
                    asked.excursion_percent
                ),
                format!(
                    "slope {:.1} % (at most {} %)",
                    window.slope_excursion() * 100.0,
                    asked.slope_percent
                ),
            ]
        }
        _ => vec![format!("fewer than {} consecutive rounds known", asked.window)],
    }
}

/// Divisor and unit in which a metric is printed.
const fn unit(metric: Metric) -> (f64, &'static str) {
    match metric {
        Metric::Bandwidth => (1e6, "MB/s"),
        Metric::Iops => (1.0, "IOPS"),
        Metric::LatencyMean => (1e3, "us"),
    }
}
