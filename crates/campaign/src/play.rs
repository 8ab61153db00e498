//! Carries out the phases of a script: what fio's job files say, one after the
//! other, each job measured as one.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use iodyno_host::Depth;
use iodyno_job::script::{Phase, Script};
use iodyno_job::{Job, options};
use iodyno_load::{ClearedJob, Counting, JobReport, LoadError};
use iodyno_model::{Conditions, Direction, DiskStats, EndReason, Measurement};
use iodyno_stats::{Rule, Stopper};
use iodyno_target::Target;

use crate::bench::Ready;
use crate::error::CampaignError;
use crate::execute::{Campaign, find, now_ns};
use crate::look::{Issued, other_io};
use crate::measure::{Member, Members, Taken};
use crate::places::{Held, Places};
use crate::plan::Early;
use crate::rounds::turns;
use crate::steady::SteadyWatch;
use crate::watch::{Event, PhaseWatch, Progress, ramp_ns};

/// Level of the intervals.
const LEVEL: f64 = 0.95;

impl Campaign<'_, '_> {
    /// Clears what `script` needs, and measures its phases.
    pub(crate) fn play(&mut self, script: &Script) -> Result<(), CampaignError> {
        let places = Places::clear(self.tools, self.host, script, &self.options.permission)
            .map_err(|error| error.placed(script))?;
        let mut bench: Vec<Ready<'_>> = places.all().iter().map(|held| self.ready(held)).collect();
        self.played = bench.iter().map(|ready| ready.name.clone()).collect();
        let sentences = crate::expect::writes(script, &bench, self.host, self.tools.claims);
        if !sentences.is_empty() {
            self.tools.watcher.event(&Event::Expect(&sentences));
        }
        for (ready, is_read) in bench.iter_mut().zip(places.are_read(script)) {
            if !self.is_interrupted() && is_read {
                self.sample(ready)?;
            }
        }
        let turns = turns(script, self.plan.rounds.as_ref());
        for (n, turn) in turns.iter().enumerate() {
            if self.is_interrupted() {
                break;
            }
            if self.is_needless(turn) {
                continue;
            }
            let left = turns[n..].iter().filter(|turn| !self.is_needless(turn));
            let left_ns = left.map(|turn| lasts_ns(turn.phase)).sum();
            self.round = turn.round();
            self.phase(script, turn.phase, &places, &bench, left_ns)
                .map_err(|error| error.placed(script))?;
            self.after_turn(turn, turns.get(n + 1))?;
        }
        drop(bench);
        places.unlink(script)
    }

    fn ready<'p>(&self, held: &'p Held) -> Ready<'p> {
        let clearance = held.access().read();
        let resolved;
        let target: Option<&Target> = match held {
            Held::Read(target, _) | Held::Write(target, _) => Some(target),
            Held::File(path, _) => {
                resolved = iodyno_target::resolve(self.host, &path.display().to_string())
                    .ok()
                    .and_then(|targets| targets.into_iter().next());
                resolved.as_ref()
            }
        };
        let mut remarks = target.map(Target::remarks).unwrap_or_default();
        remarks.extend(clearance.remark());
        let device = target.and_then(|target| target.device());
        Ready::new(self.host, clearance.name(), clearance, device, false, remarks)
    }

    /// Runs one phase and commits what came of it: a measurement for each
    /// section. It and all behind it take `left_ns` at most.
    fn phase(
        &mut self,
        script: &Script,
        phase: &Phase,
        places: &Places,
        bench: &[Ready<'_>],
        left_ns: u64,
    ) -> Result<(), CampaignError> {
        self.phase += 1;
        let (sections, jobs): (Vec<usize>, Vec<ClearedJob<'_>>) = phase
            .jobs
            .iter()
            .filter_map(|job| Some((job.section, places.cleared(&job.job)?)))
            .unzip();
        let mut names: Vec<&str> = sections
            .iter()
            .filter_map(|section| script.sections.get(*section))
            .map(|section| section.name.as_str())
            .collect();
        names.dedup();
        let step = names.join(" ");
        let mut targets: Vec<String> = jobs.iter().map(ClearedJob::target).collect();
        targets.sort();
        targets.dedup();
        let target = match targets.as_slice() {
            [only] => only.clone(),
            several => format!("{} targets", several.len()),
        };
        let source = self.tools.source;
        let progress = Progress {
            target: &target,
            step: &step,
            trying: None,
            iops: 0.0,
            bytes_per_s: 0.0,
            elapsed_ns: 0,
            most_ns: lasts_ns(phase),
            left_ns,
        };
        // Reading a temperature makes the kernel send an admin command: never
        // while single latencies may be what is measured.
        let mut nothing = || None;
        let started_ns = now_ns();
        let stats_before = iodyno_host::disk_stats(source);
        let clock = Instant::now();
        let early = self.ends_early(phase);
        // Else jobs end by themselves.
        let rule = if early { self.rule() } else { Rule::Time { seconds: f64::INFINITY } };
        let mut watch = PhaseWatch::new(
            Stopper::new(rule),
            self.tools.watcher,
            self.tools.interrupted,
            progress,
            &mut nothing,
        )
        .counting(if early { Counting::Steady } else { Counting::Whole })
        .showing(&jobs)
        .until_steady(SteadyWatch::of(jobs.iter().map(|job| &job.job)));
        let report = self.tools.generator.run(&jobs, &mut watch);
        if let (Err(LoadError::Unfit { what, .. }), 1, Some(first)) =
            (&report, self.phase, jobs.first())
        {
            // Nothing was done yet: it is refused like a mistyped option.
            return Err(CampaignError::Job { name: first.job.name.clone(), what: what.clone() });
        }
        let seconds = clock.elapsed().as_secs_f64();
        let stats_after = iodyno_host::disk_stats(source);
        let steady_attained = watch.steady_attained;
        let (recorder, end) = watch.finish();
        let after = iodyno_host::snapshot(source, Depth::Full);
        let after = self.tools.store.add_snapshot(&self.run_id, &after)?;
        let before = std::mem::replace(&mut self.last_snapshot, after);
        let mut by_section: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, section) in sections.iter().enumerate() {
            by_section.entry(*section).or_default().push(index);
        }
        for (section, mut members) in by_section {
            members.sort_by_key(|index| jobs[*index].job.threads.clone);
            let name = jobs[members[0]].job.name.as_str();
            let mut conditions = self.conditions(&jobs[members[0]], bench);
            conditions.precision_asked = early.then_some(self.plan.stop.precision);
            let mut measurement = match &report {
                Ok(report) => {
                    let members: Vec<Member<'_>> = members
                        .iter()
                        .filter_map(|index| {
                            Some(Member {
                                job: &jobs[*index],
                                record: recorder.jobs.get(*index)?,
                                report: report.jobs.get(*index)?,
                            })
                        })
                        .collect();
                    let mut cpu = report.cpu;
                    cpu.user = members.iter().map(|one| one.report.account.cpu.user).sum();
                    cpu.system = members.iter().map(|one| one.report.account.cpu.system).sum();
                    let taken = Taken {
                        name,
                        phase: self.phase,
                        members,
                        kind: Members::Clones,
                        source: self.tools.generator.source(),
                        started_ns,
                        end: end_of(&end, &jobs[by_first(&sections, section)].job),
                        cpu,
                        ramp_ns: early.then(|| ramp_ns(progress.most_ns)),
                        level: LEVEL,
                        conditions,
                    };
                    taken.measurement()
                }
                Err(error) => {
                    let jobs: Vec<_> = members.iter().map(|index| jobs[*index].clone()).collect();
                    let job = &jobs[0].job;
                    let (why, phase) = (error.to_string(), self.phase);
                    crate::steps::not_measured(name, job, phase, &jobs, started_ns, conditions, why)
                }
            };
            measurement.round = self.round;
            measurement.workload.options = written(&jobs[members[0]].job);
            if jobs[members[0]].job.time.steadystate.is_some() {
                let accounts = measurement.parts.iter_mut().map(|part| &mut part.account);
                for account in accounts.chain([&mut measurement.account]).flatten() {
                    account.steadystate_attained = steady_attained;
                }
            }
            let other = report.as_ref().ok().and_then(|report| {
                let all = jobs.iter().zip(&report.jobs);
                others(&measurement, all, &stats_before, &stats_after, seconds, bench)
            });
            measurement.conditions.other_iops = other.map(|other| other.0);
            measurement.conditions.other_bytes_per_s = other.map(|other| other.1);
            measurement.before = Some(before);
            measurement.after = Some(after);
            self.tools.store.add_measurement(&self.run_id, &measurement)?;
            self.failed |= measurement.failure().is_some();
            self.tools.watcher.event(&Event::Done(&measurement));
        }
        Ok(())
    }

    /// Whether a phase ends once its rate is known well enough.
    fn ends_early(&self, phase: &Phase) -> bool {
        let early = |job: &Job| match self.plan.early {
            Early::Never => false,
            Early::Reads => {
                !job.pattern.rw.has(Direction::Write) && !job.pattern.rw.has(Direction::Trim)
            }
            Early::All => true,
        };
        phase.jobs.iter().all(|job| job.job.time.time_based && early(&job.job))
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

fn by_first(sections: &[usize], section: usize) -> usize {
    sections.iter().position(|one| *one == section).unwrap_or(0)
}

/// How long a phase takes at most, ns; 0: as long as its work takes.
fn lasts_ns(phase: &Phase) -> u64 {
    phase.jobs.iter().filter_map(|job| longest_ns(&job.job)).max().unwrap_or(0)
}

/// How long a job takes at most, ns; `None`: as long as its work takes.
fn longest_ns(job: &Job) -> Option<u64> {
    let time = &job.time;
    time.runtime_ns.map(|runtime_ns| runtime_ns + time.ramp_ns + job.threads.startdelay_ns.1)
}

fn end_of(end: &EndReason, job: &Job) -> EndReason {
    match end {
        EndReason::Done if job.time.time_based => EndReason::Time,
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

/// What the device under the target of `measurement` did for others than
/// `all` jobs of the phase: IOPS and bytes per second. Unknown where it is not
/// known what of their I/O was its.
fn others<'a>(
    measurement: &Measurement,
    all: impl Iterator<Item = (&'a ClearedJob<'a>, &'a JobReport)>,
    before: &[DiskStats],
    after: &[DiskStats],
    seconds: f64,
    bench: &[Ready<'_>],
) -> Option<(f64, f64)> {
    let under = |name: &str| bench.iter().find(|ready| ready.name == name);
    let [target] = measurement.targets.as_slice() else { return None };
    let ready = under(target)?;
    let [device] = ready.bottom.as_slice() else { return None };
    let mut issued = Issued::default();
    for (job, report) in all {
        let bottoms = || job.files.iter().filter_map(|file| under(file.read().name()));
        let touches = |ready: &Ready<'_>| ready.bottom.iter().any(|name| name == device);
        if bottoms().any(touches) {
            let alone = |ready: &Ready<'_>| matches!(&*ready.bottom, [only] if only == device);
            if !bottoms().all(alone) {
                return None;
            }
            for (_, whole) in report.whole.iter() {
                issued.ios += whole.ios;
                issued.bytes += whole.bytes;
            }
        }
    }
    let (before, after) = (find(before, device)?, find(after, device)?);
    let other = other_io(before, after, seconds, issued, ready.largest_bytes)?;
    Some((other.iops, other.bytes_per_s))
}
