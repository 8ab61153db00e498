//! When measurements end.

use iodyno_job::parse_seconds;
use iodyno_judge::limits;
use iodyno_model::Rounds;
use iodyno_stats::PtsRounds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Wrong;

/// Nothing is known well enough before this time, unless a plan says another, ns.
const USUAL_MIN_NS: u64 = 5_000_000_000;

/// How well the p99 has to be known where one I/O is outstanding.
const P99_AT_DEPTH_1: f64 = 0.1;

/// When a measurement ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// Relative half width of the interval that suffices; 0.01 = 1 %.
    pub precision: f64,
    /// Level of the interval.
    pub level: f64,
    /// Relative half width of the p99's interval that is asked for, too; 0: none
    /// is. `None`: 10 % where one I/O is outstanding, whose latency is what is measured.
    pub p99: Option<f64>,
    /// Looked at from this time on, ns.
    pub min_ns: u64,
    /// Ends then at the latest, ns.
    pub max_ns: u64,
    /// Length of a round of those over which a drive's writes have to be steady, ns.
    pub round_ns: u64,
}

impl Stop {
    /// Of jobs that say themselves when they end.
    pub(crate) const NEVER: Self = Self {
        precision: 1.0,
        level: 0.95,
        p99: None,
        min_ns: 0,
        max_ns: u64::MAX,
        round_ns: u64::MAX,
    };

    /// Relative half width of the p99's interval that suffices with so many I/Os
    /// outstanding; `None`: it is not asked for.
    pub fn p99_at(&self, outstanding: u32) -> Option<f64> {
        match self.p99 {
            None => (outstanding == 1).then_some(P99_AT_DEPTH_1),
            asked => asked.filter(|asked| *asked > 0.0),
        }
    }

    /// Over what writes have to be steady.
    pub fn rounds(&self) -> PtsRounds {
        let pts = Rounds::default();
        PtsRounds {
            limits: limits(&pts),
            window: pts.window as usize,
            round_seconds: self.round_ns as f64 / 1e9,
        }
    }
}

/// When jobs end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ends {
    /// They say so themselves.
    #[default]
    ByThemselves,
    /// Once they are known well enough ([`Stop`]), at their run time at the latest.
    Known,
    /// Once their rate is steady over rounds, too: a drive's writes change for minutes.
    Steady,
}

/// `[stop]` of a plan.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopForm {
    /// Half the interval's width that suffices, in percent of the mean rate.
    pub precision_percent: f64,
    /// Level of the interval.
    pub level_percent: f64,
    /// Half the interval's width of the 99th percentile that suffices, in percent of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_percent: Option<f64>,
    /// Never before this time; 5 s, or `max_time` where that is shorter, unless it is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_time: Option<String>,
    /// At this time at the latest: `60s`.
    pub max_time: String,
    /// Points that write have to be steady over five rounds of this length, too: `1m`.
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
    /// Its times and shares.
    ///
    /// # Errors
    /// Times that are none, or contradict each other.
    pub(super) fn resolve(&self) -> Result<Stop, Wrong> {
        let wrong = |key: &str, what: &str| {
            Wrong::at(&["stop", key], format!("stop: {key}: {what}")).or_at(&["stop"])
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
        // A NaN is none of these.
        let expected = [
            (stop.precision > 0.0, "precision_percent", "above 0"),
            (stop.level > 0.0 && stop.level < 1.0, "level_percent", "above 0 and below 100"),
            (stop.p99.is_none_or(|p99| p99 >= 0.0), "p99_percent", "0 (not asked for) or above"),
            (stop.min_ns <= stop.max_ns, "max_time", &no_less),
            (stop.round_ns > 0, "round", "a time above 0"),
        ];
        match expected.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, what)) => Err(wrong(key, &format!("{what} was expected"))),
            None => Ok(stop),
        }
    }
}
