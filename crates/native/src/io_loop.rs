//! The I/O loop: submits, waits and reaps.

use std::io;
use std::time::Duration;

use iodyno_job::ContinueOn;
use iodyno_model::PerDirection;

use crate::bounds::{Bounds, Outside};
use crate::clock::Clock;
use crate::completion_hooks::{Attendant, Attended};
use crate::depth_histogram::Levels;
use crate::engines::{Completion, Engine, Operation};
use crate::failure::Failure;
use crate::in_flight::{Batch, Completed, InFlight, InFlights};
use crate::issue::Issuer;
use crate::preparation::Preparation;
use crate::shared::Shared;
use crate::tally::Tally;

/// A wait in the kernel ends this long before the next I/O is due; the rest is spun, since waking
/// up takes tens of µs, which would count as latency.
const SPIN: Duration = Duration::from_micros(60);
/// Longest wait before the loop checks whether the job was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// Handling of failed I/Os.
#[derive(Debug, Clone, Default)]
pub(crate) struct Policy {
    pub(crate) continue_on: ContinueOn,
    /// Errnos that do not count as errors (`ignore_error`).
    pub(crate) ignored: PerDirection<Vec<i32>>,
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
    Failed(Failure),
    /// Another error, as errno and message; boxed to keep the loop's state small.
    Ended(Box<(i32, String)>),
    /// The device is gone.
    Gone(Failure),
}

/// The I/O of one thread, from first to last.
#[derive(Debug)]
pub(crate) struct Course<'a, I> {
    pub(crate) engine: I,
    pub(crate) issuer: Issuer,
    pub(crate) flights: InFlights,
    /// Byte ranges that the job may touch.
    bounds: Bounds,
    /// Prepares writes before they are submitted.
    pub(crate) preparation: Option<Preparation>,
    /// By operation.
    pub(crate) tallies: [&'a Tally; 5],
    pub(crate) shared: &'a Shared,
    pub(crate) attendant: Option<Attendant>,
    pub(crate) policy: Policy,
    pub(crate) levels: Levels,
    /// The ramp is not over: as in fio, its depths are discarded.
    pub(crate) ramping: bool,
    /// Completions to wait for when nothing more can be submitted.
    pub(crate) least: usize,
    /// Latencies are measured.
    pub(crate) timed: bool,
    /// The loop is verifying earlier writes.
    pub(crate) verifying: bool,
    ending: Option<Ending>,
}

impl<'a, I: Engine> Course<'a, I> {
    /// The I/O of a thread through `io`, never outside of `bounds`.
    pub(crate) fn new(
        engine: I,
        issuer: Issuer,
        flights: InFlights,
        bounds: Bounds,
        tallies: [&'a Tally; 5],
        shared: &'a Shared,
    ) -> Self {
        Self {
            engine,
            issuer,
            flights,
            bounds,
            preparation: None,
            tallies,
            shared,
            attendant: None,
            policy: Policy::default(),
            levels: Levels::default(),
            ramping: false,
            least: 1,
            timed: true,
            verifying: false,
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
            let over = self.ending.is_some() || self.shared.is_over(self.verifying);
            if self.ramping && self.shared.is_counting() {
                self.ramping = false;
                self.levels = Levels::default();
            }
            let mut handed_over = 0;
            if !over {
                handed_over = if PACED { self.submit_due(clock) } else { self.submit(clock) };
            }
            let in_flight = self.flights.count();
            self.levels.submitted(handed_over, in_flight);
            if in_flight == 0 {
                if over || self.issuer.is_exhausted() {
                    return Ok(());
                }
                if PACED {
                    self.sleep_until_due(clock);
                }
                continue;
            }
            if PACED && !over && handed_over == 0 {
                self.wait_until_due(clock)?;
            } else {
                let more = handed_over > 0 && !over && self.issuer.room(&self.flights) > 0;
                let wait = if PACED || (more && !self.issuer.is_exhausted()) {
                    0
                } else if over || self.issuer.is_exhausted() {
                    1
                } else {
                    self.least.min(in_flight) as u32
                };
                self.engine.enter(wait)?;
            }
            self.reap::<PACED>(clock);
        }
    }

    #[inline]
    fn submit(&mut self, clock: Clock) -> usize {
        let Self { engine, issuer, flights, bounds, preparation, attendant, .. } = self;
        let requests = issuer.fill(flights);
        if let Some(outside) = bounds.outside(requests) {
            return self.refuse(outside);
        }
        let batch = flights.reserve(requests);
        queue(engine, preparation, attendant, &batch);
        batch.begin(if self.timed { clock.now() } else { 1 });
        batch.slots.len()
    }

    /// Ends the job before any part of a batch with an out-of-bounds request is submitted: the rest
    /// of it is just as doubtful.
    #[cold]
    fn refuse(&mut self, outside: Outside) -> usize {
        self.end(Some(Ending::Ended(Box::new((libc::EIO, outside.to_string())))));
        0
    }

    fn submit_due(&mut self, clock: Clock) -> usize {
        let now = clock.now();
        let Self { engine, issuer, flights, bounds, preparation, attendant, .. } = self;
        let mut count = 0;
        while count < issuer.most
            && let Some((request, begun)) = issuer.next_due(flights, now)
        {
            let requests = [request];
            if let Some(outside) = bounds.outside(&requests) {
                return count + self.refuse(outside);
            }
            let batch = flights.reserve(&requests);
            queue(engine, preparation, attendant, &batch);
            batch.begin(begun);
            issuer.submitted(batch.slots[0], begun);
            count += 1;
        }
        count
    }

    /// Waits for the next due time with nothing in flight.
    fn sleep_until_due(&self, clock: Clock) {
        let now = clock.now();
        let spin_until = self.issuer.pacer.as_ref().map_or(0, |pacer| pacer.spin_until());
        let left = Duration::from_nanos(clock.ns(self.issuer.due().saturating_sub(now)));
        if left > SPIN && now >= spin_until {
            // A stop unparks the thread.
            std::thread::park_timeout((left - SPIN).min(LOOK));
        } else {
            std::hint::spin_loop();
        }
    }

    /// Waits for a completion or the next due time, with I/O in flight.
    #[inline(always)] // As the engines' `enter`.
    fn wait_until_due(&mut self, clock: Clock) -> io::Result<()> {
        let left = self.issuer.due().saturating_sub(clock.now());
        let left = Duration::from_nanos(clock.ns(left)).min(LOOK);
        match left.checked_sub(SPIN) {
            Some(most) if !most.is_zero() => self.engine.enter_within(1, most),
            _ => self.engine.enter(0),
        }
    }

    #[inline]
    fn reap<const PACED: bool>(&mut self, clock: Clock) {
        if self.attendant.is_some() {
            return self.reap_attended(clock);
        }
        let Self { engine, flights, tallies, issuer, timed, .. } = self;
        let (completions, mut flights) = (engine.completions(), flights.landings());
        let now = if *timed { clock.now() } else { 0 };
        let tally = |Completed { begun, shape }, times: u64| {
            let (tally, length) = (tallies[shape.operation() as usize], shape.length().into());
            // Prevents products of `times` from being updated on every I/O.
            let times = std::hint::black_box(times);
            match (times, *timed) {
                (0, _) => {}
                (times, true) => tally.record(clock.ns(now.saturating_sub(begun)), length, times),
                (times, false) => tally.count(length, times),
            }
        };
        // I/Os submitted together and completed together have equal latencies: count them at once.
        let (mut alike, mut times, mut length) = (Completed::default(), 0, 0);
        let (before, mut odd) = (flights.free(), None);
        for Completion { slot, result } in completions {
            let landed = flights.release(slot);
            if PACED && let Some(pacer) = &mut issuer.pacer {
                pacer.completed(now);
            }
            if landed == alike && result == length {
                times += 1;
            } else if result != i64::from(landed.shape.length()) {
                let (policy, shared) = (&self.policy, self.shared);
                let tally = tallies[landed.shape.operation() as usize];
                odd = odd.or(unexpected(policy, shared, tally, &flights.latest(slot), result));
            } else {
                tally(alike, times);
                (alike, times, length) = (landed, 1, result);
            }
        }
        tally(alike, times);
        let count = flights.free() - before;
        drop(flights);
        self.levels.completed(count);
        if odd.is_some() {
            self.end(odd);
        }
    }

    #[inline(never)]
    fn reap_attended(&mut self, clock: Clock) {
        let Some(mut attendant) = self.attendant.take() else { return };
        attendant.handed_over(clock.now());
        attendant.seen.clear();
        attendant.seen.extend(self.engine.completions());
        let now = clock.now();
        let seen = std::mem::take(&mut attendant.seen);
        for &Completion { slot, result } in &seen {
            let flight = self.flights.end(slot);
            let succeeded = result == i64::from(flight.length);
            let latency_ns = || clock.ns(now.saturating_sub(flight.begun));
            // Verification is not paced.
            if !self.verifying {
                self.issuer.completed(slot, now, succeeded.then(latency_ns));
            }
            let tally = self.tallies[flight.operation as usize];
            if let Some(preparation) = &mut self.preparation {
                preparation.completed(slot, &flight, succeeded);
            }
            if let Some(lives) = &mut attendant.lives {
                lives.completed(&flight, succeeded);
            }
            if !succeeded {
                let ending = unexpected(&self.policy, self.shared, tally, &flight, result);
                self.end(ending);
                continue;
            }
            if self.timed {
                tally.record(clock.ns(now.saturating_sub(flight.begun)), flight.length.into(), 1);
            } else {
                tally.count(flight.length.into(), 1);
            }
            match attendant.completed(slot, &flight, now, self.shared) {
                Attended::GoOn => {}
                Attended::Found => self.end(Some(Ending::Done)),
                Attended::TooLong(ns) => self.end(Some(too_long(&flight, ns))),
            }
            if attendant.verifies && flight.operation == Operation::Read {
                self.verify(&mut attendant, slot, &flight);
            }
        }
        self.levels.completed(seen.len());
        attendant.seen = seen;
        if let Some(search) = &attendant.search {
            self.issuer.set_limit(search.depth());
        }
        self.attendant = Some(attendant);
    }

    /// Verifies a block that was read.
    fn verify(&mut self, attendant: &mut Attendant, slot: u16, flight: &InFlight) {
        let preparation = self.preparation.as_ref();
        let Some(verifying) = preparation.and_then(|one| one.verifying.as_ref()) else { return };
        if verifying.pretended {
            return;
        }
        let block = self.engine.buffers().slot(slot, flight.length);
        attendant.verified += 1;
        if let Err(mismatch) = verifying.check(block, flight.file, flight.offset) {
            attendant.mismatches += 1;
            attendant.tell(&mismatch);
            let failure = Failure::of(flight, -i64::from(libc::EILSEQ));
            self.shared.note(failure);
            if !self.policy.continue_on.verify {
                let dumps = match verifying.dump(block, flight.file, flight.offset) {
                    Ok(names) if names.is_empty() => String::new(),
                    Ok(names) => format!("; dumped to {}", names.join(" and ")),
                    Err(error) => format!("; it cannot be dumped: {error}"),
                };
                let said = format!("verify: {mismatch}{dumps}");
                self.end(Some(Ending::Ended(Box::new((libc::EILSEQ, said)))));
            }
        }
    }

    fn end(&mut self, ending: Option<Ending>) {
        if let Some(ending) = ending {
            if matches!(ending, Ending::Gone(_)) {
                self.shared.abort();
            }
            self.ending.get_or_insert(ending);
        }
    }
}

/// Queues `batch`, after its preparation.
#[inline(always)]
fn queue<I: Engine>(
    engine: &mut I,
    preparation: &mut Option<Preparation>,
    attendant: &mut Option<Attendant>,
    batch: &Batch<'_>,
) {
    if let Some(preparation) = preparation {
        preparation.prepare(batch, engine.buffers());
    }
    engine.queue(batch.iter());
    if let Some(attendant) = attendant {
        attendant.submit(batch);
    }
}

/// The ending for an I/O that exceeded `max_latency`, with fio's errno.
#[cold]
fn too_long(flight: &InFlight, ns: u64) -> Ending {
    let (InFlight { operation, offset, .. }, us) = (flight, ns / 1000);
    let said = format!("a {operation} at offset {offset} took {us} us, longer than max_latency");
    Ending::Ended(Box::new((libc::ETIMEDOUT, said)))
}

/// Handles a failed or short I/O. Returns the ending if it ends the job.
#[cold]
fn unexpected(
    policy: &Policy,
    shared: &Shared,
    tally: &Tally,
    flight: &InFlight,
    result: i64,
) -> Option<Ending> {
    let failure = Failure::of(flight, result);
    let errno = failure.errno();
    if errno == libc::ENOSPC && policy.fills_device {
        return Some(Ending::Done);
    }
    let direction = flight.operation.direction();
    let reads = flight.operation == Operation::Read;
    if direction.is_some_and(|direction| policy.ignored.of(direction).contains(&errno)) {
        return None;
    }
    tally.fail();
    if result > 0 {
        tally.fall_short();
    }
    shared.note(failure);
    // A removed device has size 0.
    let has_no_size = policy.on_device && reads && result == 0;
    if has_no_size || failure.is_final() {
        return Some(Ending::Gone(failure));
    }
    let goes_on = if reads { policy.continue_on.read } else { policy.continue_on.write };
    (!goes_on).then_some(Ending::Failed(failure))
}

#[cfg(test)]
mod tests;
