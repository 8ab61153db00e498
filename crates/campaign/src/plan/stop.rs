//! End conditions of measurements.

use iodyno_job::parse_seconds;
use iodyno_judge::limits;
use iodyno_model::Rounds;
use iodyno_stats::PtsRounds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Mistake;

/// Default minimum duration of a measurement, ns.
const USUAL_MIN_NS: u64 = 5_000_000_000;

/// Default precision of the p99 with one outstanding I/O.
const P99_AT_DEPTH_1: f64 = 0.1;

/// End condition of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// Sufficient relative half width of the confidence interval; 0.01 = 1 %.
    pub precision: f64,
    /// Confidence level.
    pub level: f64,
    /// Required relative half width of the p99's interval, too; 0: not required. `None`: 10 % with
    /// one outstanding I/O, where latency is what is measured.
    pub p99: Option<f64>,
    /// Minimum duration, ns.
    pub min_ns: u64,
    /// Maximum duration, ns.
    pub max_ns: u64,
    /// Length of the rounds over which a drive's writes have to be steady, ns.
    pub round_ns: u64,
}

impl Stop {
    /// For jobs that end by themselves.
    pub(crate) const NEVER: Self = Self {
        precision: 1.0,
        level: 0.95,
        p99: None,
        min_ns: 0,
        max_ns: u64::MAX,
        round_ns: u64::MAX,
    };

    /// Sufficient relative half width of the p99's interval with this many outstanding I/Os; `None`
    /// if not required.
    pub fn p99_at(&self, outstanding: u32) -> Option<f64> {
        match self.p99 {
            None => (outstanding == 1).then_some(P99_AT_DEPTH_1),
            asked => asked.filter(|asked| *asked > 0.0),
        }
    }

    /// Rounds over which writes have to be steady.
    pub fn rounds(&self) -> PtsRounds {
        let pts = Rounds::default();
        PtsRounds {
            limits: limits(&pts),
            window: pts.window as usize,
            round_seconds: self.round_ns as f64 / 1e9,
        }
    }
}

/// End condition of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PointEnd {
    /// They end by themselves.
    #[default]
    ByThemselves,
    /// Once they are known precisely enough ([`Stop`]), at their run time at the latest.
    Known,
    /// Once their rate is steady over rounds, too: a drive's writes change for minutes.
    Steady,
}

/// `[stop]` of a plan.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopForm {
    /// Sufficient half width of the confidence interval, in percent of the mean rate.
    pub precision_percent: f64,
    /// Confidence level, in percent.
    pub level_percent: f64,
    /// Sufficient half width of the p99's confidence interval, in percent of the p99.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_percent: Option<f64>,
    /// Minimum duration; default: 5 s, or `max_time` if shorter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_time: Option<String>,
    /// Maximum duration: `60s`.
    pub max_time: String,
    /// Length of a round; points that write also have to be steady over five of them: `1m`.
    pub round: String,
}

impl Default for StopForm {
    fn default() -> Self {
        Self {
            precision_percent: 2.0,
            level_percent: 95.0,
            p99_percent: None,
            min_time: None,
            max_time: "60s".into(),
            round: "1m".into(),
        }
    }
}

impl StopForm {
    /// Parses its times and shares.
    ///
    /// # Errors
    /// Invalid times, or times that contradict each other.
    pub(super) fn resolve(&self) -> Result<Stop, Mistake> {
        let wrong = |key: &str, what: &str| {
            Mistake::at(&["stop", key], format!("stop: {key}: {what}")).or_at(&["stop"])
        };
        let time = |key, text| parse_seconds(text).map_err(|what| wrong(key, &what.to_string()));
        let max_ns = time("max_time", &self.max_time)?;
        let stop = Stop {
            precision: self.precision_percent / 100.0,
            level: self.level_percent / 100.0,
            p99: self.p99_percent.map(|percent| percent / 100.0),
            min_ns: match &self.min_time {
                Some(text) => time("min_time", text)?,
                None => USUAL_MIN_NS.min(max_ns),
            },
            max_ns,
            round_ns: time("round", &self.round)?,
        };
        let min_time = self.min_time.as_deref().unwrap_or_default();
        let no_less = format!("{min_time} (min_time) or longer");
        // Written so that NaN fails each check.
        let expected = [
            (
                stop.precision > 0.0 && stop.precision.is_finite(),
                "precision_percent",
                "a number above 0",
            ),
            (
                // 0.95 is meant as a fraction.
                stop.level >= 0.5 && stop.level < 1.0,
                "level_percent",
                "a number from 50 to below 100",
            ),
            (
                stop.p99.is_none_or(|p99| p99 >= 0.0 && p99.is_finite()),
                "p99_percent",
                "0 (not asked for) or above",
            ),
            (stop.max_ns > 0, "max_time", "a time above 0"),
            (stop.min_ns <= stop.max_ns, "max_time", &no_less),
            (stop.round_ns > 0, "round", "a time above 0"),
        ];
        match expected.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, what)) => Err(wrong(key, &format!("expected {what}"))),
            None => Ok(stop),
        }
    }
}
