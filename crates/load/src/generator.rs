//! What a load generator is.

use std::time::Duration;

use iodyno_job::{Job, Room, Unfit};
use iodyno_model::{
    Cause, Caveat, CpuUse, Failure, JobStats, PerDirection, PriorityLatencies, SplitLatency,
};
use iodyno_target::{Access, ReadClearance};
use thiserror::Error;

use crate::{Flow, Interval, ProbeSample};

/// A job with the clearances of its files and devices, in the order of
/// `job.files.paths`.
#[derive(Debug, Clone)]
pub struct ClearedJob<'a> {
    /// What is to be done.
    pub job: Job,
    /// Where; at least one.
    pub files: Vec<Access<'a>>,
}

impl<'a> ClearedJob<'a> {
    /// A job that reads one target.
    pub fn reading(job: Job, target: &'a ReadClearance) -> Self {
        Self { job, files: vec![Access::Read(target)] }
    }

    /// The name of its target; of several, joined by `:` as in fio's `filename`.
    pub fn target(&self) -> String {
        let names: Vec<&str> = self.files.iter().map(|file| file.read().name()).collect();
        names.join(":")
    }
}

/// Watches a phase on the control thread.
pub trait Observer {
    /// Called for every interval, about ten times a second.
    fn observe(&mut self, interval: &Interval) -> Flow;
}

/// Something that produces I/O.
pub trait LoadGenerator {
    /// Name and version, as a measurement's source: `native 0.1.0`.
    fn source(&self) -> String;

    /// Whether a job fits files and devices as `rooms` says they will be: asked before any of them
    /// is made or changed, so that what cannot be run leaves nothing behind.
    ///
    /// # Errors
    /// It does not fit.
    fn fits(&self, _job: &Job, _rooms: &[Room]) -> Result<(), Unfit> {
        Ok(())
    }

    /// Whether it writes the zones of a zoned device as they have to be written, by itself.
    fn keeps_to_zones(&self, _job: &Job) -> bool {
        false
    }

    /// Runs `jobs` at the same time until the observer stops them or their own
    /// run times are over, and waits for what is in flight.
    ///
    /// # Errors
    /// Where the phase cannot be run at all. I/Os that fail are counted and a
    /// job that cannot go on (its device vanished) ends with
    /// [`JobReport::failure`]; the others go on.
    fn run(
        &mut self,
        jobs: &[ClearedJob<'_>],
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, LoadError>;

    /// Makes no I/O for `ns`, so that drives cool down.
    fn rest(&mut self, ns: u64) {
        std::thread::sleep(Duration::from_nanos(ns));
    }

    /// Reads `bytes` at each offset one after the other (depth 1, a single
    /// thread) and says how long each took and what it held.
    ///
    /// # Errors
    /// Where the target cannot be read at all, or does not answer; single failed
    /// reads are samples without content. Stops early, with the samples so far, once
    /// `max_ns` have passed.
    fn probe(
        &mut self,
        target: &ReadClearance,
        offsets: &[u64],
        bytes: u32,
        max_ns: u64,
    ) -> Result<Vec<ProbeSample>, LoadError>;
}

/// What a phase came to.
#[derive(Debug, Clone)]
pub struct PhaseReport {
    /// For each job, in order.
    pub jobs: Vec<JobReport>,
    /// CPU time of all submitting threads.
    pub cpu: CpuUse,
}

/// What was in effect for one job, and what it did in all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobReport {
    /// I/O engine in effect.
    pub engine: String,
    /// Why this one.
    pub engine_reason: Option<String>,
    /// The target has no NOWAIT support, so kernel threads ran the I/O.
    pub punted: Option<bool>,
    /// Buffers were registered with the kernel.
    pub registered_buffers: Option<bool>,
    /// Threads that submitted.
    pub threads: u32,
    /// CPUs that they were kept on.
    pub cpus: Vec<u32>,
    /// Depth of each thread that was possible, which may be less than asked.
    pub iodepth: u32,
    /// What qualifies it.
    pub shortfalls: Vec<Caveat>,
    /// How long the process did not run while the phase went on, ns, each time: cut out.
    pub lapses_ns: Vec<u64>,
    /// In all, for each direction.
    pub whole: PerDirection<Whole>,
    /// How long of the counted time it was at it, ns, where a direction had a time of its own:
    /// what was written is verified afterwards.
    pub active_ns: PerDirection<Option<u64>>,
    /// Latencies in two parts over the counted time, where `strict_stamps` was asked for.
    pub split: PerDirection<Option<SplitLatency>>,
    /// Latencies over the counted time by priority, where I/Os have one each.
    pub by_priority: PerDirection<PriorityLatencies>,
    /// What else it did.
    pub account: JobStats,
    /// The first error: what and at which offset.
    pub first_error: Option<Failure>,
    /// Why the job could not go on.
    pub failure: Option<String>,
}

/// What a job did in one direction in all, ramp and drain included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Whole {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// I/Os that moved fewer bytes than they were asked to.
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
    /// The kernel refused something.
    #[error("{target}: cannot {action}: {error}")]
    System {
        /// Target, or the I/O engine.
        target: String,
        /// What was tried.
        action: String,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// The I/O engine cannot be used here.
    #[error("{target}: cannot {action}: {error}")]
    Engine {
        /// Target.
        target: String,
        /// What was tried.
        action: String,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// An I/O does not come back; a sentence that begins with its target.
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
    /// Which target it is about, or which I/O engine; `None`: it is not known.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Unfit { target, .. }
            | Self::System { target, .. }
            | Self::Engine { target, .. } => Some(target),
            Self::NoAnswer(_) => None,
        }
    }
}
