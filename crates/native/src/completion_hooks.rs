//! What some jobs want to have done with each completion.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use iodyno_job::Job;
use iodyno_load::IoRow;
use iodyno_model::{Caveat, Direction, PerDirection, SplitLatency};

use crate::block_lives::BlockLives;
use crate::clock::Clock;
use crate::in_flight::{Batch, InFlight};
use crate::io::Completion;
use crate::latency_target::TargetSearch;
use crate::priorities::RankedLatencies;
use crate::shared::Shared;
use crate::tally::Tallies;
use crate::verify::Mismatch;
use crate::written_log::WrittenLog;

/// Mismatches that are told of each thread, one by one.
const MISMATCHES_TOLD: usize = 4;
/// Rows that are handed over to the control thread at once.
const ROWS: usize = 4096;

/// Sees to each completion by itself. A job that wants nothing of it has none,
/// and its loop does not pass here.
#[derive(Debug)]
pub(crate) struct Attendant {
    clock: Clock,
    /// Completions of a turn.
    pub(crate) seen: Vec<Completion>,
    /// Reads are verified.
    pub(crate) verifies: bool,
    pub(crate) verified: u64,
    pub(crate) mismatches: u64,
    /// The first of them, each a sentence.
    pub(crate) told: Vec<Caveat>,
    split: Option<Split>,
    /// Latencies by priority, where I/Os have one each; set once the engine is.
    pub(crate) ranked: Option<RankedLatencies>,
    /// The priority of all of them, otherwise.
    priority: u16,
    rows: Option<Rows>,
    log: Option<WrittenLog>,
    max_latency_ns: PerDirection<Option<u64>>,
    pub(crate) search: Option<TargetSearch>,
    /// Set once the regions are known.
    pub(crate) lives: Option<BlockLives>,
}

/// Latencies in two parts.
#[derive(Debug)]
struct Split {
    /// When the system call that carried it was done, by slot; 0: not yet.
    handed_over: Box<[u64]>,
    latencies: PerDirection<Option<SplitLatency>>,
    /// Where they are counted over time, too.
    tallies: Arc<Tallies>,
    counting: bool,
}

/// A row for each I/O, for logs.
#[derive(Debug)]
struct Rows {
    rows: Vec<IoRow>,
    to: SyncSender<Vec<IoRow>>,
    epoch: u64,
}

/// What an attended completion says of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attended {
    GoOn,
    /// It took longer than `max_latency`: ns.
    TooLong(u64),
    /// `latency_target` is found.
    Found,
}

impl Attendant {
    /// What `job` wants; `None`: nothing. `rows`: where rows go, if it logs. `queues`: the engine
    /// has a submission apart from the completion.
    pub(crate) fn new(
        job: &Job,
        depth: u16,
        verifies: bool,
        queues: bool,
        tallies: &Arc<Tallies>,
        rows: Option<SyncSender<Vec<IoRow>>>,
        log: Option<WrittenLog>,
    ) -> Option<Self> {
        let clock = Clock::get();
        let report = &job.report;
        let logged = (rows.is_some() && !report.disable_slat) || report.averages_submissions();
        let shown = report.percentiles.slat || logged;
        let split = (report.strict || (shown && queues)).then(|| Split {
            handed_over: vec![0; depth.into()].into(),
            latencies: PerDirection::default(),
            tallies: Arc::clone(tallies),
            counting: false,
        });
        let rows = rows.map(|to| Rows { rows: Vec::with_capacity(ROWS), to, epoch: clock.now() });
        let max_latency_ns = job.errors.max_latency_ns;
        let search = job.pace.latency_target.as_ref();
        let search = search.map(|target| TargetSearch::new(target, depth.into(), clock));
        let limited = max_latency_ns.iter().any(|(_, limit)| limit.is_some());
        let wanted = verifies
            || split.is_some()
            || rows.is_some()
            || log.is_some()
            || limited
            || search.is_some()
            || report.block_lives
            || job.replay.trace.is_some()
            || job.engine.command_priority.is_on();
        wanted.then(|| Self {
            clock,
            seen: Vec::with_capacity(depth.into()),
            verifies,
            verified: 0,
            mismatches: 0,
            told: Vec::new(),
            split,
            ranked: None,
            priority: job.threads.priority.ioprio(),
            rows,
            log,
            max_latency_ns,
            search,
            lives: None,
        })
    }

    /// Keeps what is wrong with a block.
    #[cold]
    pub(crate) fn tell(&mut self, mismatch: &Mismatch) {
        if self.told.len() < MISMATCHES_TOLD {
            self.told.push(mismatch.caveat());
        }
    }

    /// I/Os begin now.
    pub(crate) fn start(&mut self) {
        if let Some(rows) = &mut self.rows {
            rows.epoch = self.clock.now();
        }
        if let Some(log) = &mut self.log {
            log.start(self.clock.now());
        }
    }

    /// `batch` is about to be submitted.
    pub(crate) fn submit(&mut self, batch: &Batch<'_>) {
        if let Some(log) = &mut self.log {
            log.submit(self.clock, batch);
        }
        if let Some(split) = &mut self.split {
            for slot in batch.slots {
                split.handed_over[usize::from(*slot)] = 0;
            }
        }
    }

    /// The system call that submitted what was not submitted yet is done.
    pub(crate) fn handed_over(&mut self, now: u64) {
        if let Some(split) = &mut self.split {
            for stamp in &mut split.handed_over {
                if *stamp == 0 {
                    *stamp = now;
                }
            }
        }
    }

    /// An I/O of a slot succeeded, seen at `now`.
    pub(crate) fn completed(
        &mut self,
        slot: u16,
        flight: &InFlight,
        now: u64,
        shared: &Shared,
    ) -> Attended {
        let Some(direction) = flight.operation.direction() else { return Attended::GoOn };
        let latency_ns = self.clock.ns(now.saturating_sub(flight.begun));
        let mut submission_ns = None;
        if let Some(split) = &mut self.split {
            let handed_over = split.handed_over[usize::from(slot)];
            let first = self.clock.ns(handed_over.saturating_sub(flight.begun)).min(latency_ns);
            submission_ns = Some(first);
            split.record(direction, first, latency_ns - first, shared);
        }
        if let Some(ranked) = &mut self.ranked {
            let first_ns = submission_ns.unwrap_or(0);
            ranked.record(slot, direction, (first_ns, latency_ns - first_ns), shared);
        }
        if let Some(rows) = &mut self.rows {
            rows.push(IoRow {
                ended_ns: self.clock.ns(now.saturating_sub(rows.epoch)),
                latency_ns,
                submission_ns,
                direction,
                offset: flight.offset,
                length: flight.length,
                priority: self.ranked.as_ref().map_or(self.priority, |ranked| ranked.of(slot)),
            });
        }
        if let Some(search) = &mut self.search
            && search.completed(flight.begun, latency_ns, now)
        {
            return Attended::Found;
        }
        match self.max_latency_ns.of(direction) {
            Some(limit_ns) if latency_ns > *limit_ns => Attended::TooLong(latency_ns),
            _ => Attended::GoOn,
        }
    }

    /// Hands over what is left, and says what the latencies were in two parts.
    pub(crate) fn finish(&mut self) -> PerDirection<Option<SplitLatency>> {
        if let Some(rows) = &mut self.rows {
            rows.hand_over();
        }
        self.told.extend(self.log.as_mut().and_then(WrittenLog::finish));
        self.split.take().map(|split| split.latencies).unwrap_or_default()
    }
}

impl Split {
    fn record(&mut self, direction: Direction, first_ns: u64, then_ns: u64, shared: &Shared) {
        if !self.counting && shared.is_counting() {
            self.counting = true;
            self.latencies = PerDirection::default();
        }
        let latencies = self.latencies.of_mut(direction).get_or_insert_with(SplitLatency::default);
        latencies.submission.record(first_ns);
        latencies.completion.record(then_ns);
        if let Some(tallies) = self.tallies.split.of(direction) {
            tallies[0].record(first_ns, 0, 1);
            tallies[1].record(then_ns, 0, 1);
        }
    }
}

impl Rows {
    fn push(&mut self, row: IoRow) {
        self.rows.push(row);
        if self.rows.len() == ROWS {
            self.hand_over();
        }
    }

    /// Waits where the control thread is far behind: a log without gaps was
    /// asked for. Nobody listens any more where the thread was left behind.
    fn hand_over(&mut self) {
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(ROWS));
        let _ = self.to.send(rows);
    }
}
