//! Turns a cleared job into threads ready to start.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use iodyno_job::{IoEngine, Job, Room, Space, Stream};
use iodyno_load::{ClearedJob, IoRow, JobReport, LoadError};
use iodyno_model::{Caveat, Direction, NotPolled};
use iodyno_target::{Access, OpenHow, TargetKind};

use crate::engine_choice::{EngineChoice, EngineChoices, EngineRequest, ProbedTarget};
use crate::flow::Flows;
use crate::job_setup::{JobSetup, room, thread_seed};
use crate::kernel::{cannot_poll, io_timeout_ns, linux_major};
use crate::limits::check_job;
use crate::placement::cpus_of_nodes;
use crate::running_job::RunningJob;
use crate::trace_replay::OpenTrace;
use crate::worker::Worker;

/// Batches of log rows that may be queued for the control thread.
const ROWS_WAITING: usize = 64;
/// Block size of file systems, bytes: smaller writes wait for each other.
const FILE_SYSTEM_BLOCK_BYTES: u64 = 4096;
/// Time for abort and controller reset, after the kernel's own timeout.
const GRACE_NS: u64 = 30_000_000_000;

/// A checked job with its threads.
#[derive(Debug)]
pub(crate) struct PreparedJob {
    pub(crate) target: String,
    pub(crate) workers: Vec<Worker>,
    pub(crate) rows: Option<Receiver<Vec<IoRow>>>,
    /// Latencies are measured.
    pub(crate) timed: bool,
    pub(crate) running: RunningJob,
}

/// Prepares a cleared job. `entropy` is unique to this run; `state_dir` is the directory of verify
/// states; `choices` and `flows` are shared by the jobs of the phase.
///
/// # Errors
/// If the job does not fit the generator, the machine or the target.
pub(crate) fn prepare_job(
    cleared: &ClearedJob<'_>,
    memory_bytes: u64,
    entropy: u64,
    state_dir: Option<&Path>,
    open_trace: Option<OpenTrace>,
    choices: &mut EngineChoices,
    flows: &mut Flows,
) -> Result<PreparedJob, LoadError> {
    let ClearedJob { job, files } = cleared;
    let target = cleared.target();
    let unfit = |what: String| LoadError::Unfit { target: target.clone(), what };
    let Some(first) = files.first() else {
        return Err(unfit("a job needs a file or a device".into()));
    };
    check_job(job, files).map_err(unfit)?;
    // Passthrough bypasses the page cache.
    let wants_direct = job.engine.direct || job.engine.ioengine == IoEngine::IoUringCmd;
    let direct = wants_direct && files.iter().all(|file| file.read().direct());
    let rooms: Vec<Room> = files.iter().map(|file| room(job, file.read(), direct)).collect();
    let threads = job.threads.shared_by.max(1);
    // Jobs that verify after each loop get a new stream per loop.
    let per_loop = match job.verifies_its_writes() {
        true => &Job { space: Space { loops: 1, ..job.space.clone() }, ..job.clone() },
        false => job,
    };
    let streams = (0..threads)
        .map(|thread| Stream::new(per_loop, &rooms, thread, entropy))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unfit(error.into()))?;
    let choice = choose_engine(job, first, direct, &streams[0], choices)?;
    let mut shortfalls = Vec::new();
    if wants_direct && !direct {
        shortfalls.push(Caveat::NoDirect);
    }
    shortfalls.extend(ineffective_options(job, files, choice.engine));
    let is_depth_one = choice.engine.is_synchronous() && !job.depth.offload;
    let depth = if is_depth_one { 1 } else { job.depth.iodepth };
    let logs = &job.report.logs;
    let logged = [&logs.bandwidth, &logs.iops, &logs.latency].iter().any(|log| log.is_some());
    let (to, rows) = (logged && logs.average_ms == 0)
        .then(|| sync_channel(ROWS_WAITING))
        .map_or((None, None), |(to, from)| (Some(to), Some(from)));
    let mut job = job.clone();
    let on_file = files.iter().any(|file| matches!(file.read().kind(), TargetKind::File { .. }));
    let one_by_one = choice.engine == IoEngine::Libaio && submits_one_by_one(&job, direct, on_file);
    if one_by_one || trims_one_by_one(&job, choice.engine) {
        job.depth.batch.get_or_insert(1);
    }
    let setup = JobSetup {
        cpus_of_nodes: cpus_of_nodes(&job.threads.numa_cpu_nodes).map_err(unfit)?,
        job: Arc::new(job),
        files,
        direct,
        engine: choice.engine,
        depth: depth as u16,
        control: Arc::default(),
        rows: to,
        memory_bytes,
        entropy,
        state_dir,
        align_bytes: rooms.iter().map(|room| room.block_bytes).max().unwrap_or(1),
        open_trace,
    };
    let workers = (0..)
        .zip(streams)
        .map(|(thread, stream)| setup.worker(thread, stream, flows))
        .collect::<Result<Vec<_>, _>>()
        .map_err(unfit)?;
    let mut cpus: Vec<u32> =
        workers.iter().flat_map(|worker| &worker.placement.cpus).copied().collect();
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
    let JobSetup { job, control, .. } = setup;
    let (from_ns, to_ns) = job.threads.startdelay_ns;
    let spread = thread_seed(job.pattern.randseed, job.threads.number, u32::MAX, entropy);
    let delay_ns = from_ns + spread % (to_ns.saturating_sub(from_ns) + 1);
    let stall_timeout_ns = io_timeout_ns(first.read()).saturating_add(GRACE_NS);
    let timed = !job.report.gtod_reduce;
    let running = RunningJob::new(job, target.clone(), report, control, delay_ns, stall_timeout_ns);
    Ok(PreparedJob { target, workers, rows, timed, running })
}

/// True if io_submit executes the I/Os one after the other: buffered I/O, where each I/O of a batch
/// would last as long as the whole batch; and writes to files of less than a file system block.
fn submits_one_by_one(job: &Job, direct: bool, on_file: bool) -> bool {
    let is_partial = job.writes() && job.pattern.bs.write.smallest() < FILE_SYSTEM_BLOCK_BYTES;
    !direct || (on_file && is_partial)
}

/// True if trims are executed one after the other, where each of a batch would last as long as the
/// whole batch: only NVMe commands and the threads of offload queue them.
fn trims_one_by_one(job: &Job, engine: IoEngine) -> bool {
    let trims = job.pattern.rw.has(Direction::Trim) || job.trims_writes();
    trims && engine != IoEngine::IoUringCmd && !job.depth.offload
}

/// Options of the job that have no effect with this engine.
fn ineffective_options(job: &Job, files: &[Access<'_>], engine: IoEngine) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if engine.is_synchronous() && !job.depth.offload && job.depth.iodepth > 1 {
        let (asked, engine) = (job.depth.iodepth, engine.name().into());
        caveats.push(Caveat::DepthIgnored { engine, asked });
    }
    if job.engine.hipri && engine == IoEngine::Pvsync2 && linux_major() >= 6 {
        caveats.push(Caveat::NotPolled { why: NotPolled::Kernel });
    }
    if job.engine.hipri && files.iter().any(|file| cannot_poll(file.read())) {
        caveats.push(Caveat::NotPolled { why: NotPolled::NoPollQueues });
    }
    caveats
}

fn choose_engine(
    job: &Job,
    first: &Access<'_>,
    direct: bool,
    stream: &Stream,
    choices: &mut EngineChoices,
) -> Result<EngineChoice, LoadError> {
    let read = first.read();
    let how = OpenHow { direct, ..OpenHow::default() };
    let unfit = |what: String| LoadError::Unfit { target: read.name().to_owned(), what };
    let fd = read.open(how).map_err(|error| unfit(error.to_string()))?;
    let probed = ProbedTarget {
        fd: &fd,
        direct,
        offset: stream.regions().first().map_or(0, |region| region.offset),
        block_bytes: read.block_bytes().max(1),
    };
    let request = EngineRequest {
        target: read.name().to_owned(),
        ioengine: job.engine.ioengine,
        iodepth: job.depth.iodepth,
        direct,
    };
    let psync =
        EngineRequest { ioengine: IoEngine::Psync, target: request.target.clone(), ..request };
    choices.choose(request, &probed).map_err(|refused| {
        let name = job.engine.ioengine.name();
        let refused_itself = match refused.error.raw_os_error() {
            Some(libc::ENOSYS | libc::EPERM) => true,
            // EINVAL may come from the target, for any engine.
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

#[cfg(test)]
mod tests {
    use iodyno_job::Pattern;

    use super::*;

    #[test]
    fn writes_below_the_file_system_block_are_submitted_one_by_one() {
        let mut job = Job::default();
        job.pattern.rw = Pattern::Write;
        assert!(submits_one_by_one(&job, false, true) && !submits_one_by_one(&job, true, true));
        job.pattern.bs.write = iodyno_job::BlockSize::Fixed(512);
        assert!(submits_one_by_one(&job, true, true) && !submits_one_by_one(&job, true, false));
        job.pattern.rw = Pattern::Read;
        assert!(!submits_one_by_one(&job, true, true));
    }
}
