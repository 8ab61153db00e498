//! Per-completion work of jobs that need more than counts and latencies.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use iodyno_job::Job;
use iodyno_load::IoRow;
use iodyno_model::{Caveat, Direction, PerDirection, SplitLatency};

use crate::block_lives::BlockLives;
use crate::clock::Clock;
use crate::cmdprio::LatenciesByPriority;
use crate::engines::{Completion, Engine};
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
    /// By slot: start and end of its submission, ticks.
    submissions: Box<[[u64; 2]]>,
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
        let split = (queues && (shown || report.strict_stamps)).then(|| SplitLatencies {
            submissions: vec![[0; 2]; depth.into()].into(),
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

    /// Marks a batch that was queued as in flight since `start`. Where submission is measured, it is
    /// submitted in a system call of its own: one that also waits would count as submission.
    ///
    /// # Errors
    /// As [`Engine::enter`].
    pub(crate) fn queued(
        &mut self,
        engine: &mut impl Engine,
        batch: &Batch<'_>,
        start: impl FnOnce() -> u64,
    ) -> io::Result<()> {
        if let Some(iolog) = &mut self.iolog {
            iolog.record(self.clock, batch);
        }
        let Some(split) = &mut self.split else {
            batch.mark_submitted(start());
            return Ok(());
        };
        let now = self.clock.now();
        let start_ticks = start();
        batch.mark_submitted(start_ticks);
        engine.enter(0)?;
        // Paced I/Os may have been due long before.
        let submission = [now.max(start_ticks), self.clock.now()];
        for slot in batch.slots {
            split.submissions[usize::from(*slot)] = submission;
        }
        Ok(())
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
        let mut split_ns = None;
        if let Some(split) = &mut self.split {
            let [from, to] = split.submissions[usize::from(slot)];
            let ns = |from: u64, to: u64| self.clock.ns(to.saturating_sub(from));
            let (submission_ns, completion_ns) = (ns(from, to), ns(to, now));
            split_ns = Some((submission_ns, completion_ns));
            split.record(direction, submission_ns, completion_ns, control);
        }
        if let Some(latencies) = &mut self.by_priority {
            let completion_ns = split_ns.map_or(latency_ns, |(_, completion_ns)| completion_ns);
            latencies.record(slot, direction, latency_ns, completion_ns, control);
        }
        if let Some(rows) = &mut self.rows {
            rows.push(IoRow {
                ended_ns: self.clock.ns(now.saturating_sub(rows.epoch)),
                latency_ns,
                split_ns,
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

#[cfg(test)]
mod tests {
    use iodyno_job::Request;

    use super::*;
    use crate::buffers::Buffers;
    use crate::engines::{IoUnit, Opened, Setup, SetupError};
    use crate::in_flight::SlotTable;

    /// Records how many completions each call waits for.
    #[derive(Default)]
    struct Waits(Vec<u32>);

    impl Engine for Waits {
        const NAME: &'static str = "waits";

        fn open(_: Setup) -> Result<Opened<Self>, SetupError> {
            unreachable!("it is made by the test")
        }

        fn queue(&mut self, _: impl Iterator<Item = IoUnit> + Clone) {}

        fn enter(&mut self, wait: u32) -> io::Result<()> {
            self.0.push(wait);
            Ok(())
        }

        fn completions(&mut self) -> impl Iterator<Item = Completion> {
            std::iter::empty()
        }

        fn buffers(&mut self) -> &mut Buffers {
            unreachable!("no I/O needs memory")
        }
    }

    #[test]
    fn waiting_before_and_after_is_no_submission() {
        const LATE_NS: u64 = 3_000_000_000_000;
        const TAKES_NS: u64 = 5_000_000_000_000;
        let (clock, control, tallies) = (Clock::get(), JobControl::default(), Arc::default());
        let mut job = Job::default();
        job.report.percentiles.slat = true;
        let hooks = |queues| CompletionHooks::new(&job, 4, false, queues, &tallies, None, None);
        assert!(hooks(false).is_none(), "a synchronous engine has no submission of its own");
        let mut hooks = hooks(true).unwrap();
        let (mut engine, mut slots) = (Waits::default(), SlotTable::new(4));
        let requests = [Request { length: 4096, ..Request::default() }];
        let batch = slots.reserve(&requests);
        let due = clock.now() - clock.ticks(LATE_NS);
        hooks.queued(&mut engine, &batch, || due).unwrap();
        assert_eq!(engine.0, [0], "submitted without a wait");
        let slot = batch.slots[0];
        let io = slots.complete(slot);
        hooks.completed(slot, &io, clock.now() + clock.ticks(TAKES_NS), &control);
        let split = hooks.finish().read.unwrap();
        let [submission, completion] =
            [split.submission, split.completion].map(|part| part.mean_ns().unwrap());
        assert!(submission < LATE_NS as f64 / 2.0, "{submission}");
        assert!((0.99..1.01).contains(&(completion / TAKES_NS as f64)), "{completion}");
    }
}
