//! Public form of rounds: progress towards steady state, in numbers.

use iodyno_judge::{Convergence, Track, limits};
use iodyno_model::{self as model, Metric, RunRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Progress of a target towards steady state (SNIA PTS 2.0.2, 2.1.24).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRounds {
    /// Target.
    pub target: String,
    /// Round in which steady state was reached; null: not reached.
    pub steady_in: Option<u32>,
    /// First and last round of the measurement window; null: too few rounds.
    pub window: Option<(u32, u32)>,
    /// Number of times the tested range had been overwritten by the end of the last round; null:
    /// its size is not known.
    pub written_times: Option<f64>,
    /// Tracked figures.
    pub tracked: Vec<TrackedFigure>,
}

/// Tracked figure by round, in SI units (per second; latencies in ns).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackedFigure {
    /// Name of the point.
    pub point: String,
    /// Metric of the point, over all directions.
    pub metric: Metric,
    /// Value in each round; null: not measured, or failed.
    pub values: Vec<Option<f64>>,
    /// Statistics of the window; null: no window.
    pub window: Option<TrackedWindow>,
}

/// Statistics of the values in the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackedWindow {
    /// Mean.
    pub average: f64,
    /// Range (largest minus smallest), in percent of the average.
    pub excursion_percent: f64,
    /// Change of the linear fit over the window, in percent of the average.
    pub slope_percent: f64,
    /// Value of the linear fit in the window's first round.
    pub fit_first: f64,
    /// Slope of the linear fit, per round.
    pub fit_slope: f64,
    /// True if range and slope are within the plan's limits.
    pub steady: bool,
}

impl TargetRounds {
    /// Returns the rounds of each target of a run.
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
