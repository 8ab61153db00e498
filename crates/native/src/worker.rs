//! A worker thread of a job: set-up, start, and its passes over the work.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use iodyno_job::{IoEngine, Job, Stream};
use iodyno_load::IoRow;
use iodyno_model::{
    BlockLife, Caveat, Direction, PerDirection, PriorityLatencies, Replayed, SplitLatency,
};

use crate::block_lives::BlockLives;
use crate::bounds::Bounds;
use crate::clock::Clock;
use crate::cmdprio::{CmdPrio, LatenciesByPriority};
use crate::completion_hooks::CompletionHooks;
use crate::contents::Filler;
use crate::depth_histogram::DepthHistogram;
use crate::engine_choice::with_engine;
use crate::engines::{
    Engine, Libaio, Offload, Opened, Operation, Setup, SetupError, Uring, WithPerIoOptions,
};
use crate::file_sync::{sync_at_end, sync_failed};
use crate::flow::FlowShare;
use crate::follow_up::FollowUp;
use crate::in_flight::{InFlightView, SlotTable};
use crate::io_failure::error_name;
use crate::io_loop::{Ending, ErrorPolicy, IoLoop};
use crate::iolog_writer::IologWriter;
use crate::issue::{Issuer, deduct};
use crate::job_control::JobControl;
use crate::pace::Pacer;
use crate::page_cache::PageCache;
use crate::placement::Placement;
use crate::replay::Replay;
use crate::requests::Requests;
use crate::submission_hooks::{SubmissionHooks, VerifyContext};
use crate::tally::Tallies;
use crate::trims::Trims;
use crate::usage::{Usage, thread_usage};
use crate::verify::VerifyState;

/// The work of a thread. Owns everything that it uses, so that the thread can be abandoned if the
/// kernel never answers.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) job: Arc<Job>,
    pub(crate) engine: IoEngine,
    pub(crate) setup: Setup,
    pub(crate) stream: Stream,
    /// Byte ranges that the job may touch.
    pub(crate) bounds: Bounds,
    /// Trim histories of blocks, if the job reports them.
    pub(crate) block_lives: Option<BlockLives>,
    /// Page cache to invalidate between passes, of buffered jobs with `invalidate`.
    pub(crate) page_cache: Option<PageCache>,
    /// Generates the contents of writes.
    pub(crate) filler: Option<Filler>,
    pub(crate) verifying: Option<VerifyContext>,
    /// The verify state of the run that wrote what this job reads.
    pub(crate) verify_state: Option<VerifyState>,
    /// All targets are devices.
    pub(crate) on_device: bool,
    pub(crate) placement: Placement,
    pub(crate) control: Arc<JobControl>,
    pub(crate) tallies: Arc<Tallies>,
    /// Receiver of log rows.
    pub(crate) rows: Option<SyncSender<Vec<IoRow>>>,
    /// The iolog or trace to replay.
    pub(crate) replay: Option<Replay>,
    /// The iolog to write.
    pub(crate) iolog_writer: Option<IologWriter>,
    /// Share in a flow with other jobs.
    pub(crate) flow: Option<FlowShare>,
    /// Unique to this thread.
    pub(crate) seed: u64,
}

/// Messages from a worker to the control thread.
#[derive(Debug)]
pub(crate) enum WorkerEvent {
    /// Set up, waiting for the start.
    Ready {
        /// Possible depth.
        depth: u16,
        /// As in [`Opened`].
        registered_buffers: Option<bool>,
        /// As in [`Opened`].
        shortfalls: Vec<Caveat>,
        /// View of its I/Os in flight.
        view: InFlightView,
        /// Kernel thread id.
        id: u32,
    },
    /// Set-up failed; the thread has ended.
    Refused(SetupError),
    /// Its I/O has ended; it is releasing its resources.
    Idle(Instant),
    /// The thread has ended, with nothing in flight.
    Ended(Box<WorkerResult>),
}

/// Results of a worker.
#[derive(Debug, Default)]
pub(crate) struct WorkerResult {
    /// End of its I/O. Releasing resources takes longer: a libaio context about 40 ms.
    pub(crate) ended: Option<Instant>,
    /// Kernel thread id.
    pub(crate) id: u32,
    /// Resource usage from start to end.
    pub(crate) usage: Usage,
    pub(crate) depth_histogram: DepthHistogram,
    pub(crate) split: PerDirection<Option<SplitLatency>>,
    pub(crate) by_priority: PerDirection<PriorityLatencies>,
    /// Time spent writing, and verifying afterwards, if it did; ns, without the ramp.
    pub(crate) write_verify_ns: Option<(u64, u64)>,
    pub(crate) verified: u64,
    pub(crate) mismatches: u64,
    pub(crate) latency_target_depth: Option<u32>,
    pub(crate) block_lives: Vec<BlockLife>,
    pub(crate) replayed: Option<Box<Replayed>>,
    /// Errno and message if it could not continue.
    pub(crate) failure: Option<(i32, String)>,
    /// Other remarks.
    pub(crate) shortfalls: Vec<Caveat>,
}

impl Worker {
    /// Main function of the thread.
    pub(crate) fn run(self, notify: impl Fn(WorkerEvent)) {
        let result = catch_unwind(AssertUnwindSafe(|| match self.engine {
            _ if self.setup.submit.is_some() => self.run_with::<Offload>(&notify),
            IoEngine::Cpuio => self.burn_cpu(&notify),
            IoEngine::Exec => self.run_program(&notify),
            IoEngine::IoUring
                if self.job.engine.command_priority.is_on()
                    || self.setup.options.force_async > 1 =>
            {
                self.run_with::<WithPerIoOptions<Uring>>(&notify)
            }
            IoEngine::Libaio if self.job.engine.command_priority.is_on() => {
                self.run_with::<WithPerIoOptions<Libaio>>(&notify)
            }
            engine => with_engine!(engine, E => self.run_with::<E>(&notify)),
        }));
        notify(match result {
            Ok(Ok(result)) => WorkerEvent::Ended(Box::new(result)),
            Ok(Err(refused)) => WorkerEvent::Refused(refused),
            Err(_) => {
                let failure = Some((libc::EIO, "the worker panicked: a bug of iodyno".into()));
                WorkerEvent::Ended(Box::new(WorkerResult { failure, ..WorkerResult::default() }))
            }
        });
    }

    fn run_with<E: Engine>(
        mut self,
        notify: impl Fn(WorkerEvent),
    ) -> Result<WorkerResult, SetupError> {
        self.placement.apply()?;
        // Only now: memory is allocated on the NUMA node of the CPU that touches it.
        let length = self.setup.length;
        let cmdprio = CmdPrio::new(&self.job, self.setup.depth, self.seed);
        let slot_priorities = cmdprio.as_ref().map(CmdPrio::slot_priorities);
        self.setup.cmdprio = cmdprio;
        let Opened { mut engine, depth, registered_buffers, shortfalls } = E::open(self.setup)?;
        let filler = self.filler.take().and_then(|mut filler| {
            (0..depth).for_each(|slot| filler.prepare(engine.buffers().slot_mut(slot, length)));
            (!filler.is_static()).then_some(filler)
        });
        let slots = SlotTable::new(depth);
        let view = slots.view();
        let job = &self.job;
        let reads_verify = self.verifying.is_some() && !job.writes();
        let verifies = self.verifying.is_some();
        let queues = !self.engine.is_synchronous() || job.depth.offload;
        let (tallies, rows, iolog) = (&self.tallies, self.rows, self.iolog_writer);
        let mut hooks = CompletionHooks::new(job, depth, verifies, queues, tallies, rows, iolog);
        if let Some(hooks) = &mut hooks {
            hooks.by_priority = slot_priorities
                .map(|slot_priorities| LatenciesByPriority::new(job, slot_priorities));
            hooks.block_lives = self.block_lives;
        }
        let fresh = self.stream.clone();
        let has_timed_log = self.replay.is_some() && !job.replay.no_stall;
        let mut requests = match self.replay {
            Some(replay) => Requests::replay(replay),
            None if job.verify.verify_only || self.verify_state.is_some() => {
                let mixed = job.pattern.rw.has(Direction::Write);
                let operation = if mixed { Operation::Write } else { Operation::Read };
                match self.verifying.as_mut().filter(|_| job.knows_write_order()) {
                    Some(verifying) => {
                        let (stream, state) = (self.stream, self.verify_state);
                        Requests::predicted(stream, operation, state, verifying, length)
                    }
                    None => Requests::verify_reads(self.stream, operation, self.verify_state),
                }
            }
            None => Requests::stream(self.stream),
        };
        let submission_hooks = (filler.is_some() || verifies).then_some(SubmissionHooks {
            filler,
            verifying: self.verifying,
            number: 0,
        });
        let pacer = Pacer::new(&job.pace, Clock::get(), self.seed)
            .or_else(|| has_timed_log.then(Pacer::untimed));
        requests.page_cache = self.page_cache;
        let mut issuer = Issuer::new(job, depth, requests, pacer);
        issuer.set_flow(self.flow);
        let tallies = self.tallies.table();
        let mut io_loop = IoLoop::new(engine, issuer, slots, self.bounds, tallies, &self.control);
        io_loop.submission_hooks = submission_hooks;
        io_loop.completion_hooks = hooks;
        io_loop.policy = ErrorPolicy {
            errors: job.errors.clone(),
            on_device: self.on_device,
            fills_device: job.space.fill_device,
        };
        io_loop.ramping = job.time.ramp_ns > 0;
        io_loop.min_completions = job.depth.batch_complete_min as usize;
        // Hooks, and pauses counted from completions, need their times.
        io_loop.timed = !job.report.gtod_reduce
            || io_loop.completion_hooks.is_some()
            || io_loop.issuer.pacer.is_some();
        if let Some(hooks) = &mut io_loop.completion_hooks {
            hooks.verifies = reads_verify;
            if let Some(search) = &hooks.search {
                io_loop.issuer.set_limit(search.depth());
            }
        }
        let id = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        notify(WorkerEvent::Ready { depth, registered_buffers, shortfalls, view, id });
        self.control.wait_for_start();
        let before = thread_usage();
        let clock = Clock::get();
        let (start, mut verified) = (clock.now(), None);
        let ending = run_passes(&mut io_loop, job, &fresh, length, &mut verified);
        let counted = self.control.counted(start, clock.now());
        let ended = Instant::now();
        notify(WorkerEvent::Idle(ended));
        let usage = thread_usage().since(before).and(io_loop.engine.finish());
        let write_verify_ns = verified.map(|verified| {
            let written = counted.saturating_sub(verified);
            (clock.ns(written), clock.ns(verified))
        });
        let cut = io_loop.issuer.failure().map(|why| (libc::EINVAL, why));
        let failure = failure::<E>(ending).or(cut);
        Ok(WorkerResult {
            ended: Some(ended),
            id,
            usage,
            failure,
            write_verify_ns,
            ..collect_result(&mut io_loop, job)
        })
    }
}

/// Errno and message if the thread could not continue.
fn failure<E: Engine>(ending: io::Result<Ending>) -> Option<(i32, String)> {
    match ending {
        Ok(Ending::Done) => None,
        Ok(Ending::Failed(failure)) => Some((failure.errno(), failure.to_string())),
        Ok(Ending::DeviceGone(failure)) => {
            Some((failure.errno(), format!("the device is gone: {failure}")))
        }
        Ok(Ending::Error(why)) => Some(*why),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            Some((errno, format!("{} failed: {}", E::NAME, error_name(&error))))
        }
    }
}

/// Collects the results of a loop.
fn collect_result<E: Engine>(io_loop: &mut IoLoop<'_, E>, job: &Job) -> WorkerResult {
    let replayed = io_loop.issuer.replayed();
    let mut result = WorkerResult {
        depth_histogram: io_loop.depth_histogram,
        replayed,
        ..WorkerResult::default()
    };
    if let Some(hooks) = &mut io_loop.completion_hooks {
        result.split = hooks.finish();
        result.by_priority =
            hooks.by_priority.as_mut().map(LatenciesByPriority::finish).unwrap_or_default();
        result.verified = hooks.verified;
        result.mismatches = hooks.mismatches;
        result.shortfalls.append(&mut hooks.caveats);
        result.block_lives = hooks.block_lives.as_ref().map_or_else(Vec::new, BlockLives::finish);
        let search = hooks.search.as_ref();
        result.latency_target_depth = search.and_then(|search| search.result());
    }
    let submission_hooks = io_loop.submission_hooks.as_mut();
    let writes = submission_hooks.as_ref().map_or(0, |hooks| hooks.number);
    let mut verifying = submission_hooks.and_then(|hooks| hooks.verifying.as_mut());
    let write_tracker = verifying.as_mut().and_then(|verifying| verifying.write_tracker.as_mut());
    let unsaved = write_tracker
        .and_then(|write_tracker| write_tracker.save(job, writes).err())
        .map(|why| Caveat::LogNotWritten { option: "verify_state_save".into(), why });
    result.shortfalls.extend(unsaved);
    let untracked = verifying.map_or(0, |verifying| verifying.untracked());
    if untracked > 0 {
        result.shortfalls.push(Caveat::NotVerified { writes: untracked });
    }
    result
}

/// Runs all passes over the work. Verifying jobs verify after each `verify_backlog` writes and
/// after each loop; `verified` gets the time of that, outside of the ramp; ticks.
fn run_passes<E: Engine>(
    io_loop: &mut IoLoop<'_, E>,
    job: &Job,
    fresh: &Stream,
    length: u32,
    verified: &mut Option<u64>,
) -> io::Result<Ending> {
    io_loop.lapsed = io_loop.control.lapsed();
    if let Some(pacer) = &mut io_loop.issuer.pacer {
        pacer.start(Clock::get().now());
    }
    if let Some(hooks) = &mut io_loop.completion_hooks {
        hooks.start();
    }
    let verifies = io_loop.submission_hooks.as_ref().is_some_and(|hooks| hooks.verifying.is_some())
        && job.verifies_its_writes();
    // A stream repeats by itself, unless each loop is to be verified.
    let loops = if verifies { job.space.loops.max(1) } else { 1 };
    for turn in 0..loops {
        if turn > 0 {
            io_loop.issuer.start_pass(Requests::stream(fresh.clone()));
        }
        let backlog = verifies.then_some(job.verify.backlog);
        let ending = run_pass(io_loop, job, backlog, length, verified)?;
        if ending != Ending::Done {
            return Ok(ending);
        }
        if io_loop.control.is_stopped(false) {
            break;
        }
    }
    Ok(Ending::Done)
}

/// Runs one pass and, with a `backlog`, verifies it: after each `backlog` writes, or after all of
/// them if it is 0. Trims some of the writes in between, if requested. The sync at the end precedes
/// the verification: as in fio, it belongs to the writing. Pacing stops meanwhile.
fn run_pass<E: Engine>(
    io_loop: &mut IoLoop<'_, E>,
    job: &Job,
    backlog: Option<u64>,
    length: u32,
    verified: &mut Option<u64>,
) -> io::Result<Ending> {
    let clock = Clock::get();
    let turn = |every: u64| if every > 0 { every } else { u64::MAX };
    let verify_every = turn(backlog.unwrap_or(0));
    let trim_every = turn(trims(io_loop).map_or(0, |trims| trims.every));
    let (mut to_verify, mut to_trim) = (verify_every, trim_every);
    loop {
        let allowed = to_verify.min(to_trim);
        io_loop.issuer.allowance = allowed;
        let ending = io_loop.run()?;
        let goes_on = allowed < u64::MAX && io_loop.issuer.allowance == 0;
        io_loop.issuer.allowance = u64::MAX;
        if ending != Ending::Done {
            return Ok(ending);
        }
        let paused = clock.now();
        (to_verify, to_trim) = (deduct(to_verify, allowed), deduct(to_trim, allowed));
        if to_trim == 0 && goes_on {
            to_trim = trim_every;
            let chosen = trims(io_loop).map(Trims::next_batch).unwrap_or_default();
            let ending = run_follow_up(io_loop, FollowUp::of(chosen), false)?;
            if ending != Ending::Done {
                return Ok(ending);
            }
        }
        let last = !goes_on || io_loop.control.is_stopped(false);
        if last {
            let ending = sync_at_end(io_loop, job)?;
            if ending != Ending::Done {
                return Ok(ending);
            }
        }
        if backlog.is_some() && (to_verify == 0 || last) {
            to_verify = verify_every;
            let start = clock.now();
            let ending = verify_writes(io_loop, length)?;
            *verified.get_or_insert(0) += io_loop.control.counted(start, clock.now());
            if ending != Ending::Done {
                return Ok(ending);
            }
            if let Some(hooks) = &mut io_loop.submission_hooks {
                hooks.clear_ledgers();
            }
        }
        if let Some(pacer) = &mut io_loop.issuer.pacer {
            pacer.postpone(clock.now().saturating_sub(paused));
        }
        // The pause contains lapses during it.
        io_loop.lapsed = io_loop.control.lapsed();
        if last {
            return Ok(Ending::Done);
        }
        if io_loop.control.is_stopped(false) {
            return sync_at_end(io_loop, job);
        }
    }
}

/// The trims of its writes, if it makes any.
fn trims<'c, E: Engine>(io_loop: &'c mut IoLoop<'_, E>) -> Option<&'c mut Trims> {
    io_loop.submission_hooks.as_mut()?.verifying.as_mut()?.trims.as_mut()
}

/// Verifies what was written.
fn verify_writes<E: Engine>(io_loop: &mut IoLoop<'_, E>, length: u32) -> io::Result<Ending> {
    let submission_hooks = io_loop.submission_hooks.as_mut();
    let Some(verifying) = submission_hooks.and_then(|hooks| hooks.verifying.as_mut()) else {
        return Ok(Ending::Done);
    };
    // fio's do_verify invalidates the page cache, its verify_backlog does not.
    let all = verifying.backlog.is_none();
    let follow_up = match &mut verifying.backlog {
        Some(backlog) => FollowUp::of(std::mem::take(backlog)),
        None => verifying.reads(length),
    };
    run_follow_up(io_loop, follow_up, all)
}

/// Issues these I/Os, with the page cache dropped first if `uncached`, then resumes the job's own.
fn run_follow_up<E: Engine>(
    io_loop: &mut IoLoop<'_, E>,
    follow_up: FollowUp,
    uncached: bool,
) -> io::Result<Ending> {
    let set_verifying = |io_loop: &mut IoLoop<'_, E>, verifies| {
        io_loop.verifying = verifies;
        if let Some(hooks) = &mut io_loop.completion_hooks {
            hooks.verifies = verifies;
        }
    };
    let (rest, deferred) = io_loop.issuer.switch_to(Requests::follow_up(follow_up), None);
    let page_cache = rest.page_cache.as_ref().filter(|_| uncached);
    let written = page_cache.map_or(Ok(()), PageCache::write_back_and_drop);
    if let Err((file, errno)) = written {
        return Ok(sync_failed(file, -i64::from(errno.raw_os_error())));
    }
    set_verifying(io_loop, true);
    let ending = io_loop.run();
    set_verifying(io_loop, false);
    io_loop.issuer.switch_to(rest, deferred);
    ending
}

#[cfg(test)]
mod tests;
