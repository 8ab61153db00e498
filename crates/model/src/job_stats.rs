//! Statistics of jobs besides their I/O results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::null_as_nan;
use crate::{BlockLife, Direction, Histogram, LatencyRange, Replayed};

/// Statistics of a job, or of all its clones, besides the I/O results.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JobStats {
    /// Start time, ns since 1970 UTC; null: it never began, or that is not known.
    #[serde(rename = "started", alias = "started_ns", with = "crate::json::time_or_null")]
    #[schemars(with = "Option<String>")]
    pub started_ns: Option<i64>,
    /// Time from start to end, ramp included, ns.
    pub elapsed_ns: u64,
    /// Counted part of it, ns.
    pub counted_ns: u64,
    /// Errno of the failure that ended the job early; 0: none.
    pub error: i32,
    /// The failure, one sentence.
    pub failure: Option<String>,
    /// Failed I/Os, by errno.
    pub errors: Vec<ErrorCount>,
    /// Verified blocks, mismatches included.
    pub verified: u64,
    /// Blocks whose content differed from what was written.
    pub mismatches: u64,
    /// Number of threads that a report sums up here; 0: a single thread, or threads reported
    /// separately.
    pub threads: u32,
    /// CPU time of the threads.
    pub cpu: CpuUse,
    /// Context switches of the threads.
    #[serde(rename = "context_switches", alias = "switches")]
    pub switches: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
    /// I/Os submitted at a depth of 1, 2, 4, 8, 16, 32, 64 or more outstanding I/Os (this one
    /// included).
    pub depth_levels: [u64; 7],
    /// System calls that submitted 0, 1-4, 5-8, 9-16, 17-32, 33-64 or more I/Os.
    pub submit_levels: [u64; 7],
    /// Number of times that 0, 1-4, 5-8, 9-16, 17-32, 33-64 or more completions were reaped at
    /// once.
    pub complete_levels: [u64; 7],
    /// Latencies of fsync and fdatasync, ns.
    #[serde(rename = "sync_bins", alias = "sync", skip_serializing_if = "Histogram::is_empty")]
    pub sync: Histogram,
    /// Failed fsyncs and fdatasyncs, which the errors of writing include.
    #[serde(skip_serializing_if = "is_zero")]
    pub sync_errors: u64,
    /// Shares of I/Os by latency, over all directions, as stated in a report.
    #[serde(
        rename = "latency_classes",
        alias = "latency_ranges",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub latency_ranges: Vec<LatencyRange>,
    /// Blocks by number of trims and final state, if the job requests it (fio's
    /// `block_error_percentiles`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub block_lives: Vec<BlockLife>,
    /// Result of `latency_target`: depth that meets it.
    pub latency_target_depth: Option<u32>,
    /// Replayed trace: recorded and replayed results side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Box<Replayed>>,
    /// Result of `steadystate`: true if attained.
    pub steadystate_attained: Option<bool>,
    /// Samples over `steadystate_duration` that the steady state was judged by, for all jobs judged
    /// together; stored with the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steadystate_samples: Vec<SteadySample>,
}

/// I/O between two `steadystate` checks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SteadySample {
    /// Time between the checks, ns.
    pub duration_ns: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sum of the latencies, ns.
    pub latency_sum_ns: f64,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// errno of failures without one, for those who look only at the number.
pub(crate) const EIO: i32 = 5;

impl JobStats {
    /// Errno of the failure that ended it, EIO if it has none; 0: it did not fail.
    pub const fn errno(&self) -> i32 {
        match self.error {
            0 if self.failure.is_some() => EIO,
            errno => errno,
        }
    }

    /// Extends its times to those of `other`, which ran beside it.
    pub fn extend_times(&mut self, other: &Self) {
        self.started_ns = [self.started_ns, other.started_ns].into_iter().flatten().min();
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.counted_ns = self.counted_ns.max(other.counted_ns);
    }

    /// Adds the counts of `other`; times and other values stay.
    pub fn add_counts(&mut self, other: &Self) {
        // Imported reports may claim any count.
        let add = |sum: &mut u64, one: u64| *sum = sum.saturating_add(one);
        add(&mut self.verified, other.verified);
        add(&mut self.mismatches, other.mismatches);
        add(&mut self.sync_errors, other.sync_errors);
        add(&mut self.switches, other.switches);
        add(&mut self.major_faults, other.major_faults);
        add(&mut self.minor_faults, other.minor_faults);
        for (sum, one) in [
            (&mut self.depth_levels, &other.depth_levels),
            (&mut self.submit_levels, &other.submit_levels),
            (&mut self.complete_levels, &other.complete_levels),
        ] {
            sum.iter_mut().zip(one).for_each(|(sum, one)| add(sum, *one));
        }
        self.cpu.user += other.cpu.user;
        self.cpu.system += other.cpu.system;
        self.cpu.busiest_thread = self.cpu.busiest_thread.max(other.cpu.busiest_thread);
        self.sync.merge(&other.sync);
        other.block_lives.iter().for_each(|life| life.add(&mut self.block_lives));
    }
}

/// Failed I/Os with the same errno and direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// Errno.
    pub errno: i32,
    /// Direction of the I/Os.
    pub direction: Direction,
    /// Number of failures.
    pub count: u64,
    /// Offsets of the first failures, bytes, at most eight.
    pub offsets: Vec<u64>,
}

/// CPU time of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// User time of all submitting threads over the run time; 1: one CPU.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub user: f64,
    /// System time of all submitting threads over the run time; 1: one CPU.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub system: f64,
    /// CPU share of the busiest submitting thread, 0..1; the mean of the threads, a lower bound, if
    /// a report has nothing else.
    #[serde(deserialize_with = "null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub busiest_thread: f64,
    /// Share of the run time for which a submitting thread was ready to run and had no CPU, of the one
    /// that waited longest, 0..1; null: not known.
    #[serde(default)]
    pub waited: Option<f64>,
}
