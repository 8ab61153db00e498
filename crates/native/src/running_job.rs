//! A running job, as the control thread sees it.

use std::sync::Arc;
use std::thread::Thread;
use std::time::{Duration, Instant};

use iodyno_job::{ExitWhat, Job};
use iodyno_load::{JobInterval, JobReport, LoadError, ThreadUse};
use iodyno_model::{Caveat, Direction, Failure, Histogram, add_missing};

use crate::clock::Clock;
use crate::job_control::JobControl;
use crate::min_rate::MinRate;
use crate::reporter::JobCounts;
use crate::stall::{Stall, StallDetector};
use crate::usage::{Usage, cpu_use};
use crate::worker::{WorkerEvent, WorkerResult};

/// A running job.
#[derive(Debug)]
pub(crate) struct RunningJob {
    /// Name of the job.
    pub(crate) name: String,
    /// fio's reporting group.
    pub(crate) group: u32,
    /// Starts after the jobs of this name have ended.
    pub(crate) waits_for: Option<String>,
    /// Resource usage of each ended thread.
    pub(crate) usages: Vec<Usage>,
    target: String,
    job: Arc<Job>,
    report: JobReport,
    control: Arc<JobControl>,
    threads: Vec<Thread>,
    /// Kernel thread ids of the running threads.
    ids: Arc<[u32]>,
    stalls: StallDetector,
    /// Number of threads that have not ended.
    busy_threads: u32,
    /// Number of threads whose I/O has ended.
    idle_threads: u32,
    delay_ns: u64,
    started_ns: Option<u64>,
    /// End of the I/O of the last ended thread.
    last_end_ns: u64,
    ended_ns: Option<u64>,
    /// Its ramp has ended, and its run time.
    ramped: bool,
    timed_out: bool,
    exitall_done: bool,
    /// It was abandoned: some I/O will never be answered.
    is_abandoned: bool,
    min_rate: Option<MinRate>,
}

impl RunningJob {
    /// A job without threads yet.
    pub(crate) fn new(
        job: Arc<Job>,
        target: String,
        report: JobReport,
        control: Arc<JobControl>,
        delay_ns: u64,
        stall_timeout_ns: u64,
    ) -> Self {
        Self {
            name: job.name.clone(),
            group: job.threads.group,
            waits_for: job.threads.wait_for.clone(),
            usages: Vec::new(),
            target,
            report,
            control,
            threads: Vec::new(),
            ids: Arc::default(),
            stalls: StallDetector::new(stall_timeout_ns),
            busy_threads: 0,
            idle_threads: 0,
            delay_ns,
            started_ns: None,
            last_end_ns: 0,
            ended_ns: None,
            ramped: job.time.ramp_ns == 0,
            timed_out: job.time.runtime_ns.is_none(),
            exitall_done: !(job.threads.exitall || job.threads.exitall_on_error),
            is_abandoned: false,
            min_rate: MinRate::new(&job),
            job,
        }
    }

    /// True if it makes I/O.
    pub(crate) fn makes_io(&self) -> bool {
        !self.job.engine.ioengine.makes_no_io()
    }

    /// True if it ends with the I/O of other jobs.
    pub(crate) fn ends_with_io(&self) -> bool {
        !self.makes_io() && self.job.engine.cpu_load.exit_on_io_done
    }

    pub(crate) fn add_thread(&mut self, thread: Thread) {
        self.threads.push(thread);
        self.busy_threads += 1;
        self.report.threads = self.busy_threads;
    }

    /// Handles an event of a thread.
    ///
    /// # Errors
    /// If the thread could not be set up.
    pub(crate) fn handle_event(
        &mut self,
        event: WorkerEvent,
        now_ns: u64,
    ) -> Result<(), LoadError> {
        match event {
            WorkerEvent::Ready { depth, registered_buffers, shortfalls, view, id } => {
                let report = &mut self.report;
                report.iodepth = report.iodepth.min(depth.into());
                report.registered_buffers = match (report.registered_buffers, registered_buffers) {
                    (Some(others), Some(this)) => Some(others && this),
                    (others, this) => others.or(this),
                };
                self.stalls.include(view);
                self.ids = self.ids.iter().copied().chain([id]).collect();
                add_missing(&mut self.report.shortfalls, shortfalls);
            }
            WorkerEvent::Refused(refused) => {
                let action = format!("set up {} ({})", self.report.engine, refused.action);
                let target = self.target.clone();
                return Err(LoadError::System { target, action, error: refused.error });
            }
            WorkerEvent::Idle(ended) => self.idle(ended, now_ns),
            WorkerEvent::Ended(result) => self.end(*result, now_ns),
        }
        Ok(())
    }

    /// The I/O of a thread has ended: the job's time does not include what follows.
    fn idle(&mut self, ended: Instant, now_ns: u64) {
        self.note_end(Some(ended), now_ns);
        self.idle_threads += 1;
        if self.idle_threads == self.report.threads {
            self.ended_ns.get_or_insert(self.last_end_ns);
        }
    }

    fn note_end(&mut self, ended: Option<Instant>, now_ns: u64) {
        let since_ns = ended.map_or(0, |ended| ended.elapsed().as_nanos() as u64);
        let ended_ns = now_ns.saturating_sub(since_ns).max(self.started_ns.unwrap_or(0));
        self.last_end_ns = self.last_end_ns.max(ended_ns);
    }

    fn end(&mut self, result: WorkerResult, now_ns: u64) {
        self.busy_threads -= 1;
        self.note_end(result.ended, now_ns);
        if self.busy_threads == 0 {
            self.ended_ns.get_or_insert(self.last_end_ns);
        }
        self.usages.push(result.usage);
        self.ids = self.ids.iter().copied().filter(|id| *id != result.id).collect();
        let account = &mut self.report.account;
        account.switches += result.usage.switches;
        account.major_faults += result.usage.major_faults;
        account.minor_faults += result.usage.minor_faults;
        result.depth_histogram.add_to(account);
        account.verified += result.verified;
        account.mismatches += result.mismatches;
        account.latency_target_depth = result.latency_target_depth;
        result.block_lives.iter().for_each(|life| life.add(&mut account.block_lives));
        account.replayed = result.replayed;
        if let Some((write_ns, verify_ns)) = result.write_verify_ns {
            let active = &mut self.report.active_ns;
            active.write = active.write.max(Some(write_ns));
            active.trim = active.trim.max(Some(write_ns));
            // The job's own reads and those that verify are counted together, over the time of
            // both.
            if !self.job.pattern.rw.has(Direction::Read) {
                active.read = active.read.max(Some(verify_ns));
            }
        }
        for (direction, split) in result.split.iter() {
            let sum = self.report.split.of_mut(direction);
            match (sum.as_mut(), split) {
                (Some(sum), Some(split)) => {
                    sum.submission.merge(&split.submission);
                    sum.completion.merge(&split.completion);
                }
                (None, Some(split)) => *sum = Some(split.clone()),
                _ => {}
            }
        }
        for (direction, latencies) in result.by_priority.iter() {
            self.report.by_priority.of_mut(direction).merge(latencies);
        }
        add_missing(&mut self.report.shortfalls, result.shortfalls);
        if let Some((errno, failure)) = result.failure {
            self.control.abort();
            self.fail(errno, failure);
        }
    }

    fn fail(&mut self, errno: i32, failure: String) {
        if self.report.failure.is_none() {
            self.report.account.error = errno;
            self.report.account.failure = Some(failure.clone());
            self.report.failure = Some(failure);
        }
    }

    /// True if some threads have not ended.
    pub(crate) const fn is_busy(&self) -> bool {
        self.busy_threads > 0 && !self.is_abandoned
    }

    /// True if some threads issue new I/O, or will.
    pub(crate) fn is_issuing(&self) -> bool {
        let verifies = self.job.writes() && self.job.verify.method != Default::default();
        self.is_busy() && !self.control.is_stopped(verifies)
    }

    /// True if some threads may be syncing their files, which takes as long as writing back all
    /// that is cached.
    pub(crate) fn may_sync_at_end(&self) -> bool {
        let syncs = self.job.flush.end_fsync || self.job.files.fsync_on_close;
        self.is_busy() && syncs && self.job.writes()
    }

    /// Shifts its pace by `ns` in which the process did not run.
    pub(crate) fn add_lapse(&self, ns: u64) {
        self.control.add_lapse(Clock::get().ticks(ns));
    }

    /// True if it is due to start.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        let waits = self.started_ns.is_none() && !self.control.is_stopped(true);
        waits && now_ns >= self.delay_ns && self.busy_threads > 0
    }

    pub(crate) fn start(&mut self, now_ns: u64, start_unix_ns: i64) {
        self.started_ns = Some(now_ns);
        self.report.account.started_ns = Some(start_unix_ns + now_ns as i64);
        if self.ramped {
            self.control.end_ramp();
        }
        self.control.start();
        self.wake();
    }

    pub(crate) fn wake(&self) {
        self.threads.iter().for_each(Thread::unpark);
    }

    /// Time of its next mark: start, end of the ramp, or end of the run time; ns.
    pub(crate) fn next_mark_ns(&self) -> Option<u64> {
        if !self.is_busy() {
            return None;
        }
        let Some(started_ns) = self.started_ns else {
            return self.waits_for.is_none().then_some(self.delay_ns);
        };
        let time = &self.job.time;
        if !self.ramped {
            Some(started_ns.saturating_add(time.ramp_ns))
        } else if !self.timed_out {
            let counted_ns = time.runtime_ns.unwrap_or(0);
            Some(started_ns.saturating_add(time.ramp_ns).saturating_add(counted_ns))
        } else {
            None
        }
    }

    /// True if a mark has been reached.
    pub(crate) fn is_at_mark(&self, now_ns: u64) -> bool {
        self.next_mark_ns().is_some_and(|mark_ns| mark_ns <= now_ns)
    }

    /// Handles the end of the ramp and of the run time.
    pub(crate) fn pass_marks(&mut self, now_ns: u64) {
        while self.started_ns.is_some() && self.is_at_mark(now_ns) {
            if self.ramped {
                self.timed_out = true;
                self.stop_issuing();
            } else {
                self.ramped = true;
                self.control.end_ramp();
            }
        }
    }

    /// Stops issuing new work. Wakes threads that wait for the start or a due time.
    pub(crate) fn stop_issuing(&self) {
        self.control.stop_issuing();
        self.wake();
    }

    pub(crate) fn abort(&self) {
        self.control.abort();
        self.wake();
    }

    /// Returns, once after its end, which other jobs end with it: `None`: none; `Some(None)`: all;
    /// else a group.
    pub(crate) fn exitall_scope(&mut self) -> Option<Option<u32>> {
        if self.exitall_done || self.busy_threads > 0 {
            return None;
        }
        self.exitall_done = true;
        let threads = &self.job.threads;
        let failed = threads.exitall_on_error && self.report.failure.is_some();
        if !threads.exitall && !failed {
            return None;
        }
        Some((self.job.threads.exit_what == ExitWhat::Group).then_some(self.group))
    }

    /// Time that it ran between two times, ns.
    pub(crate) fn active_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let Some(started_ns) = self.started_ns else { return 0 };
        let end_ns = self.ended_ns.unwrap_or(to_ns).min(to_ns);
        end_ns.saturating_sub(started_ns.max(from_ns))
    }

    /// True if an interval that began at `start_ns` belongs to the ramp.
    pub(crate) fn is_ramping(&self, start_ns: u64) -> bool {
        let ramp_ns = self.job.time.ramp_ns;
        let counts_ns = self.started_ns.map(|started_ns| started_ns.saturating_add(ramp_ns));
        ramp_ns > 0 && counts_ns.is_some_and(|counts_ns| start_ns < counts_ns)
    }

    /// The shortest window of its logs, ns, if it has any.
    pub(crate) fn log_window_ns(&self) -> Option<u64> {
        let logs = &self.job.report.logs;
        let rates = [&logs.bandwidth, &logs.iops, &logs.latency].iter().any(|log| log.is_some());
        let windows = [(rates, logs.average_ms), (logs.histogram.is_some(), logs.histogram_ms)];
        let windows = windows.iter().filter(|(wanted, ms)| *wanted && *ms > 0);
        windows.map(|(_, ms)| ms * 1_000_000).min()
    }

    /// Adds its syncs, unless `ramping`.
    pub(crate) fn add_sync(&mut self, sync: &Histogram, ramping: bool) {
        if !ramping {
            self.report.account.sync.merge(sync);
        }
    }

    /// Resource usage of its threads.
    pub(crate) fn thread_use(&self) -> ThreadUse {
        let ended = self.usages.iter().copied().fold(Usage::default(), Usage::and);
        ThreadUse { ended, running: Arc::clone(&self.ids) }
    }

    /// Checks for unanswered I/Os; `completed`: some have just completed. Returns a warning.
    pub(crate) fn watch(&mut self, completed: bool, clock: Clock) -> Option<String> {
        if !self.is_busy() {
            return None;
        }
        let (stall, text) = self.stalls.check(completed, clock.now(), clock)?;
        if stall == Stall::Final {
            self.control.abort();
            self.is_abandoned = true;
            self.fail(libc::ETIMEDOUT, format!("{text}; its thread is left behind"));
        }
        Some(format!("{}: {text}", self.target))
    }

    /// Ends the job if it is slower than `rate_min` allows.
    pub(crate) fn check_rate(&mut self, interval: &JobInterval) {
        if interval.ramping || !self.is_busy() || self.control.is_stopped(false) {
            return;
        }
        if let Some(slow) = self.min_rate.as_mut().and_then(|least| least.check(interval)) {
            self.fail(libc::EIO, slow);
            self.control.abort();
            self.wake();
        }
    }

    /// Ends the job because every I/O failed for a second, unless it is to go on regardless.
    pub(crate) fn fail_all(&mut self) {
        if !self.job.errors.gives_up {
            return;
        }
        let first = self.control.first_error();
        let message = first.map(|failure| failure.to_string()).unwrap_or_default();
        let errno = first.map_or(libc::EIO, |failure| failure.errno());
        self.fail(errno, format!("every I/O failed for a second: {message}"));
        self.control.abort();
    }

    /// Completes its report. `waited`: time that I/O in flight was given to complete, unless the
    /// user interrupted it.
    pub(crate) fn finish(
        &mut self,
        counts: &JobCounts,
        end_ns: u64,
        waited: Option<Duration>,
    ) -> JobReport {
        let ended_ns = self.ended_ns.unwrap_or(end_ns);
        let elapsed_ns = self.started_ns.map_or(0, |started_ns| ended_ns - started_ns);
        let account = &mut self.report.account;
        account.elapsed_ns = elapsed_ns;
        account.counted_ns = elapsed_ns.saturating_sub(self.job.time.ramp_ns);
        account.cpu = cpu_use(&self.usages, elapsed_ns);
        let ramp_ns = self.job.time.ramp_ns;
        if ramp_ns > elapsed_ns && self.ended_ns.is_some() && !self.control.is_stopped(false) {
            self.report.shortfalls.push(Caveat::EndedInRamp { ran_ns: elapsed_ns, ramp_ns });
        }
        account.errors = self.control.errors();
        account.sync_errors = counts.sync_errors;
        self.report.whole = counts.whole;
        let first = self.control.first_error();
        self.report.first_error = first.map(|first| Failure::of(first.errno(), first.to_string()));
        // Threads left behind keep their buffers and descriptors: the kernel may still write to them.
        if let Some(waited) = waited.filter(|_| self.busy_threads > 0) {
            let text = format!(
                "{} of {} threads got no answer from the device within {} s of the stop; they \
                 are left behind",
                self.busy_threads,
                self.report.threads,
                waited.as_secs()
            );
            self.fail(libc::ETIMEDOUT, text);
        }
        std::mem::take(&mut self.report)
    }
}
