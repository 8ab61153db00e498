//! From a cleared job to threads that only have to be started.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use iodyno_job::{IoEngine, Job, Room, Space, StatType, Stream, Sync};
use iodyno_load::{ClearedJob, IoRow, JobReport, LoadError};
use iodyno_model::{Caveat, Direction, NotPolled};
use iodyno_target::{Access, Lookup, OpenHow, ReadClearance, SyncMode, TargetKind};

use crate::block_lives::BlockLives;
use crate::bounds::Bounds;
use crate::choose::{self, Asked, Choice, Choices, ProbedTarget};
use crate::contents::{Filler, mix};
use crate::flow::Flows;
use crate::io::{Character, EngineOptions, Setup};
use crate::kernel::{cannot_poll, io_timeout_ns, linux_major};
use crate::limits::{DEEPEST, fit};
use crate::page_cache::{PageCache, drop_pages};
use crate::placement::{Placement, cpus_of_nodes};
use crate::preparation::Verifying;
use crate::replayed_log::ReplayedLog;
use crate::replayed_trace::OpenTrace;
use crate::running::Running;
use crate::shared::Shared;
use crate::tally::Tallies;
use crate::trims::Trims;
use crate::verify::{Following, Ledger, State, Verifier};
use crate::worker::Assignment;
use crate::written_log::WrittenLog;

/// Batches of rows that may wait for the control thread.
const ROWS_WAITING: usize = 64;
/// No offset in a file is larger (loff_t), whatever a job is allowed (`fill_device`).
const LARGEST_FILE_BYTES: u64 = i64::MAX as u64;
/// File systems have blocks of this size, bytes: writes of less wait for each other.
const FILE_SYSTEM_BLOCK_BYTES: u64 = 4096;
/// Books of what was written may take this share of the machine's memory.
const LEDGER_SHARE: u64 = 8;
/// Behind the kernel's own time come abort and reset of the controller.
const GRACE_NS: u64 = 30_000_000_000;

/// A job that fits, with its threads.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) target: String,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) rows: Option<Receiver<Vec<IoRow>>>,
    /// Latencies are stamped.
    pub(crate) timed: bool,
    pub(crate) running: Running,
}

/// Makes a cleared job ready; `entropy` is a number that no other run has, `states` the folder for
/// states of jobs that verify; `choices` are those made for other jobs of the phase, as are
/// `flows`.
///
/// # Errors
/// What does not fit, and what would.
pub(crate) fn prepare(
    cleared: &ClearedJob<'_>,
    memory_bytes: u64,
    entropy: u64,
    states: Option<&Path>,
    open_trace: Option<OpenTrace>,
    choices: &mut Choices,
    flows: &mut Flows,
) -> Result<Prepared, LoadError> {
    let ClearedJob { job, files } = cleared;
    let target = cleared.target();
    let unfit = |what: String| LoadError::Unfit { target: target.clone(), what };
    let Some(first) = files.first() else {
        return Err(unfit("a job needs a file or a device".into()));
    };
    fit(job, files).map_err(unfit)?;
    // Passthrough knows no page cache.
    let wants_direct = job.engine.direct || job.engine.ioengine == IoEngine::IoUringCmd;
    let direct = wants_direct && files.iter().all(|file| file.read().direct());
    let rooms: Vec<Room> = files.iter().map(|file| room(job, file.read(), direct)).collect();
    let threads = job.threads.shared_by.max(1);
    // What is verified after each loop gets a stream anew for each.
    let of_a_turn = match job.verifies_its_writes() {
        true => &Job { space: Space { loops: 1, ..job.space.clone() }, ..job.clone() },
        false => job,
    };
    let streams = (0..threads)
        .map(|thread| Stream::new(of_a_turn, &rooms, thread, entropy))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unfit(error.into()))?;
    let choice = choose_engine(job, first, direct, &streams[0], choices)?;
    let mut shortfalls = Vec::new();
    if wants_direct && !direct {
        shortfalls.push(Caveat::NoDirect);
    }
    shortfalls.extend(without_effect(job, files, choice.engine));
    let one = choice.engine.is_synchronous() && !job.depth.offload;
    let depth = if one { 1 } else { job.depth.iodepth };
    let logs = &job.report.logs;
    let logged = [&logs.bandwidth, &logs.iops, &logs.latency].iter().any(|log| log.is_some());
    let (to, rows) = (logged && logs.average_ms == 0)
        .then(|| sync_channel(ROWS_WAITING))
        .map_or((None, None), |(to, from)| (Some(to), Some(from)));
    let mut job = job.clone();
    let on_file = files.iter().any(|file| matches!(file.read().kind(), TargetKind::File { .. }));
    if choice.engine == IoEngine::Libaio && goes_one_by_one(&job, direct, on_file) {
        job.depth.batch.get_or_insert(1);
    }
    let team = Team {
        cpus_of_nodes: cpus_of_nodes(&job.threads.numa_cpu_nodes).map_err(unfit)?,
        job: Arc::new(job),
        files,
        direct,
        engine: choice.engine,
        depth: depth as u16,
        shared: Arc::default(),
        rows: to,
        memory_bytes,
        entropy,
        states,
        align_bytes: rooms.iter().map(|room| room.block_bytes).max().unwrap_or(1),
        open_trace,
    };
    let assignments = (0..)
        .zip(streams)
        .map(|(thread, stream)| team.assignment(thread, stream, flows))
        .collect::<Result<Vec<_>, _>>()
        .map_err(unfit)?;
    let mut cpus: Vec<u32> =
        assignments.iter().flat_map(|one| &one.placement.cpus).copied().collect();
    cpus.sort_unstable();
    cpus.dedup();
    let report = JobReport {
        engine: choice.engine.name().into(),
        engine_reason: Some(choice.reason),
        punted: choice.punted,
        cpus,
        iodepth: depth,
        shortfalls,
        ..JobReport::default()
    };
    let Team { job, shared, .. } = team;
    let (from_ns, to_ns) = job.threads.startdelay_ns;
    let spread = seed(job.pattern.randseed, job.threads.number, u32::MAX, entropy);
    let delay_ns = from_ns + spread % (to_ns.saturating_sub(from_ns) + 1);
    let hopeless_after_ns = io_timeout_ns(first.read()).saturating_add(GRACE_NS);
    let timed = !job.report.gtod_reduce;
    let running = Running::new(job, target.clone(), report, shared, delay_ns, hopeless_after_ns);
    Ok(Prepared { target, assignments, rows, timed, running })
}

/// What goes through the page cache is done within io_submit, one I/O after the other: of several
/// handed over together each would last as long as all. So are a file's writes of parts of blocks.
fn goes_one_by_one(job: &Job, direct: bool, on_file: bool) -> bool {
    let of_parts = job.writes() && job.pattern.bs.write.smallest() < FILE_SYSTEM_BLOCK_BYTES;
    !direct || (on_file && of_parts)
}

/// What the job asks for in vain with this engine.
fn without_effect(job: &Job, files: &[Access<'_>], engine: IoEngine) -> Vec<Caveat> {
    let mut told = Vec::new();
    if engine.is_synchronous() && !job.depth.offload && job.depth.iodepth > 1 {
        let (asked, engine) = (job.depth.iodepth, engine.name().into());
        told.push(Caveat::DepthIgnored { engine, asked });
    }
    if job.engine.hipri && engine == IoEngine::Pvsync2 && linux_major() >= 6 {
        told.push(Caveat::NotPolled { why: NotPolled::Kernel });
    }
    if job.engine.hipri && files.iter().any(|file| cannot_poll(file.read())) {
        told.push(Caveat::NotPolled { why: NotPolled::NoPollQueues });
    }
    told
}

/// What the threads of a job have in common.
struct Team<'a> {
    job: Arc<Job>,
    files: &'a [Access<'a>],
    direct: bool,
    engine: IoEngine,
    depth: u16,
    cpus_of_nodes: Vec<u32>,
    shared: Arc<Shared>,
    rows: Option<SyncSender<Vec<IoRow>>>,
    memory_bytes: u64,
    entropy: u64,
    states: Option<&'a Path>,
    /// Offsets and lengths are multiples of this, bytes.
    align_bytes: u32,
    open_trace: Option<OpenTrace>,
}

impl Team<'_> {
    /// What thread number `thread` is to do.
    ///
    /// # Errors
    /// A sentence that says what does not fit, or cannot be opened.
    fn assignment(
        &self,
        thread: u32,
        stream: Stream,
        flows: &mut Flows,
    ) -> Result<Assignment, String> {
        let Self { job, files, direct, entropy, .. } = self;
        // Threads that share a job take CPUs in turn, and so do clones.
        let turn = thread as usize + job.threads.clone as usize;
        let seed = seed(job.pattern.randseed, job.threads.number, thread, *entropy);
        let verifies = job.verify.is_on();
        let mut verifying = verifies
            .then(|| verifying(job, &stream, files.len(), self.memory_bytes, *entropy, seed))
            .transpose()?;
        if let Some(verifying) = &mut verifying {
            verifying.following = Following::new(job, self.states);
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
        let character = files.first().filter(|_| passthrough).map(character).transpose();
        let ends =
            stream.regions().iter().map(|region| region.offset.saturating_add(region.length));
        let memory_bytes = ends.max().unwrap_or(0);
        let sizes = files.iter().map(|file| room(job, file.read(), *direct).size_bytes);
        let bounds = Bounds::new(stream.regions(), sizes, job.largest_block() as u32);
        let is_device = |file: &Access<'_>| matches!(file.read().kind(), TargetKind::Block { .. });
        let opened = match job.engine.ioengine.is_of_names() {
            true => Vec::new(),
            false => open(files, job, *direct).map_err(|error| error.to_string())?,
        };
        let again = || opened.iter().map(OwnedFd::try_clone).collect::<Result<_, _>>();
        let page_cache = (!*direct && job.files.invalidate).then(again).transpose();
        let page_cache = page_cache.map_err(|error| format!("dup of a target: {error}"))?;
        let tallies = Tallies::new(has, syncs);
        let tallies = if job.report.averages_submissions() { tallies.split() } else { tallies };
        Ok(Assignment {
            engine: self.engine,
            page_cache: page_cache.map(PageCache::new),
            setup: Setup {
                files: opened,
                claims: claims(files, job).map_err(|error| error.to_string())?,
                entries: files.iter().filter_map(|file| file.write()?.entry().cloned()).collect(),
                character: character.map_err(|error| error.to_string())?,
                depth: self.depth,
                length: job.largest_buffer() as u32,
                options: EngineOptions { memory_bytes, ..options(job) },
                writable: job.writes(),
                submit: job.depth.offload.then(|| choose::submit(self.engine)),
                part: None,
                priorities: None,
            },
            bounds,
            lives: BlockLives::new(job, stream.regions())?,
            stream,
            filler,
            verifying,
            state: State::load(job, self.states)?,
            on_device: files.iter().all(is_device),
            placement: Placement::new(&job.threads, &self.cpus_of_nodes, turn),
            shared: Arc::clone(&self.shared),
            tallies: Arc::new(tallies),
            rows: self.rows.clone(),
            log: ReplayedLog::open(job, self.align_bytes, self.open_trace)?,
            written_log: WrittenLog::create(job)?,
            flow: flows.join(job),
            seed,
            job: Arc::clone(job),
        })
    }
}

fn room(job: &Job, clearance: &ReadClearance, direct: bool) -> Room {
    // Through the page cache any byte may be read.
    let block_bytes = if direct { clearance.block_bytes().max(1) } else { 1 };
    let grows = job.space.fill_device && matches!(clearance.kind(), TargetKind::File { .. });
    let size_bytes = if grows { u64::MAX } else { clearance.size_bytes() };
    Room { size_bytes, block_bytes }
}

fn choose_engine(
    job: &Job,
    first: &Access<'_>,
    direct: bool,
    stream: &Stream,
    choices: &mut Choices,
) -> Result<Choice, LoadError> {
    let read = first.read();
    let how = OpenHow { direct, ..OpenHow::default() };
    let unfit = |what: String| LoadError::Unfit { target: read.name().to_owned(), what };
    let descriptor = read.open(how).map_err(|error| unfit(error.to_string()))?;
    let probed = ProbedTarget {
        descriptor: &descriptor,
        direct,
        offset: stream.regions().first().map_or(0, |region| region.offset),
        block_bytes: read.block_bytes().max(1),
    };
    let asked = Asked {
        target: read.name().to_owned(),
        ioengine: job.engine.ioengine,
        iodepth: job.depth.iodepth,
        direct,
    };
    let psync = Asked { ioengine: IoEngine::Psync, target: asked.target.clone(), ..asked };
    choices.choose(asked, &probed).map_err(|refused| {
        let name = job.engine.ioengine.name();
        let refused_itself = match refused.error.raw_os_error() {
            Some(libc::ENOSYS | libc::EPERM) => true,
            // What the target refuses, it refuses to all.
            Some(libc::EINVAL) => choices.choose(psync, &probed).is_ok(),
            _ => false,
        };
        let advice = match job.engine.ioengine {
            IoEngine::IoUring if refused_itself => {
                "; io_uring is absent, switched off (kernel.io_uring_disabled), filtered or older \
                 than Linux 5.6: ioengine=libaio does without, ioengine=auto takes what there is"
            }
            _ => "",
        };
        let (target, error) = (read.name().to_owned(), refused.error);
        let action = format!("use ioengine={name} ({}{advice})", refused.action);
        if refused_itself {
            LoadError::Engine { target, action, error }
        } else {
            LoadError::System { target, action, error }
        }
    })
}

/// Opens the job's files for one thread.
fn open(
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
        // A job that does not write cannot.
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

/// The descriptors by which a job trims, of all of its files.
fn claims(files: &[Access<'_>], job: &Job) -> std::io::Result<Vec<OwnedFd>> {
    if !job.pattern.rw.has(Direction::Trim) && !job.trims_writes() {
        return Ok(Vec::new());
    }
    let claims = files.iter().filter_map(Access::write);
    claims.map(|clearance| clearance.as_fd().try_clone_to_owned()).collect()
}

/// Opens a namespace for NVMe passthrough, for one thread.
fn character(namespace: &Access<'_>) -> Result<Character, iodyno_target::TargetError> {
    let iodyno_target::CharacterDevice { descriptor, nsid } = namespace.open_character()?;
    let lba_shift = namespace.read().block_bytes().trailing_zeros() as u8;
    Ok(Character { device: descriptor, nsid, lba_shift })
}

fn options(job: &Job) -> EngineOptions {
    let engine = &job.engine;
    EngineOptions {
        batch: job.depth.batch.unwrap_or(crate::io::BATCH as u32).clamp(1, DEEPEST) as u16,
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
        memory_bytes: 0,
        sequential: !job.pattern.rw.is_random(),
    }
}

fn verifying(
    job: &Job,
    stream: &Stream,
    files: usize,
    memory_bytes: u64,
    run: u64,
    seed: u64,
) -> Result<Verifying, String> {
    let written = job.writes() || job.verify.verify_only;
    let sizes = if written { &job.pattern.bs.write } else { &job.pattern.bs.read };
    let thread = (seed >> 32) as u32;
    let verifier = Verifier::new(&job.verify, &job.contents, sizes, run, thread)
        .map_err(|error| error.to_string())?;
    let mut ledgers = Vec::new();
    if job.writes() || job.foresees_writes() {
        let share = memory_bytes / LEDGER_SHARE / u64::from(job.threads.numjobs.max(1));
        for file in 0..files {
            let regions = stream.regions().iter().filter(|one| usize::from(one.file) == file);
            let start = regions.clone().map(|one| one.offset).min().unwrap_or(0);
            let end = regions.map(|one| one.offset.saturating_add(one.length)).max().unwrap_or(0);
            let end = end.min(LARGEST_FILE_BYTES);
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
    Ok(Verifying { verifier, ledgers, dumps, backlog, trims, following: None, pretended })
}

/// A number that each thread has for itself.
fn seed(randseed: u64, number: u32, thread: u32, entropy: u64) -> u64 {
    mix(mix(randseed, entropy), u64::from(number) << 32 | u64::from(thread))
}

#[cfg(test)]
mod tests {
    use iodyno_job::{Pattern, VerifyMethod};

    use super::*;

    #[test]
    fn what_grows_until_the_device_is_full_is_verified() {
        let mut job = Job::default();
        (job.pattern.rw, job.space.fill_device) = (Pattern::Write, true);
        job.verify.method = VerifyMethod::Crc32c;
        let rooms = [Room { size_bytes: u64::MAX, block_bytes: 1 }];
        let stream = Stream::new(&job, &rooms, 0, 0).unwrap();
        verifying(&job, &stream, 1, 1 << 20, 1, 1).unwrap();
    }

    #[test]
    fn writes_of_less_than_a_file_systems_block_go_one_by_one() {
        let mut job = Job::default();
        job.pattern.rw = Pattern::Write;
        assert!(goes_one_by_one(&job, false, true) && !goes_one_by_one(&job, true, true));
        job.pattern.bs.write = iodyno_job::BlockSize::Fixed(512);
        assert!(goes_one_by_one(&job, true, true) && !goes_one_by_one(&job, true, false));
        job.pattern.rw = Pattern::Read;
        assert!(!goes_one_by_one(&job, true, true));
    }

    #[test]
    fn threads_have_seeds_of_their_own() {
        let all: std::collections::HashSet<u64> =
            (0..100).flat_map(|n| (0..10).map(move |t| seed(1, n, t, 2))).collect();
        assert_eq!(all.len(), 1000);
    }
}
