//! Events of a run, and their receivers.

use iodyno_load::{ClearedJob, Counting, Interval};
use iodyno_model::{Host, Measurement, Prediction, PurgeMethod, Run, Skipped};

/// Event of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run is recorded, and begins.
    Run(&'a Run),
    /// The host was read: at the start, and after each phase.
    Host(&'a Host),
    /// Announcement of what will be done, in sentences.
    Expect(&'a [String]),
    /// Drives are observed for 1 s for I/O of others.
    Looking,
    /// A scratch file is being written.
    Scratch {
        /// Its directory.
        directory: &'a str,
        /// Bytes written so far.
        written_bytes: u64,
        /// Its largest size, bytes.
        most_bytes: u64,
        /// Time since its start, ns.
        elapsed_ns: u64,
    },
    /// Drives rest to cool down.
    Resting {
        /// Time since the start, ns.
        elapsed_ns: u64,
        /// Longest duration, ns.
        most_ns: u64,
        /// Temperature of the hottest drive, °C, if readable.
        temperature_c: Option<f32>,
    },
    /// Blocks are being sampled.
    Sampling {
        /// Name of the target.
        target: &'a str,
    },
    /// Drives are being emptied.
    Purging {
        /// Names of the drives.
        target: &'a str,
        /// Method.
        method: PurgeMethod,
        /// Share done on the slowest drive; `None` if the drive does not report it.
        done: Option<f64>,
        /// Time since the start, ns.
        elapsed_ns: u64,
    },
    /// A drive was emptied.
    Purged {
        /// Name of the drive.
        target: &'a str,
        /// Method.
        method: PurgeMethod,
        /// Duration, ns.
        elapsed_ns: u64,
    },
    /// A phase of jobs begins: measurements, each ended by [`Self::Done`] in the order of their
    /// sections, or a trial of a depth search, which has no [`Self::Done`].
    Begin(Begin<'a>),
    /// Progress of a measurement, or of a trial of a depth search.
    Progress(Progress<'a>),
    /// An interval of a phase of jobs is over.
    Interval {
        /// The jobs, in the interval's order.
        jobs: &'a [ClearedJob<'a>],
        /// I/O of the jobs in it.
        interval: &'a Interval,
        /// Temperature of the hottest drive, °C, if read at its end.
        temperature_c: Option<f32>,
    },
    /// Points that are predicted instead of measured, so far.
    Predicted(&'a [Prediction]),
    /// Warning during the run.
    Warning(&'a str),
    /// A measurement is done and stored.
    Done(&'a Measurement),
    /// Something requested is not done.
    Skipped(&'a Skipped),
}

/// Start of a phase.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// Its number in the run; for a trial, that of the phase before it.
    pub phase: u32,
    /// Its jobs.
    pub jobs: &'a [ClearedJob<'a>],
    /// Section of each measured job: those of one section are one measurement. Jobs beyond these
    /// are background load.
    pub sections: &'a [usize],
    /// Which of its I/O counts.
    pub counting: Counting,
    /// Outstanding I/Os of a trial.
    pub trying: Option<u32>,
}

/// Progress of a measurement.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress<'a> {
    /// Target, or `all at once`.
    pub target: &'a str,
    /// Step.
    pub step: &'a str,
    /// Outstanding I/Os of the current trial.
    pub trying: Option<u32>,
    /// I/Os per second in the last interval.
    pub iops: f64,
    /// Bytes per second in the last interval.
    pub bytes_per_s: f64,
    /// Time since its start, ns.
    pub elapsed_ns: u64,
    /// Longest duration, ns.
    pub most_ns: u64,
    /// Longest remaining time of the whole campaign, ns; if the amount of work is what ends it, the
    /// remaining time at the rate so far.
    pub left_ns: u64,
    /// Bytes done so far.
    pub done_bytes: u64,
    /// Total bytes to do, where known.
    pub work_bytes: Option<u64>,
    /// IOPS of each interval after the ramp so far.
    pub rates: &'a [f64],
    /// Precision goal for the mean of `rates`, if that ends it.
    pub goal: Option<Goal>,
    /// Temperature of the hottest drive, °C, if it was read.
    pub temperature_c: Option<f32>,
}

/// Precision goal of a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Half the width of its interval, relative: 0.01 for 1 %.
    pub half_width: f64,
    /// Confidence level, 0.95 for 95 %.
    pub level: f64,
}

/// Receives events and displays them.
pub trait Watcher {
    /// Receives an event.
    fn event(&mut self, event: &Event<'_>);
}

/// Watcher that ignores all events.
#[derive(Debug, Default)]
pub struct Silent;

impl Watcher for Silent {
    fn event(&mut self, _: &Event<'_>) {}
}

/// Passes events to several watchers, in this order.
pub struct Several<'a>(pub Vec<&'a mut dyn Watcher>);

impl Watcher for Several<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.0.iter_mut().for_each(|one| one.event(event));
    }
}
