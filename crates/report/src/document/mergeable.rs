//! What a measurement's results add up by with those of other nodes, exactly.

use iodyno_model::{DirectionResult, RateSeries};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::bins::Bins;

/// Stretches are gathered until they are this long, with a tenth of tolerance: intervals are never of exactly 100 ms.
const LONGEST_NS: u64 = 1_100_000_000;

/// What one direction adds up by with the same of other nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Mergeable {
    /// Latencies in the measured window, submission to completion.
    pub latency: Bins,
    /// What was completed after the warm-up, by stretches of about a second, in order of time.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Vec<Stretch>,
}

/// What was completed in about a second; of more than an hour, in longer stretches.
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
    /// Of `result`, whose measurement has a warm-up of `warmup_ns`; `None`: of one that was read from a
    /// document nothing of it is known.
    pub(super) fn of(result: &DirectionResult, warmup_ns: u64) -> Option<Self> {
        let seconds = seconds(&result.series, warmup_ns);
        let mergeable = Self { latency: Bins::from(&result.latency), seconds };
        Some(mergeable).filter(|of| *of != Self::default())
    }
}

/// What `series` has from `from_ns` on; nothing where it does not say how much that was.
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

/// Stretches one behind the other, no more of them than are ever written.
fn in_order<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Stretch>, D::Error> {
    let all = Vec::<Stretch>::deserialize(from)?;
    let is_behind = |pair: &[Stretch]| pair[0].end_ns() <= pair[1].start_ns;
    match all.len() <= RateSeries::LIMIT && all.windows(2).all(is_behind) {
        true => Ok(all),
        false => Err(D::Error::custom("its seconds are too many, or not in order of time")),
    }
}
