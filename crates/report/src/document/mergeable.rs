//! Exactly mergeable results of a measurement, for adding up those of several nodes.

use iodyno_model::{DirectionResult, RateSeries};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::bins::Bins;

/// Stretches are extended up to this length; a tenth of it is tolerance, because intervals are
/// never exactly 100 ms.
const LONGEST_NS: u64 = 1_100_000_000;

/// Results of one direction that add up with those of other nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Mergeable {
    /// Latencies in the measured window, submission to completion.
    pub latency: Bins,
    /// I/O completed after the warm-up, in stretches of about a second, in order of time.
    #[serde(deserialize_with = "deserialize_stretches")]
    pub seconds: Vec<Stretch>,
}

/// I/O completed in about a second; measurements of more than an hour have longer stretches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// Start, ns since the measurement's start.
    pub start_ns: u64,
    /// Length, ns.
    pub duration_ns: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
}

impl Stretch {
    /// End, ns since the measurement's start.
    pub const fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

impl Mergeable {
    /// Returns the mergeable form of `result`, whose measurement has a warm-up of `warmup_ns`;
    /// `None` if it was read from a document, which does not hold it.
    pub(super) fn of(result: &DirectionResult, warmup_ns: u64) -> Option<Self> {
        let seconds = seconds(&result.series, warmup_ns);
        let mergeable = Self { latency: Bins::from(&result.latency), seconds };
        Some(mergeable).filter(|of| *of != Self::default())
    }
}

/// Groups `series` from `from_ns` on into stretches; empty if the series lacks I/Os or bytes.
fn seconds(series: &RateSeries, from_ns: u64) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    for window in series.windows().iter().filter(|window| window.start_ns >= from_ns) {
        let (Some(ios), Some(bytes)) = (window.ios, window.bytes) else { return Vec::new() };
        let (start_ns, duration_ns) = (window.start_ns, window.duration_ns);
        let next = Stretch { start_ns, duration_ns, ios, bytes };
        match all.last_mut() {
            Some(last) if next.end_ns() - last.start_ns <= LONGEST_NS => {
                last.duration_ns = next.end_ns() - last.start_ns;
                last.ios = last.ios.saturating_add(ios);
                last.bytes = last.bytes.saturating_add(bytes);
            }
            _ => all.push(next),
        }
    }
    all
}

/// Deserializes stretches; fails unless they are in order, do not overlap, and are at most as many
/// as are ever written.
fn deserialize_stretches<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Stretch>, D::Error> {
    let all = Vec::<Stretch>::deserialize(from)?;
    let is_after = |pair: &[Stretch]| pair[0].end_ns() <= pair[1].start_ns;
    match all.len() <= RateSeries::LIMIT && all.windows(2).all(is_after) {
        true => Ok(all),
        false => Err(D::Error::custom("too many seconds, or not in order of time")),
    }
}
