//! Rounds: whether a drive came to its steady state, in numbers.

use iodyno_judge::{Convergence, Track, limits};
use iodyno_model::{self as model, Metric, RunRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the rounds on a target came (SNIA PTS 2.0.2, 2.1.24).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRounds {
    /// Target.
    pub target: String,
    /// The round in which steady state was reached; null: it was not.
    pub steady_in: Option<u32>,
    /// First and last round of the window; null: there are too few.
    pub window: Option<(u32, u32)>,
    /// How often the tested range was written over by the end of the last round;
    /// null: its size is not known.
    pub written_times: Option<f64>,
    /// What is tracked.
    pub tracked: Vec<TrackedFigure>,
}

/// A tracked figure over the rounds, in SI units (per second; latencies in ns).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackedFigure {
    /// Name of the point.
    pub point: String,
    /// Which figure of it, over all directions.
    pub metric: Metric,
    /// Its value in each round; null: not measured, or it failed.
    pub values: Vec<Option<f64>>,
    /// Of the window; null: there is none.
    pub window: Option<TrackedWindow>,
}

/// What the values of the window say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackedWindow {
    /// Their mean.
    pub average: f64,
    /// Greatest less smallest of them, in percent of the average.
    pub excursion_percent: f64,
    /// Rise or fall of the best line over the window, in percent of the average.
    pub slope_percent: f64,
    /// Where that line stands in the window's first round.
    pub fit_first: f64,
    /// Its slope, by the round.
    pub fit_slope: f64,
    /// Both keep to what was asked for.
    pub steady: bool,
}

impl TargetRounds {
    /// For each target of a run.
    pub fn of(asked: &model::Rounds, record: &RunRecord) -> Vec<Self> {
        let of_target = |(targets, found): (&[String], Convergence)| Self {
            target: targets.join(" "),
            steady_in: found.steady_in,
            window: found.window(asked).map(|window| (*window.start(), *window.end())),
            written_times: found.written_times.last().copied(),
            tracked: found.tracks.iter().map(|track| TrackedFigure::new(asked, track)).collect(),
        };
        Convergence::by_target(asked, record).into_iter().map(of_target).collect()
    }
}

impl TrackedFigure {
    fn new(asked: &model::Rounds, track: &Track) -> Self {
        let window = track.window.map(|window| TrackedWindow {
            average: window.average,
            excursion_percent: window.excursion() * 100.0,
            slope_percent: window.slope_excursion() * 100.0,
            fit_first: window.first_fitted(),
            fit_slope: window.slope,
            steady: window.is_steady(limits(asked)),
        });
        Self {
            point: track.tracked.point.clone(),
            metric: track.tracked.metric,
            values: track.values.clone(),
            window,
        }
    }
}
