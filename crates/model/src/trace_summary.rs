//! What a trace of I/Os comes to, without the I/Os.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// What a trace of I/Os comes to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSummary {
    /// Where the I/Os come from: `tracefs`, or the format that was read.
    pub source: String,
    /// Names of the devices.
    pub devices: Vec<String>,
    /// How long they were watched, ns.
    pub duration_ns: u64,
    /// The step of the times, ns.
    pub tick_ns: u64,
    /// Events that the kernel dropped.
    pub lost: u64,
    /// I/Os whose completion was not seen, and completions of unknown I/Os.
    pub unmatched: u64,
    /// Bytes of the file that could not be read as they were written: blocks, lines or records.
    pub damaged: u64,
    /// The recording was cut off.
    pub is_cut: bool,
    /// What was done, each operation that occurs.
    pub operations: Vec<TracedOperation>,
    /// I/Os of a file system's metadata.
    pub metadata: u64,
    /// I/Os that are durable before they complete.
    pub fua: u64,
    /// How the rate varies, at several scales.
    pub bursts: Vec<TraceBurst>,
    /// Who asked for most, the busiest first.
    pub actors: Vec<TracedActor>,
    /// What was done when and where; none: it was not counted.
    #[serde(default)]
    pub course: Option<TraceCourse>,
}

/// Reads and writes by time and address: at most 128 slots of 64 zones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceCourse {
    /// How long a slot is, ns.
    pub slot_ns: u64,
    /// How large a zone is, bytes. Devices overlie each other.
    pub zone_bytes: u64,
    /// Where the last I/O ends, bytes.
    pub end_bytes: u64,
    /// In the order of time, from the trace's start.
    pub slots: Vec<TraceSlot>,
}

/// A slot of a [`TraceCourse`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSlot {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads by zone, up to the last that has any.
    pub reads: Vec<u64>,
    /// Writes by zone, as `reads`.
    pub writes: Vec<u64>,
}

/// One kind of I/O in a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracedOperation {
    /// `read`, `write`, `discard`, `flush`, `other`.
    pub operation: String,
    /// How many.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
    /// Of these, I/Os that began where the one before of the same kind on the device ended.
    pub sequential: u64,
    /// By size, the most frequent first.
    pub sizes: Vec<TracedSize>,
    /// Time before dispatch, ns.
    pub queue: Histogram,
    /// From dispatch to completion, ns.
    pub device: Histogram,
    /// All that is known of the latency, ns.
    pub latency: Histogram,
}

/// I/Os of one size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracedSize {
    /// Bytes; `None`: all sizes that are rarer.
    pub bytes: Option<u32>,
    /// How many.
    pub ios: u64,
    /// Their latency, ns.
    pub latency: Histogram,
}

/// How much a rate varies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceBurst {
    /// The time over which I/Os are counted, ns.
    pub slot_ns: u64,
    /// Variance of the counts by their mean (index of dispersion): 1 of a Poisson process.
    pub dispersion: f64,
    /// The most I/Os in one slot.
    pub most: u64,
}

/// A process of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedActor {
    /// Its name, or `pid N`.
    pub name: String,
    /// How many I/Os it asked for.
    pub ios: u64,
    /// Bytes of them.
    pub bytes: u64,
}

impl TraceSummary {
    /// How many I/Os there are.
    pub fn ios(&self) -> u64 {
        self.operations.iter().map(|one| one.ios).sum()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.operations.iter().map(|one| one.bytes).sum()
    }

    /// Latency of reads and writes together, ns.
    pub fn latency(&self) -> Histogram {
        let mut all = Histogram::default();
        let data = self.operations.iter().filter(|one| one.bytes > 0);
        data.for_each(|one| all.merge(&one.latency));
        all
    }
}
