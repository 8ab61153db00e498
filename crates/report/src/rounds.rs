//! Converts runs in rounds for figures.

use std::borrow::Cow;

use iodyno_figure::{Kind, Metric, Track, TrackWindow};
use iodyno_judge::by_window;
use iodyno_model::{self as model, RunRecord, RunState};

use crate::text::rounds::{verdict_words, window_words};

/// Returns the tracked figures of a run, which is the `source`th of a figure; empty if it has no
/// rounds.
pub fn tracks(record: &RunRecord, source: usize) -> Vec<Track> {
    let Some(plan) = &record.run.rounds else { return Vec::new() };
    let asked = &plan.rounds;
    let mut all = Vec::new();
    for (targets, found) in iodyno_judge::Convergence::by_target(asked, record) {
        let over = record.run.state == RunState::Done;
        let (_, verdict) = verdict_words(&targets.join(" "), asked, &found, over);
        let verdict = format!("{}.", verdict.join("; "));
        all.extend(found.tracks.iter().map(|track| Track {
            source,
            targets: targets.to_vec(),
            point: track.tracked.point.clone(),
            metric: metric(track.tracked.metric),
            values: track.values.clone(),
            window: track.window.zip(found.window(asked)).map(|(window, rounds)| TrackWindow {
                rounds,
                average: window.average,
                band_percent: asked.excursion_percent / 2.0,
                fit_first: window.first_fitted(),
                fit_slope: window.slope,
            }),
            verdict: verdict.clone(),
            words: window_words(asked, &found, track).join(", "),
        }));
    }
    all
}

const fn metric(of: model::Metric) -> Metric {
    match of {
        model::Metric::Bandwidth => Metric::Bandwidth,
        model::Metric::Iops => Metric::Iops,
        model::Metric::LatencyMean => Metric::Mean,
    }
}

/// Returns what a figure of `kind` shows of a run, and for each measurement in it the indices in
/// the run: rounds are averaged over their window; a sweep shows only those averages; figures over
/// time show everything.
pub fn drawn(record: &RunRecord, kind: Kind) -> (Cow<'_, RunRecord>, Vec<Vec<usize>>) {
    let whole = || (0..record.measurements.len()).map(|index| vec![index]).collect();
    let in_rounds = record.measurements.iter().any(|of| of.round.is_some());
    if !in_rounds || matches!(kind, Kind::Time | Kind::Course | Kind::Convergence | Kind::Window) {
        return (Cow::Borrowed(record), whole());
    }
    let window = by_window(record);
    let (mut record, mut of) = (window.record, window.of);
    if matches!(kind, Kind::Blocksize | Kind::Depth | Kind::Grid | Kind::Grid3d) {
        let mut members = of.iter();
        record.to_mut().measurements.retain(|_| members.next().is_some_and(|of| of.len() > 1));
        of.retain(|of| of.len() > 1);
    }
    (record, of)
}
