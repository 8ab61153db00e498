//! A job with every option resolved.
//!
//! Each group of options has a module here; the rows of the option table that parse and print
//! them are in files of the same names in `options/`.

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

use iodyno_model::Direction;

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

/// A job with every option resolved, units included. Each clone of `numjobs` is a job of its own,
/// as in fio.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Job {
    /// Name of its section.
    pub name: String,
    /// fio's `description`.
    pub description: Option<String>,
    /// Files and devices.
    pub files: Files,
    /// Range of the files, and amount of I/O.
    pub space: Space,
    /// Directions, block sizes and order of the I/O.
    pub pattern: AccessPattern,
    /// I/O engine.
    pub engine: Engine,
    /// Queue depth and batching.
    pub depth: Depth,
    /// Clones, CPUs, and the order of jobs.
    pub threads: Threads,
    /// Run time.
    pub time: Time,
    /// Logs of I/O to replay or write.
    pub replay: Replay,
    /// Rate limits and pauses.
    pub pace: Pace,
    /// Syncs of written data.
    pub flush: Flush,
    /// Contents of written blocks.
    pub contents: Contents,
    /// Verification of written data.
    pub verify: Verify,
    /// Handling of I/O errors.
    pub errors: Errors,
    /// Report and logs.
    pub report: Report,
}

impl Job {
    /// A job as iodyno measures drives: direct I/O with the best engine that works on this machine,
    /// running until it is stopped, and continuing after errors. `Job::default()` has fio's
    /// defaults.
    pub fn direct() -> Self {
        let mut job = Self::default();
        job.time.time_based = true;
        job.errors.continue_on_error = ContinueOn { read: true, write: true, verify: true };
        job.errors.gives_up = true;
        job.engine.direct = true;
        job.engine.ioengine = IoEngine::Auto;
        job
    }

    /// Outstanding I/Os of all its threads together.
    pub const fn outstanding(&self) -> u32 {
        self.depth.iodepth.saturating_mul(self.threads.shared_by)
    }

    /// True if it changes its targets; a trim does, too.
    pub fn writes(&self) -> bool {
        let rw = self.pattern.rw;
        let changes = rw.has(Direction::Write) || rw.has(Direction::Trim);
        // With verify_only, the writes of a mix are only verified.
        (changes && !self.verify.verify_only) || self.engine.ioengine.always_modifies_files()
    }

    /// True if it trims some of the blocks that it wrote, and verifies them as trimmed.
    pub fn trims_writes(&self) -> bool {
        let verify = &self.verify;
        let verifies = verify.is_on() && self.writes();
        verifies && verify.trim_percent > 0 && verify.trim_backlog > 0
    }

    /// Options that run a command, with the command: `exec_prerun`, `exec_postrun`, `program`.
    /// A job of a user may use them only with an explicit permission.
    pub fn commands(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let Threads { exec_prerun, exec_postrun, .. } = &self.threads;
        let program = &self.engine.program.name;
        [("exec_prerun", exec_prerun), ("exec_postrun", exec_postrun), ("program", program)]
            .into_iter()
            .filter_map(|(option, command)| Some((option, command.as_deref()?)))
    }

    /// True if it verifies its own writes: after each loop, and after each `verify_backlog`.
    pub fn verifies_its_writes(&self) -> bool {
        self.verify.is_on() && self.writes() && self.verify.do_verify
    }

    /// True if it computes the last write to each block before reading, from the order in which
    /// another run wrote them: write sequence numbers are to be verified.
    pub fn knows_write_order(&self) -> bool {
        let verify = &self.verify;
        let by_order = !self.replay.is_on() && !self.time.time_based;
        verify.verify_only && verify.is_on() && verify.write_sequence && by_order
    }

    /// Largest block of all its directions, bytes.
    pub fn largest_block(&self) -> u64 {
        self.largest_size(|_| true)
    }

    /// Largest block that needs a buffer, bytes: a trim needs none, unless a write of the same
    /// length follows.
    pub fn largest_buffer(&self) -> u64 {
        let paired = self.pattern.rw.trims_and_writes();
        match self.largest_size(|direction| paired || direction != Direction::Trim) {
            0 => 4096.min(self.largest_block()),
            largest => largest,
        }
    }

    fn largest_size(&self, wanted: impl Fn(Direction) -> bool) -> u64 {
        let rw = self.pattern.rw;
        // With bs_is_seq_rand or a log, the sizes of other directions are used as well.
        let all = self.pattern.bs_is_seq_rand || self.replay.is_on();
        let sizes = self.pattern.bs.iter();
        let sizes =
            sizes.filter(|(direction, _)| wanted(*direction) && (all || rw.has(*direction)));
        sizes.map(|(_, bs)| bs.largest()).max().unwrap_or(0)
    }

    /// Its longest duration, ns; `None`: until its work is done.
    pub fn longest_ns(&self) -> Option<u64> {
        let before = self.time.ramp_ns.saturating_add(self.threads.startdelay_ns.1);
        self.time.runtime_ns.map(|runtime_ns| runtime_ns.saturating_add(before))
    }
}
