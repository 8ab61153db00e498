//! Values with their spread, and how unknown ones stay out of the document.

use std::collections::BTreeMap;

use iodyno_model as model;
use iodyno_model::Fact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value with its spread, in SI base units (per second, bytes per second, ns).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Lower end of the interval; null where the spread is unknown.
    pub low: Option<f64>,
    /// Upper end of the interval; null where the spread is unknown.
    pub high: Option<f64>,
    /// What the interval is; null where the spread is unknown.
    pub interval: Option<Interval>,
    /// Coverage of a confidence interval, 0..1.
    pub level: Option<f64>,
}

/// What kind of interval it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    /// A confidence interval.
    Confidence,
    /// The value was printed rounded and stood within these bounds.
    Rounding,
}

impl Estimate {
    /// The public form; `None` for a value that is not a number, an interval
    /// that is none is left out.
    pub(super) fn new(estimate: &model::Estimate) -> Option<Self> {
        let value = finite(estimate.value)?;
        let bare = Self { value, low: None, high: None, interval: None, level: None };
        let Some((low, high)) = estimate.bounds() else { return Some(bare) };
        let (Some(low), Some(high)) = (finite(low), finite(high)) else { return Some(bare) };
        let (interval, level) = match estimate.spread {
            model::Spread::Confidence { level, .. } => (Interval::Confidence, finite(level)),
            model::Spread::Rounding { .. } => (Interval::Rounding, None),
            model::Spread::Unknown => return Some(bare),
        };
        Some(Self { value, low: Some(low), high: Some(high), interval: Some(interval), level })
    }
}

/// The number, unless it is infinite or none: JSON has neither.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A count that fits JSON's integers; beyond 64 bits it is unknown rather than wrong.
pub(super) fn count(value: u128) -> Option<u64> {
    u64::try_from(value).ok()
}

/// A time as RFC 3339 in UTC, from ns since 1970.
pub(crate) fn rfc3339(ns: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(ns))
        .expect("64 bits of nanoseconds reach from 1677 to 2262, a Timestamp from -9999 to 9999")
        .to_string()
}

/// Why facts of an object are null: name of the field, reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Unknown(pub BTreeMap<String, String>);

impl Unknown {
    /// The fact's value; where it is unknown, the reason is noted under `field`.
    pub(super) fn take<T: Clone>(&mut self, field: &str, fact: &Fact<T>) -> Option<T> {
        if let Some(why) = fact.why_unknown() {
            self.0.insert(field.into(), why);
        }
        fact.value()
    }

    /// Whether every fact is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
