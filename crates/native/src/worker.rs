//! A worker thread of a job: set-up, start, and its passes over the work.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use iodyno_job::{IoEngine, Job, Request, Stream};
use iodyno_load::IoRow;
use iodyno_model::{
    BlockLife, Caveat, Direction, PerDirection, PriorityLatencies, Replayed, SplitLatency,
};

use crate::block_lives::BlockLives;
use crate::bounds::Bounds;
use crate::choose::with_engine;
use crate::clock::Clock;
use crate::completion_hooks::Attendant;
use crate::contents::Filler;
use crate::depth_histogram::Levels;
use crate::engines::{
    Engine, Libaio, Offload, Opened, Operation, Setup, SetupError, Uring, WithPerIoOptions,
};
use crate::failure::error_name;
use crate::flow::FlowShare;
use crate::in_flight::{InFlight, InFlightView, InFlights};
use crate::io_loop::{Course, Ending, Policy};
use crate::issue::Issuer;
use crate::pace::Pacer;
use crate::page_cache::PageCache;
use crate::placement::Placement;
use crate::preparation::{Preparation, Verifying};
use crate::priorities::{Priorities, RankedLatencies};
use crate::replay::Replay;
use crate::replayed_log::ReplayedLog;
use crate::requests::Requests;
use crate::shared::Shared;
use crate::tally::Tallies;
use crate::trims::Trims;
use crate::usage::{Usage, of_this_thread};
use crate::verify::State;
use crate::written_log::WrittenLog;

/// The work of a thread. Owns everything that it uses, so that the thread can be abandoned if the
/// kernel never answers.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) job: Arc<Job>,
    pub(crate) engine: IoEngine,
    pub(crate) setup: Setup,
    pub(crate) stream: Stream,
    /// Byte ranges that the job may touch.
    pub(crate) bounds: Bounds,
    /// Trim histories of blocks, if the job reports them.
    pub(crate) lives: Option<BlockLives>,
    /// Page cache to invalidate between passes, of buffered jobs with `invalidate`.
    pub(crate) page_cache: Option<PageCache>,
    /// Generates the contents of writes.
    pub(crate) filler: Option<Filler>,
    pub(crate) verifying: Option<Verifying>,
    /// The verify state of the run that wrote what this job reads.
    pub(crate) state: Option<State>,
    /// All targets are devices.
    pub(crate) on_device: bool,
    pub(crate) placement: Placement,
    pub(crate) shared: Arc<Shared>,
    pub(crate) tallies: Arc<Tallies>,
    /// Receiver of log rows.
    pub(crate) rows: Option<SyncSender<Vec<IoRow>>>,
    /// The iolog or trace to replay.
    pub(crate) log: Option<ReplayedLog>,
    /// The iolog to write.
    pub(crate) written_log: Option<WrittenLog>,
    /// Share in a flow with other jobs.
    pub(crate) flow: Option<FlowShare>,
    /// Unique to this thread.
    pub(crate) seed: u64,
}

/// Messages from a worker to the control thread.
#[derive(Debug)]
pub(crate) enum Event {
    /// Set up, waiting for the start.
    Ready {
        /// Possible depth.
        depth: u16,
        /// As in [`Opened`].
        registered_buffers: Option<bool>,
        /// As in [`Opened`].
        shortfalls: Vec<Caveat>,
        /// View of its I/Os in flight.
        outlook: InFlightView,
        /// Kernel thread id.
        id: u32,
    },
    /// Set-up failed; the thread has ended.
    Refused(SetupError),
    /// The thread has ended, with nothing in flight.
    Ended(Box<Outcome>),
}

/// Results of a worker.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// End of its I/O. Releasing resources takes longer: a libaio context about 40 ms.
    pub(crate) ended: Option<Instant>,
    /// Kernel thread id.
    pub(crate) id: u32,
    /// Resource usage from start to end.
    pub(crate) usage: Usage,
    pub(crate) levels: Levels,
    pub(crate) split: PerDirection<Option<SplitLatency>>,
    pub(crate) by_priority: PerDirection<PriorityLatencies>,
    /// Time spent writing, and verifying afterwards, if it did; ns, without the ramp.
    pub(crate) stages_ns: Option<(u64, u64)>,
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

impl Assignment {
    /// Main function of the thread.
    pub(crate) fn carry_out(self, tell: impl Fn(Event)) {
        let outcome = catch_unwind(AssertUnwindSafe(|| match self.engine {
            _ if self.setup.submit.is_some() => self.run::<Offload>(&tell),
            IoEngine::Cpuio => self.burn(&tell),
            IoEngine::Exec => self.execute(&tell),
            IoEngine::IoUring
                if self.job.engine.command_priority.is_on()
                    || self.setup.options.force_async > 1 =>
            {
                self.run::<WithPerIoOptions<Uring>>(&tell)
            }
            IoEngine::Libaio if self.job.engine.command_priority.is_on() => {
                self.run::<WithPerIoOptions<Libaio>>(&tell)
            }
            engine => with_engine!(engine, I => self.run::<I>(&tell)),
        }));
        tell(match outcome {
            Ok(Ok(outcome)) => Event::Ended(Box::new(outcome)),
            Ok(Err(refused)) => Event::Refused(refused),
            Err(_) => {
                let failure = Some((libc::EIO, "the worker panicked: a bug of iodyno".into()));
                Event::Ended(Box::new(Outcome { failure, ..Outcome::default() }))
            }
        });
    }

    fn run<I: Engine>(mut self, tell: impl Fn(Event)) -> Result<Outcome, SetupError> {
        self.placement.apply()?;
        // Only now: memory is allocated on the NUMA node of the CPU that touches it.
        let length = self.setup.length;
        let priorities = Priorities::new(&self.job, self.setup.depth, self.seed);
        let of_slots = priorities.as_ref().map(Priorities::of_slots);
        self.setup.priorities = priorities;
        let Opened { mut engine, depth, registered_buffers, shortfalls } = I::open(self.setup)?;
        let filler = self.filler.take().and_then(|mut filler| {
            (0..depth).for_each(|slot| filler.prepare(engine.buffers().slot_mut(slot, length)));
            (!filler.is_static()).then_some(filler)
        });
        let flights = InFlights::new(depth);
        let outlook = flights.outlook();
        let job = &self.job;
        let reads_verify = self.verifying.is_some() && !job.writes();
        let verifies = self.verifying.is_some();
        let queues = !self.engine.is_synchronous() || job.depth.offload;
        let (tallies, rows, log) = (&self.tallies, self.rows, self.written_log);
        let mut attendant = Attendant::new(job, depth, verifies, queues, tallies, rows, log);
        if let Some(attendant) = &mut attendant {
            attendant.ranked = of_slots.map(|of_slots| RankedLatencies::new(job, of_slots));
            attendant.lives = self.lives;
        }
        let fresh = self.stream.clone();
        let timed_log = self.log.is_some() && !job.replay.no_stall;
        let mut requests = match self.log {
            Some(log) => Requests::log(log),
            None if job.verify.verify_only || self.state.is_some() => {
                let mixed = job.pattern.rw.has(Direction::Write);
                let operation = if mixed { Operation::Write } else { Operation::Read };
                match self.verifying.as_mut().filter(|_| job.foresees_writes()) {
                    Some(verifying) => {
                        let (stream, state) = (self.stream, self.state);
                        Requests::foreseen(stream, operation, state, verifying, length)
                    }
                    None => Requests::verified(self.stream, operation, self.state),
                }
            }
            None => Requests::stream(self.stream),
        };
        let preparation = (filler.is_some() || verifies).then_some(Preparation {
            filler,
            verifying: self.verifying,
            number: 0,
        });
        let pacer = Pacer::new(&job.pace, Clock::get(), self.seed)
            .or_else(|| timed_log.then(Pacer::of_log));
        requests.page_cache = self.page_cache;
        let mut issuer = Issuer::new(job, depth, requests, pacer);
        issuer.set_flow(self.flow);
        let tallies = self.tallies.table();
        let mut course = Course::new(engine, issuer, flights, self.bounds, tallies, &self.shared);
        course.preparation = preparation;
        course.attendant = attendant;
        course.policy = Policy {
            continue_on: job.errors.continue_on_error,
            ignored: job.errors.ignore_error.clone(),
            on_device: self.on_device,
            fills_device: job.space.fill_device,
        };
        course.ramping = job.time.ramp_ns > 0;
        course.least = job.depth.batch_complete_min as usize;
        // Hooks, and pauses counted from completions, need their times.
        course.timed =
            !job.report.gtod_reduce || course.attendant.is_some() || course.issuer.pacer.is_some();
        if let Some(attendant) = &mut course.attendant {
            attendant.verifies = reads_verify;
            if let Some(search) = &attendant.search {
                course.issuer.set_limit(search.depth());
            }
        }
        let id = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        tell(Event::Ready { depth, registered_buffers, shortfalls, outlook, id });
        self.shared.wait_for_start();
        let before = of_this_thread();
        let clock = Clock::get();
        let (begun, mut verified) = (clock.now(), None);
        let ending = stages(&mut course, job, &fresh, length, &mut verified);
        let counted = self.shared.counted(begun, clock.now());
        let ended = Some(Instant::now());
        let usage = of_this_thread().since(before).and(course.engine.finish());
        let stages_ns = verified.map(|verified| {
            let written = counted.saturating_sub(verified);
            (clock.ns(written), clock.ns(verified))
        });
        let cut = course.issuer.failure().map(|why| (libc::EINVAL, why));
        let failure = failure::<I>(ending).or(cut);
        Ok(Outcome { ended, id, usage, failure, stages_ns, ..outcome(&mut course, job) })
    }
}

/// Errno and message if the thread could not continue.
fn failure<I: Engine>(ending: io::Result<Ending>) -> Option<(i32, String)> {
    match ending {
        Ok(Ending::Done) => None,
        Ok(Ending::Failed(failure)) => Some((failure.errno(), failure.to_string())),
        Ok(Ending::Gone(failure)) => {
            Some((failure.errno(), format!("the device is gone: {failure}")))
        }
        Ok(Ending::Ended(why)) => Some(*why),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            Some((errno, format!("{} failed: {}", I::NAME, error_name(&error))))
        }
    }
}

/// Collects the results of a loop.
fn outcome<I: Engine>(course: &mut Course<'_, I>, job: &Job) -> Outcome {
    let replayed = course.issuer.replayed();
    let mut outcome = Outcome { levels: course.levels, replayed, ..Outcome::default() };
    if let Some(attendant) = &mut course.attendant {
        outcome.split = attendant.finish();
        outcome.by_priority =
            attendant.ranked.as_mut().map(RankedLatencies::finish).unwrap_or_default();
        outcome.verified = attendant.verified;
        outcome.mismatches = attendant.mismatches;
        outcome.shortfalls.append(&mut attendant.told);
        outcome.block_lives = attendant.lives.as_ref().map_or_else(Vec::new, BlockLives::finish);
        let search = attendant.search.as_ref();
        outcome.latency_target_depth = search.and_then(|search| search.result());
    }
    let preparation = course.preparation.as_mut();
    let made = preparation.as_ref().map_or(0, |one| one.number);
    let mut verifying = preparation.and_then(|one| one.verifying.as_mut());
    let following = verifying.as_mut().and_then(|one| one.following.as_mut());
    let unsaved = following
        .and_then(|following| following.save(job, made).err())
        .map(|why| Caveat::LogNotWritten { option: "verify_state_save".into(), why });
    outcome.shortfalls.extend(unsaved);
    let untracked = verifying.map_or(0, |one| one.untracked());
    if untracked > 0 {
        outcome.shortfalls.push(Caveat::NotVerified { writes: untracked });
    }
    outcome
}

/// Runs all passes over the work. Verifying jobs verify after each `verify_backlog` writes and
/// after each loop; `verified` gets the time of that, outside of the ramp; ticks.
fn stages<I: Engine>(
    course: &mut Course<'_, I>,
    job: &Job,
    fresh: &Stream,
    length: u32,
    verified: &mut Option<u64>,
) -> io::Result<Ending> {
    if let Some(pacer) = &mut course.issuer.pacer {
        pacer.start(Clock::get().now());
    }
    if let Some(attendant) = &mut course.attendant {
        attendant.start();
    }
    let verifies = course.preparation.as_ref().is_some_and(|one| one.verifying.is_some())
        && job.verifies_its_writes();
    // A stream repeats by itself, unless each loop is to be verified.
    let loops = if verifies { job.space.loops.max(1) } else { 1 };
    for turn in 0..loops {
        if turn > 0 {
            course.issuer.begin_again(Requests::stream(fresh.clone()));
        }
        let backlog = verifies.then_some(job.verify.backlog);
        let ending = work(course, job, backlog, length, verified)?;
        if ending != Ending::Done {
            return Ok(ending);
        }
        if course.shared.is_over(false) {
            break;
        }
    }
    Ok(Ending::Done)
}

/// Runs one pass and, with a `backlog`, verifies it: after each `backlog` writes, or after all of
/// them if it is 0. Trims some of the writes in between, if requested. The sync at the end precedes
/// the verification: as in fio, it belongs to the writing. Pacing stops meanwhile.
fn work<I: Engine>(
    course: &mut Course<'_, I>,
    job: &Job,
    backlog: Option<u64>,
    length: u32,
    verified: &mut Option<u64>,
) -> io::Result<Ending> {
    let clock = Clock::get();
    let turn = |every: u64| if every > 0 { every } else { u64::MAX };
    let verify_every = turn(backlog.unwrap_or(0));
    let trim_every = turn(trims(course).map_or(0, |trims| trims.every));
    let (mut to_verify, mut to_trim) = (verify_every, trim_every);
    loop {
        let allowed = to_verify.min(to_trim);
        course.issuer.allowance = allowed;
        let ending = course.run()?;
        let goes_on = allowed < u64::MAX && course.issuer.allowance == 0;
        course.issuer.allowance = u64::MAX;
        if ending != Ending::Done {
            return Ok(ending);
        }
        let paused = clock.now();
        (to_verify, to_trim) = (less(to_verify, allowed), less(to_trim, allowed));
        if to_trim == 0 && goes_on {
            to_trim = trim_every;
            let chosen = trims(course).map(Trims::turn).unwrap_or_default();
            let ending = replay(course, Replay::of(chosen), false)?;
            if ending != Ending::Done {
                return Ok(ending);
            }
        }
        let last = !goes_on || course.shared.is_over(false);
        if last {
            let ending = sync_at_end(course, job)?;
            if ending != Ending::Done {
                return Ok(ending);
            }
        }
        if backlog.is_some() && (to_verify == 0 || last) {
            to_verify = verify_every;
            let begun = clock.now();
            let ending = verify(course, length)?;
            *verified.get_or_insert(0) += course.shared.counted(begun, clock.now());
            if ending != Ending::Done {
                return Ok(ending);
            }
            if let Some(preparation) = &mut course.preparation {
                preparation.settle();
            }
        }
        if let Some(pacer) = &mut course.issuer.pacer {
            pacer.postpone(clock.now().saturating_sub(paused));
        }
        if last {
            return Ok(Ending::Done);
        }
        if course.shared.is_over(false) {
            return sync_at_end(course, job);
        }
    }
}

/// Subtracts `count`; `u64::MAX` is unlimited.
const fn less(left: u64, count: u64) -> u64 {
    if left == u64::MAX { left } else { left - count }
}

fn trims<'c, I: Engine>(course: &'c mut Course<'_, I>) -> Option<&'c mut Trims> {
    course.preparation.as_mut()?.verifying.as_mut()?.trims.as_mut()
}

/// Verifies what was written.
fn verify<I: Engine>(course: &mut Course<'_, I>, length: u32) -> io::Result<Ending> {
    let preparation = course.preparation.as_mut();
    let Some(verifying) = preparation.and_then(|one| one.verifying.as_mut()) else {
        return Ok(Ending::Done);
    };
    // fio's do_verify invalidates the page cache, its verify_backlog does not.
    let all = verifying.backlog.is_none();
    let replay_of_writes = match &mut verifying.backlog {
        Some(backlog) => Replay::of(std::mem::take(backlog)),
        None => Replay::new(&verifying.ledgers, verifying.verifier.interval(), length),
    };
    replay(course, replay_of_writes, all)
}

/// Issues these I/Os, with the page cache dropped first if `uncached`, then resumes the job's own.
fn replay<I: Engine>(
    course: &mut Course<'_, I>,
    replay: Replay,
    uncached: bool,
) -> io::Result<Ending> {
    let attend = |course: &mut Course<'_, I>, verifies| {
        course.verifying = verifies;
        if let Some(attendant) = &mut course.attendant {
            attendant.verifies = verifies;
        }
    };
    let (rest, held) = course.issuer.turn_to(Requests::replay(replay), None);
    if let Some(page_cache) = rest.page_cache.as_ref().filter(|_| uncached) {
        page_cache.write_back_and_drop();
    }
    attend(course, true);
    let ending = course.run();
    attend(course, false);
    course.issuer.turn_to(rest, held);
    ending
}

/// Syncs the job's files, if it requests that at its end or on close, which is all that follows.
fn sync_at_end<I: Engine>(course: &mut Course<'_, I>, job: &Job) -> io::Result<Ending> {
    let synced = job.flush.end_fsync || job.files.fsync_on_close;
    if synced && job.writes() && !course.shared.is_over(true) {
        for file in 0..job.files.paths.len().max(1) {
            let ending = sync(course, file as u16)?;
            if ending != Ending::Done {
                return Ok(ending);
            }
        }
    }
    Ok(Ending::Done)
}

/// Syncs a file with nothing in flight. As in fio it is not counted as one of the syncs between
/// writes.
fn sync<I: Engine>(course: &mut Course<'_, I>, file: u16) -> io::Result<Ending> {
    let sync = [Request { file, operation: Operation::Sync, ..Request::default() }];
    course.engine.queue(course.flights.reserve(&sync).iter());
    loop {
        course.engine.enter(1)?;
        let done = course.engine.completions().next();
        if let Some(completion) = done {
            course.flights.end(completion.slot);
            let flight = InFlight { operation: Operation::Sync, file, ..InFlight::default() };
            return Ok(match completion.result {
                0 => Ending::Done,
                result => Ending::Failed(crate::failure::Failure::of(&flight, result)),
            });
        }
    }
}

#[cfg(test)]
mod tests;
