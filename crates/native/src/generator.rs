//! The native generator as the load generator that others know.

use std::os::fd::AsFd;
use std::time::Duration;

use iodyno_load::{ClearedJob, LoadError, LoadGenerator, Observer, PhaseReport, ProbeSample};
use iodyno_target::ReadClearance;

use crate::choose::{ProbedTarget, choose};
use crate::fit::{Room, fit, fit_memory};
use crate::phase::{Phase, Prepared};
use crate::probe::probe;

/// How long a stopped phase waits for I/O in flight: NVMe's own time-out is
/// 30 s (`nvme_core.io_timeout`), then follow abort and controller reset.
const PATIENCE: Duration = Duration::from_secs(90);

/// The native load generator. It keeps nothing between phases.
#[derive(Debug, Clone, Default)]
pub struct NativeGenerator {
    _private: (),
}

impl NativeGenerator {
    /// A generator.
    pub const fn new() -> Self {
        Self { _private: () }
    }
}

impl LoadGenerator for NativeGenerator {
    fn source(&self) -> String {
        format!("native {}", env!("CARGO_PKG_VERSION"))
    }

    fn run(
        &mut self,
        jobs: &[ClearedJob<'_>],
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, LoadError> {
        if let Some(first) = jobs.first() {
            let memory = rustix::system::sysinfo();
            let bytes = (memory.totalram as u64).saturating_mul(memory.mem_unit.into());
            fit_memory(jobs.iter().map(|job| &job.job), bytes).map_err(unfit(first.target))?;
        }
        let prepared = jobs.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Phase::set_up(prepared)?.run(observer, PATIENCE))
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
            return Err(unfit(target)(what));
        }
        let system = |action: &str, source| LoadError::System {
            target: target.name().to_owned(),
            action: action.to_owned(),
            source,
        };
        let own = target
            .as_fd()
            .try_clone_to_owned()
            .map_err(|source| system("duplicate its descriptor", source))?;
        probe(own, offsets, bytes, Duration::from_nanos(max_ns))
            .map_err(|refused| system(refused.action, refused.source))
    }
}

fn prepare<'a>(cleared: &'a ClearedJob<'_>) -> Result<Prepared<'a>, LoadError> {
    let ClearedJob { job, target } = cleared;
    let room = Room {
        size_bytes: target.size_bytes(),
        block_bytes: target.block_bytes().max(1),
        direct: target.direct(),
    };
    let fit = fit(job, &room).map_err(unfit(target))?;
    let probed = ProbedTarget {
        descriptor: target.as_fd(),
        direct: room.direct,
        offset: fit.first_offset,
        block_bytes: room.block_bytes,
    };
    let choice = choose(job.ioengine, job.iodepth, &probed).map_err(|refused| {
        let action = format!("use ioengine={} ({})", job.ioengine.name(), refused.action);
        let target = target.name().to_owned();
        LoadError::System { target, action, source: refused.source }
    })?;
    Ok(Prepared { job, name: target.name(), target: target.as_fd(), fit, choice })
}

fn unfit(target: &ReadClearance) -> impl Fn(String) -> LoadError {
    move |what| LoadError::Unfit { target: target.name().to_owned(), what }
}
