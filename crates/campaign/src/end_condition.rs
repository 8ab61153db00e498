//! End condition of a phase.

use iodyno_stats::{PtsRounds, StopRule};

use crate::phase::{End, Measured, Phase};
use crate::phase_watch::ramp_ns;
use crate::plan::Stop;
use crate::watch::Goal;

/// Autocorrelation time of white noise in windows of 100 ms, s.
const INDEPENDENT_S: f64 = iodyno_stats::autocorrelation::INDEPENDENT * 0.1;

/// End condition of a phase.
pub(crate) struct EndCondition {
    pub(crate) rule: StopRule,
    /// Target half width of the p99's interval, relative; `None`: no target.
    pub(crate) p99: Option<f64>,
    pub(crate) rounds: Option<PtsRounds>,
}

impl EndCondition {
    /// End of a phase by `stop`, unless the phase sets its own, or after exactly `fixed_ns`.
    pub(crate) fn of(phase: &Phase, stop: &Stop, fixed_ns: Option<u64>) -> Self {
        let by_time = |seconds| Self { rule: StopRule::Time { seconds }, p99: None, rounds: None };
        let (least_times, p99, steady) = match phase.end {
            _ if matches!(phase.measured, Measured::Trial(_)) => {
                return by_time(seconds(phase.most_ns));
            }
            End::ByThemselves => return by_time(f64::INFINITY),
            End::Known { least_times, p99, steady } => (least_times, p99, steady),
        };
        let rounds = steady.then(|| stop.rounds());
        if let Some(ns) = fixed_ns {
            return Self { p99, rounds, ..by_time(seconds(ns)) };
        }
        let max_ns = match phase.most_ns {
            0 => stop.max_ns,
            most_ns => most_ns.min(stop.max_ns),
        };
        let rule = StopRule::Precision {
            relative_half_width: stop.precision,
            level: stop.level,
            p99_relative_half_width: p99,
            least_times,
            steady: rounds,
            // White noise cannot be established any earlier.
            min_seconds: seconds(stop.min_ns)
                .max(seconds(ramp_ns(max_ns)) + least_times * INDEPENDENT_S),
            max_seconds: seconds(max_ns),
        };
        Self { rule, p99, rounds }
    }

    /// Precision goal to display while measuring.
    pub(crate) fn goal(&self) -> Option<Goal> {
        match self.rule {
            StopRule::Precision {
                relative_half_width: half_width, level, steady: None, ..
            } => Some(Goal { half_width, level }),
            _ => None,
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
