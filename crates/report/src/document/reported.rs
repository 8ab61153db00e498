//! What fio's reports state beside rates and latencies, and what groups of jobs came to.

use iodyno_model as model;
use iodyno_model::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, finite};
use super::measurement::DirectionResult;

/// Rates that fio sampled while a job ran; null is what a report does not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledRates {
    /// Bytes per second.
    pub bandwidth: RateSamples,
    /// I/Os per second.
    pub iops: RateSamples,
}

/// Samples of a rate, per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateSamples {
    /// Smallest.
    pub min: Option<Estimate>,
    /// Largest.
    pub max: Option<Estimate>,
    /// Mean.
    pub mean: Option<Estimate>,
    /// Standard deviation.
    pub stdev: Option<Estimate>,
    /// How many there are.
    pub count: Option<u64>,
}

/// I/Os of all directions whose latency lay in a range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyClass {
    /// Lower end, ns.
    pub low_ns: u64,
    /// Upper end, ns; null: none.
    pub high_ns: Option<u64>,
    /// Share of the I/Os, 0..1.
    pub share: Option<Estimate>,
}

/// What a block device did while all jobs of a report ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// Block device.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Sectors of 512 bytes read; 0 also where the report has none (before fio 3.36).
    pub read_sectors: u64,
    /// Sectors of 512 bytes written.
    pub written_sectors: u64,
    /// Reads that were merged with others.
    pub read_merges: u64,
    /// Writes that were merged with others.
    pub write_merges: u64,
    /// Time that reads took together, ms.
    pub read_ms: u64,
    /// Time that writes took together, ms.
    pub write_ms: u64,
    /// Time that all I/Os took together, ms.
    pub in_queue_ms: u64,
    /// Share of the time with I/O in flight, 0..1.
    pub busy: Option<f64>,
}

/// What several jobs that ran at the same time came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupTotal {
    /// Which of `measurements` they are, from 0.
    pub members: Vec<usize>,
    /// From the first one's start to the last one's end, ns; null: not known.
    pub duration_ns: Option<u64>,
    /// Reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<DirectionResult>,
    /// Writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<DirectionResult>,
    /// Trims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionResult>,
    /// Directions reported together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<DirectionResult>,
}

impl From<&model::SampledRates> for SampledRates {
    fn from(of: &model::SampledRates) -> Self {
        Self { bandwidth: RateSamples::from(&of.bandwidth), iops: RateSamples::from(&of.iops) }
    }
}

impl From<&model::RateSamples> for RateSamples {
    fn from(of: &model::RateSamples) -> Self {
        let public = |of: &Option<model::Estimate>| of.as_ref().and_then(Estimate::new);
        Self {
            min: public(&of.min),
            max: public(&of.max),
            mean: public(&of.mean),
            stdev: public(&of.stdev),
            count: of.count,
        }
    }
}

impl From<&model::LatencyRange> for LatencyClass {
    fn from(of: &model::LatencyRange) -> Self {
        Self { low_ns: of.low_ns, high_ns: of.high_ns, share: Estimate::new(&of.share) }
    }
}

impl From<&model::DiskUse> for Disk {
    fn from(of: &model::DiskUse) -> Self {
        Self {
            name: of.name.clone(),
            reads: of.read_ios,
            writes: of.write_ios,
            read_sectors: of.read_sectors,
            written_sectors: of.write_sectors,
            read_merges: of.read_merges,
            write_merges: of.write_merges,
            read_ms: of.read_ticks_ms,
            write_ms: of.write_ticks_ms,
            in_queue_ms: of.in_queue_ms,
            busy: finite(of.util_percent() / 100.0),
        }
    }
}

impl From<&model::GroupTotal> for GroupTotal {
    fn from(of: &model::GroupTotal) -> Self {
        let result = |direction| {
            let result = of.total.iter().find(|result| result.direction == direction);
            result.map(DirectionResult::from)
        };
        Self {
            members: of.members.clone(),
            duration_ns: of.duration_ns,
            read: result(Direction::Read),
            write: result(Direction::Write),
            trim: result(Direction::Trim),
            mixed: result(Direction::Mixed),
        }
    }
}
