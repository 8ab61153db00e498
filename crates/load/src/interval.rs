//! What a generator reports while it runs.

use iodyno_model::{Direction, Histogram, PerDirection, SplitLatency};

use crate::ThreadUse;

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
    /// The process did not run in a part of it, or I/Os came back that had waited for it
    /// (SIGSTOP, a virtual machine that moved, sleep): nothing in it is to be counted, and the
    /// next interval begins where this one did.
    pub cut: bool,
    /// What should be told while it goes on: an I/O without an answer.
    pub warnings: Vec<String>,
    /// For each job, in the phase's order.
    pub jobs: Vec<JobInterval>,
}

/// What one job (all of its threads) completed in an interval.
#[derive(Debug, Clone, Default)]
pub struct JobInterval {
    /// How long of it the job ran, ns: not before its start, not after its last I/O.
    pub active_ns: u64,
    /// It ran in its ramp (fio's `ramp_time`): what it did is not to be counted.
    pub ramping: bool,
    /// For each direction.
    pub directions: PerDirection<DirectionInterval>,
    /// Latencies of fsync and fdatasync.
    pub sync: Histogram,
    /// A row for each I/O, of jobs that log every one of them.
    pub rows: Vec<IoRow>,
    /// What its threads use.
    pub threads: ThreadUse,
}

/// An I/O, as a log has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoRow {
    /// When it was done, ns since its thread began.
    pub ended_ns: u64,
    /// Total latency, ns.
    pub latency_ns: u64,
    /// Of that, until the submitting system call was done, where that is known.
    pub submission_ns: Option<u64>,
    /// Direction.
    pub direction: Direction,
    /// Offset, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u32,
    /// Priority as in ioprio_set(2); 0: none was asked for.
    pub priority: u16,
}

/// What one job completed in one direction in an interval.
#[derive(Debug, Clone, Default)]
pub struct DirectionInterval {
    /// I/Os that succeeded.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Total latencies (submission to completion) of the I/Os that ended in
    /// it; empty where nobody stamps them (fio's `gtod_reduce`).
    pub latency: Histogram,
    /// The same in two parts, of jobs that log them over time.
    pub split: Option<Box<SplitLatency>>,
}

impl JobInterval {
    /// I/Os that succeeded, over all directions.
    pub fn ios(&self) -> u64 {
        self.directions.iter().map(|(_, one)| one.ios).sum()
    }

    /// Bytes moved, over all directions.
    pub fn bytes(&self) -> u64 {
        self.directions.iter().map(|(_, one)| one.bytes).sum()
    }
}

/// What the observer answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// No new I/O of these jobs, by their numbers in the phase; the others go on.
    End(Vec<usize>),
    /// End the phase: no new I/O, wait for what is in flight.
    Stop,
    /// The same because the user wants it: what does not answer is not waited for.
    Interrupt,
}
