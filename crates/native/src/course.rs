//! The loop that everything else is built around.

use std::io;
use std::time::Duration;

use iodyno_job::ContinueOn;
use iodyno_model::Each;

use crate::attend::{Attendant, Attended};
use crate::clock::Clock;
use crate::failure::Failure;
use crate::flights::{Flight, Flights, Landed};
use crate::io::{Completion, Io, Operation};
use crate::issue::Issuer;
use crate::levels::Levels;
use crate::shared::Shared;
use crate::tally::Tally;

/// Waiting in the kernel ends this long before something is due; the rest is
/// spun, since waking up takes tens of µs, which would count as latency.
const SPIN: Duration = Duration::from_micros(60);
/// A wait for something that is due much later ends after this, to see whether
/// the job was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// What becomes of I/Os that fail.
#[derive(Debug, Clone, Default)]
pub(crate) struct Policy {
    pub(crate) continue_on: ContinueOn,
    /// Errno numbers that are no errors.
    pub(crate) ignored: Each<Vec<i32>>,
    /// It works on devices, which do not end within the size that they had.
    pub(crate) on_device: bool,
    /// ENOSPC is the end of the work.
    pub(crate) fills_device: bool,
}

/// How a course ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// There was no more to do, or the job was stopped.
    Done,
    /// An I/O failed, and the job does not go on after that.
    Failed(Failure),
    /// The same, in words.
    Ended(String),
    /// The device is gone.
    Gone(Failure),
}

/// One thread's I/O from the first to the last.
#[derive(Debug)]
pub(crate) struct Course<'a, I> {
    pub(crate) io: I,
    pub(crate) issuer: Issuer,
    pub(crate) flights: Flights,
    /// By operation.
    pub(crate) tallies: [&'a Tally; 5],
    pub(crate) shared: &'a Shared,
    pub(crate) attendant: Option<Attendant>,
    pub(crate) policy: Policy,
    pub(crate) levels: Levels,
    /// Completions to wait for where nothing more can be handed over.
    pub(crate) least: usize,
    /// Latencies are wanted.
    pub(crate) timed: bool,
    /// What was written is being verified.
    pub(crate) verifying: bool,
    ending: Option<Ending>,
}

impl<'a, I: Io> Course<'a, I> {
    /// A thread's I/O through `io`.
    pub(crate) fn new(
        io: I,
        issuer: Issuer,
        flights: Flights,
        tallies: [&'a Tally; 5],
        shared: &'a Shared,
    ) -> Self {
        Self {
            io,
            issuer,
            flights,
            tallies,
            shared,
            attendant: None,
            policy: Policy::default(),
            levels: Levels::default(),
            least: 1,
            timed: true,
            verifying: false,
            ending: None,
        }
    }

    /// Keeps as many I/Os in flight as the depth allows until there are no
    /// more, or the job is stopped, and the last of them is done.
    ///
    /// # Errors
    /// Where the engine fails; then I/Os may still be in flight.
    pub(crate) fn run(&mut self) -> io::Result<Ending> {
        self.ending = None;
        if self.issuer.pacer.is_some() && !self.verifying {
            self.drive::<true>()?;
        } else {
            self.drive::<false>()?;
        }
        Ok(self.ending.take().unwrap_or(Ending::Done))
    }

    /// Each turn hands over what may go, at most a batch, and waits for a
    /// completion only where nothing more can be handed over: waiting for
    /// several would save system calls, and put the wait into the latencies. A
    /// fast device makes batches by itself. At depth 1 an I/O is one system call.
    ///
    /// `PACED`: I/Os go when they are due, else as soon as they can.
    fn drive<const PACED: bool>(&mut self) -> io::Result<()> {
        let clock = Clock::get();
        loop {
            let over = self.ending.is_some() || self.shared.is_over(self.verifying);
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
                self.io.enter(wait)?;
            }
            self.reap::<PACED>(clock);
        }
    }

    #[inline]
    fn submit(&mut self, clock: Clock) -> usize {
        let batch = self.issuer.fill(&mut self.flights, self.io.buffers());
        self.io.queue(batch);
        if let Some(attendant) = &mut self.attendant {
            attendant.submit(batch);
        }
        let now = if self.timed { clock.now() } else { 1 };
        for descriptor in batch {
            self.flights.begin(descriptor, now);
        }
        batch.len()
    }

    fn submit_due(&mut self, clock: Clock) -> usize {
        let now = clock.now();
        let batch = self.issuer.fill_due(&mut self.flights, self.io.buffers(), now);
        self.io.queue(batch);
        if let Some(attendant) = &mut self.attendant {
            attendant.submit(batch);
        }
        batch.len()
    }

    /// Nothing is in flight.
    fn sleep_until_due(&self, clock: Clock) {
        let now = clock.now();
        let spin_until = self.issuer.pacer.as_ref().map_or(0, |pacer| pacer.spin_until());
        let left = Duration::from_nanos(clock.ns(self.issuer.due().saturating_sub(now)));
        if left > SPIN && now >= spin_until {
            // A stop wakes it.
            std::thread::park_timeout((left - SPIN).min(LOOK));
        } else {
            std::hint::spin_loop();
        }
    }

    /// Something is in flight, and nothing may go before it is due, or
    /// something is done.
    #[inline(always)] // As the engines' `enter`.
    fn wait_until_due(&mut self, clock: Clock) -> io::Result<()> {
        let left = self.issuer.due().saturating_sub(clock.now());
        let left = Duration::from_nanos(clock.ns(left)).min(LOOK);
        match left.checked_sub(SPIN) {
            Some(most) if !most.is_zero() => self.io.enter_within(1, most),
            _ => self.io.enter(0),
        }
    }

    #[inline]
    fn reap<const PACED: bool>(&mut self, clock: Clock) {
        if self.attendant.is_some() {
            return self.reap_attended(clock);
        }
        let Self { io, flights, tallies, issuer, .. } = self;
        let (completions, timed) = (io.completions(), self.timed);
        let now = if timed { clock.now() } else { 0 };
        let mut count = 0;
        let mut odd = None;
        for completion in completions {
            count += 1;
            let Landed { begun, length, operation } = flights.land(completion.slot);
            if PACED && let Some(pacer) = &mut issuer.pacer {
                pacer.completed(now);
            }
            let tally = tallies[operation as usize];
            if completion.result != i64::from(length) {
                let (policy, shared) = (&self.policy, self.shared);
                let flight = flights.latest(completion.slot);
                let ending = unexpected(policy, shared, tally, &flight, completion.result);
                odd = odd.or(ending);
            } else if timed {
                tally.record(clock.ns(now.saturating_sub(begun)), length.into());
            } else {
                tally.count(length.into());
            }
        }
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
        attendant.seen.extend(self.io.completions());
        let now = clock.now();
        let seen = std::mem::take(&mut attendant.seen);
        for &Completion { slot, result } in &seen {
            let flight = self.flights.end(slot);
            if let Some(pacer) = &mut self.issuer.pacer {
                pacer.completed(now);
            }
            let tally = self.tallies[flight.operation as usize];
            if result != i64::from(flight.length) {
                if let Some(preparation) = self.issuer.preparation() {
                    preparation.forget(flight.file, flight.offset, flight.length);
                }
                let ending = unexpected(&self.policy, self.shared, tally, &flight, result);
                self.end(ending);
                continue;
            }
            if self.timed {
                tally.record(clock.ns(now.saturating_sub(flight.begun)), flight.length.into());
            } else {
                tally.count(flight.length.into());
            }
            match attendant.completed(slot, &flight, now, self.shared) {
                Attended::GoOn => {}
                Attended::Found => self.end(Some(Ending::Done)),
                Attended::TooLong(ns) => self.end(Some(Ending::Ended(format!(
                    "a {} at offset {} took {} us, longer than max_latency",
                    flight.operation,
                    flight.offset,
                    ns / 1000
                )))),
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

    /// Compares what was read with what was written.
    fn verify(&mut self, attendant: &mut Attendant, slot: u16, flight: &Flight) {
        let Some(verifying) = self.issuer.preparation().and_then(|one| one.verifying.as_ref())
        else {
            return;
        };
        let block = self.io.buffers().slot(slot, flight.length);
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
                self.end(Some(Ending::Ended(format!("verify: {mismatch}{dumps}"))));
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

/// What an I/O that did not move what it was asked to says of the job.
#[cold]
fn unexpected(
    policy: &Policy,
    shared: &Shared,
    tally: &Tally,
    flight: &Flight,
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
    // A device that was taken out has no size any more.
    let has_no_size = policy.on_device && reads && result == 0;
    if has_no_size || failure.is_final() {
        return Some(Ending::Gone(failure));
    }
    let goes_on = if reads { policy.continue_on.read } else { policy.continue_on.write };
    (!goes_on).then_some(Ending::Failed(failure))
}

#[cfg(test)]
mod tests;
