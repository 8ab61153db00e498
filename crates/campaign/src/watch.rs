//! What a campaign tells while it goes on, and the observer that drives it.

use std::sync::atomic::{AtomicBool, Ordering};

use iodyno_load::{ClearedJob, Counting, Flow, Interval, JobInterval, Observer, Recorder};
use iodyno_model::{EndReason, Host, Measurement, Prediction, PurgeMethod, Skipped, SteadyState};
use iodyno_stats::{Decision, PtsRounds, Rule, StopReason, Stopper};

use crate::measure::Cut;
use crate::steady::SteadyWatch;
use crate::tail;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
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
    /// A measurement, or a trial of the search for the depth, goes on.
    Progress(Progress<'a>),
    /// An interval of a phase of jobs is over.
    Interval {
        /// The jobs, in the interval's order.
        jobs: &'a [ClearedJob<'a>],
        /// What they did in it.
        interval: &'a Interval,
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

/// How a measurement goes on.
#[derive(Debug, Clone, Copy)]
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

/// The start that is never counted, however steady it looks, ns: the queue
/// fills, and throttled devices (cloud volumes) give their burst. At most half
/// a second, and a tenth of the longest time.
pub(crate) fn ramp_ns(most_ns: u64) -> u64 {
    (most_ns / 10).min(500_000_000)
}

/// What the rest of the work takes at the rate so far, ns.
fn work_left_ns(progress: &Progress<'_>, elapsed_ns: u64) -> Option<u64> {
    let (done, work) = (progress.done_bytes, progress.work_bytes?);
    let left = u128::from(work.saturating_sub(done)) * u128::from(elapsed_ns);
    left.checked_div(u128::from(done)).map(|ns| u64::try_from(ns).unwrap_or(u64::MAX))
}

/// Watches one phase: records, displays, stops.
pub(crate) struct PhaseWatch<'a> {
    pub(crate) recorder: Recorder,
    pub(crate) stopper: Stopper,
    pub(crate) watcher: &'a mut dyn Watcher,
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) progress: Progress<'a>,
    /// Called about once a second while it runs; may give the hottest drive's temperature, °C.
    pub(crate) each_second: &'a mut dyn FnMut() -> Option<f32>,
    /// Of each interval behind the ramp.
    rates: Vec<f64>,
    /// Time since the start that was observed, ns.
    observed_ns: u64,
    /// What its rate has to be steady over.
    rounds: Option<PtsRounds>,
    end: Option<EndReason>,
    seconds: u64,
    shown: &'a [ClearedJob<'a>],
    /// What jobs ask to be steady.
    pub(crate) steady: Vec<SteadyWatch>,
    /// So many of the first jobs are what is measured.
    measured: usize,
}

impl<'a> PhaseWatch<'a> {
    pub(crate) fn new(
        stopper: Stopper,
        watcher: &'a mut dyn Watcher,
        interrupted: &'a AtomicBool,
        progress: Progress<'a>,
        each_second: &'a mut dyn FnMut() -> Option<f32>,
    ) -> Self {
        Self {
            recorder: Recorder::default(),
            stopper,
            watcher,
            interrupted,
            progress,
            each_second,
            rates: Vec::new(),
            observed_ns: 0,
            rounds: None,
            end: None,
            seconds: 0,
            shown: &[],
            steady: Vec::new(),
            measured: usize::MAX,
        }
    }

    /// Rates are those of the first `measured` jobs alone.
    pub(crate) const fn measuring(mut self, measured: usize) -> Self {
        self.measured = measured;
        self
    }

    /// What is counted.
    pub(crate) fn counting(mut self, counting: Counting) -> Self {
        self.recorder = Recorder::counting(counting);
        self
    }

    /// The watcher is shown every interval of these jobs.
    pub(crate) const fn showing(mut self, jobs: &'a [ClearedJob<'a>]) -> Self {
        self.shown = jobs;
        self
    }

    /// It has to be steady over these rounds.
    pub(crate) const fn over(mut self, rounds: Option<PtsRounds>) -> Self {
        self.rounds = rounds;
        self
    }

    /// Jobs that say what is to be steady end by that, and not by the IOPS of all.
    pub(crate) fn until_steady(mut self, steady: Vec<SteadyWatch>) -> Self {
        if !steady.is_empty() {
            self.stopper = Stopper::new(Rule::Time { seconds: f64::INFINITY });
        }
        self.steady = steady;
        self
    }

    /// What is not counted: what comes before the last rounds, where there are as many as it has
    /// to be steady over.
    pub(crate) fn cut(&self) -> Cut {
        let ramp_ns = ramp_ns(self.progress.most_ns);
        let last = self.rounds.and_then(|of| of.last(self.observed_ns as f64 / 1e9, &self.rates));
        let Some(last) = last else { return Cut::WarmUp(ramp_ns) };
        let share = last.len() as f64 / self.rates.len() as f64;
        let window_ns = self.observed_ns.saturating_sub(ramp_ns) as f64 * share;
        Cut::Before(self.observed_ns - window_ns.ceil() as u64)
    }

    /// What the rounds that it has to be steady over say of it.
    pub(crate) fn steady_state(&self) -> Option<SteadyState> {
        let rounds = self.rounds?;
        let window = rounds.look(self.observed_ns as f64 / 1e9, &self.rates);
        Some(SteadyState {
            rounds: rounds.window as u32,
            round_ns: (rounds.round_seconds * 1e9).round() as u64,
            excursion: window.map(|window| window.excursion()),
            slope_excursion: window.map(|window| window.slope_excursion()),
        })
    }

    /// What was recorded, and why it ended.
    pub(crate) fn finish(self) -> (Recorder, EndReason) {
        (self.recorder, self.end.unwrap_or(EndReason::Done))
    }
}

impl Observer for PhaseWatch<'_> {
    fn observe(&mut self, interval: &Interval) -> Flow {
        let counted_ns = if interval.cut { 0 } else { interval.duration_ns };
        let elapsed_ns = interval.start_ns + counted_ns;
        self.observed_ns = elapsed_ns;
        let temperature_c = if elapsed_ns / 1_000_000_000 > self.seconds {
            self.seconds = elapsed_ns / 1_000_000_000;
            (self.each_second)()
        } else {
            None
        };
        self.recorder.record(interval, temperature_c);
        for warning in &interval.warnings {
            self.watcher.event(&Event::Warning(warning));
        }
        if !self.shown.is_empty() {
            self.watcher.event(&Event::Interval { jobs: self.shown, interval });
        }
        let seconds = interval.duration_ns as f64 / 1e9;
        let measured = || interval.jobs.iter().take(self.measured);
        let ios: u64 = measured().map(JobInterval::ios).sum();
        let bytes: u64 = measured().map(JobInterval::bytes).sum();
        if seconds > 0.0 && !interval.draining && !interval.cut {
            self.progress.iops = ios as f64 / seconds;
            self.progress.bytes_per_s = bytes as f64 / seconds;
            if interval.start_ns >= ramp_ns(self.progress.most_ns) {
                self.rates.push(self.progress.iops);
            }
        }
        self.progress.done_bytes += bytes;
        let left_ns = match work_left_ns(&self.progress, elapsed_ns) {
            Some(work_ns) if self.progress.most_ns == 0 => work_ns,
            _ => self.progress.left_ns.saturating_sub(elapsed_ns),
        };
        let progress = Progress { elapsed_ns, left_ns, ..self.progress };
        self.watcher.event(&Event::Progress(progress));
        if self.interrupted.load(Ordering::Relaxed) {
            self.end = Some(EndReason::Interrupted);
            return Flow::Interrupt;
        }
        let cut = self.cut();
        let p99 = |level| tail::p99(&self.recorder, cut, level);
        match self.stopper.observe_with(elapsed_ns as f64 / 1e9, &self.rates, p99) {
            Decision::Continue => {
                let steady = self.steady.iter_mut().filter_map(|one| one.take(interval));
                match steady.flatten().copied().collect::<Vec<_>>() {
                    none if none.is_empty() => Flow::Continue,
                    jobs => Flow::End(jobs),
                }
            }
            Decision::Stop(reason) => {
                self.end = Some(match reason {
                    StopReason::SteadyReached => EndReason::Done,
                    StopReason::TimeReached => EndReason::Time,
                    StopReason::PrecisionReached => EndReason::Precision,
                    StopReason::MaxTime => EndReason::MaxTime,
                });
                Flow::Stop
            }
        }
    }
}
