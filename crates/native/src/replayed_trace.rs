//! A trace that is replayed: its I/Os, read ahead by a thread of their own, and when each is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use iodyno_job::Job;
use iodyno_job::traced::{TracedIo, TracedIos};
use iodyno_model::Replayed;

use crate::clock::Clock;
use crate::replay_book::ReplayBook;

/// Opens the trace that a job replays, on a target that takes multiples of so many bytes.
pub type OpenTrace = fn(&Job, u32) -> Result<TracedIos, String>;

/// I/Os that are handed over at once.
const BATCH: usize = 4096;
/// Batches that are read ahead: decoding a chunk of a trace takes milliseconds.
const AHEAD: usize = 32;

/// I/Os in the order of the trace.
#[derive(Debug, Default)]
struct Batch {
    ios: Vec<TracedIo>,
    discards_left_out: u64,
}

/// The I/Os of a trace.
#[derive(Debug)]
pub(crate) struct ReplayedTrace {
    batches: Receiver<Result<Batch, String>>,
    ahead: std::vec::IntoIter<TracedIo>,
    /// The one that was made last.
    last: TracedIo,
    clock: Clock,
    closed: Option<Closed>,
    book: ReplayBook,
}

/// Which I/Os wait for which.
#[derive(Debug)]
struct Closed {
    /// By slot: when its I/O had completed, as recorded, ns after the first; `u64::MAX`: the slot
    /// is free, or nobody knows.
    ends_ns: Box<[u64]>,
    /// The first of these.
    earliest_ns: u64,
    /// What is done by now, and had completed later than the I/O that is to come: when that was,
    /// and when it was done, ticks.
    done: BinaryHeap<Reverse<(u64, u64)>>,
    /// The same of the last one that had completed before.
    latest: Option<(u64, u64)>,
}

impl ReplayedTrace {
    /// Begins to read the trace that `job` replays.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read.
    pub(crate) fn begin(job: &Job, align_bytes: u32, open: OpenTrace) -> Result<Self, String> {
        let (to, batches) = sync_channel(AHEAD);
        let of_thread = job.clone();
        let named = std::thread::Builder::new().name("trace".into());
        let thread = named.spawn(move || read(&of_thread, align_bytes, open, &to));
        thread.map_err(|error| format!("a thread that reads the trace: {error}"))?;
        let trace = job.replay.trace.as_deref().cloned().unwrap_or_default().trace;
        let depth = job.depth.iodepth;
        let closed = trace.closed.then(|| Closed::new(depth));
        let mut this = Self {
            batches,
            ahead: Vec::new().into_iter(),
            last: TracedIo::default(),
            clock: Clock::get(),
            closed,
            book: ReplayBook::new(trace, depth),
        };
        this.read_on()?;
        Ok(this)
    }

    /// The next I/O; none at the end.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read on.
    pub(crate) fn next_io(&mut self) -> Result<Option<TracedIo>, String> {
        let next = match self.ahead.next() {
            None => {
                self.read_on()?;
                self.ahead.next()
            }
            next => next,
        };
        self.last = next.unwrap_or(self.last);
        Ok(next)
    }

    fn read_on(&mut self) -> Result<(), String> {
        // At the end there is nobody who sends.
        if let Ok(batch) = self.batches.recv() {
            let batch = batch?;
            self.book.discards_left_out = batch.discards_left_out;
            self.ahead = batch.ios.into_iter();
        }
        Ok(())
    }

    /// When the one that was made last is due, ticks, where the replay was `started`; `u64::MAX`:
    /// it waits for others.
    pub(crate) fn due(&mut self, started: u64) -> u64 {
        let at_ns = self.last.at_ns;
        let (since_ns, since) = match &mut self.closed {
            None => (0, started),
            Some(closed) if closed.waits(at_ns) => return u64::MAX,
            Some(closed) => closed.latest_before(at_ns).unwrap_or((0, started)),
        };
        since.saturating_add(self.clock.ticks(at_ns - since_ns))
    }

    /// The one that was made last is being submitted, and was `due`; `waited`: it could not be.
    pub(crate) fn submitted(&mut self, slot: u16, due: u64, waited: bool) {
        let late = self.clock.now().saturating_sub(due);
        let end_ns = self.book.submitted(slot, &self.last, self.clock.ns(late), waited);
        if let Some(closed) = &mut self.closed {
            closed.submitted(slot, end_ns);
        }
    }

    /// It is done at `now`, and took `latency_ns`; none: it failed.
    pub(crate) fn completed(&mut self, slot: u16, now: u64, started: u64, latency_ns: Option<u64>) {
        self.book.completed(slot, self.clock.ns(now.saturating_sub(started)), latency_ns);
        if let Some(closed) = &mut self.closed {
            closed.completed(slot, now);
        }
    }

    /// What it came to.
    pub(crate) fn outcome(&self) -> Replayed {
        self.book.outcome()
    }
}

impl Closed {
    fn new(depth: u32) -> Self {
        let ends_ns = vec![u64::MAX; depth as usize].into();
        Self { ends_ns, earliest_ns: u64::MAX, done: BinaryHeap::new(), latest: None }
    }

    /// What is due at `at_ns` waits: something is in flight that had completed by then.
    const fn waits(&self, at_ns: u64) -> bool {
        self.earliest_ns <= at_ns
    }

    fn submitted(&mut self, slot: u16, end_ns: u64) {
        self.ends_ns[usize::from(slot)] = end_ns;
        self.earliest_ns = self.earliest_ns.min(end_ns);
    }

    /// The last one that had completed by `at_ns`, and when it was done; all of these are.
    fn latest_before(&mut self, at_ns: u64) -> Option<(u64, u64)> {
        while let Some(Reverse(next)) = self.done.peek().copied()
            && next.0 <= at_ns
        {
            self.done.pop();
            self.latest = Some(next);
        }
        self.latest
    }

    fn completed(&mut self, slot: u16, now: u64) {
        let end_ns = std::mem::replace(&mut self.ends_ns[usize::from(slot)], u64::MAX);
        if end_ns == u64::MAX {
            return;
        }
        self.done.push(Reverse((end_ns, now)));
        if end_ns == self.earliest_ns {
            self.earliest_ns = self.ends_ns.iter().copied().min().unwrap_or(u64::MAX);
        }
    }
}

/// Reads a trace and hands it over, until nobody wants more.
fn read(job: &Job, align_bytes: u32, open: OpenTrace, to: &SyncSender<Result<Batch, String>>) {
    let send = |batch| to.send(batch).is_ok();
    match open(job, align_bytes) {
        Err(why) => _ = send(Err(why)),
        Ok(mut trace) => while hand_over(&mut trace, &send) {},
    }
}

/// Hands over a batch; `false`: it was the last, or nobody wants more.
fn hand_over(trace: &mut TracedIos, send: &impl Fn(Result<Batch, String>) -> bool) -> bool {
    let mut ios = Vec::with_capacity(BATCH);
    let mut next = Ok(None);
    while ios.len() < BATCH {
        next = trace.next_io();
        let Ok(Some(io)) = next else { break };
        ios.push(io);
    }
    let is_wanted = send(Ok(Batch { ios, discards_left_out: trace.discards_left_out }));
    match next {
        Ok(next) => is_wanted && next.is_some(),
        Err(error) => {
            send(Err(error.to_string()));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_waits_for_those_that_had_completed_and_for_the_pause_behind_the_last() {
        let mut closed = Closed::new(4);
        assert!(!closed.waits(0));
        assert_eq!(closed.latest_before(0), None);
        // Two in flight, recorded until 100 and 300.
        closed.submitted(0, 100);
        closed.submitted(1, 300);
        // One of which nobody knows how long it took holds nothing up.
        closed.submitted(2, u64::MAX);
        assert!(!closed.waits(99) && closed.waits(100) && closed.waits(400));
        // The second is done before the first: what came between still waits for the first.
        closed.completed(1, 7000);
        assert!(closed.waits(150));
        closed.completed(0, 9000);
        assert!(!closed.waits(150));
        assert_eq!(closed.latest_before(150), Some((100, 9000)));
        assert_eq!(closed.latest_before(299), Some((100, 9000)));
        assert_eq!(closed.latest_before(400), Some((300, 7000)));
        closed.completed(2, 9500);
        assert!(!closed.waits(u64::MAX - 1));
        assert_eq!(closed.latest_before(u64::MAX - 1), Some((300, 7000)));
    }
}
