//! Builds the threads of one job from their common setup.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use iodyno_job::{IoEngine, Job, Room, StatType, Stream, Sync, ZoneMode, gcd};
use iodyno_load::IoRow;
use iodyno_model::Direction;
use iodyno_target::{Access, Lookup, OpenHow, ReadClearance, SyncMode, TargetKind};

use crate::block_lives::BlockLives;
use crate::bounds::Bounds;
use crate::contents::{Filler, mix};
use crate::engine_choice;
use crate::engines::{EngineOptions, NvmeCharDevice, Setup};
use crate::flow::Flows;
use crate::iolog_writer::IologWriter;
use crate::job_control::JobControl;
use crate::page_cache::{PageCache, drop_pages};
use crate::placement::Placement;
use crate::replay::Replay;
use crate::submission_hooks::VerifyContext;
use crate::tally::Tallies;
use crate::trace_replay::OpenTrace;
use crate::trims::Trims;
use crate::verify::{Ledger, Verifier, VerifyState, WriteTracker};
use crate::worker::Worker;

/// Largest file offset (loff_t), whatever a job allows (`fill_device`).
const MAX_FILE_BYTES: u64 = i64::MAX as u64;
/// Ledgers may take one part in this many of the machine's memory.
const LEDGER_SHARE: u64 = 8;

/// The common setup of a job's threads.
pub(crate) struct JobSetup<'a> {
    pub(crate) job: Arc<Job>,
    pub(crate) files: &'a [Access<'a>],
    pub(crate) direct: bool,
    pub(crate) engine: IoEngine,
    pub(crate) depth: u16,
    pub(crate) cpus_of_nodes: Vec<u32>,
    pub(crate) control: Arc<JobControl>,
    pub(crate) rows: Option<SyncSender<Vec<IoRow>>>,
    pub(crate) memory_bytes: u64,
    pub(crate) entropy: u64,
    pub(crate) state_dir: Option<&'a Path>,
    /// Offsets and lengths are multiples of this, bytes.
    pub(crate) align_bytes: u32,
    pub(crate) open_trace: Option<OpenTrace>,
}

impl JobSetup<'_> {
    /// Builds thread number `thread`.
    ///
    /// # Errors
    /// A message about what does not fit, or cannot be opened.
    pub(crate) fn worker(
        &self,
        thread: u32,
        stream: Stream,
        flows: &mut Flows,
    ) -> Result<Worker, String> {
        let Self { job, files, direct, entropy, .. } = self;
        // Threads that share a job take CPUs in turn, and so do all jobs and their clones.
        let turn = thread as usize + job.threads.number as usize;
        let seed = thread_seed(job.pattern.randseed, job.threads.number, thread, *entropy);
        let verifies = job.verify.is_on();
        let mut verifying = verifies
            .then(|| verify_context(job, &stream, files.len(), self.memory_bytes, *entropy, seed))
            .transpose()?;
        if let Some(verifying) = &mut verifying {
            verifying.write_tracker = WriteTracker::new(job, self.state_dir);
        }
        let lengths = stream.regions().iter().map(|region| region.length);
        let blocks = lengths.fold(0, u64::saturating_add);
        let smallest = job.pattern.bs.write.smallest().max(1);
        let filler = job.writes().then(|| {
            let mixed = job.pattern.rw.has(Direction::Read);
            Filler::new(&job.contents, mixed, blocks / smallest, seed)
        });
        let has =
            |direction| job.pattern.rw.has(direction) || (verifies && direction == Direction::Read);
        let replays = job.replay.is_on();
        let trims = |direction| job.trims_writes() && direction == Direction::Trim;
        let has = |direction| replays || trims(direction) || has(direction);
        let syncs = job.flush != Default::default() || job.files.fsync_on_close || replays;
        let passthrough = self.engine == IoEngine::IoUringCmd;
        let char_device = files.first().filter(|_| passthrough).map(char_device).transpose();
        let ends =
            stream.regions().iter().map(|region| region.offset.saturating_add(region.length));
        let memory_bytes = ends.max().unwrap_or(0);
        let sizes = files.iter().map(|file| room(job, file.read(), *direct).size_bytes);
        let bounds = Bounds::new(stream.regions(), sizes, job.largest_block() as u32);
        let is_device = |file: &Access<'_>| matches!(file.read().kind(), TargetKind::Block { .. });
        let opened = match job.engine.ioengine.works_on_names() {
            true => Vec::new(),
            false => open_files(files, job, *direct).map_err(|error| error.to_string())?,
        };
        let duplicates = || opened.iter().map(OwnedFd::try_clone).collect::<Result<_, _>>();
        let page_cache = (!*direct && job.files.invalidate).then(duplicates).transpose();
        let page_cache = page_cache.map_err(|error| format!("dup of a target: {error}"))?;
        let tallies = Tallies::new(has, syncs);
        // A synchronous engine has no submission to tell apart, see `CompletionHooks::new`.
        let queues = !self.engine.is_synchronous() || job.depth.offload;
        let is_split = queues && job.report.averages_submissions();
        let tallies = if is_split { tallies.split() } else { tallies };
        Ok(Worker {
            engine: self.engine,
            page_cache: page_cache.map(PageCache::new),
            setup: Setup {
                claims: trim_descriptors(files, job).map_err(|error| error.to_string())?,
                entries: files.iter().filter_map(|file| file.write()?.entry().cloned()).collect(),
                char_device: char_device.map_err(|error| error.to_string())?,
                options: engine_options(job, memory_bytes),
                writable: job.writes(),
                submit: job.depth.offload.then(|| engine_choice::submit_fn(self.engine)),
                ..Setup::read_only(opened, self.depth, job.largest_buffer() as u32)
            },
            bounds,
            block_lives: BlockLives::new(job, stream.regions())?,
            stream,
            filler,
            verifying,
            verify_state: VerifyState::load(job, self.state_dir)?,
            on_device: files.iter().all(is_device),
            placement: Placement::new(&job.threads, &self.cpus_of_nodes, turn),
            control: Arc::clone(&self.control),
            tallies: Arc::new(tallies),
            rows: self.rows.clone(),
            replay: Replay::open(job, self.align_bytes, self.open_trace)?,
            iolog_writer: IologWriter::create(job)?,
            flow: flows.join(job),
            seed,
            job: Arc::clone(job),
        })
    }
}

/// The space that a job may use on a target.
pub(crate) fn room(job: &Job, clearance: &ReadClearance, direct: bool) -> Room {
    // Buffered I/O has no alignment.
    let block_bytes = if direct { clearance.block_bytes().max(1) } else { 1 };
    let grows = job.space.fill_device && matches!(clearance.kind(), TargetKind::File { .. });
    let size_bytes = if grows { u64::MAX } else { clearance.size_bytes() };
    Room { size_bytes, block_bytes }
}

/// Opens the job's files for one thread.
fn open_files(
    files: &[Access<'_>],
    job: &Job,
    direct: bool,
) -> Result<Vec<OwnedFd>, iodyno_target::TargetError> {
    let sync = match job.engine.sync {
        Sync::None => SyncMode::None,
        Sync::Sync => SyncMode::Sync,
        Sync::Dsync => SyncMode::Data,
    };
    let how = OpenHow { direct, sync, nonblocking: false };
    let opened = files.iter().map(|file| {
        // A job that only reads gets a read-only descriptor.
        let opened = if job.writes() { file.open(how)? } else { file.read().open(how)? };
        if !direct && job.files.invalidate {
            drop_pages(&opened);
        }
        if !direct && job.files.fadvise_hint {
            let advice = match job.pattern.rw.is_random() {
                true => rustix::fs::Advice::Random,
                false => rustix::fs::Advice::Sequential,
            };
            let _ = rustix::fs::fadvise(&opened, 0, None, advice);
        }
        Ok(opened)
    });
    opened.collect()
}

/// The descriptors for trims, one for each file.
fn trim_descriptors(files: &[Access<'_>], job: &Job) -> std::io::Result<Vec<OwnedFd>> {
    if !job.pattern.rw.has(Direction::Trim) && !job.trims_writes() {
        return Ok(Vec::new());
    }
    let claims = files.iter().filter_map(Access::write);
    claims.map(|clearance| clearance.as_fd().try_clone_to_owned()).collect()
}

/// Opens a namespace for NVMe passthrough, for one thread.
fn char_device(namespace: &Access<'_>) -> Result<NvmeCharDevice, iodyno_target::TargetError> {
    let iodyno_target::CharacterDevice { descriptor, nsid } = namespace.open_character()?;
    let lba_shift = namespace.read().block_bytes().trailing_zeros() as u8;
    Ok(NvmeCharDevice { device: descriptor, nsid, lba_shift })
}

fn engine_options(job: &Job, memory_bytes: u64) -> EngineOptions {
    let engine = &job.engine;
    EngineOptions {
        batch: job.depth.batch.unwrap_or(crate::engines::BATCH as u32).clamp(1, iodyno_job::DEEPEST)
            as u16,
        fixed_buffers: engine.fixedbufs,
        registered_files: engine.registerfiles,
        polled: engine.hipri,
        sqpoll: engine.sqthread_poll.then_some(engine.sqthread_poll_cpu),
        nowait: engine.nowait,
        uncached: engine.uncached,
        force_async: engine.force_async.unwrap_or(0),
        atomic: engine.atomic,
        lookup: match engine.stat_type {
            StatType::Stat => Lookup::Stat,
            StatType::Lstat => Lookup::Lstat,
            StatType::Statx => Lookup::Statx,
        },
        memory_bytes,
        sequential: !job.pattern.rw.is_random(),
    }
}

fn verify_context(
    job: &Job,
    stream: &Stream,
    files: usize,
    memory_bytes: u64,
    run_id: u64,
    seed: u64,
) -> Result<VerifyContext, String> {
    let written = job.writes() || job.verify.verify_only;
    let sizes = if written { &job.pattern.bs.write } else { &job.pattern.bs.read };
    let thread = (seed >> 32) as u32;
    let spacing = spacing_bytes(job, stream);
    let verifier = Verifier::new(&job.verify, &job.contents, sizes, spacing, run_id, thread)
        .map_err(|error| error.to_string())?;
    let mut ledgers = Vec::new();
    if job.writes() || job.knows_write_order() {
        let share = memory_bytes / LEDGER_SHARE / u64::from(job.threads.numjobs.max(1));
        for file in 0..files {
            let regions = stream.regions().iter().filter(|region| usize::from(region.file) == file);
            let start = regions.clone().map(|region| region.offset).min().unwrap_or(0);
            let end = regions
                .map(|region| region.offset.saturating_add(region.length))
                .max()
                .unwrap_or(0);
            let end = end.min(MAX_FILE_BYTES);
            let interval = verifier.interval().max(1);
            let blocks = end.saturating_sub(start).div_ceil(interval);
            let ledger = Ledger::new(start, interval, blocks, share / files as u64);
            let ledger = ledger.map_err(|error| error.to_string())?;
            ledgers.push(if job.writes() { ledger } else { ledger.of_another_run() });
        }
    }
    let name = |path: &String| {
        let name = std::path::Path::new(path).file_name();
        name.map_or(path.clone(), |name| name.to_string_lossy().into_owned())
    };
    let dumps = job.verify.dump.then(|| job.files.paths.iter().map(name).collect());
    let backlog = (job.writes() && job.verify.backlog > 0).then(Vec::new);
    let pretended = job.engine.ioengine == IoEngine::Null;
    let trims = Trims::new(job, seed);
    let trimmed_are_zeros = job.verify.trim_verify_zero;
    let write_tracker = None;
    Ok(VerifyContext {
        verifier,
        ledgers,
        dumps,
        backlog,
        trims,
        trimmed_are_zeros,
        write_tracker,
        pretended,
    })
}

/// A common divisor of the distances between blocks that need not start at multiples of their
/// size; 0: all do.
fn spacing_bytes(job: &Job, stream: &Stream) -> u64 {
    let pattern = &job.pattern;
    let direction = if job.writes() { Direction::Write } else { Direction::Read };
    let (align, step) = match pattern.rw.is_random() {
        true => (pattern.blockalign.as_ref().map_or(0, |align| *align.of(direction)), 0),
        false => (0, pattern.rw_step.unwrap_or(0)),
    };
    let zone = match (pattern.zonemode, pattern.zonerange) {
        (ZoneMode::Strided, Some(range)) => range.saturating_add(pattern.zoneskip),
        _ => 0,
    };
    // Backwards, blocks are counted from the end.
    let backwards = stream.regions().iter().filter(|_| step < 0);
    let lengths = backwards.map(|region| region.length);
    lengths.chain([align, step.unsigned_abs(), zone]).fold(0, gcd)
}

/// A seed unique to each thread.
pub(crate) fn thread_seed(randseed: u64, number: u32, thread: u32, entropy: u64) -> u64 {
    mix(mix(randseed, entropy), u64::from(number) << 32 | u64::from(thread))
}

#[cfg(test)]
mod tests {
    use iodyno_job::{Pattern, VerifyMethod};

    use super::*;

    #[test]
    fn fill_device_can_be_verified() {
        let mut job = Job::default();
        (job.pattern.rw, job.space.fill_device) = (Pattern::Write, true);
        job.verify.method = VerifyMethod::Crc32c;
        let rooms = [Room { size_bytes: u64::MAX, block_bytes: 1 }];
        let stream = Stream::new(&job, &rooms, 0, 0).unwrap();
        verify_context(&job, &stream, 1, 1 << 20, 1, 1).unwrap();
    }

    #[test]
    fn threads_have_seeds_of_their_own() {
        let all: std::collections::HashSet<u64> =
            (0..100).flat_map(|n| (0..10).map(move |t| thread_seed(1, n, t, 2))).collect();
        assert_eq!(all.len(), 1000);
    }
}
