//! What a run tells while it goes on.

use iodyno_load::{ClearedJob, Counting, Interval};
use iodyno_model::{Host, Measurement, Prediction, PurgeMethod, Run, Skipped};

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run is recorded, and begins.
    Run(&'a Run),
    /// The host was read: before all, and after each phase.
    Host(&'a Host),
    /// What is going to be done, in sentences, before anything is.
    Expect(&'a [String]),
    /// A 1 s look at who else uses the drives.
    Looking,
    /// A scratch file is being written.
    Scratch {
        /// Its directory.
        directory: &'a str,
        /// Bytes written so far.
        written_bytes: u64,
        /// Bytes that it gets at most.
        most_bytes: u64,
        /// Time since its start, ns.
        elapsed_ns: u64,
    },
    /// Drives are left alone so that they cool down.
    Resting {
        /// Time since the start, ns.
        elapsed_ns: u64,
        /// It ends then at the latest, ns.
        most_ns: u64,
        /// Of the hottest drive, °C, where it can be read.
        temperature_c: Option<f32>,
    },
    /// Blocks are being sampled.
    Sampling {
        /// Of this target.
        target: &'a str,
    },
    /// Drives are being emptied.
    Purging {
        /// Their names.
        target: &'a str,
        /// How.
        method: PurgeMethod,
        /// Share that is done, of the one that is least far; `None`: the drive does not say.
        done: Option<f64>,
        /// Time since the start, ns.
        elapsed_ns: u64,
    },
    /// A drive is empty.
    Purged {
        /// Its name.
        target: &'a str,
        /// How.
        method: PurgeMethod,
        /// What it took, ns.
        elapsed_ns: u64,
    },
    /// A phase of jobs begins: measurements, each [`Self::Done`] in the order of their sections, or
    /// a trial of the search for the depth, which is never done.
    Begin(Begin<'a>),
    /// A measurement, or a trial of the search for the depth, goes on.
    Progress(Progress<'a>),
    /// An interval of a phase of jobs is over.
    Interval {
        /// The jobs, in the interval's order.
        jobs: &'a [ClearedJob<'a>],
        /// What they did in it.
        interval: &'a Interval,
        /// Of the hottest drive, °C, where it was read at its end.
        temperature_c: Option<f32>,
    },
    /// The points that are not measured, as far as is known by now.
    Predicted(&'a [Prediction]),
    /// Something that should be known while it goes on.
    Warning(&'a str),
    /// A measurement is done and stored.
    Done(&'a Measurement),
    /// Something that was asked for is not done.
    Skipped(&'a Skipped),
}

/// What begins.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// Its number in the run; of a trial that of the phase before it.
    pub phase: u32,
    /// Its jobs.
    pub jobs: &'a [ClearedJob<'a>],
    /// The section of each job that is measured: those of one are one measurement. Jobs behind
    /// these go on beside it.
    pub sections: &'a [usize],
    /// Which of its I/O counts.
    pub counting: Counting,
    /// Outstanding I/Os that a search tries.
    pub trying: Option<u32>,
}

/// How a measurement goes on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress<'a> {
    /// Target, or `all at once`.
    pub target: &'a str,
    /// Step.
    pub step: &'a str,
    /// Outstanding I/Os that a search tries just now.
    pub trying: Option<u32>,
    /// I/Os per second in the last interval.
    pub iops: f64,
    /// Bytes per second in the last interval.
    pub bytes_per_s: f64,
    /// Time since its start, ns.
    pub elapsed_ns: u64,
    /// It ends then at the latest, ns.
    pub most_ns: u64,
    /// What the whole campaign still takes at most, ns; what its work takes at
    /// the rate so far, where that is what ends it.
    pub left_ns: u64,
    /// Bytes done so far.
    pub done_bytes: u64,
    /// Bytes to be done in all, where that is known.
    pub work_bytes: Option<u64>,
    /// I/Os per second in each interval behind the ramp so far.
    pub rates: &'a [f64],
    /// How well the mean of `rates` is to be known, where that ends it.
    pub goal: Option<Goal>,
    /// Of the hottest drive, °C, where it was read meanwhile.
    pub temperature_c: Option<f32>,
}

/// How well a mean is to be known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Half the width of its interval as a share of it: 0.01 for 1 %.
    pub half_width: f64,
    /// Level of the interval, 0.95 for 95 %.
    pub level: f64,
}

/// Is told what happens; displays it.
pub trait Watcher {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>);
}

/// Says nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Watcher for Silent {
    fn event(&mut self, _: &Event<'_>) {}
}

/// Several that are told the same, in this order.
pub struct Several<'a>(pub Vec<&'a mut dyn Watcher>);

impl Watcher for Several<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.0.iter_mut().for_each(|one| one.event(event));
    }
}
