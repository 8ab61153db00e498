//! Jobs of an experiment: the job under investigation with one change, plus background load and
//! rest.

use iodyno_job::{BlockSize, Extent, IoEngine, Job, Pattern};
use iodyno_judge::limiter::interrupts_on_one_cpu;
use iodyno_model::{
    Direction, Estimate, Experiment, Host, Measurement, RunRecord, WrittenEvidence, WrittenShare,
    WrittenState,
};

use crate::targets::{PreparedTarget, Written, check_no_metadata};

/// Largest block of an experiment, bytes.
const LARGEST_BLOCK: u64 = 4 << 20;
/// Factor for larger blocks.
const LARGER: u64 = 4;
/// Fewest unwritten bytes to read: a drive's buffer would hold less.
const LEAST_BYTES: u64 = 1 << 30;
/// Depth of the reads that keep link and drive awake: few enough not to disturb others.
const AWAKE_DEPTH: u32 = 4;
/// Load on a neighbour: large sequential writes at full speed.
const NEIGHBOUR_BLOCK: u64 = 128 << 10;
const NEIGHBOUR_DEPTH: u32 = 32;
/// Shortest rest that cools a drive, ns.
pub(crate) const LEAST_REST_NS: u64 = 5_000_000_000;

/// State in which an experiment is chosen.
pub(crate) struct ExperimentContext<'q> {
    pub(crate) host: &'q Host,
    /// Job under investigation.
    pub(crate) asked: &'q Job,
    /// Its targets, and neighbours that may be written.
    pub(crate) targets: &'q [PreparedTarget],
    /// Measurements so far.
    pub(crate) record: &'q RunRecord,
    /// Time left besides the measurement itself, ns.
    pub(crate) spare_ns: u64,
}

/// An experiment ready to run.
pub(crate) struct ExperimentJob {
    pub(crate) job: Job,
    /// Targets to measure on.
    pub(crate) on: Vec<PreparedTarget>,
    /// Unmeasured background load.
    pub(crate) background: Vec<(PreparedTarget, Job)>,
    /// Longest rest of the drives before it, ns.
    pub(crate) rest_ns: u64,
}

impl ExperimentContext<'_> {
    /// The job under investigation, unchanged.
    pub(crate) fn unchanged(&self) -> ExperimentJob {
        let (job, on) = (self.asked.clone(), self.measured().cloned().collect());
        ExperimentJob { job, on, background: Vec::new(), rest_ns: 0 }
    }

    /// Targets under investigation.
    fn measured(&self) -> impl Iterator<Item = &PreparedTarget> {
        self.targets.iter().filter(|target| !target.is_neighbour)
    }

    /// Jobs of an experiment; `None` if it cannot be made here: experiments that write elsewhere,
    /// move a drive, change the machine or take minutes are given as advice.
    pub(crate) fn job(&self, experiment: Experiment) -> Option<ExperimentJob> {
        let ExperimentJob { mut job, mut on, mut background, mut rest_ns } = self.unchanged();
        match experiment {
            Experiment::TwiceTheDepth => {
                // Synchronous engines have no depth.
                if job.engine.ioengine.is_synchronous() {
                    return None;
                }
                let twice = job.depth.iodepth.checked_mul(2);
                job.depth.iodepth = twice.filter(|depth| *depth <= 4096)?;
            }
            Experiment::TwiceTheJobs => {
                let jobs = job.threads.shared_by.checked_mul(2).filter(|jobs| *jobs <= 1024)?;
                job.threads.shared_by = jobs;
            }
            Experiment::HalfTheDrives => {
                if on.len() < 2 {
                    return None;
                }
                on = every_other(on, self.record.measurements.first());
            }
            Experiment::LargerBlocks => {
                for bs in [&mut job.pattern.bs.read, &mut job.pattern.bs.write] {
                    let larger = bs.fixed()?.checked_mul(LARGER);
                    *bs = BlockSize::Fixed(larger.filter(|bs| *bs <= LARGEST_BLOCK)?);
                }
            }
            Experiment::OtherCpus => {
                for target in &mut on {
                    target.near_cpus = target.far_cpus.clone();
                    if target.near_cpus.is_empty() {
                        return None;
                    }
                }
            }
            Experiment::OffInterrupts => self.off_interrupts(&mut on)?,
            Experiment::UnwrittenBlocks => {
                if job.writes() {
                    return None;
                }
                for target in &mut on {
                    let unwritten = unwritten(target)?;
                    target.written = Some(unwritten);
                }
            }
            Experiment::Polling => {
                if job.engine.hipri || !on.iter().all(|target| target.polled) {
                    return None;
                }
                job.engine.hipri = true;
            }
            Experiment::Passthrough => {
                if job.writes() || !self.supports_passthrough() {
                    return None;
                }
                job.engine.ioengine = IoEngine::IoUringCmd;
            }
            Experiment::KeptAwake => {
                if job.writes() || !job.pattern.rw.has(Direction::Read) {
                    return None;
                }
                background =
                    on.iter().map(|target| (target.clone(), keep_awake_job(&job))).collect();
            }
            Experiment::NeighbourWrites => {
                let all = self.targets.iter().filter(|target| target.is_neighbour);
                background = all.map(|target| (target.clone(), neighbour_job())).collect();
                if job.writes() || background.is_empty() {
                    return None;
                }
            }
            Experiment::Rest if self.spare_ns < LEAST_REST_NS => return None,
            Experiment::Rest => rest_ns = self.spare_ns,
            Experiment::OnceMore => {}
            Experiment::WrittenBlocks
            | Experiment::SequentialFill
            | Experiment::StatedLimit
            | Experiment::FullPower
            | Experiment::OneDriveAlone
            | Experiment::MembersAtOnce
            | Experiment::FasterLink
            | Experiment::WithoutTheCard
            | Experiment::LongerQueue => return None,
        }
        Some(ExperimentJob { job, on, background, rest_ns })
    }

    /// Moves the threads off the CPU that takes all interrupts.
    fn off_interrupts(&self, on: &mut [PreparedTarget]) -> Option<()> {
        let asked = self.record.measurements.first()?;
        let taken = interrupts_on_one_cpu(self.record, asked).ok()??.cpu;
        let online = self.host.cpus.online.get()?;
        let threads = self.asked.threads.shared_by as usize;
        on.iter_mut().all(|target| remove_cpu(target, taken, online, threads)).then_some(())
    }

    /// True if the same ring can pass NVMe commands to all targets.
    fn supports_passthrough(&self) -> bool {
        let asked = self.record.measurements.first();
        let engine = asked.and_then(|asked| asked.workload.ioengine.as_deref());
        engine == Some("io_uring")
            && kernel_version(self.host).is_some_and(|release| release >= (5, 19))
            && self.measured().all(|target| {
                let namespace = self.host.namespace(&target.name);
                namespace.is_some_and(|(_, namespace)| check_no_metadata(namespace).is_ok())
                    && target.has_character_device
            })
    }
}

/// Half of the targets: every other one, ordered by their rates together. If only some of them
/// share the bottleneck, these are slower than the others, so both kinds remain and it still shows.
fn every_other(mut on: Vec<PreparedTarget>, together: Option<&Measurement>) -> Vec<PreparedTarget> {
    let bytes_per_s = |target: &PreparedTarget| {
        let part = together?.parts.iter().find(|part| part.target == target.name)?;
        part.results.iter().map(|result| Some(result.bandwidth?.value)).sum::<Option<f64>>()
    };
    let count = on.len() / 2;
    if let Some(rates) = on.iter().map(bytes_per_s).collect::<Option<Vec<f64>>>() {
        let mut rated: Vec<(f64, PreparedTarget)> = rates.into_iter().zip(on).collect();
        rated.sort_by(|a, b| a.0.total_cmp(&b.0));
        on = rated.into_iter().map(|(_, target)| target).collect();
    }
    on.into_iter().step_by(2).take(count).collect()
}

/// Removes `cpu` from a target's CPUs; true if each of its threads still has one.
fn remove_cpu(target: &mut PreparedTarget, cpu: u32, online: &[u32], threads: usize) -> bool {
    if target.near_cpus.is_empty() {
        target.near_cpus = online.to_vec();
    }
    target.near_cpus.retain(|near| *near != cpu);
    target.near_cpus.len() >= threads
}

/// Major and minor number of the kernel's release.
fn kernel_version(host: &Host) -> Option<(u32, u32)> {
    let release = host.kernel.release.get()?;
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A few random reads over the whole target, with offsets other than those of `asked`.
fn keep_awake_job(asked: &Job) -> Job {
    let mut job = asked.clone();
    job.name = Experiment::KeptAwake.name().into();
    job.pattern.rw = Pattern::RandRead;
    job.depth.iodepth = AWAKE_DEPTH;
    job.threads.number = asked.threads.number + 1;
    job
}

fn neighbour_job() -> Job {
    let mut job = Job::direct();
    job.name = Experiment::NeighbourWrites.name().into();
    job.pattern.rw = Pattern::Write;
    job.pattern.bs.write = BlockSize::Fixed(NEIGHBOUR_BLOCK);
    job.depth.iodepth = NEIGHBOUR_DEPTH;
    job
}

/// Unwritten extents of a target, if there are enough besides written ones.
fn unwritten(target: &PreparedTarget) -> Option<Written> {
    let written = target.written.as_ref().filter(|written| !written.extents.is_empty())?;
    let mut extents: Vec<Extent> = Vec::new();
    let mut from = 0;
    let end = Extent { offset: target.room.size_bytes, length: 0 };
    for extent in written.extents.iter().chain([&end]) {
        if extent.offset > from {
            extents.push(Extent { offset: from, length: extent.offset - from });
        }
        from = from.max(extent.offset.saturating_add(extent.length));
    }
    let bytes: u64 = extents.iter().map(|extent| extent.length).sum();
    let share = WrittenShare {
        share: Estimate::bare(0.0),
        state: WrittenState::Unwritten,
        evidence: WrittenEvidence::BetweenWritten,
        ..written.share.clone()
    };
    (bytes >= LEAST_BYTES).then_some(Written { share, extents })
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Fact, Kernel, Origin, Run};
    use iodyno_target::{ReadClearance, resolve_even_in_memory};

    use super::*;

    fn record() -> RunRecord {
        let run = Run { origin: Origin::Simulated, ..Run::new("0", 0) };
        RunRecord { run, snapshots: Vec::new(), measurements: Vec::new() }
    }

    /// A file of 1 MiB as a target.
    fn cleared() -> (tempfile::NamedTempFile, ReadClearance) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let path = file.path().to_str().unwrap();
        let target = resolve_even_in_memory(&Host::default(), path).unwrap().remove(0);
        let clearance = target.clear_for_reading().unwrap();
        (file, clearance)
    }

    fn ready(clearance: &ReadClearance) -> PreparedTarget {
        PreparedTarget::new(&Host::default(), "file", clearance, None, false, Vec::new())
    }

    #[test]
    fn keep_awake_job_reads_other_blocks() {
        let (_file, clearance) = cleared();
        let (bench, record) = ([ready(&clearance)], record());
        let mut asked = Job::direct();
        asked.pattern.rw = Pattern::Read;
        let context = |asked: &Job, spare_ns: u64, experiment: Experiment| {
            let host = &Host::default();
            ExperimentContext { host, asked, targets: &bench, record: &record, spare_ns }
                .job(experiment)
                .map(|one| (one.job, one.background, one.rest_ns > 0))
        };
        let (job, background, rests) = context(&asked, 0, Experiment::KeptAwake).unwrap();
        assert_eq!((&job, rests), (&asked, false), "what is measured is the same");
        let [(on, awake)] = background.as_slice() else { panic!("{}", background.len()) };
        assert_eq!(on.name, "file");
        assert!(awake.pattern.rw.is_random() && !awake.writes());
        assert_ne!(awake.threads.number, asked.threads.number);
        // There is no character device to read through, and no neighbour is allowed.
        for experiment in [Experiment::Passthrough, Experiment::NeighbourWrites] {
            assert!(context(&asked, 0, experiment).is_none(), "{experiment:?}");
        }
        assert!(context(&asked, LEAST_REST_NS - 1, Experiment::Rest).is_none());
        assert!(context(&asked, LEAST_REST_NS, Experiment::Rest).unwrap().2);
        asked.pattern.rw = Pattern::RandWrite;
        assert!(context(&asked, 0, Experiment::KeptAwake).is_none());
    }

    #[test]
    fn threads_leave_the_interrupt_cpu_if_enough_remain() {
        let (_file, clearance) = cleared();
        let leaves = |near: &[u32], threads: usize| {
            let mut ready = ready(&clearance);
            ready.near_cpus = near.to_vec();
            remove_cpu(&mut ready, 1, &[0, 1, 2, 3], threads).then_some(ready.near_cpus)
        };
        assert_eq!(leaves(&[0, 1, 2], 2), Some(vec![0, 2]));
        assert_eq!(leaves(&[], 3), Some(vec![0, 2, 3]), "any that is online");
        assert_eq!(leaves(&[0, 1], 2), None);
    }

    #[test]
    fn kernel_release_is_parsed() {
        let release = |text: &str| {
            let kernel = Kernel { release: Fact::Read(text.into()), ..Kernel::default() };
            kernel_version(&Host { kernel, ..Host::default() })
        };
        assert_eq!(release("6.1.0-56-amd64"), Some((6, 1)));
        assert_eq!(release("5.19-rc1"), Some((5, 19)));
        assert_eq!(release("unknown"), None);
        assert_eq!(kernel_version(&Host::default()), None);
    }
}
