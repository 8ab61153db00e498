//! Replayed traces: recorded and measured results side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// Trace to replay: selected I/Os, timing and addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedTrace {
    /// Trace file.
    pub file: String,
    /// Recorder or format of the trace: `tracefs`, or another tool's format.
    pub source: String,
    /// Resolution of the timestamps, ns.
    pub tick_ns: u64,
    /// True if the trace contains latencies.
    pub has_latencies: bool,
    /// True for a closed loop: each I/O waits for those that had completed before it, then for the
    /// recorded pause; else it is issued at its recorded time.
    pub closed: bool,
    /// Replay speed, percent: 200 is twice as fast.
    pub speed_percent: u32,
    /// Start of the replay within the trace, ns.
    pub from_ns: u64,
    /// Recorded time from the first to the last I/O, ns.
    pub span_ns: u64,
    /// I/Os to replay, by operation.
    pub ios: ReplayedIos,
    /// I/Os left out within that time, by operation.
    pub left_out: ReplayedIos,
    /// Events dropped by the kernel during that time: I/Os are missing.
    pub lost: u64,
    /// Bytes to read.
    pub read_bytes: u64,
    /// Bytes to write.
    pub write_bytes: u64,
    /// Writes with FUA or a flush in front of them; both are replayed as plain writes.
    pub durable: u64,
    /// Recorded devices and their position on the target.
    pub devices: Vec<ReplayedDevice>,
    /// Packing of the addresses; null: addresses as recorded.
    pub packed: Option<PackedAddresses>,
}

/// Number of I/Os, by operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedIos {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards.
    pub discards: u64,
    /// Flushes.
    pub flushes: u64,
    /// Other I/Os: passthrough commands, zone management, zeroes without data, zero-length I/Os.
    pub others: u64,
}

impl ReplayedIos {
    /// Number of all I/Os.
    pub const fn all(&self) -> u64 {
        self.reads + self.writes + self.discards + self.flushes + self.others
    }
}

/// A recorded device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedDevice {
    /// Name of the device on the recorded machine.
    pub name: String,
    /// Offset of its first byte on the target, bytes; meaningless with packed addresses.
    pub at_bytes: u64,
    /// End of its last I/O, bytes.
    pub end_bytes: u64,
}

/// Packed addresses: used pieces of the recorded devices, one after the other on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PackedAddresses {
    /// Piece size, bytes.
    pub piece_bytes: u64,
    /// Number of pieces read or written.
    pub pieces: u64,
    /// Number of places for pieces on the target; if fewer than pieces, neighbours share a place.
    pub places: u64,
}

/// Result of replaying a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Replayed {
    /// Replayed trace and settings.
    pub trace: ReplayedTrace,
    /// Whether the target kept up with the recorded load.
    pub pace: ReplayPace,
    /// Maximum number of I/Os in flight.
    pub depth: u32,
    /// Time from the scheduled start of the first I/O to the last completion, ns.
    pub took_ns: u64,
    /// Same time in the recording, at the requested speed, ns; without recorded latencies, to the
    /// last submission.
    pub recorded_ns: u64,
    /// Delay of submissions, ns, except of I/Os that waited for a free slot.
    pub issue_error: ReplayedLatency,
    /// I/Os issued late because `depth` others were in flight.
    pub waited: u64,
    /// I/Os enlarged to whole blocks of the target.
    pub aligned: u64,
    /// Discards left out, since with packed addresses nothing else uses their range.
    pub discards_left_out: u64,
    /// Results by operation, then size.
    pub sizes: Vec<ReplayedSize>,
    /// Length of each slot in `slots`, ns.
    pub slot_ns: u64,
    /// Completed I/Os over time.
    pub slots: Vec<ReplayedSlot>,
}

/// Whether a target kept up with a recorded load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayPace {
    /// Not judged: a closed loop, paced by completions instead of time.
    #[default]
    Closed,
    /// I/Os were issued on time and completed in time.
    Kept,
    /// Target too slow: I/Os waited for a free slot, or the last ones completed late.
    Behind,
    /// Host too slow: I/Os were issued late, so that latencies are not only the target's.
    Late,
}

/// One in this many I/Os may wait, and as much of the time may be exceeded.
const TOLERANCE_DIVISOR: u64 = 100;
/// The submission delay may be this fraction of the median latency.
const DELAY_DIVISOR: u64 = 10;
/// Submission delay that is always accepted, ns.
const ACCEPTED_DELAY_NS: u64 = 20_000;

impl Replayed {
    /// Judges whether the target kept up with the load.
    pub fn judge(&self) -> ReplayPace {
        let ios = self.sizes.iter().map(|size| size.ios).sum::<u64>();
        let slowest = self.sizes.iter().map(|size| size.replayed.p99_ns).max().unwrap_or(0);
        // Latencies count from the scheduled start; late submission is not the target's fault.
        let slowest = slowest.saturating_sub(self.issue_error.p99_ns);
        let in_time_ns = self.recorded_ns + self.recorded_ns / TOLERANCE_DIVISOR + slowest;
        let medians = self.sizes.iter().max_by_key(|size| size.ios);
        let median_ns = medians.map_or(0, |size| size.replayed.p50_ns);
        match () {
            () if self.trace.closed => ReplayPace::Closed,
            () if self.waited > ios / TOLERANCE_DIVISOR || self.took_ns > in_time_ns => {
                ReplayPace::Behind
            }
            () if self.issue_error.p99_ns > (median_ns / DELAY_DIVISOR).max(ACCEPTED_DELAY_NS) => {
                ReplayPace::Late
            }
            () => ReplayPace::Kept,
        }
    }
}

/// I/Os of one operation and size class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedSize {
    /// Operation: `read`, `write`, `discard`, `flush`.
    pub operation: String,
    /// Upper limit of the size class, bytes; the lower limit is half of it, exclusive.
    pub up_to_bytes: u64,
    /// Number of I/Os replayed.
    pub ios: u64,
    /// Total bytes of these I/Os.
    pub bytes: u64,
    /// Recorded latencies; null: not in the trace.
    pub recorded: Option<ReplayedLatency>,
    /// Measured latencies, from the scheduled start of each I/O.
    pub replayed: ReplayedLatency,
}

/// Latency percentiles, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedLatency {
    /// Median.
    pub p50_ns: u64,
    /// p99.
    pub p99_ns: u64,
    /// p99.9.
    pub p999_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

impl ReplayedLatency {
    /// Percentiles of a histogram; `None`: empty.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        Some(Self {
            p50_ns: histogram.quantile_ns(0.5)?,
            p99_ns: histogram.quantile_ns(0.99)?,
            p999_ns: histogram.quantile_ns(0.999)?,
            max_ns: histogram.max_ns()?,
        })
    }
}

/// I/Os completed in one time slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedSlot {
    /// In the recording; without recorded latencies, I/Os issued.
    pub recorded: u64,
    /// In the replay.
    pub replayed: u64,
}
