//! From a phase that is over to the measurements of its sections.

use std::collections::{BTreeMap, HashSet};

use iodyno_job::{Job, options};
use iodyno_load::{ClearedJob, LoadError, PhaseReport, Recorder};
use iodyno_model::{
    Account, Conditions, DiskStats, Each, EndReason, Failure, Measurement, SteadyState,
};

use crate::bench::Ready;
use crate::execute::{Campaign, find};
use crate::look::{Issued, OtherIo, other_io};
use crate::measure::{Cut, Member, Members, Taken};
use crate::steady::SteadyWatch;
use crate::steps::not_measured;

/// Level of the intervals.
const LEVEL: f64 = 0.95;

/// A phase that is over.
pub(crate) struct Played<'a> {
    pub(crate) jobs: &'a [ClearedJob<'a>],
    pub(crate) bench: &'a [Ready<'a>],
    pub(crate) report: Result<PhaseReport, LoadError>,
    pub(crate) recorder: Recorder,
    pub(crate) end: EndReason,
    pub(crate) started_ns: i64,
    pub(crate) seconds: f64,
    /// Before it and after it.
    pub(crate) disk_stats: (Vec<DiskStats>, Vec<DiskStats>),
    pub(crate) steady: Vec<SteadyWatch>,
    /// It ends once it is known.
    pub(crate) until_known: bool,
    /// What of its start is not counted.
    pub(crate) cut: Cut,
    /// What it had to be steady over.
    pub(crate) steady_state: Option<SteadyState>,
    /// How well the 99 % percentile has to be known.
    pub(crate) p99_asked: Option<f64>,
}

impl Played<'_> {
    /// What the device under the target of `measurement` did for others than
    /// the jobs of the phase. Unknown where it is not known what of their I/O was its.
    fn others(&self, measurement: &Measurement) -> Option<OtherIo> {
        let under = |name: &str| self.bench.iter().find(|ready| ready.name == name);
        let [target] = measurement.targets.as_slice() else { return None };
        let ready = under(target)?;
        let [device] = ready.bottom.as_slice() else { return None };
        let mut issued = Each::<Issued>::default();
        let mut is_journaled = false;
        for (job, report) in self.jobs.iter().zip(&self.report.as_ref().ok()?.jobs) {
            let bottoms = || job.files.iter().filter_map(|file| under(file.read().name()));
            let touches = |ready: &Ready<'_>| ready.bottom.iter().any(|name| name == device);
            if bottoms().any(touches) {
                let alone = |ready: &Ready<'_>| matches!(&*ready.bottom, [only] if only == device);
                if !bottoms().all(alone) {
                    return None;
                }
                for (direction, whole) in report.whole.iter() {
                    let sum = issued.of_mut(direction);
                    sum.ios += whole.ios;
                    sum.bytes += whole.bytes;
                }
                is_journaled |= job.job.writes() && bottoms().any(|at| at.name != *device);
            }
        }
        let (before, after) =
            (find(&self.disk_stats.0, device)?, find(&self.disk_stats.1, device)?);
        if is_journaled {
            let (before, after) = (reads_only(before), reads_only(after));
            return other_io(&before, &after, self.seconds, issued.read, ready.largest_bytes);
        }
        let Each { read, write, trim } = issued;
        let issued = Issued {
            ios: read.ios + write.ios + trim.ios,
            bytes: read.bytes + write.bytes + trim.bytes,
        };
        other_io(before, after, self.seconds, issued, ready.largest_bytes)
    }
}

/// What a file system writes for our writes (journal, where blocks are) is ours
/// as well, and cannot be told from somebody else's: reads alone are compared.
fn reads_only(stats: &DiskStats) -> DiskStats {
    DiskStats { writes: 0, written_bytes: 0, ..stats.clone() }
}

impl Campaign<'_, '_> {
    /// The measurement of a section, whose clones have these numbers, the first of them first.
    pub(crate) fn measured(&self, played: &Played<'_>, members: &[usize]) -> Measurement {
        let first = &played.jobs[members[0]];
        let job = &first.job;
        let conditions = Conditions {
            precision_asked: played.until_known.then_some(self.plan.stop.precision),
            steady_state: played.steady_state,
            settings: self.settings.clone(),
            p99_precision_asked: played.p99_asked,
            ..self.conditions(first, played.bench)
        };
        let attained = |member: &usize| SteadyWatch::attained(&played.steady, *member);
        let steady = members.iter().filter_map(attained).reduce(|one, other| one && other);
        let mut measurement = match &played.report {
            Ok(report) => {
                let members: Vec<Member<'_>> = members
                    .iter()
                    .filter_map(|index| {
                        Some(Member {
                            job: &played.jobs[*index],
                            record: played.recorder.jobs.get(*index)?,
                            report: report.jobs.get(*index)?,
                        })
                    })
                    .collect();
                // Clones are numbered; the same on other targets is not.
                let kind = match members.iter().all(|one| one.job.job.threads.clone == 0) {
                    true if members.len() > 1 => Members::Targets,
                    _ => Members::Clones,
                };
                let mut cpu = report.cpu;
                // A job's shares are of its own time, and these of the longest one's.
                let accounts = || members.iter().map(|one| &one.report.account);
                let longest_ns = accounts().map(|one| one.elapsed_ns).max().unwrap_or(0).max(1);
                let of_longest = |one: &Account| one.elapsed_ns as f64 / longest_ns as f64;
                cpu.user = accounts().map(|one| one.cpu.user * of_longest(one)).sum();
                cpu.system = accounts().map(|one| one.cpu.system * of_longest(one)).sum();
                let taken = Taken {
                    name: &job.name,
                    phase: self.phase,
                    members,
                    kind,
                    source: self.tools.generator.source(),
                    started_ns: played.started_ns,
                    end: end_of(&played.end, job, steady),
                    cpu,
                    cut: played.cut,
                    level: LEVEL,
                    conditions,
                };
                taken.measurement()
            }
            Err(error) => {
                let jobs: Vec<_> = members.iter().map(|one| played.jobs[*one].clone()).collect();
                let (why, started_ns) = (Failure::from(error), played.started_ns);
                not_measured(&job.name, job, self.phase, &jobs, started_ns, conditions, why)
            }
        };
        measurement.workload.options = written(job);
        for (part, member) in measurement.parts.iter_mut().zip(members) {
            if let Some(account) = &mut part.account {
                account.steadystate_attained = account.steadystate_attained.or(attained(member));
            }
        }
        if let Some(account) = &mut measurement.account {
            // fio ends its jobs by itself, and says so.
            account.steadystate_attained = account.steadystate_attained.or(steady);
        }
        let other = played.others(&measurement);
        measurement.conditions.other_iops = other.map(|other| other.iops);
        measurement.conditions.other_bytes_per_s = other.map(|other| other.bytes_per_s);
        measurement
    }

    /// What is known of the conditions of a job before it runs.
    fn conditions(&self, job: &ClearedJob<'_>, bench: &[Ready<'_>]) -> Conditions {
        let names: HashSet<&str> = job.files.iter().map(|file| file.read().name()).collect();
        let mut all = bench.iter().filter(|ready| names.contains(ready.name.as_str()));
        let Some(first) = all.next() else { return Conditions::default() };
        let mut conditions = first.conditions();
        // Offsets are where the job says, wherever data was found.
        conditions.ranges.clear();
        for ready in all {
            let more = ready.conditions();
            conditions.written.extend(more.written);
            conditions.target_remarks.extend(more.target_remarks);
            if conditions.device != more.device {
                conditions.device = None;
            }
        }
        conditions
    }
}

fn end_of(end: &EndReason, job: &Job, steady: Option<bool>) -> EndReason {
    match end {
        EndReason::Done if job.time.time_based && steady != Some(true) => EndReason::Time,
        end => end.clone(),
    }
}

/// The options of a job that are not fio's defaults, as fio writes them, but
/// for those that a workload has a place for and those that name its targets.
fn written(job: &Job) -> BTreeMap<String, String> {
    const ELSEWHERE: [&str; 10] = [
        "name",
        "filename",
        "directory",
        "rw",
        "iodepth",
        "numjobs",
        "ioengine",
        "direct",
        "randseed",
        "description",
    ];
    options()
        .filter(|option| !ELSEWHERE.contains(&option.name))
        .map(|option| (option.name.to_owned(), option.print(job)))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}
