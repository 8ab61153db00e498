//! The I/O loop: submits, waits and reaps.

use std::io;
use std::time::Duration;

use iodyno_job::Errors;

use crate::bounds::{Bounds, OutOfBounds};
use crate::clock::Clock;
use crate::completion_hooks::{CompletionHooks, HookResult};
use crate::depth_histogram::DepthHistogram;
use crate::engines::{Completion, Engine, Operation};
use crate::in_flight::{Batch, Completed, InFlight, SlotTable};
use crate::io_failure::IoFailure;
use crate::issue::Issuer;
use crate::job_control::JobControl;
use crate::short_ios::{Outcome, ShortIos};
use crate::submission_hooks::SubmissionHooks;
use crate::tally::Tally;

/// A wait in the kernel ends this long before the next I/O is due; the rest is spun, since waking
/// up takes tens of µs, which would count as latency.
const SPIN_AHEAD: Duration = Duration::from_micros(60);
/// Longest wait before the loop checks whether the job was stopped.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Handling of failed I/Os.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorPolicy {
    pub(crate) errors: Errors,
    /// All targets are devices: a read past the end means that the device is gone.
    pub(crate) on_device: bool,
    /// ENOSPC ends the job successfully (`fill_device`).
    pub(crate) fills_device: bool,
}

/// How a run of the loop ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// No more work, or the job was stopped.
    Done,
    /// An I/O failed, and the job does not continue on errors.
    Failed(IoFailure),
    /// Another error, as errno and message; boxed to keep the loop's state small.
    Error(Box<(i32, String)>),
    /// The device is gone.
    DeviceGone(IoFailure),
}

/// The I/O of one thread, from first to last.
#[derive(Debug)]
pub(crate) struct IoLoop<'a, E> {
    pub(crate) engine: E,
    pub(crate) issuer: Issuer,
    pub(crate) slots: SlotTable,
    /// Byte ranges that the job may touch.
    bounds: Bounds,
    /// Prepares writes before they are submitted.
    pub(crate) submission_hooks: Option<SubmissionHooks>,
    /// By operation.
    pub(crate) tallies: [&'a Tally; 5],
    pub(crate) control: &'a JobControl,
    pub(crate) completion_hooks: Option<CompletionHooks>,
    pub(crate) policy: ErrorPolicy,
    pub(crate) depth_histogram: DepthHistogram,
    /// The ramp is not over: as in fio, its depths are discarded.
    pub(crate) ramping: bool,
    /// Completions to wait for when nothing more can be submitted.
    pub(crate) min_completions: usize,
    /// Latencies are measured.
    pub(crate) timed: bool,
    /// The loop is verifying earlier writes.
    pub(crate) verifying: bool,
    /// Lapses by which the pace was shifted, ticks.
    pub(crate) lapsed: u64,
    short_ios: ShortIos,
    ending: Option<Ending>,
}

impl<'a, E: Engine> IoLoop<'a, E> {
    /// The I/O of a thread through `engine`, never outside of `bounds`.
    pub(crate) fn new(
        engine: E,
        issuer: Issuer,
        slots: SlotTable,
        bounds: Bounds,
        tallies: [&'a Tally; 5],
        control: &'a JobControl,
    ) -> Self {
        Self {
            engine,
            issuer,
            slots,
            bounds,
            submission_hooks: None,
            tallies,
            control,
            completion_hooks: None,
            policy: ErrorPolicy::default(),
            depth_histogram: DepthHistogram::default(),
            ramping: false,
            min_completions: 1,
            timed: true,
            verifying: false,
            lapsed: 0,
            short_ios: ShortIos::default(),
            ending: None,
        }
    }

    /// Keeps as many I/Os in flight as the depth allows until there are no more or the job is
    /// stopped, and the last one has completed.
    ///
    /// # Errors
    /// If the engine fails; I/Os may then still be in flight.
    pub(crate) fn run(&mut self) -> io::Result<Ending> {
        self.ending = None;
        if self.issuer.pacer.is_some() && !self.verifying {
            self.drive::<true>()?;
        } else {
            self.drive::<false>()?;
        }
        Ok(self.ending.take().unwrap_or(Ending::Done))
    }

    /// Each turn submits what is permitted, at most a batch, and waits for a completion only if
    /// nothing more can be submitted: waiting for several would save system calls, but add the wait
    /// to the latencies. A fast device forms batches by itself. At depth 1, an I/O is one system
    /// call.
    ///
    /// `PACED`: I/Os are submitted when due, otherwise as soon as possible.
    fn drive<const PACED: bool>(&mut self) -> io::Result<()> {
        let clock = Clock::get();
        loop {
            let stopped = self.ending.is_some() || self.control.is_stopped(self.verifying);
            if PACED && self.lapsed != self.control.lapsed() {
                self.skip_lapse();
            }
            if self.ramping && self.control.is_counting() {
                self.ramping = false;
                self.depth_histogram = DepthHistogram::default();
            }
            let mut submitted = 0;
            if !stopped {
                submitted = if PACED { self.submit_due(clock)? } else { self.submit(clock)? };
            }
            let in_flight = self.slots.count();
            self.depth_histogram.submitted(submitted, in_flight);
            if in_flight == 0 {
                if stopped || self.issuer.is_exhausted() {
                    return Ok(());
                }
                if PACED {
                    self.sleep_until_due(clock);
                }
                continue;
            }
            if PACED && !stopped && submitted == 0 {
                self.wait_until_due(clock, in_flight)?;
            } else {
                let more = submitted > 0 && !stopped && self.issuer.room(&self.slots) > 0;
                let wait = if PACED || (more && !self.issuer.is_exhausted()) {
                    0
                } else if stopped || self.issuer.is_exhausted() {
                    1
                } else {
                    self.min_completions.min(in_flight) as u32
                };
                self.engine.enter(wait)?;
            }
            self.reap::<PACED>(clock);
        }
    }

    /// Nothing is due while the process does not run.
    #[cold]
    fn skip_lapse(&mut self) {
        let before = std::mem::replace(&mut self.lapsed, self.control.lapsed());
        if let Some(pacer) = &mut self.issuer.pacer {
            pacer.postpone(self.lapsed - before);
        }
    }

    #[inline]
    fn submit(&mut self, clock: Clock) -> io::Result<usize> {
        let Self { engine, issuer, slots, bounds, submission_hooks, completion_hooks, .. } = self;
        let requests = issuer.next_batch(slots);
        if let Some(out_of_bounds) = bounds.find_out_of_bounds(requests) {
            return Ok(self.refuse(out_of_bounds));
        }
        let batch = slots.reserve(requests);
        let start = || if self.timed { clock.now() } else { 1 };
        queue_batch(engine, submission_hooks, completion_hooks, &batch, start)?;
        Ok(batch.slots.len())
    }

    /// Ends the job before any part of a batch with an out-of-bounds request is submitted: the rest
    /// of it is just as doubtful.
    #[cold]
    fn refuse(&mut self, out_of_bounds: OutOfBounds) -> usize {
        self.end(Some(Ending::Error(Box::new((libc::EIO, out_of_bounds.to_string())))));
        0
    }

    fn submit_due(&mut self, clock: Clock) -> io::Result<usize> {
        let now = clock.now();
        let Self { engine, issuer, slots, bounds, submission_hooks, completion_hooks, .. } = self;
        let mut count = 0;
        while count < issuer.max_batch
            && let Some((request, start_ticks)) = issuer.next_due(slots, now)
        {
            let requests = [request];
            if let Some(out_of_bounds) = bounds.find_out_of_bounds(&requests) {
                return Ok(count + self.refuse(out_of_bounds));
            }
            let batch = slots.reserve(&requests);
            queue_batch(engine, submission_hooks, completion_hooks, &batch, || start_ticks)?;
            issuer.submitted(batch.slots[0], start_ticks);
            count += 1;
        }
        Ok(count)
    }

    /// Waits for the next due time with nothing in flight.
    fn sleep_until_due(&self, clock: Clock) {
        let now = clock.now();
        let spin_until = self.issuer.pacer.as_ref().map_or(0, |pacer| pacer.spin_until());
        let left = Duration::from_nanos(clock.ns(self.issuer.due().saturating_sub(now)));
        if left > SPIN_AHEAD && now >= spin_until {
            // A stop unparks the thread.
            std::thread::park_timeout((left - SPIN_AHEAD).min(STOP_CHECK));
        } else {
            std::hint::spin_loop();
        }
    }

    /// Waits for a completion or the next due time, with I/O in flight; for as many completions as
    /// the job says while nothing can be due before.
    #[inline(always)] // As the engines' `enter`.
    fn wait_until_due(&mut self, clock: Clock, in_flight: usize) -> io::Result<()> {
        let due = self.issuer.due();
        let wait =
            if due == u64::MAX { self.min_completions.clamp(1, in_flight) as u32 } else { 1 };
        let left = due.saturating_sub(clock.now());
        let left = Duration::from_nanos(clock.ns(left)).min(STOP_CHECK);
        match left.checked_sub(SPIN_AHEAD) {
            Some(timeout) if !timeout.is_zero() => self.engine.enter_within(wait, timeout),
            _ => self.engine.enter(0),
        }
    }

    #[inline]
    fn reap<const PACED: bool>(&mut self, clock: Clock) {
        if self.completion_hooks.is_some() {
            return self.reap_with_hooks(clock);
        }
        let Self { engine, slots, tallies, issuer, timed, short_ios, .. } = self;
        let (completions, mut slots) = (engine.completions(), slots.releaser());
        let now = if *timed { clock.now() } else { 0 };
        let tally = |Completed { start_ticks, shape }, times: u64| {
            let (tally, length) = (tallies[shape.operation() as usize], shape.length().into());
            // Prevents products of `times` from being updated on every I/O.
            let times = std::hint::black_box(times);
            match (times, *timed) {
                (0, _) => {}
                (times, true) => {
                    tally.record(clock.ns(now.saturating_sub(start_ticks)), length, times)
                }
                (times, false) => tally.count(length, times),
            }
        };
        // I/Os submitted together and completed together have equal latencies: count them at once.
        let (mut previous, mut times, mut length) = (Completed::default(), 0, 0);
        let (before, mut ending, mut unequal) = (slots.free(), None, false);
        for Completion { slot, result } in completions {
            let completed = slots.release(slot);
            if completed == previous && result == length {
                times += 1;
            } else if result != i64::from(completed.shape.length()) {
                unequal = true;
                let (policy, control) = (&self.policy, self.control);
                let Completed { start_ticks, shape } = completed;
                let (io, tally) = (slots.latest(slot), tallies[shape.operation() as usize]);
                match short_ios.outcome(slot, &io, result) {
                    Outcome::Whole => {
                        let ns = timed.then(|| clock.ns(now.saturating_sub(start_ticks)));
                        count_whole(tally, &io, ns);
                    }
                    Outcome::Short => {
                        tally.count_short();
                        slots.keep(start_ticks);
                        continue;
                    }
                    Outcome::Failed(rest) => {
                        ending = ending.or(handle_failure(policy, control, tally, &rest, result));
                    }
                }
            } else {
                tally(previous, times);
                (previous, times, length) = (completed, 1, result);
            }
            if PACED && let Some(pacer) = &mut issuer.pacer {
                pacer.completed(completed.shape.operation(), now);
            }
        }
        tally(previous, times);
        let count = slots.free() - before;
        drop(slots);
        self.depth_histogram.completed(count);
        if unequal {
            self.short_ios.queue_rests(&mut self.engine);
            self.end(ending);
        }
    }

    #[inline(never)]
    fn reap_with_hooks(&mut self, clock: Clock) {
        let Some(mut hooks) = self.completion_hooks.take() else { return };
        hooks.completions.clear();
        hooks.completions.extend(self.engine.completions());
        let now = clock.now();
        let completions = std::mem::take(&mut hooks.completions);
        let (before, mut unequal) = (self.slots.free(), false);
        for &Completion { slot, result } in &completions {
            let io = self.slots.complete(slot);
            let tally = self.tallies[io.operation as usize];
            let mut failed = None;
            if result != i64::from(io.length) {
                unequal = true;
                match self.short_ios.outcome(slot, &io, result) {
                    Outcome::Whole => {}
                    Outcome::Short => {
                        tally.count_short();
                        self.slots.releaser().keep(io.start_ticks);
                        continue;
                    }
                    Outcome::Failed(rest) => failed = Some(rest),
                }
            }
            let succeeded = failed.is_none();
            let latency_ns = || clock.ns(now.saturating_sub(io.start_ticks));
            // Verification is not paced.
            if !self.verifying {
                self.issuer.completed(slot, io.operation, now, succeeded.then(latency_ns));
            }
            if let Some(submission_hooks) = &mut self.submission_hooks {
                submission_hooks.completed(slot, &io, succeeded);
            }
            if let Some(block_lives) = &mut hooks.block_lives {
                block_lives.completed(&io, succeeded);
            }
            if let Some(rest) = failed {
                let ending = handle_failure(&self.policy, self.control, tally, &rest, result);
                self.end(ending);
                continue;
            }
            count_whole(tally, &io, self.timed.then(latency_ns));
            match hooks.completed(slot, &io, now, self.control) {
                HookResult::Continue => {}
                HookResult::TargetFound => self.end(Some(Ending::Done)),
                HookResult::LatencyExceeded(ns) => self.end(Some(latency_exceeded(&io, ns))),
            }
            if hooks.verifies && io.operation == Operation::Read {
                self.verify(&mut hooks, slot, &io);
            }
        }
        self.depth_histogram.completed(self.slots.free() - before);
        if unequal {
            self.short_ios.queue_rests(&mut self.engine);
        }
        hooks.completions = completions;
        if let Some(search) = &hooks.search {
            self.issuer.set_limit(search.depth());
        }
        self.completion_hooks = Some(hooks);
    }

    /// Verifies a block that was read.
    fn verify(&mut self, hooks: &mut CompletionHooks, slot: u16, io: &InFlight) {
        let submission_hooks = self.submission_hooks.as_ref();
        let Some(verifying) = submission_hooks.and_then(|hooks| hooks.verifying.as_ref()) else {
            return;
        };
        if verifying.pretended {
            return;
        }
        let block = self.engine.buffers().slot(slot, io.length);
        hooks.verified += 1;
        if let Err(mismatch) = verifying.check(block, io.file, io.offset) {
            let dumps = match hooks.note_mismatch(&mismatch) {
                true => verifying.dump(block, io.file, io.offset),
                false => Ok(Vec::new()),
            };
            let failure = IoFailure::new(io, -i64::from(libc::EILSEQ));
            self.control.note_failure(failure);
            if !self.policy.errors.continues_after(true, libc::EILSEQ) {
                let dumps = match dumps {
                    Ok(names) if names.is_empty() => String::new(),
                    Ok(names) => format!("; dumped to {}", names.join(" and ")),
                    Err(error) => format!("; it cannot be dumped: {error}"),
                };
                let message = format!("verify: {mismatch}{dumps}");
                self.end(Some(Ending::Error(Box::new((libc::EILSEQ, message)))));
            }
        }
    }

    fn end(&mut self, ending: Option<Ending>) {
        if let Some(ending) = ending {
            if matches!(ending, Ending::DeviceGone(_)) {
                self.control.abort();
            }
            self.ending.get_or_insert(ending);
        }
    }
}

/// Queues `batch`, after its preparation, and marks it as in flight since `start`.
#[inline(always)]
fn queue_batch<E: Engine>(
    engine: &mut E,
    submission_hooks: &mut Option<SubmissionHooks>,
    completion_hooks: &mut Option<CompletionHooks>,
    batch: &Batch<'_>,
    start: impl FnOnce() -> u64,
) -> io::Result<()> {
    if let Some(submission_hooks) = submission_hooks {
        submission_hooks.prepare(batch, engine.buffers());
    }
    engine.queue(batch.iter());
    match completion_hooks {
        Some(completion_hooks) => completion_hooks.queued(engine, batch, start),
        None => {
            batch.mark_submitted(start());
            Ok(())
        }
    }
}

/// The ending for an I/O that exceeded `max_latency`, with fio's errno.
#[cold]
fn latency_exceeded(io: &InFlight, ns: u64) -> Ending {
    let (InFlight { operation, offset, .. }, us) = (io, ns / 1000);
    let message = format!("a {operation} at offset {offset} took {us} us, longer than max_latency");
    Ending::Error(Box::new((libc::ETIMEDOUT, message)))
}

/// Counts an I/O that is done, with its latency if that is measured.
#[inline]
fn count_whole(tally: &Tally, io: &InFlight, ns: Option<u64>) {
    match ns {
        Some(ns) => tally.record(ns, io.length.into(), 1),
        None => tally.count(io.length.into(), 1),
    }
}

/// Handles a failed I/O. Returns the ending if it ends the job.
#[cold]
fn handle_failure(
    policy: &ErrorPolicy,
    control: &JobControl,
    tally: &Tally,
    io: &InFlight,
    result: i64,
) -> Option<Ending> {
    let failure = IoFailure::new(io, result);
    let errno = failure.errno();
    if policy.fills_device && errno == libc::ENOSPC {
        return Some(Ending::Done);
    }
    let reads = io.operation == Operation::Read;
    tally.count_error();
    control.note_failure(failure);
    // A removed device has size 0.
    let has_no_size = policy.on_device && reads && result == 0;
    if has_no_size || failure.is_device_gone() {
        return Some(Ending::DeviceGone(failure));
    }
    (!policy.errors.continues_after(reads, errno)).then_some(Ending::Failed(failure))
}

#[cfg(test)]
mod tests;
