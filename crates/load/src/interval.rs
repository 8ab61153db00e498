//! Intervals that a generator reports while it runs.

use iodyno_model::{Direction, Histogram, PerDirection, SplitLatency};

use crate::ThreadUse;

/// I/O completed in one interval, for each job of the phase.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Start, ns since the phase's start.
    pub start_ns: u64,
    /// Real length, ns; about 100 ms.
    pub duration_ns: u64,
    /// No new I/O is submitted any more: the rate of the I/Os that still complete says nothing
    /// about the workload.
    pub draining: bool,
    /// The process was stopped in a part of it, or I/Os completed that had waited for that
    /// (SIGSTOP, a migrated virtual machine, sleep): nothing in it counts, and the next interval
    /// begins where this one did.
    pub cut: bool,
    /// Warnings to show during the run: an I/O that does not complete.
    pub warnings: Vec<String>,
    /// For each job, in the phase's order.
    pub jobs: Vec<JobInterval>,
}

/// I/O of one job (all of its threads) completed in an interval.
#[derive(Debug, Clone, Default)]
pub struct JobInterval {
    /// Part of it in which the job ran, ns: from its start to its last I/O.
    pub active_ns: u64,
    /// In the job's ramp (fio's `ramp_time`): its I/O does not count.
    pub ramping: bool,
    /// For each direction.
    pub directions: PerDirection<DirectionInterval>,
    /// Latencies of fsync and fdatasync.
    pub sync: Histogram,
    /// A row for each I/O, for jobs that log every one of them.
    pub rows: Vec<IoRow>,
    /// Resource usage of its threads.
    pub threads: ThreadUse,
}

/// An I/O in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoRow {
    /// Completion, ns since the start of its thread.
    pub ended_ns: u64,
    /// Total latency, ns.
    pub latency_ns: u64,
    /// Duration of its submission and the time from there to its completion, ns, if measured. A
    /// paced I/O that was late has waited before, too.
    pub split_ns: Option<(u64, u64)>,
    /// Direction.
    pub direction: Direction,
    /// Offset, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u32,
    /// Priority as in ioprio_set(2); 0: none set.
    pub priority: u16,
}

/// I/O of one job completed in one direction in an interval.
#[derive(Debug, Clone, Default)]
pub struct DirectionInterval {
    /// I/Os that succeeded.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Total latencies (submission to completion) of the completed I/Os; empty without timestamps
    /// (fio's `gtod_reduce`).
    pub latency: Histogram,
    /// The same in two parts, for jobs that log them over time.
    pub split: Option<Box<SplitLatency>>,
}

impl JobInterval {
    /// I/Os that succeeded, over all directions.
    pub fn ios(&self) -> u64 {
        self.directions.iter().map(|(_, one)| one.ios).sum()
    }

    /// Bytes transferred, over all directions.
    pub fn bytes(&self) -> u64 {
        self.directions.iter().map(|(_, one)| one.bytes).sum()
    }
}

/// Answer of the observer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Submit no new I/O of these jobs, by their numbers in the phase; the others go on.
    End(Vec<usize>),
    /// End the phase: submit no new I/O, wait for I/Os in flight.
    Stop,
    /// End the phase because the user interrupts it: do not wait for I/Os that do not complete.
    Interrupt,
}
