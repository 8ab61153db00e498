//! What a generator reports while it runs.

use iodyno_model::Histogram;

/// What was completed in one stretch of time, for each job of the phase.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Start, ns since the phase's start.
    pub start_ns: u64,
    /// Real length, ns; about 100 ms.
    pub duration_ns: u64,
    /// No new I/O was submitted any more: what was in flight came back, at a
    /// rate that says nothing of the workload's.
    pub draining: bool,
    /// For each job, in the phase's order.
    pub jobs: Vec<JobInterval>,
}

/// What one job (all of its threads) completed in an interval.
#[derive(Debug, Clone, Default)]
pub struct JobInterval {
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Total latencies (submission to completion) of the I/Os that ended in it.
    pub latency: Histogram,
}

/// What the observer answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// End the phase: no new I/O, wait for what is in flight.
    Stop,
}
