//! Observer of a phase: records, displays and stops it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use iodyno_host::Source;
use iodyno_load::{ClearedJob, Flow, Interval, JobInterval, Observer, Recorder};
use iodyno_model::{Direction, DiskStats, EndReason, SteadyState};
use iodyno_stats::{Decision, PtsRounds, StopReason, Stopper};

use crate::host_watch::HostWatch;
use crate::measurement::{Cut, SteadyWatch, p99};
use crate::watch::{Event, Progress, Watcher};

/// Start that is never counted, however steady it looks, ns: the queue fills, and throttled devices
/// (cloud volumes) use up their burst. A tenth of the longest time, at most half a second.
pub(crate) fn ramp_ns(most_ns: u64) -> u64 {
    (most_ns / 10).min(500_000_000)
}

/// Time that the rest of the work takes at the rate so far, ns.
fn work_left_ns(progress: &Progress<'_>, elapsed_ns: u64) -> Option<u64> {
    let (done, work) = (progress.done_bytes, progress.work_bytes?);
    let left = u128::from(work.saturating_sub(done)) * u128::from(elapsed_ns);
    left.checked_div(u128::from(done)).map(|ns| u64::try_from(ns).unwrap_or(u64::MAX))
}

/// Observer of one phase: records, displays, stops.
pub(crate) struct PhaseWatch<'a> {
    pub(crate) recorder: Recorder,
    pub(crate) stopper: Stopper,
    pub(crate) watcher: &'a mut dyn Watcher,
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) progress: Progress<'a>,
    pub(crate) host: HostWatch<'a>,
    /// Rounds over which the rate has to be steady.
    pub(crate) rounds: Option<PtsRounds>,
    /// Jobs whose intervals are shown.
    pub(crate) jobs: &'a [ClearedJob<'a>],
    /// fio's steady state criteria of the jobs.
    pub(crate) steady: Vec<SteadyWatch>,
    /// Number of first jobs that are measured: rates are theirs alone.
    pub(crate) measured: usize,
    pub(crate) observed: Observed,
    /// Reads the counters of all disks.
    pub(crate) source: &'a dyn Source,
    pub(crate) since: DisksAt,
}

/// Counters of all disks at a time.
pub(crate) struct DisksAt {
    pub(crate) at: Instant,
    pub(crate) stats: Vec<DiskStats>,
}

impl DisksAt {
    pub(crate) fn now(source: &dyn Source) -> Self {
        Self { at: Instant::now(), stats: iodyno_host::disk_stats(source) }
    }
}

/// Observations of a phase so far.
#[derive(Default)]
pub(crate) struct Observed {
    /// IOPS of each interval after the ramp.
    rates: Vec<f64>,
    /// Time since the start, ns.
    elapsed_ns: u64,
    seconds: u64,
    end: Option<EndReason>,
}

impl<'a> PhaseWatch<'a> {
    /// Part that is not counted: the ramp, or all before the last rounds if there are as many as
    /// steadiness takes.
    pub(crate) fn cut(&self) -> Cut {
        let ramp_ns = ramp_ns(self.progress.most_ns);
        let last = self
            .rounds
            .and_then(|of| of.last(self.observed.elapsed_ns as f64 / 1e9, &self.observed.rates));
        let Some(last) = last else { return Cut::WarmUp(ramp_ns) };
        let share = last.len() as f64 / self.observed.rates.len() as f64;
        let window_ns = self.observed.elapsed_ns.saturating_sub(ramp_ns) as f64 * share;
        Cut::Before(self.observed.elapsed_ns - window_ns.ceil() as u64)
    }

    /// Steady state of the rate over its rounds.
    pub(crate) fn steady_state(&self) -> Option<SteadyState> {
        let rounds = self.rounds?;
        let window = rounds.look(self.observed.elapsed_ns as f64 / 1e9, &self.observed.rates);
        Some(SteadyState {
            rounds: rounds.window as u32,
            round_ns: (rounds.round_seconds * 1e9).round() as u64,
            excursion: window.map(|window| window.excursion()),
            slope_excursion: window.map(|window| window.slope_excursion()),
        })
    }

    /// Recorded data, host observations, the reason of the end, and the disks before the first I/O.
    pub(crate) fn finish(mut self) -> (Recorder, HostWatch<'a>, EndReason, DisksAt) {
        for (record, ClearedJob { job, .. }) in self.recorder.jobs.iter_mut().zip(self.jobs) {
            if job.verifies_its_writes() {
                record.split_stages(job.pattern.rw.has(Direction::Read));
            }
        }
        let end = self.observed.end.unwrap_or(EndReason::Done);
        (self.recorder, self.host, end, self.since)
    }
}

impl Observer for PhaseWatch<'_> {
    /// What set-up itself read (probes of engines, verify states) is not others' I/O.
    fn begin(&mut self) -> Flow {
        self.since = DisksAt::now(self.source);
        if self.interrupted.load(Ordering::Relaxed) {
            self.observed.end = Some(EndReason::Interrupted);
            return Flow::Interrupt;
        }
        Flow::Continue
    }

    fn observe(&mut self, interval: &Interval) -> Flow {
        let counted_ns = if interval.cut { 0 } else { interval.duration_ns };
        let elapsed_ns = interval.start_ns + counted_ns;
        self.observed.elapsed_ns = elapsed_ns;
        let temperature_c = if elapsed_ns / 1_000_000_000 > self.observed.seconds {
            self.observed.seconds = elapsed_ns / 1_000_000_000;
            self.host.sample(elapsed_ns)
        } else {
            None
        };
        self.progress.temperature_c = temperature_c.or(self.progress.temperature_c);
        self.recorder.record(interval, temperature_c);
        for warning in &interval.warnings {
            self.watcher.event(&Event::Warning(warning));
        }
        self.watcher.event(&Event::Interval { jobs: self.jobs, interval, temperature_c });
        let seconds = interval.duration_ns as f64 / 1e9;
        let measured = || interval.jobs.iter().take(self.measured);
        let ios: u64 = measured().map(JobInterval::ios).sum();
        let bytes: u64 = measured().map(JobInterval::bytes).sum();
        if seconds > 0.0 && !interval.draining && !interval.cut {
            self.progress.iops = ios as f64 / seconds;
            self.progress.bytes_per_s = bytes as f64 / seconds;
            if interval.start_ns >= ramp_ns(self.progress.most_ns) {
                self.observed.rates.push(self.progress.iops);
            }
        }
        self.progress.done_bytes += bytes;
        let left_ns = match work_left_ns(&self.progress, elapsed_ns) {
            Some(work_ns) if self.progress.most_ns == 0 => work_ns,
            _ => self.progress.left_ns.saturating_sub(elapsed_ns),
        };
        let rates = &self.observed.rates;
        let progress = Progress { elapsed_ns, left_ns, rates, ..self.progress };
        self.watcher.event(&Event::Progress(progress));
        if self.interrupted.load(Ordering::Relaxed) {
            self.observed.end = Some(EndReason::Interrupted);
            return Flow::Interrupt;
        }
        let cut = self.cut();
        let p99 = |level| p99::p99(&self.recorder, cut, level);
        match self.stopper.observe_with(elapsed_ns as f64 / 1e9, &self.observed.rates, p99) {
            Decision::Continue => {
                let steady = self.steady.iter_mut().filter_map(|one| one.take(interval));
                match steady.flatten().copied().collect::<Vec<_>>() {
                    none if none.is_empty() => Flow::Continue,
                    jobs => Flow::End(jobs),
                }
            }
            Decision::Stop(reason) => {
                self.observed.end = Some(match reason {
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

#[cfg(test)]
mod tests {
    use iodyno_host::Live;
    use iodyno_job::Job;
    use iodyno_load::{Counting, DirectionInterval};
    use iodyno_model::{Host, PerDirection};
    use iodyno_stats::StopRule;

    use super::*;
    use crate::phase::Phase;
    use crate::watch::Silent;

    /// Numbers of windows of reads and writes for a job that writes for 20 and reads for 15
    /// intervals.
    fn windows(options: &[(&str, &str)]) -> (usize, usize) {
        let mut job = Job::default();
        for (name, value) in options {
            iodyno_job::apply(&mut job, name, value).unwrap();
        }
        let jobs = [ClearedJob { job, files: Vec::new() }];
        let (mut watcher, interrupted) = (Silent, AtomicBool::new(false));
        let (source, host) = (Live::new(), Host::default());
        let mut watch = PhaseWatch {
            recorder: Recorder::counting(Counting::Whole),
            stopper: Stopper::new(StopRule::Time { seconds: f64::INFINITY }),
            watcher: &mut watcher,
            interrupted: &interrupted,
            progress: Progress::default(),
            host: HostWatch::begin(&source, &host, &Phase::default(), Vec::new(), 1),
            rounds: None,
            jobs: &jobs,
            steady: Vec::new(),
            measured: 1,
            observed: Observed::default(),
            source: &source,
            since: DisksAt::now(&source),
        };
        for n in 0..35 {
            let one = DirectionInterval { ios: 10, bytes: 40_960, ..DirectionInterval::default() };
            let directions = match n < 20 {
                true => PerDirection { write: one, ..PerDirection::default() },
                false => PerDirection { read: one, ..PerDirection::default() },
            };
            let active_ns = 100_000_000;
            let flow = watch.observe(&Interval {
                start_ns: n * active_ns,
                duration_ns: active_ns,
                draining: false,
                cut: false,
                warnings: Vec::new(),
                jobs: vec![JobInterval { active_ns, directions, ..JobInterval::default() }],
            });
            assert_eq!(flow, Flow::Continue);
        }
        let (recorder, ..) = watch.finish();
        let PerDirection { read, write, .. } = &recorder.jobs[0].directions;
        (read.series.windows().len(), write.series.windows().len())
    }

    #[test]
    fn writes_have_no_rate_while_they_are_verified() {
        assert_eq!(windows(&[("rw", "write"), ("verify", "crc32c")]), (15, 20));
        assert_eq!(windows(&[("rw", "randrw"), ("verify", "crc32c")]), (35, 20));
        assert_eq!(windows(&[("rw", "randrw")]), (35, 35));
    }
}
