//! Per-completion work of jobs that need more than counts and latencies.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use iodyno_job::Job;
use iodyno_load::IoRow;
use iodyno_model::{Caveat, Direction, PerDirection, SplitLatency};

use crate::block_lives::BlockLives;
use crate::clock::Clock;
use crate::engines::Completion;
use crate::in_flight::{Batch, InFlight};
use crate::latency_target::TargetSearch;
use crate::priorities::RankedLatencies;
use crate::shared::Shared;
use crate::tally::Tallies;
use crate::verify::Mismatch;
use crate::written_log::WrittenLog;

/// Mismatches that each thread reports one by one.
const MISMATCHES_TOLD: usize = 4;
/// Rows sent to the control thread at once.
const ROWS: usize = 4096;

/// Handles each completion by itself: verification, logs, `max_latency`, `latency_target`, split
/// latencies. Jobs that need none of these have none, and their loop skips it.
#[derive(Debug)]
pub(crate) struct Attendant {
    clock: Clock,
    /// Completions reaped by the current turn of the loop.
    pub(crate) seen: Vec<Completion>,
    /// Reads are verified.
    pub(crate) verifies: bool,
    pub(crate) verified: u64,
    pub(crate) mismatches: u64,
    /// The first mismatches, then other remarks.
    pub(crate) told: Vec<Caveat>,
    split: Option<Split>,
    /// Latencies by priority, where I/Os have their own; set once the engine is open.
    pub(crate) ranked: Option<RankedLatencies>,
    /// The common priority of all I/Os otherwise.
    priority: u16,
    rows: Option<Rows>,
    log: Option<WrittenLog>,
    max_latency_ns: PerDirection<Option<u64>>,
    pub(crate) search: Option<TargetSearch>,
    /// Set once the regions are known.
    pub(crate) lives: Option<BlockLives>,
}

/// Latencies split into submission and completion.
#[derive(Debug)]
struct Split {
    /// By slot: when the submitting system call returned, ticks; 0: not yet.
    handed_over: Box<[u64]>,
    latencies: PerDirection<Option<SplitLatency>>,
    /// Receives them over time as well, for averaged logs.
    tallies: Arc<Tallies>,
    counting: bool,
}

/// One row per I/O, for logs.
#[derive(Debug)]
struct Rows {
    rows: Vec<IoRow>,
    to: SyncSender<Vec<IoRow>>,
    epoch: u64,
}

/// What a completion means for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attended {
    GoOn,
    /// The latency exceeded `max_latency`; ns.
    TooLong(u64),
    /// The search for `latency_target` has ended.
    Found,
}

impl Attendant {
    /// The hooks that `job` needs; `None`: none. `rows` receives log rows; `queues` is set if the
    /// engine submits and completes in separate steps.
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

    /// Keeps a mismatch, unless there are enough.
    #[cold]
    pub(crate) fn tell(&mut self, mismatch: &Mismatch) {
        if self.told.len() < MISMATCHES_TOLD {
            self.told.push(mismatch.caveat());
        }
    }

    /// Starts the clocks of the logs.
    pub(crate) fn start(&mut self) {
        if let Some(rows) = &mut self.rows {
            rows.epoch = self.clock.now();
        }
        if let Some(log) = &mut self.log {
            log.start(self.clock.now());
        }
    }

    /// Called before `batch` is submitted.
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

    /// Called at `now`, after the system call that submitted all slots without a time stamp.
    pub(crate) fn handed_over(&mut self, now: u64) {
        if let Some(split) = &mut self.split {
            for stamp in &mut split.handed_over {
                if *stamp == 0 {
                    *stamp = now;
                }
            }
        }
    }

    /// Records a successful I/O, seen at `now`.
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

    /// Flushes the logs and returns the split latencies.
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

    /// Sends the rows. Blocks if the control thread is far behind: the log must have no gaps. A
    /// send error means that this thread was abandoned.
    fn hand_over(&mut self) {
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(ROWS));
        let _ = self.to.send(rows);
    }
}
