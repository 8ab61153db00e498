//! Summary of an I/O trace, without its I/Os.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// Summary of an I/O trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSummary {
    /// Source of the I/Os: `tracefs`, `bpf` (counted within the kernel), or the format that was read.
    pub source: String,
    /// Names of the devices.
    pub devices: Vec<String>,
    /// Recorded time, ns.
    pub duration_ns: u64,
    /// Resolution of the timestamps, ns.
    pub tick_ns: u64,
    /// Events dropped by the kernel.
    pub lost: u64,
    /// I/Os without a completion, and completions without an I/O.
    pub unmatched: u64,
    /// Unreadable parts of the file, bytes: blocks, lines or records.
    pub damaged: u64,
    /// I/Os too far out of order, which got the time of the one before.
    #[serde(default)]
    pub displaced: u64,
    /// True if the recording is cut off.
    pub is_cut: bool,
    /// Operations that occur.
    pub operations: Vec<TracedOperation>,
    /// I/Os of file system metadata.
    pub metadata: u64,
    /// I/Os with FUA (durable on completion).
    pub fua: u64,
    /// Burstiness of the rate at several time scales.
    pub bursts: Vec<TraceBurst>,
    /// Processes with the most I/Os, busiest first.
    pub actors: Vec<TracedActor>,
    /// I/O over time and address; null: not counted.
    #[serde(default)]
    pub course: Option<TraceCourse>,
}

/// Reads and writes over time and address: at most 128 slots of 64 zones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceCourse {
    /// Length of a slot, ns.
    pub slot_ns: u64,
    /// Size of a zone, bytes. All devices share the same zones.
    pub zone_bytes: u64,
    /// End of the last I/O, bytes.
    pub end_bytes: u64,
    /// Slots in time order, from the start of the trace.
    pub slots: Vec<TraceSlot>,
}

/// Time slot of a [`TraceCourse`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSlot {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads by zone, up to the last zone with any.
    pub reads: Vec<u64>,
    /// Writes by zone, as `reads`.
    pub writes: Vec<u64>,
}

/// One kind of operation in a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracedOperation {
    /// Operation: `read`, `write`, `discard`, `flush`, `other`.
    pub operation: String,
    /// Number of I/Os.
    pub ios: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Sequential I/Os: start where the previous one of the same kind on the device ended.
    pub sequential: u64,
    /// I/Os by size, the most frequent first.
    pub sizes: Vec<TracedSize>,
    /// Time before dispatch, ns.
    pub queue: Histogram,
    /// Time from dispatch to completion, ns.
    pub device: Histogram,
    /// Total latency as far as known, ns.
    pub latency: Histogram,
}

/// I/Os of one size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracedSize {
    /// I/O size, bytes; null: all rarer sizes.
    pub bytes: Option<u32>,
    /// Number of I/Os.
    pub ios: u64,
    /// Latency, ns.
    pub latency: Histogram,
}

/// Burstiness of a rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceBurst {
    /// Time slot in which I/Os are counted, ns.
    pub slot_ns: u64,
    /// Index of dispersion (variance over mean of the counts): 1 for a Poisson process.
    pub dispersion: f64,
    /// Most I/Os in one slot.
    pub most: u64,
}

/// A process in a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedActor {
    /// Process name, `pid N`, or `#N` of an anonymous recording.
    pub name: String,
    /// Number of I/Os it issued.
    pub ios: u64,
    /// Total bytes of its I/Os.
    pub bytes: u64,
}

impl TraceSummary {
    /// Number of I/Os.
    pub fn ios(&self) -> u64 {
        self.operations.iter().map(|one| one.ios).sum()
    }

    /// Bytes read and written; discards move none.
    pub fn bytes(&self) -> u64 {
        self.data().map(|one| one.bytes).sum()
    }

    /// Bytes discarded.
    pub fn discarded_bytes(&self) -> u64 {
        let discards = self.operations.iter().filter(|one| one.operation == "discard");
        discards.map(|one| one.bytes).sum()
    }

    /// Numbers the processes by their I/Os: names and pids are not in an anonymous recording.
    pub fn number_actors(&mut self) {
        for (actor, number) in self.actors.iter_mut().zip(1..) {
            actor.name = format!("#{number}");
        }
    }

    fn data(&self) -> impl Iterator<Item = &TracedOperation> {
        self.operations.iter().filter(|one| matches!(one.operation.as_str(), "read" | "write"))
    }

    /// Latencies of reads and writes together, ns.
    pub fn latency(&self) -> Histogram {
        let mut all = Histogram::default();
        self.data().for_each(|one| all.merge(&one.latency));
        all
    }
}
