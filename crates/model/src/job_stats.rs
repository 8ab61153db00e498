//! What jobs did besides moving data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::number;
use crate::{BlockLife, Direction, Histogram, LatencyRange, Replayed};

/// What a job, or all clones of one, did besides moving data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JobStats {
    /// Start, ns since 1970 UTC.
    #[serde(rename = "started", alias = "started_ns", with = "crate::json::time")]
    #[schemars(with = "String")]
    pub started_ns: i64,
    /// From its start to its end, ramp included, ns.
    pub elapsed_ns: u64,
    /// Of that, what is counted, ns.
    pub counted_ns: u64,
    /// Why it ended early: errno and what happened; errno 0 where it did not.
    pub error: i32,
    /// As a sentence.
    pub failure: Option<String>,
    /// I/Os that failed, by errno.
    pub errors: Vec<ErrorCount>,
    /// Blocks that were verified, and those that were not what was written.
    pub verified: u64,
    /// Blocks that were not what was written.
    pub mismatches: u64,
    /// Threads that a report adds up in it; 0: it is of one, or of parts that are known apart.
    pub threads: u32,
    /// CPU time of its threads.
    pub cpu: CpuUse,
    /// Context switches of its threads.
    #[serde(rename = "context_switches", alias = "switches")]
    pub switches: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
    /// I/Os that were submitted while 1, 2, 4, 8, 16, 32, 64 or more were
    /// outstanding (that one included).
    pub depth_levels: [u64; 7],
    /// System calls that submitted 0, 1-4, 5-8, 9-16, 17-32, 33-64, more.
    pub submit_levels: [u64; 7],
    /// Times that 0, 1-4, 5-8, 9-16, 17-32, 33-64, more completions were seen.
    pub complete_levels: [u64; 7],
    /// Latencies of fsync and fdatasync, ns.
    #[serde(rename = "sync_bins", alias = "sync", skip_serializing_if = "Histogram::is_empty")]
    #[schemars(skip)]
    pub sync: Histogram,
    /// Shares of I/Os by latency, over all directions, as a report states them.
    #[serde(
        rename = "latency_classes",
        alias = "latency_ranges",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub latency_ranges: Vec<LatencyRange>,
    /// Blocks by how often they were trimmed and how they ended, where a job asks for it
    /// (fio's `block_error_percentiles`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub block_lives: Vec<BlockLife>,
    /// What `latency_target` found: the depth that keeps it.
    pub latency_target_depth: Option<u32>,
    /// The trace that it replayed, recorded and replayed side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Box<Replayed>>,
    /// What `steadystate` found.
    pub steadystate_attained: Option<bool>,
    /// The samples that it was judged by, over `steadystate_duration`, of all jobs that were judged
    /// together: with the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steadystate_samples: Vec<SteadySample>,
}

/// What jobs did between two looks of `steadystate`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SteadySample {
    /// Time between them, ns.
    pub duration_ns: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sum of their latencies, ns.
    pub latency_sum_ns: f64,
}

impl JobStats {
    /// Adds what `other` counted; times, and what is not counted, stay.
    pub fn add_counts(&mut self, other: &Self) {
        // Counts that a report states may be anything.
        let add = |sum: &mut u64, one: u64| *sum = sum.saturating_add(one);
        add(&mut self.verified, other.verified);
        add(&mut self.mismatches, other.mismatches);
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

/// I/Os that failed in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// Errno.
    pub errno: i32,
    /// In which direction.
    pub direction: Direction,
    /// How many.
    pub count: u64,
    /// The first offsets, bytes, at most eight.
    pub offsets: Vec<u64>,
}

/// CPU time that a measurement took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// User time of all submitting threads over the run time, 1 = one CPU.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub user: f64,
    /// System time of all submitting threads over the run time, 1 = one CPU.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub system: f64,
    /// The busiest submitting thread's share of a CPU, 0..1; where a report has no more than the
    /// mean of its threads, that, which it is at least.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub busiest_thread: f64,
}
