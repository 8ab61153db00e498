//! The load generator trait and its reports.

use std::time::Duration;

use iodyno_job::{Job, Room, Unfit};
use iodyno_model::{
    Cause, Caveat, CpuUse, Failure, JobStats, PerDirection, PriorityLatencies, SplitLatency,
};
use iodyno_target::{Access, FillBuffer, ReadClearance};
use thiserror::Error;

use crate::{Flow, Interval, ProbeSample};

/// A job with the clearances of its files and devices, in the order of `job.files.paths`.
#[derive(Debug, Clone)]
pub struct ClearedJob<'a> {
    /// The job.
    pub job: Job,
    /// Its files and devices; at least one.
    pub files: Vec<Access<'a>>,
}

impl<'a> ClearedJob<'a> {
    /// A job that reads one target.
    pub fn reading(job: Job, target: &'a ReadClearance) -> Self {
        Self { job, files: vec![Access::Read(target)] }
    }

    /// Name of its target; several joined by `:` as in fio's `filename`.
    pub fn target(&self) -> String {
        let names: Vec<&str> = self.files.iter().map(|file| file.read().name()).collect();
        names.join(":")
    }
}

/// Watches a phase on the control thread.
pub trait Observer {
    /// Called when everything is set up, before the first I/O of any job. Unless it returns
    /// [`Flow::Continue`], no job is started.
    fn begin(&mut self) -> Flow {
        Flow::Continue
    }

    /// Called for every interval, about ten times a second.
    fn observe(&mut self, interval: &Interval) -> Flow;
}

/// Produces I/O.
pub trait LoadGenerator {
    /// Name and version, as a measurement's source: `native 0.1.0`.
    fn source(&self) -> String;

    /// Checks that it can carry out a job, by its options alone, before anything is made or changed
    /// for any job of the run.
    ///
    /// # Errors
    /// An option that it does not carry out.
    fn takes(&self, _job: &Job) -> Result<(), Unfit> {
        Ok(())
    }

    /// Checks that a job fits files and devices of the sizes in `rooms`, before any of them is made
    /// or changed, so that a job that cannot run leaves nothing behind.
    ///
    /// # Errors
    /// It does not fit.
    fn fits(&self, _job: &Job, _rooms: &[Room]) -> Result<(), Unfit> {
        Ok(())
    }

    /// True if it writes the zones of a zoned device in a valid order by itself.
    fn writes_zones(&self, _job: &Job) -> bool {
        false
    }

    /// Returns what fills buffers as `job` fills those of its writes, for a file of `size_bytes` that
    /// is laid out for it; `None`: with random data.
    fn contents(&self, _job: &Job, _size_bytes: u64) -> Option<Box<FillBuffer>> {
        None
    }

    /// Runs `jobs` at the same time until the observer stops them or their run times are over, and
    /// waits for I/Os in flight.
    ///
    /// # Errors
    /// The phase cannot be run at all. Failed I/Os are counted, and a job that cannot go on (its
    /// device vanished) ends with [`JobReport::failure`]; the others go on.
    fn run(
        &mut self,
        jobs: &[ClearedJob<'_>],
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, LoadError>;

    /// Makes no I/O for `ns`, so that drives cool down.
    fn rest(&mut self, ns: u64) {
        std::thread::sleep(Duration::from_nanos(ns));
    }

    /// Reads `bytes` at each offset, one after the other (depth 1, a single thread), and returns
    /// the latency and content of each. Stops early, with the samples so far, after `max_ns`.
    ///
    /// # Errors
    /// The target cannot be read at all, or does not answer; single failed reads are samples
    /// without content.
    fn probe(
        &mut self,
        target: &ReadClearance,
        offsets: &[u64],
        bytes: u32,
        max_ns: u64,
    ) -> Result<Vec<ProbeSample>, LoadError>;
}

/// Report of a phase.
#[derive(Debug, Clone)]
pub struct PhaseReport {
    /// For each job, in order.
    pub jobs: Vec<JobReport>,
    /// CPU time of all submitting threads.
    pub cpu: CpuUse,
}

/// Settings in effect for one job, and its totals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobReport {
    /// I/O engine in effect.
    pub engine: String,
    /// Reason for this engine.
    pub engine_reason: Option<String>,
    /// The target lacks NOWAIT support, so kernel worker threads ran the I/O.
    pub punted: Option<bool>,
    /// Buffers were registered with the kernel.
    pub registered_buffers: Option<bool>,
    /// Number of submitting threads.
    pub threads: u32,
    /// CPUs that they were pinned to.
    pub cpus: Vec<u32>,
    /// Queue depth of each thread in effect, which may be less than requested.
    pub iodepth: u32,
    /// Caveats of its results.
    pub shortfalls: Vec<Caveat>,
    /// Times for which the process was stopped during the phase, ns; cut out.
    pub lapses_ns: Vec<u64>,
    /// Totals of each direction.
    pub whole: PerDirection<Whole>,
    /// Part of the counted time spent in a direction, ns, if directions have separate times: writes
    /// are verified afterwards.
    pub active_ns: PerDirection<Option<u64>>,
    /// Latencies over the counted time, split in two parts, if `strict_stamps` was set.
    pub split: PerDirection<Option<SplitLatency>>,
    /// Latencies over the counted time by priority, if I/Os have one.
    pub by_priority: PerDirection<PriorityLatencies>,
    /// Other statistics.
    pub account: JobStats,
    /// First error, with its offset.
    pub first_error: Option<Failure>,
    /// Reason why the job could not go on.
    pub failure: Option<String>,
}

/// Totals of a job in one direction, ramp and drain included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Whole {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// I/Os that transferred fewer bytes than requested.
    pub short_ios: u64,
}

impl std::ops::AddAssign for Whole {
    fn add_assign(&mut self, other: Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.short_ios += other.short_ios;
    }
}

/// Why a phase could not be run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The job does not fit its target.
    #[error("{target}: {what}")]
    Unfit {
        /// Target.
        target: String,
        /// What does not fit, and what would.
        what: String,
    },
    /// A system call failed.
    #[error("{target}: cannot {action}: {error}")]
    System {
        /// Target, or the I/O engine.
        target: String,
        /// Attempted action.
        action: String,
        /// Error of the kernel.
        error: std::io::Error,
    },
    /// The I/O engine cannot be used here.
    #[error("{target}: cannot {action}: {error}")]
    Engine {
        /// Target.
        target: String,
        /// Attempted action.
        action: String,
        /// Error of the kernel.
        error: std::io::Error,
    },
    /// An I/O does not complete; a sentence that begins with its target.
    #[error("{0}")]
    NoAnswer(String),
}

impl From<&LoadError> for Failure {
    fn from(error: &LoadError) -> Self {
        let cause = match error {
            LoadError::Unfit { .. } => Cause::Unfit,
            LoadError::Engine { .. } => Cause::Engine,
            LoadError::System { error, .. } => {
                error.raw_os_error().map_or(Cause::Unknown, Cause::Errno)
            }
            LoadError::NoAnswer(_) => Cause::NoAnswer,
        };
        Self { cause, text: error.to_string() }
    }
}

impl LoadError {
    /// Target or I/O engine in question; `None` if unknown.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Unfit { target, .. }
            | Self::System { target, .. }
            | Self::Engine { target, .. } => Some(target),
            Self::NoAnswer(_) => None,
        }
    }
}
