//! Replays a trace: reads ahead on a thread of its own, and decides when each I/O is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use iodyno_job::Job;
use iodyno_job::traced::{TracedIo, TracedIos};
use iodyno_model::Replayed;

use crate::clock::Clock;
use crate::replay_stats::ReplayStats;

/// Opens the trace that a job replays, with I/O aligned to the given number of bytes.
pub type OpenTrace = fn(&Job, u32) -> Result<TracedIos, String>;

/// I/Os per batch.
const BATCH: usize = 4096;
/// Batches read ahead: decoding a chunk of a trace takes milliseconds.
const BATCHES_AHEAD: usize = 32;

/// A batch of I/Os, in trace order.
#[derive(Debug, Default)]
struct Batch {
    ios: Vec<TracedIo>,
    discards_left_out: u64,
}

/// A trace being replayed.
#[derive(Debug)]
pub(crate) struct TraceReplay {
    batches: Receiver<Result<Batch, String>>,
    ahead: std::vec::IntoIter<TracedIo>,
    /// The last I/O returned.
    last: TracedIo,
    clock: Clock,
    closed: Option<ClosedLoop>,
    stats: ReplayStats,
}

/// Closed-loop replay: I/Os wait for those that had completed before them.
#[derive(Debug)]
struct ClosedLoop {
    /// By slot: recorded completion of its I/O, ns after the start of the trace; `u64::MAX`: slot
    /// free, or unknown.
    ends_ns: Box<[u64]>,
    /// Earliest of these.
    earliest_ns: u64,
    /// Completed I/Os whose recorded completion is later than the next I/O: recorded completion,
    /// ns, and actual completion, ticks.
    done: BinaryHeap<Reverse<(u64, u64)>>,
    /// The same for the last one with an earlier recorded completion.
    latest: Option<(u64, u64)>,
}

impl TraceReplay {
    /// Starts reading the trace that `job` replays.
    ///
    /// # Errors
    /// A message if it cannot be read.
    pub(crate) fn start(job: &Job, align_bytes: u32, open: OpenTrace) -> Result<Self, String> {
        let (to, batches) = sync_channel(BATCHES_AHEAD);
        let of_thread = job.clone();
        let named = std::thread::Builder::new().name("trace".into());
        let thread = named.spawn(move || read(&of_thread, align_bytes, open, &to));
        thread.map_err(|error| format!("a thread that reads the trace: {error}"))?;
        let trace = job.replay.trace.as_deref().cloned().unwrap_or_default().trace;
        let depth = job.depth.iodepth;
        let closed = trace.closed.then(|| ClosedLoop::new(depth));
        let mut this = Self {
            batches,
            ahead: Vec::new().into_iter(),
            last: TracedIo::default(),
            clock: Clock::get(),
            closed,
            stats: ReplayStats::new(trace, depth),
        };
        this.read_batch()?;
        Ok(this)
    }

    /// The next I/O; `None` at the end.
    ///
    /// # Errors
    /// A message if the trace cannot be read.
    pub(crate) fn next_io(&mut self) -> Result<Option<TracedIo>, String> {
        let next = match self.ahead.next() {
            None => {
                self.read_batch()?;
                self.ahead.next()
            }
            next => next,
        };
        self.last = next.unwrap_or(self.last);
        Ok(next)
    }

    fn read_batch(&mut self) -> Result<(), String> {
        // At the end the sender is gone.
        if let Ok(batch) = self.batches.recv() {
            let batch = batch?;
            self.stats.discards_left_out = batch.discards_left_out;
            self.ahead = batch.ios.into_iter();
        }
        Ok(())
    }

    /// Due time of the last I/O, ticks, in a replay that began at `started`; `u64::MAX`: it waits
    /// for other I/Os.
    pub(crate) fn due(&mut self, started: u64) -> u64 {
        let at_ns = self.last.at_ns;
        let (since_ns, since) = match &mut self.closed {
            None => (0, started),
            Some(closed) if closed.is_blocked(at_ns) => return u64::MAX,
            Some(closed) => closed.latest_before(at_ns).unwrap_or((0, started)),
        };
        since.saturating_add(self.clock.ticks(at_ns - since_ns))
    }

    /// Records the submission of the last I/O, which was `due`; `waited`: it was delayed for lack
    /// of a free slot.
    pub(crate) fn submitted(&mut self, slot: u16, due: u64, waited: bool) {
        let late = self.clock.now().saturating_sub(due);
        let end_ns = self.stats.submitted(slot, &self.last, self.clock.ns(late), waited);
        if let Some(closed) = &mut self.closed {
            closed.submitted(slot, end_ns);
        }
    }

    /// Records a completion at `now`; latency `None`: it failed.
    pub(crate) fn completed(&mut self, slot: u16, now: u64, started: u64, latency_ns: Option<u64>) {
        self.stats.completed(slot, self.clock.ns(now.saturating_sub(started)), latency_ns);
        if let Some(closed) = &mut self.closed {
            closed.completed(slot, now);
        }
    }

    /// Result of the replay.
    pub(crate) fn summary(&self) -> Replayed {
        self.stats.summary()
    }
}

impl ClosedLoop {
    fn new(depth: u32) -> Self {
        let ends_ns = vec![u64::MAX; depth as usize].into();
        Self { ends_ns, earliest_ns: u64::MAX, done: BinaryHeap::new(), latest: None }
    }

    /// True if an I/O in flight had, as recorded, completed by `at_ns`.
    const fn is_blocked(&self, at_ns: u64) -> bool {
        self.earliest_ns <= at_ns
    }

    fn submitted(&mut self, slot: u16, end_ns: u64) {
        self.ends_ns[usize::from(slot)] = end_ns;
        self.earliest_ns = self.earliest_ns.min(end_ns);
    }

    /// The last I/O that had, as recorded, completed by `at_ns`, with its actual completion; all
    /// earlier ones have completed.
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

/// Reads a trace and sends it in batches, until the receiver is gone.
fn read(job: &Job, align_bytes: u32, open: OpenTrace, to: &SyncSender<Result<Batch, String>>) {
    let send = |batch| to.send(batch).is_ok();
    match open(job, align_bytes) {
        Err(why) => _ = send(Err(why)),
        Ok(mut trace) => while hand_over(&mut trace, &send) {},
    }
}

/// Sends a batch. Returns `false` after the last one, or if the receiver is gone.
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
    fn a_closed_loop_io_waits_for_recorded_completions_and_think_time() {
        let mut closed = ClosedLoop::new(4);
        assert!(!closed.is_blocked(0));
        assert_eq!(closed.latest_before(0), None);
        // Two in flight, with recorded completions 100 and 300.
        closed.submitted(0, 100);
        closed.submitted(1, 300);
        // An unknown latency delays nothing.
        closed.submitted(2, u64::MAX);
        assert!(!closed.is_blocked(99) && closed.is_blocked(100) && closed.is_blocked(400));
        // The second completes before the first: an I/O in between still waits for the first.
        closed.completed(1, 7000);
        assert!(closed.is_blocked(150));
        closed.completed(0, 9000);
        assert!(!closed.is_blocked(150));
        assert_eq!(closed.latest_before(150), Some((100, 9000)));
        assert_eq!(closed.latest_before(299), Some((100, 9000)));
        assert_eq!(closed.latest_before(400), Some((300, 7000)));
        closed.completed(2, 9500);
        assert!(!closed.is_blocked(u64::MAX - 1));
        assert_eq!(closed.latest_before(u64::MAX - 1), Some((300, 7000)));
    }
}
