//! How unknown values stay out of the document.

use std::collections::BTreeMap;

use iodyno_model::Fact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
