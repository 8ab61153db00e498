//! Implements the trait `LoadGenerator` with this crate's engines and loop.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use iodyno_job::{Job, Region, Room, Stream, Unfit};
use iodyno_load::{ClearedJob, LoadError, LoadGenerator, Observer, PhaseReport, ProbeSample};
use iodyno_target::{FillBuffer, ReadClearance};

use crate::commands::{CommandPolicy, run_postrun, run_prerun};
use crate::contents::{Filler, mix};
use crate::engine_choice::EngineChoices;
use crate::flow::Flows;
use crate::in_flight::InFlight;
use crate::limits::{check_memory, check_numbers, check_threads};
use crate::locked_memory::LockedMemory;
use crate::phase::Phase;
use crate::prepare_job::prepare_job;
use crate::probe::{ProbeError, probe};
use crate::stall::{WARN_AFTER, no_answer};
use crate::trace_replay::OpenTrace;

/// Time that a stopped phase waits for I/O in flight: NVMe's own timeout is 30 s
/// (`nvme_core.io_timeout`), followed by abort and controller reset.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(90);

/// The native load generator. Keeps no state between phases except the entropy.
#[derive(Debug, Clone, Default)]
pub struct NativeGenerator {
    commands: CommandPolicy,
    state_dir: Option<PathBuf>,
    open_trace: Option<OpenTrace>,
    /// Entropy of the next phase, if set.
    entropy: Option<u64>,
}

impl NativeGenerator {
    /// Creates a generator that refuses commands, saves no verify states and opens no traces.
    pub const fn new() -> Self {
        Self { commands: CommandPolicy::Refused, state_dir: None, open_trace: None, entropy: None }
    }

    /// Seeds the first phase with `entropy`, which no other run may use, and each further phase
    /// with the next number.
    #[must_use]
    pub fn with_entropy(self, entropy: u64) -> Self {
        Self { entropy: Some(entropy), ..self }
    }

    /// Sets how `exec_prerun` and `exec_postrun` are run.
    #[must_use]
    pub fn with_commands(self, commands: CommandPolicy) -> Self {
        Self { commands, ..self }
    }

    /// Sets the directory for `verify_state_save` and `verify_state_load`; without it no state is
    /// saved.
    #[must_use]
    pub fn with_states(self, folder: PathBuf) -> Self {
        Self { state_dir: Some(folder), ..self }
    }

    /// Sets the function that opens the traces of replaying jobs.
    #[must_use]
    pub fn with_traces(self, open: OpenTrace) -> Self {
        Self { open_trace: Some(open), ..self }
    }
}

impl LoadGenerator for NativeGenerator {
    fn source(&self) -> String {
        format!("native {}", env!("CARGO_PKG_VERSION"))
    }

    fn fits(&self, job: &Job, rooms: &[Room]) -> Result<(), Unfit> {
        check_numbers(job, rooms.len())?;
        check_memory([job], memory_bytes())?;
        let stream = Stream::new(job, rooms, 0, 0)?;
        Ok(check_one_block_per_file(job, &stream)?)
    }

    fn contents(&self, job: &Job, size_bytes: u64) -> Option<Box<FillBuffer>> {
        let contents = &job.contents;
        let is_random = !contents.zero_buffers
            && contents.buffer_pattern.is_empty()
            && contents.buffer_compress_percentage.unwrap_or(0) == 0
            && contents.dedupe_percentage == 0;
        let sizes = &job.pattern.bs.write;
        let blocks = size_bytes / sizes.smallest().max(1);
        let seed = mix(job.pattern.randseed, RandomState::new().build_hasher().finish());
        let mut filler = Filler::new(contents, true, blocks, seed);
        let block = usize::try_from(sizes.largest()).unwrap_or(usize::MAX).max(1);
        let fill =
            move |bytes: &mut [u8]| bytes.chunks_mut(block).for_each(|one| filler.prepare(one));
        (!is_random).then(|| Box::new(fill) as Box<FillBuffer>)
    }

    fn run(
        &mut self,
        jobs: &[ClearedJob<'_>],
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, LoadError> {
        let bytes = memory_bytes();
        if let Some(first) = jobs.first() {
            let unfit = |what| LoadError::Unfit { target: first.target(), what };
            let mut commands = jobs.iter().flat_map(|job| job.job.commands());
            if let Some((option, command)) =
                commands.next().filter(|_| self.commands == CommandPolicy::Refused)
            {
                let what = format!("{option}={command}: it is not allowed to run commands");
                return Err(unfit(what));
            }
            check_threads(jobs.iter().map(|job| &job.job)).map_err(unfit)?;
            check_memory(jobs.iter().map(|job| &job.job), bytes).map_err(unfit)?;
        }
        let locked_bytes = jobs.iter().map(|job| job.job.threads.lockmem_bytes);
        let locked_bytes = locked_bytes.fold(0, u64::saturating_add);
        let _pinned =
            LockedMemory::new(locked_bytes, bytes).map_err(|error| LoadError::System {
                target: "lockmem".into(),
                action: format!("lock {locked_bytes} bytes of memory"),
                error,
            })?;
        let entropy = self.entropy.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        self.entropy = self.entropy.map(|entropy| entropy.wrapping_add(1));
        let (mut choices, mut flows) = (EngineChoices::default(), Flows::default());
        let mut prepared = jobs
            .iter()
            .map(|job| {
                let state_dir = self.state_dir.as_deref();
                prepare_job(
                    job,
                    bytes,
                    entropy,
                    state_dir,
                    self.open_trace,
                    &mut choices,
                    &mut flows,
                )
            })
            .collect::<Result<Vec<_>, _>>()?;
        let workers = prepared.iter_mut().flat_map(|job| &mut job.workers);
        let global = workers.filter(|worker| worker.job.contents.dedupe_global);
        Filler::share_working_sets(global.filter_map(|worker| worker.filler.as_mut()));
        let phase = Phase::set_up(prepared)?;
        if let Err((job, what)) = jobs.iter().try_for_each(|job| {
            run_prerun(&job.job, self.commands).map_err(|what| (job, what.to_string()))
        }) {
            phase.abort();
            return Err(LoadError::Unfit { target: job.target(), what });
        }
        let mut report = phase.run(observer, DRAIN_TIMEOUT);
        for (job, report) in jobs.iter().zip(&mut report.jobs) {
            report.shortfalls.extend(run_postrun(&job.job, self.commands).err());
        }
        Ok(report)
    }

    fn probe(
        &mut self,
        target: &ReadClearance,
        offsets: &[u64],
        bytes: u32,
        max_ns: u64,
    ) -> Result<Vec<ProbeSample>, LoadError> {
        let block = target.block_bytes();
        if bytes == 0 || !bytes.is_multiple_of(block) {
            let what = format!("{bytes} bytes do not fit: it takes multiples of {block}");
            return Err(LoadError::Unfit { target: target.name().to_owned(), what });
        }
        let system = |action: &str, error| LoadError::System {
            target: target.name().to_owned(),
            action: action.to_owned(),
            error,
        };
        let own = target
            .as_fd()
            .try_clone_to_owned()
            .map_err(|source| system("duplicate its descriptor", source))?;
        let time_limit = Duration::from_nanos(max_ns);
        probe(own, offsets, bytes, time_limit, WARN_AFTER).map_err(|error| match error {
            ProbeError::Setup(refused) => system(refused.action, refused.error),
            ProbeError::NoAnswer(done) => {
                let offset = offsets.get(done).copied().unwrap_or_default();
                let read = InFlight { offset, length: bytes, ..InFlight::default() };
                let what = no_answer(WARN_AFTER, &read);
                LoadError::NoAnswer(format!("{}: {what}", target.name()))
            }
        })
    }
}

/// Memory of the machine, bytes.
fn memory_bytes() -> u64 {
    let memory = rustix::system::sysinfo();
    (memory.totalram as u64).saturating_mul(memory.mem_unit.into())
}

/// Checks that each file of a file-operation engine has one block: more would count as operations.
fn check_one_block_per_file(job: &Job, stream: &Stream) -> Result<(), String> {
    let smallest = job.pattern.bs.of(job.pattern.rw.direction()).smallest();
    let longer = |region: &&Region| region.length / smallest.max(1) > 1;
    match stream.regions().iter().find(longer) {
        Some(_) if job.engine.ioengine.works_on_names() => Err(format!(
            "ioengine={} makes one operation for each file, and its files have more than one \
             block: give filesize={smallest}, as bs is",
            job.engine.ioengine.name()
        )),
        _ => Ok(()),
    }
}
