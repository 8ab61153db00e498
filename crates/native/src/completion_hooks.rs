//! Per-completion work of jobs that need more than counts and latencies.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use iodyno_job::Job;
use iodyno_load::IoRow;
use iodyno_model::{Caveat, Direction, PerDirection, SplitLatency};

use crate::block_lives::BlockLives;
use crate::clock::Clock;
use crate::cmdprio::LatenciesByPriority;
use crate::engines::Completion;
use crate::in_flight::{Batch, InFlight};
use crate::iolog_writer::IologWriter;
use crate::job_control::JobControl;
use crate::latency_target::LatencyTargetSearch;
use crate::tally::Tallies;
use crate::verify::Mismatch;

/// Mismatches that each thread reports one by one.
const MISMATCHES_REPORTED: usize = 4;
/// Rows sent to the control thread at once.
const ROW_BATCH: usize = 4096;

/// Handles each completion by itself: verification, logs, `max_latency`, `latency_target`, split
/// latencies. Jobs that need none of these have none, and their loop skips it.
#[derive(Debug)]
pub(crate) struct CompletionHooks {
    clock: Clock,
    /// Completions reaped by the current turn of the loop.
    pub(crate) completions: Vec<Completion>,
    /// Reads are verified.
    pub(crate) verifies: bool,
    pub(crate) verified: u64,
    pub(crate) mismatches: u64,
    /// The first mismatches, then other remarks.
    pub(crate) caveats: Vec<Caveat>,
    split: Option<SplitLatencies>,
    /// Latencies by priority, where I/Os have their own; set once the engine is open.
    pub(crate) by_priority: Option<LatenciesByPriority>,
    /// The common priority of all I/Os otherwise.
    priority: u16,
    rows: Option<LogRows>,
    iolog: Option<IologWriter>,
    max_latency_ns: PerDirection<Option<u64>>,
    pub(crate) search: Option<LatencyTargetSearch>,
    /// Set once the regions are known.
    pub(crate) block_lives: Option<BlockLives>,
}

/// Latencies split into submission and completion.
#[derive(Debug)]
struct SplitLatencies {
    /// By slot: when the submitting system call returned, ticks; 0: not yet.
    submitted_at: Box<[u64]>,
    latencies: PerDirection<Option<SplitLatency>>,
    /// Receives them over time as well, for averaged logs.
    tallies: Arc<Tallies>,
    counting: bool,
}

/// One row per I/O, for logs.
#[derive(Debug)]
struct LogRows {
    rows: Vec<IoRow>,
    sender: SyncSender<Vec<IoRow>>,
    epoch: u64,
}

/// What a completion means for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookResult {
    Continue,
    /// The latency exceeded `max_latency`; ns.
    LatencyExceeded(u64),
    /// The search for `latency_target` has ended.
    TargetFound,
}

impl CompletionHooks {
    /// The hooks that `job` needs; `None`: none. `rows` receives log rows; `queues` is set if the
    /// engine submits and completes in separate steps.
    pub(crate) fn new(
        job: &Job,
        depth: u16,
        verifies: bool,
        queues: bool,
        tallies: &Arc<Tallies>,
        rows: Option<SyncSender<Vec<IoRow>>>,
        iolog: Option<IologWriter>,
    ) -> Option<Self> {
        let clock = Clock::get();
        let report = &job.report;
        let logged = (rows.is_some() && !report.disable_slat) || report.averages_submissions();
        let shown = report.percentiles.slat || logged;
        let split = (report.strict_stamps || (shown && queues)).then(|| SplitLatencies {
            submitted_at: vec![0; depth.into()].into(),
            latencies: PerDirection::default(),
            tallies: Arc::clone(tallies),
            counting: false,
        });
        let rows = rows.map(|sender| LogRows {
            rows: Vec::with_capacity(ROW_BATCH),
            sender,
            epoch: clock.now(),
        });
        let max_latency_ns = job.errors.max_latency_ns;
        let search = job.pace.latency_target.as_ref();
        let search = search.map(|target| LatencyTargetSearch::new(target, depth.into(), clock));
        let limited = max_latency_ns.iter().any(|(_, limit)| limit.is_some());
        let wanted = verifies
            || split.is_some()
            || rows.is_some()
            || iolog.is_some()
            || limited
            || search.is_some()
            || report.block_error_percentiles
            || job.replay.trace.is_some()
            || job.engine.command_priority.is_on();
        wanted.then(|| Self {
            clock,
            completions: Vec::with_capacity(depth.into()),
            verifies,
            verified: 0,
            mismatches: 0,
            caveats: Vec::new(),
            split,
            by_priority: None,
            priority: job.threads.priority.ioprio(),
            rows,
            iolog,
            max_latency_ns,
            search,
            block_lives: None,
        })
    }

    /// Counts a mismatch, and keeps it unless there are enough; returns whether it was kept.
    #[cold]
    pub(crate) fn note_mismatch(&mut self, mismatch: &Mismatch) -> bool {
        self.mismatches += 1;
        let is_kept = self.caveats.len() < MISMATCHES_REPORTED;
        self.caveats.extend(is_kept.then(|| mismatch.caveat()));
        is_kept
    }

    /// Starts the clocks of the logs.
    pub(crate) fn start(&mut self) {
        if let Some(rows) = &mut self.rows {
            rows.epoch = self.clock.now();
        }
        if let Some(iolog) = &mut self.iolog {
            iolog.start(self.clock.now());
        }
    }

    /// Called before `batch` is submitted.
    pub(crate) fn queued(&mut self, batch: &Batch<'_>) {
        if let Some(iolog) = &mut self.iolog {
            iolog.record(self.clock, batch);
        }
        if let Some(split) = &mut self.split {
            for slot in batch.slots {
                split.submitted_at[usize::from(*slot)] = 0;
            }
        }
    }

    /// Called at `now`, after the system call that submitted all slots without a time stamp.
    pub(crate) fn submit_returned(&mut self, now: u64) {
        if let Some(split) = &mut self.split {
            for stamp in &mut split.submitted_at {
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
        io: &InFlight,
        now: u64,
        control: &JobControl,
    ) -> HookResult {
        let Some(direction) = io.operation.direction() else { return HookResult::Continue };
        let latency_ns = self.clock.ns(now.saturating_sub(io.start_ticks));
        let mut submission_ns = None;
        if let Some(split) = &mut self.split {
            let submitted_at = split.submitted_at[usize::from(slot)];
            let first = self.clock.ns(submitted_at.saturating_sub(io.start_ticks)).min(latency_ns);
            submission_ns = Some(first);
            split.record(direction, first, latency_ns - first, control);
        }
        if let Some(latencies) = &mut self.by_priority {
            let first_ns = submission_ns.unwrap_or(0);
            latencies.record(slot, direction, (first_ns, latency_ns - first_ns), control);
        }
        if let Some(rows) = &mut self.rows {
            rows.push(IoRow {
                ended_ns: self.clock.ns(now.saturating_sub(rows.epoch)),
                latency_ns,
                submission_ns,
                direction,
                offset: io.offset,
                length: io.length,
                priority: self.by_priority.as_ref().map_or(self.priority, |all| all.priority(slot)),
            });
        }
        if let Some(search) = &mut self.search
            && search.completed(io.start_ticks, latency_ns, now)
        {
            return HookResult::TargetFound;
        }
        match self.max_latency_ns.of(direction) {
            Some(limit_ns) if latency_ns > *limit_ns => HookResult::LatencyExceeded(latency_ns),
            _ => HookResult::Continue,
        }
    }

    /// Flushes the logs and returns the split latencies.
    pub(crate) fn finish(&mut self) -> PerDirection<Option<SplitLatency>> {
        if let Some(rows) = &mut self.rows {
            rows.send();
        }
        self.caveats.extend(self.iolog.as_mut().and_then(IologWriter::finish));
        self.split.take().map(|split| split.latencies).unwrap_or_default()
    }
}

impl SplitLatencies {
    fn record(
        &mut self,
        direction: Direction,
        submission_ns: u64,
        completion_ns: u64,
        control: &JobControl,
    ) {
        if !self.counting && control.is_counting() {
            self.counting = true;
            self.latencies = PerDirection::default();
        }
        let latencies = self.latencies.of_mut(direction).get_or_insert_with(SplitLatency::default);
        latencies.submission.record(submission_ns);
        latencies.completion.record(completion_ns);
        if let Some(tallies) = self.tallies.split.of(direction) {
            tallies[0].record(submission_ns, 0, 1);
            tallies[1].record(completion_ns, 0, 1);
        }
    }
}

impl LogRows {
    fn push(&mut self, row: IoRow) {
        self.rows.push(row);
        if self.rows.len() == ROW_BATCH {
            self.send();
        }
    }

    /// Sends the rows. Blocks if the control thread is far behind: the log must have no gaps. A
    /// send error means that this thread was abandoned.
    fn send(&mut self) {
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(ROW_BATCH));
        let _ = self.sender.send(rows);
    }
}
