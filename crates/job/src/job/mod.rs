//! A job: what is to be made, every option resolved.
//!
//! Its options stand in one module for each group of them; the rows of the
//! option table that read and print them in `options/`, in files of the same
//! names.

mod command_priority;
mod contents;
mod depth;
mod engine;
mod errors;
mod files;
mod flush;
mod pace;
mod pattern;
mod replay;
mod report;
mod space;
mod threads;
mod time;
mod verify;

use iodyno_model::{Direction, Workload};

pub use command_priority::{CommandPriority, SizePriority, ioprio};
pub use contents::{Contents, DedupeMode};
pub use depth::Depth;
pub use engine::{CommandType, CpuLoad, Engine, IoEngine, Program, StatType, Sync};
pub use errors::{ContinueOn, Errors};
pub use files::{Fallocate, FileService, Files};
pub use flush::Flush;
pub use pace::{LatencyTarget, Pace, RateProcess, ThinkBlocks};
pub use pattern::{
    AccessPattern, BlockSize, Distribution, Pattern, RandomGenerator, Sequencer, Sprandom, Zone,
    ZoneMode,
};
pub use replay::{IOLOG_HEAD, Replay, TraceReplay};
pub use report::{Log, Logs, Percentiles, Report, Unified};
pub use space::{Amount, Extent, Space};
pub use threads::{CpuPolicy, ExitWhat, MemoryPolicy, Priority, Threads};
pub use time::{SteadyKind, SteadyState, Time};
pub use verify::{PatternPart, Verify, VerifyMethod, VerifyPolicy};

/// A job: every option resolved, units included. A clone of `numjobs` is a job
/// of its own, as in fio.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Job {
    /// Name: its section's.
    pub name: String,
    /// fio's `description`.
    pub description: Option<String>,
    /// Where: files and devices.
    pub files: Files,
    /// How much of them.
    pub space: Space,
    /// In which directions, blocks and order.
    pub pattern: AccessPattern,
    /// How it talks to the kernel.
    pub engine: Engine,
    /// How many I/Os at once.
    pub depth: Depth,
    /// Threads, and when they run.
    pub threads: Threads,
    /// For how long.
    pub time: Time,
    /// Which log of I/O it makes again, or writes.
    pub replay: Replay,
    /// How fast at most.
    pub pace: Pace,
    /// When what was written is made durable.
    pub flush: Flush,
    /// What is written.
    pub contents: Contents,
    /// How what was written is verified.
    pub verify: Verify,
    /// What becomes of errors.
    pub errors: Errors,
    /// What is reported and logged.
    pub report: Report,
}

impl Job {
    /// A job as we measure drives with: past the page cache, by the best
    /// engine that works on this machine, until somebody stops it, bad blocks
    /// or not. `Job::default()` has fio's defaults.
    pub fn direct() -> Self {
        let mut job = Self::default();
        job.time.time_based = true;
        job.errors.continue_on_error = ContinueOn { read: true, write: true, verify: true };
        job.engine.direct = true;
        job.engine.ioengine = IoEngine::Auto;
        job
    }

    /// Outstanding I/Os over all of its threads.
    pub const fn outstanding(&self) -> u32 {
        self.depth.iodepth.saturating_mul(self.threads.shared_by)
    }

    /// Whether it changes its targets: a trim does, too.
    pub fn writes(&self) -> bool {
        let rw = self.pattern.rw;
        let changes = rw.has(Direction::Write) || rw.has(Direction::Trim);
        // A mix whose writes are only verified writes nothing.
        (changes && !self.verify.verify_only) || self.engine.ioengine.always_changes()
    }

    /// Whether some of what it writes is trimmed, to be verified as that.
    pub fn trims_writes(&self) -> bool {
        let verify = &self.verify;
        let verifies = verify.is_on() && self.writes();
        verifies && verify.trim_percent > 0 && verify.trim_backlog > 0
    }

    /// The options that run a command, with it: `exec_prerun`, `exec_postrun`, `program`.
    /// Whoever takes a job from a user asks for a permission of its own.
    pub fn commands(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let Threads { exec_prerun, exec_postrun, .. } = &self.threads;
        let program = &self.engine.program.name;
        [("exec_prerun", exec_prerun), ("exec_postrun", exec_postrun), ("program", program)]
            .into_iter()
            .filter_map(|(option, command)| Some((option, command.as_deref()?)))
    }

    /// What it writes is verified by itself: after each loop, and after each `verify_backlog`.
    pub fn verifies_its_writes(&self) -> bool {
        self.verify.is_on() && self.writes() && self.verify.do_verify
    }

    /// Which write is the last to each block is known before it reads them, by the order that
    /// another run wrote them in: it was asked to look at numbers.
    pub fn foresees_writes(&self) -> bool {
        let verify = &self.verify;
        let by_order = !self.replay.is_on() && !self.time.time_based;
        verify.verify_only && verify.is_on() && verify.write_sequence && by_order
    }

    /// The largest block of any of its directions, bytes.
    pub fn largest_block(&self) -> u64 {
        self.largest_of(|_| true)
    }

    /// The largest block that needs memory, bytes: a trim has no data, unless a write of its length
    /// follows.
    pub fn largest_buffer(&self) -> u64 {
        let paired = self.pattern.rw.trims_and_writes();
        match self.largest_of(|direction| paired || direction != Direction::Trim) {
            0 => 4096.min(self.largest_block()),
            largest => largest,
        }
    }

    fn largest_of(&self, wanted: impl Fn(Direction) -> bool) -> u64 {
        let rw = self.pattern.rw;
        // Sizes of other directions count where they go by the order, or are a log's.
        let all = self.pattern.bs_is_seq_rand || self.replay.is_on();
        let sizes = self.pattern.bs.iter();
        let sizes =
            sizes.filter(|(direction, _)| wanted(*direction) && (all || rw.has(*direction)));
        sizes.map(|(_, bs)| bs.largest()).max().unwrap_or(0)
    }

    /// What is known of the workload, with the engine that was in effect.
    pub fn workload(&self, engine: Option<&str>) -> Workload {
        let rw = self.pattern.rw;
        let first = self.pattern.bs.iter().find(|(direction, _)| rw.has(*direction));
        let makes_io = !self.engine.ioengine.is_without_io();
        Workload {
            rw: makes_io.then(|| rw.name().into()),
            bs: first.and_then(|(_, bs)| bs.fixed()).filter(|_| makes_io),
            iodepth: makes_io.then_some(self.depth.iodepth),
            numjobs: Some(self.threads.numjobs.max(self.threads.shared_by)),
            ioengine: engine.map(Into::into),
            direct: makes_io.then_some(self.engine.direct),
            size: None,
            options: std::collections::BTreeMap::new(),
        }
    }
}
