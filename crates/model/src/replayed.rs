//! A trace that was replayed: what was recorded beside what was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// Which I/Os of a trace are replayed, when, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedTrace {
    /// Its file.
    pub file: String,
    /// How it was recorded: `tracefs`, or another tool's format.
    pub source: String,
    /// The step of its times, ns.
    pub tick_ns: u64,
    /// It tells how long I/Os took.
    pub has_latencies: bool,
    /// Each I/O waits for those that had completed before it, and for the pause behind them; else
    /// it is issued at its time.
    pub closed: bool,
    /// How fast time passes, percent: 200 is twice as fast.
    pub speed_percent: u32,
    /// Where in the trace the replay begins, ns.
    pub from_ns: u64,
    /// From the first I/O to the last, as recorded, ns.
    pub span_ns: u64,
    /// I/Os to replay, by what they do.
    pub ios: ReplayedIos,
    /// I/Os of that time that are left out.
    pub left_out: ReplayedIos,
    /// Events that the kernel dropped while that time was recorded: I/Os are missing.
    pub lost: u64,
    /// Bytes to read.
    pub read_bytes: u64,
    /// Bytes to write.
    pub write_bytes: u64,
    /// Of the writes, those that were durable on completion, or had a flush in front of them; both
    /// are replayed as plain writes.
    pub durable: u64,
    /// The recorded devices, and where on the target each begins.
    pub devices: Vec<ReplayedDevice>,
    /// How addresses were packed; null: they are as recorded.
    pub packed: Option<PackedAddresses>,
}

/// I/Os, by what they do.
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
    /// Others: passthrough commands, zone management, zeroes without data, I/Os of no bytes.
    pub others: u64,
}

impl ReplayedIos {
    /// All of them.
    pub const fn all(&self) -> u64 {
        self.reads + self.writes + self.discards + self.flushes + self.others
    }
}

/// A recorded device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedDevice {
    /// Its name where it was recorded.
    pub name: String,
    /// Where on the target its first byte is, bytes; meaningless where addresses are packed.
    pub at_bytes: u64,
    /// Where its last I/O ends, bytes.
    pub end_bytes: u64,
}

/// Pieces of the recorded devices, one behind the other on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PackedAddresses {
    /// Size of a piece, bytes.
    pub piece_bytes: u64,
    /// Pieces that were read or written.
    pub pieces: u64,
    /// Places for them on the target; fewer than pieces: neighbours share one.
    pub places: u64,
}

/// What replaying a trace came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Replayed {
    /// What was replayed, and how.
    pub trace: ReplayedTrace,
    /// Whether the target carried the recorded load.
    pub pace: ReplayPace,
    /// I/Os that could be in flight.
    pub depth: u32,
    /// From when the first I/O was due to the last completion, ns.
    pub took_ns: u64,
    /// The same in the recording at the speed that was asked for, ns; of a trace without latencies
    /// to when the last I/O was issued.
    pub recorded_ns: u64,
    /// How much later than intended I/Os were issued, ns; without those that waited for room.
    pub issue_error: ReplayedLatency,
    /// I/Os that were issued late because `depth` others were in flight.
    pub waited: u64,
    /// I/Os that were made larger, to whole blocks of the target.
    pub aligned: u64,
    /// Discards that were left out, since addresses are packed and nothing else touches theirs.
    pub discards_left_out: u64,
    /// By operation and size, in this order.
    pub sizes: Vec<ReplayedSize>,
    /// Length of a slot of `slots`, ns.
    pub slot_ns: u64,
    /// Completed I/Os over time.
    pub slots: Vec<ReplayedSlot>,
}

/// Whether a target carried a recorded load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayPace {
    /// I/Os waited for others, not for their times.
    #[default]
    Closed,
    /// I/Os were issued when they were due, and done in time.
    Kept,
    /// The target is slower: I/Os waited for room among those in flight, or the last were done late.
    Behind,
    /// The host is slower: I/Os were issued late, so latencies are not the target's alone.
    Late,
}

/// A share of I/Os that may wait, and of the time that may be missing: this many in one.
const FEW: u64 = 100;
/// The error of issue may be this part of the median latency.
const SMALL_PART: u64 = 10;
/// It may always be this, ns.
const SMALL_NS: u64 = 20_000;

impl Replayed {
    /// Whether the target carried the load.
    pub fn judge(&self) -> ReplayPace {
        let ios = self.sizes.iter().map(|size| size.ios).sum::<u64>();
        let slowest = self.sizes.iter().map(|size| size.replayed.p99_ns).max().unwrap_or(0);
        // Latencies count from when I/Os were due: what was issued late is none of the target's.
        let slowest = slowest.saturating_sub(self.issue_error.p99_ns);
        let in_time_ns = self.recorded_ns + self.recorded_ns / FEW + slowest;
        let medians = self.sizes.iter().max_by_key(|size| size.ios);
        let median_ns = medians.map_or(0, |size| size.replayed.p50_ns);
        match () {
            () if self.trace.closed => ReplayPace::Closed,
            () if self.waited > ios / FEW || self.took_ns > in_time_ns => ReplayPace::Behind,
            () if self.issue_error.p99_ns > (median_ns / SMALL_PART).max(SMALL_NS) => {
                ReplayPace::Late
            }
            () => ReplayPace::Kept,
        }
    }
}

/// I/Os of one operation and about one size.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedSize {
    /// `read`, `write`, `discard`, `flush`.
    pub operation: String,
    /// They have at most this many bytes, and more than half of it.
    pub up_to_bytes: u64,
    /// How many were replayed.
    pub ios: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// As recorded; null: the trace does not tell.
    pub recorded: Option<ReplayedLatency>,
    /// As measured, from when each was due.
    pub replayed: ReplayedLatency,
}

/// Quantiles of a latency, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedLatency {
    /// Half are at most this.
    pub p50_ns: u64,
    /// 99 % are at most this.
    pub p99_ns: u64,
    /// 99.9 % are at most this.
    pub p999_ns: u64,
    /// The largest.
    pub max_ns: u64,
}

impl ReplayedLatency {
    /// Those of a histogram; none: it is empty.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        Some(Self {
            p50_ns: histogram.quantile_ns(0.5)?,
            p99_ns: histogram.quantile_ns(0.99)?,
            p999_ns: histogram.quantile_ns(0.999)?,
            max_ns: histogram.max_ns()?,
        })
    }
}

/// I/Os that completed in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplayedSlot {
    /// When recorded; of a trace without latencies those that were issued.
    pub recorded: u64,
    /// When replayed.
    pub replayed: u64,
}
