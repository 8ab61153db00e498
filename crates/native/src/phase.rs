//! Runs a phase on the control thread: starts the workers, watches, stops and reports.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use iodyno_load::{Flow, Interval, JobReport, LoadError, Observer, PhaseReport};

use crate::clock::Clock;
use crate::lapse::{LATE_NS, Observed, PhaseClock, slept_ns};
use crate::prepare_job::PreparedJob;
use crate::reporter::Reporter;
use crate::running_job::RunningJob;
use crate::usage::cpu_use;
use crate::worker::WorkerEvent;

/// Length of an interval, unless a log needs a finer one.
const INTERVAL_NS: u64 = 100_000_000;
/// After an interrupt, I/O is abandoned if none has completed for this long. Results must be
/// printed before the supervisor ends the process, 1.7 s later.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(1);
/// Shortest interval: reading the counts takes about 10 µs per thread.
const MIN_INTERVAL_NS: u64 = 10_000_000;

/// A wakeup of the control thread that ends an interval.
#[derive(Debug, Clone, Copy)]
struct Wakeup {
    now_ns: u64,
    /// Delay of the wakeup, ns.
    late_ns: u64,
    draining: bool,
}

/// The workers of all jobs, ready or running.
#[derive(Debug)]
pub(crate) struct Phase {
    jobs: Vec<RunningJob>,
    events: Receiver<(usize, WorkerEvent)>,
    reporter: Reporter,
}

impl Phase {
    /// Starts the threads of `jobs` and returns when all are ready.
    ///
    /// # Errors
    /// If one cannot be set up; the others then end.
    pub(crate) fn set_up(jobs: Vec<PreparedJob>) -> Result<Self, LoadError> {
        let (sender, events) = channel();
        let mut phase = Self { jobs: Vec::new(), events, reporter: Reporter::default() };
        let mut threads = 0;
        for (index, job) in jobs.into_iter().enumerate() {
            threads += job.workers.len();
            let result = phase.add(index, job, &sender);
            phase.abort_on_error(result)?;
        }
        drop(sender);
        for _ in 0..threads {
            // Each thread reports that it is ready, refused, or ended (by a panic).
            let Ok((index, event)) = phase.events.recv() else { break };
            let result = phase.jobs[index].handle_event(event, 0);
            phase.abort_on_error(result)?;
        }
        Ok(phase)
    }

    /// Ends the workers after an error: they must not wait for the start forever.
    fn abort_on_error(&self, result: Result<(), LoadError>) -> Result<(), LoadError> {
        if result.is_err() {
            self.abort();
        }
        result
    }

    fn add(
        &mut self,
        index: usize,
        prepared: PreparedJob,
        sender: &Sender<(usize, WorkerEvent)>,
    ) -> Result<(), LoadError> {
        let PreparedJob { target, workers, rows, timed, running } = prepared;
        let tallies = workers.iter().map(|worker| std::sync::Arc::clone(&worker.tallies));
        self.reporter.add(timed, tallies.collect::<Vec<_>>(), rows);
        self.jobs.push(running);
        let Some(running) = self.jobs.last_mut() else { return Ok(()) };
        for worker in workers {
            // A send error means that this thread was abandoned.
            let sender = sender.clone();
            let notify = move |event| drop(sender.send((index, event)));
            let handle = thread::Builder::new()
                .name("iodyno-load".into())
                .spawn(move || worker.run(notify))
                .map_err(|error| LoadError::System {
                    target: target.clone(),
                    action: "start a thread".into(),
                    error,
                })?;
            running.add_thread(handle.thread().clone());
        }
        Ok(())
    }

    /// Runs until the observer or the jobs themselves end the phase and all I/O has completed; I/O
    /// still missing after `drain_timeout` is abandoned.
    pub(crate) fn run(
        mut self,
        observer: &mut dyn Observer,
        mut drain_timeout: Duration,
    ) -> PhaseReport {
        let interval_ns = self.jobs.iter().filter_map(RunningJob::log_window_ns);
        let interval_ns = interval_ns.map(interval_for).min().unwrap_or(INTERVAL_NS);
        let mut clock = PhaseClock::start();
        let start_unix_ns = unix_ns();
        let mut next_ns = interval_ns;
        let (mut give_up_ns, mut late_ns, mut interrupted) = (None, 0, false);
        match observer.begin() {
            Flow::Continue => self.start_due(0, start_unix_ns),
            Flow::End(_) | Flow::Stop | Flow::Interrupt => self.abort(),
        }
        while self.jobs.iter().any(RunningJob::is_busy) {
            let draining = !self.jobs.iter().any(RunningJob::is_issuing);
            let syncing = !interrupted && self.jobs.iter().any(RunningJob::may_sync_at_end);
            let give_up = (draining && !syncing).then(|| {
                *give_up_ns.get_or_insert(clock.now_ns() + drain_timeout.as_nanos() as u64)
            });
            let marks = self.jobs.iter().filter_map(RunningJob::next_mark_ns);
            let wake_ns = marks.chain([next_ns]).chain(give_up).min().unwrap_or(next_ns);
            let wait = Duration::from_nanos(wake_ns.saturating_sub(clock.now_ns()));
            match self.events.recv_timeout(wait) {
                // Threads are refused only before the start.
                Ok((index, event)) => {
                    self.jobs[index].handle_event(event, clock.now_ns()).unwrap_or(())
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let mut now_ns = clock.now_ns();
            // While the process was stopped, no completion could arrive.
            late_ns = late_ns.max(now_ns.saturating_sub(wake_ns));
            if late_ns < LATE_NS && give_up.is_some_and(|give_up_ns| now_ns >= give_up_ns) {
                break;
            }
            // Intervals are cut where jobs and their ramps begin and end, since rates change there.
            let at_mark = self.jobs.iter().any(|job| job.is_at_mark(now_ns))
                || (0..self.jobs.len()).any(|index| self.is_startable(index, now_ns));
            if now_ns >= next_ns || at_mark {
                let wakeup = Wakeup { now_ns, late_ns: std::mem::take(&mut late_ns), draining };
                let flow = self.report(&mut clock, wakeup, observer);
                now_ns = clock.now_ns();
                next_ns = (now_ns / interval_ns + 1) * interval_ns;
                match flow {
                    Flow::Continue => {}
                    Flow::End(jobs) => {
                        jobs.iter()
                            .filter_map(|job| self.jobs.get(*job))
                            .for_each(RunningJob::abort);
                    }
                    Flow::Stop => self.abort(),
                    Flow::Interrupt => {
                        self.abort();
                        let moves = self.reporter.jobs().iter().any(|counts| counts.completed > 0);
                        if !std::mem::replace(&mut interrupted, true) || moves {
                            (drain_timeout, give_up_ns) =
                                (drain_timeout.min(INTERRUPT_TIMEOUT), None);
                        }
                    }
                }
            }
            self.jobs.iter_mut().for_each(|job| job.pass_marks(now_ns));
            self.end_others();
            self.end_cpu_burners();
            self.start_due(now_ns, start_unix_ns);
        }
        let end = Wakeup { now_ns: clock.now_ns(), late_ns, draining: true };
        self.report(&mut clock, end, observer);
        self.finish(&clock, (!interrupted).then_some(drain_timeout))
    }

    /// Starts the jobs that are due: after their delay and the jobs they wait for.
    fn start_due(&mut self, now_ns: u64, start_unix_ns: i64) {
        for index in 0..self.jobs.len() {
            if self.is_startable(index, now_ns) {
                self.jobs[index].start(now_ns, start_unix_ns);
            }
        }
    }

    fn is_startable(&self, index: usize, now_ns: u64) -> bool {
        let job = &self.jobs[index];
        let waits = job.waits_for.as_ref().is_some_and(|name| {
            self.jobs.iter().any(|other| other.name == *name && other.is_busy())
        });
        !waits && job.is_due(now_ns)
    }

    /// fio's `exitall`: a job that ended ends others.
    fn end_others(&mut self) {
        for index in 0..self.jobs.len() {
            if let Some(others) = self.jobs[index].exitall_scope() {
                for job in &mut self.jobs {
                    if others.is_none_or(|group| job.group == group) {
                        job.stop_issuing();
                    }
                }
            }
        }
    }

    /// fio's `exit_on_io_done`: CPU burners end with the last I/O.
    fn end_cpu_burners(&mut self) {
        if !self.jobs.iter().any(|job| job.makes_io() && job.is_busy()) {
            self.jobs.iter().filter(|job| job.ends_with_io()).for_each(RunningJob::stop_issuing);
        }
    }

    /// Reports an interval, and ends jobs whose I/Os all fail.
    fn report(&mut self, clock: &mut PhaseClock, at: Wakeup, observer: &mut dyn Observer) -> Flow {
        let Wakeup { now_ns, late_ns, draining } = at;
        let mut interval = self.reporter.interval(now_ns, draining);
        let completed = self.reporter.jobs().iter().map(|job| job.completed).sum();
        let (duration_ns, slept_ns) = (interval.duration_ns, slept_ns());
        let lapses = clock.lapses_ns().len();
        interval.cut = clock.excludes(Observed { duration_ns, completed, late_ns, slept_ns });
        if clock.lapses_ns().len() > lapses {
            self.jobs.iter().for_each(|job| job.add_lapse(late_ns));
        }
        if interval.cut {
            self.reporter.rewind(&interval);
        }
        let Interval { start_ns, warnings, jobs, cut, .. } = &mut interval;
        let (start_ns, cut) = (*start_ns, *cut);
        for ((job, running), counts) in
            jobs.iter_mut().zip(&mut self.jobs).zip(self.reporter.jobs())
        {
            job.active_ns = running.active_ns(start_ns, now_ns);
            job.ramping = running.is_ramping(start_ns);
            job.threads = running.thread_use();
            running.add_sync(&job.sync, job.ramping);
            if !cut {
                running.check_rate(job);
            }
            warnings.extend(running.watch(cut || counts.completed > 0, Clock::get()));
            if counts.all_failed && !cut {
                running.fail_all();
            }
        }
        observer.observe(&interval)
    }

    /// Reports the phase. `waited`: time that I/O in flight was given; `None`: the user would not
    /// wait, so that I/O still in flight says nothing about the device.
    fn finish(mut self, clock: &PhaseClock, waited: Option<Duration>) -> PhaseReport {
        let end_ns = clock.now_ns();
        let usages: Vec<_> = self.jobs.iter().flat_map(|job| job.usages.iter().copied()).collect();
        let reports = self.jobs.iter_mut().zip(self.reporter.jobs());
        PhaseReport {
            jobs: reports
                .map(|(job, counts)| JobReport {
                    lapses_ns: clock.lapses_ns().to_vec(),
                    ..job.finish(counts, end_ns, waited)
                })
                .collect(),
            cpu: cpu_use(&usages, end_ns),
        }
    }

    /// Ends all threads, including those waiting for the start.
    pub(crate) fn abort(&self) {
        self.jobs.iter().for_each(RunningJob::abort);
    }
}

/// An interval length that divides a log window of `window_ns`.
fn interval_for(window_ns: u64) -> u64 {
    let window_ns = window_ns.max(MIN_INTERVAL_NS);
    window_ns / window_ns.div_ceil(INTERVAL_NS)
}

/// Now, ns since 1970 UTC.
fn unix_ns() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_logs_are_whole_intervals() {
        let ms = |ms: u64| interval_for(ms * 1_000_000) / 1_000_000;
        assert_eq!([1, 10, 40, 100, 250, 500, 60_000].map(ms), [10, 10, 40, 100, 83, 100, 100]);
    }
}
