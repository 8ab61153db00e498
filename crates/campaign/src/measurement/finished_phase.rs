//! Measurements of the sections of a finished phase.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_job::{Amount, Job, options};
use iodyno_judge::is_rate_limit_option;
use iodyno_load::{ClearedJob, JobRecord, JobReport, LoadError, PhaseReport, Recorder};
use iodyno_model::{
    AboveLimit, Beside, BlockTimes, Caveat, Conditions, DiskStats, EndReason, Failure, JobStats,
    Measurement, Part, PerDirection, Setting, SteadyState,
};

use super::builder::{MeasurementBuilder, Member, Members};
use super::fio_steadystate::SteadyWatch;
use super::series::Cut;
use crate::other_io::{Issued, OtherIo, other_io};
use crate::phase::{End, Measured, Phase};
use crate::plan::Stop;
use crate::targets::{PreparedTarget, touched_ranges};

pub(crate) struct FinishedPhase<'a> {
    pub(crate) phase: &'a Phase,
    /// Its number in the run.
    pub(crate) number: u32,
    pub(crate) jobs: &'a [ClearedJob<'a>],
    /// Numbers of each job's targets.
    pub(crate) on: &'a [Vec<usize>],
    /// All targets, as known at its beginning.
    pub(crate) targets: &'a [PreparedTarget],
    pub(crate) report: Result<PhaseReport, LoadError>,
    pub(crate) recorder: Recorder,
    pub(crate) end: EndReason,
    /// Name and version of the generator.
    pub(crate) source: String,
    pub(crate) started_ns: i64,
    pub(crate) seconds: f64,
    /// Before and after it.
    pub(crate) disk_stats: (Vec<DiskStats>, Vec<DiskStats>),
    pub(crate) steady: Vec<SteadyWatch>,
    /// Part of its start that is not counted.
    pub(crate) cut: Cut,
    /// Steadiness over its rounds.
    pub(crate) steady_state: Option<SteadyState>,
    /// Times when volumes exceeded their limits.
    pub(crate) above_limits: Vec<AboveLimit>,
    /// Required precision of the p99.
    pub(crate) p99_asked: Option<f64>,
    /// Queue and device times at its beginning.
    pub(crate) block_times: Option<BlockTimes>,
    /// End condition of measurements.
    pub(crate) stop: Stop,
    pub(crate) settings: &'a [Setting],
}

impl FinishedPhase<'_> {
    /// Measurement of the jobs of these numbers, the first clone first.
    pub(crate) fn measurement(&self, members: &[usize]) -> Measurement {
        let is_fios = self.phase.measured == Measured::Sections;
        let job = &self.jobs[members[0]].job;
        let conditions = Conditions {
            precision_asked: (self.phase.end != End::ByThemselves).then_some(self.stop.precision),
            steady_state: self.steady_state,
            settings: self.settings.to_vec(),
            p99_precision_asked: self.p99_asked,
            block_times: self.block_times,
            depths_tried: self.phase.depths_tried.clone(),
            above_limits: self.above_limits(members),
            ..self.conditions(if is_fios { &members[..1] } else { members })
        };
        let mut measurement = match &self.report {
            Ok(report) => self.taken(report, members, conditions),
            Err(error) => {
                let is_at_fault = members.iter().any(|n| self.failure(*n).is_some());
                let why = match is_at_fault {
                    true => Failure::from(error),
                    false => Failure::of(0, format!("not run: a job beside it failed: {error}")),
                };
                self.not_measured(members, conditions, why)
            }
        };
        measurement.workload.options.extend(reported_options(job, is_fios));
        measurement.workload.size = self.file_bytes(members, is_fios);
        measurement.conditions.range_bytes = self.range_bytes(members);
        if is_fios {
            let parts = measurement.parts.iter_mut().map(|part| &mut part.account);
            let whole = (&mut measurement.account, members);
            for (account, members) in parts.zip(members.chunks(1)).chain([whole]) {
                if let Some(account) = account {
                    // fio ends its jobs by itself and reports it.
                    let known = account.steadystate_attained;
                    account.steadystate_attained = known.or(self.is_steady(members));
                    account.steadystate_samples = SteadyWatch::samples(&self.steady, members);
                }
            }
        }
        let other = self.max_other_io(members);
        measurement.conditions.other_iops = other.map(|other| other.iops);
        measurement.conditions.other_bytes_per_s = other.map(|other| other.bytes_per_s);
        measurement
    }

    /// Times when the volumes under these jobs exceeded their limits.
    fn above_limits(&self, members: &[usize]) -> Vec<AboveLimit> {
        let under = |name: &str| {
            let mut numbers = members.iter().flat_map(|n| &self.on[*n]);
            numbers.any(|number| self.targets[*number].drive.as_deref() == Some(name))
        };
        self.above_limits.iter().filter(|one| under(&one.drive)).cloned().collect()
    }

    /// Numbers of the targets that cannot be measured any more, with the reason.
    pub(crate) fn failures(&self) -> Vec<(usize, String)> {
        let failed = |n: usize| Some((*self.on[n].first()?, self.failure(n)?));
        (0..self.background_jobs().start).filter_map(failed).collect()
    }

    /// Reason why a job failed. If the phase could not be run and the job at fault is unknown, it
    /// applies to all of them.
    fn failure(&self, n: usize) -> Option<String> {
        let error = match &self.report {
            Ok(report) => return report.jobs.get(n)?.failure.clone(),
            Err(error) => error,
        };
        let is_its = |job: &ClearedJob<'_>| error.target() == Some(job.target().as_str());
        let is_known = self.jobs[..self.background_jobs().start].iter().any(is_its);
        (!is_known || is_its(&self.jobs[n])).then(|| error.to_string())
    }

    /// True if all of these jobs that asked for a steady state reached it; `None` if none did ask.
    fn is_steady(&self, members: &[usize]) -> Option<bool> {
        let attained = |member: &usize| SteadyWatch::attained(&self.steady, *member);
        members.iter().filter_map(attained).reduce(|one, other| one && other)
    }

    fn taken(
        &self,
        report: &PhaseReport,
        numbers: &[usize],
        conditions: Conditions,
    ) -> Measurement {
        let first = &self.jobs[numbers[0]].job;
        let member = |index: &usize| {
            Some(Member {
                job: &self.jobs[*index],
                record: self.recorder.jobs.get(*index)?,
                report: report.jobs.get(*index)?,
            })
        };
        let members: Vec<Member<'_>> = numbers.iter().filter_map(member).collect();
        let (mut cpu, mut end) = (report.cpu, self.end.clone());
        let mut kind = Members::Targets;
        if self.phase.measured == Measured::Sections {
            // Clones are numbered; the same job on other targets is not.
            let is_clone = members.iter().any(|one| one.job.job.threads.clone > 0);
            if is_clone || members.len() < 2 {
                kind = Members::Clones;
            }
            // A job's shares are relative to its own time; these are relative to the longest one's.
            let accounts = || members.iter().map(|one| &one.report.account);
            let longest_ns = accounts().map(|one| one.elapsed_ns).max().unwrap_or(0).max(1);
            let of_longest = |one: &JobStats| one.elapsed_ns as f64 / longest_ns as f64;
            cpu.user = accounts().map(|one| one.cpu.user * of_longest(one)).sum();
            cpu.system = accounts().map(|one| one.cpu.system * of_longest(one)).sum();
            // A thread's share stays relative to its own time.
            cpu.busiest_thread = accounts().map(|one| one.cpu.busiest_thread).fold(0.0, f64::max);
            let is_over = end == EndReason::Done && first.time.time_based;
            if is_over && self.is_steady(numbers) != Some(true) {
                end = EndReason::Time;
            }
        }
        let builder = MeasurementBuilder {
            name: &first.name,
            phase: self.number,
            members,
            kind,
            source: self.source.clone(),
            started_ns: self.started_ns,
            end,
            cpu,
            cut: self.cut,
            level: self.stop.level,
            conditions,
        };
        let mut measurement = builder.build();
        for n in self.background_jobs() {
            if let Some((record, report)) = self.recorder.jobs.get(n).zip(report.jobs.get(n)) {
                note_background(&mut measurement, &self.jobs[n], record, report);
            }
        }
        measurement
    }

    /// Numbers of the jobs that are not measured.
    fn background_jobs(&self) -> std::ops::Range<usize> {
        self.phase.measured_jobs().min(self.jobs.len())..self.jobs.len()
    }

    /// Size of the ranges that jobs may touch, bytes, those that several touch once; `None` where
    /// their options do not limit them.
    fn range_bytes(&self, members: &[usize]) -> Option<u64> {
        let mut all = Vec::new();
        for job in members.iter().map(|n| &self.jobs[*n]) {
            if job.job.replay.trace.is_some() || job.job.engine.ioengine.is_diskless() {
                return None;
            }
            let ranges = touched_ranges(job)?.into_iter();
            all.extend(ranges.map(|(file, range)| (file, range.offset, range.length)));
        }
        all.sort_unstable();
        let (mut sum, mut counted) = (0_u64, ("", 0));
        for (file, offset, length) in all {
            let end = offset.saturating_add(length);
            let from = if file == counted.0 { offset.max(counted.1) } else { offset };
            sum = sum.saturating_add(end.saturating_sub(from));
            counted = (file, end.max(from));
        }
        Some(sum).filter(|bytes| *bytes > 0)
    }

    /// Size of the part of their one file that the first of the jobs uses, bytes; `None` for a size
    /// that their reported options have, and for a device, whose size is in the host's description.
    fn file_bytes(&self, members: &[usize], is_reported: bool) -> Option<u64> {
        let (first, others) = members.split_first()?;
        let [number] = self.on[*first].as_slice() else { return None };
        let target = &self.targets[*number];
        let is_file = target.device.as_ref().is_none_or(|device| *device != target.name);
        let is_shared = others.iter().all(|n| self.on[*n] == [*number]);
        let space = &self.jobs[*first].job.space;
        if !is_file || !is_shared || space.filesize.is_some() {
            return None;
        }
        let file_bytes = target.room.size_bytes;
        let rest = file_bytes.saturating_sub(space.offset.of(file_bytes));
        let used = match space.size {
            Some(Amount::Bytes(_)) if is_reported => return None,
            size => size.map_or(rest, |size| size.of(file_bytes).min(rest)),
        };
        Some(used).filter(|bytes| *bytes > 0)
    }

    /// Conditions of these jobs known before they run.
    fn conditions(&self, members: &[usize]) -> Conditions {
        let numbers: BTreeSet<usize> = members.iter().flat_map(|n| &self.on[*n]).copied().collect();
        let mut all = numbers.iter().map(|number| self.targets[*number].conditions());
        let Some(mut conditions) = all.next() else { return Conditions::default() };
        let is_fitted = self.phase.measured != Measured::Sections;
        if let ([only], true) = (members, is_fitted) {
            let extents = self.jobs[*only].job.space.extents.iter();
            conditions.ranges = extents.map(|extent| (extent.offset, extent.length)).collect();
        }
        for more in all {
            conditions.written.extend(more.written);
            conditions.target_remarks.extend(more.target_remarks);
            conditions.scratch &= more.scratch;
            if is_fitted || conditions.device != more.device {
                conditions.device = None;
            }
        }
        conditions
    }

    /// Most other I/O on a device under the targets of these jobs; `None` if the phase's own share
    /// of its I/O is unknown.
    fn max_other_io(&self, members: &[usize]) -> Option<OtherIo> {
        let numbers: BTreeSet<usize> = members.iter().flat_map(|n| &self.on[*n]).copied().collect();
        if self.phase.measured == Measured::Sections && numbers.len() != 1 {
            return None;
        }
        // The split of I/O over several devices is unknown.
        let other = |number: usize| match self.targets[number].bottom.as_slice() {
            [device] => self.other_io_on(device, self.targets[number].largest_bytes),
            _ => None,
        };
        numbers.into_iter().filter_map(other).reduce(|a, b| OtherIo {
            iops: a.iops.max(b.iops),
            bytes_per_s: a.bytes_per_s.max(b.bytes_per_s),
        })
    }

    fn other_io_on(&self, device: &String, largest_bytes: Option<u64>) -> Option<OtherIo> {
        let mut issued = PerDirection::<Issued>::default();
        let mut is_journaled = false;
        let reports = &self.report.as_ref().ok()?.jobs;
        for ((job, on), report) in self.jobs.iter().zip(self.on).zip(reports) {
            let targets = || on.iter().map(|number| &self.targets[*number]);
            if targets().any(|target| target.bottom.contains(device)) {
                if !targets().all(|target| target.bottom == [device.as_str()]) {
                    return None;
                }
                for (direction, whole) in report.whole.iter() {
                    let sum = issued.of_mut(direction);
                    // The device counts those that fail, too; how large they were is not known.
                    let failed_bytes = whole.errors.saturating_mul(job.job.largest_block());
                    sum.ios += whole.ios + whole.errors;
                    sum.bytes = sum.bytes.saturating_add(whole.bytes).saturating_add(failed_bytes);
                }
                is_journaled |= job.job.writes() && targets().any(|at| at.name != *device);
            }
        }
        let (before, after) = (
            DiskStats::of(&self.disk_stats.0, device)?,
            DiskStats::of(&self.disk_stats.1, device)?,
        );
        if is_journaled {
            let (before, after) = (reads_only(before), reads_only(after));
            return other_io(&before, &after, self.seconds, issued.read, largest_bytes);
        }
        // The kernel counts trims separately.
        let PerDirection { read, write, .. } = issued;
        let issued = Issued { ios: read.ios + write.ios, bytes: read.bytes + write.bytes };
        other_io(before, after, self.seconds, issued, largest_bytes)
    }

    /// A measurement that could not even start.
    fn not_measured(&self, members: &[usize], conditions: Conditions, why: Failure) -> Measurement {
        let job = &self.jobs[members[0]].job;
        let is_fios = self.phase.measured == Measured::Sections;
        let part = |n: &usize| Part {
            target: self.jobs[*n].target(),
            clone: is_fios.then_some(self.jobs[*n].job.threads.clone),
            results: Vec::new(),
            account: None,
            failure: self.failure(*n),
        };
        let has_parts = members.len() > 1;
        Measurement {
            phase: self.number,
            group: job.threads.group,
            targets: members.iter().map(|n| self.jobs[*n].target()).collect(),
            parts: members.iter().filter(|_| has_parts).map(part).collect(),
            workload: job.workload(None),
            started_ns: Some(self.started_ns),
            duration_ns: Some(0),
            conditions,
            end: EndReason::Failed(why),
            ..Measurement::unknown(&job.name)
        }
    }
}

/// Notes a background load of a measurement, or that it failed.
fn note_background(
    measurement: &mut Measurement,
    job: &ClearedJob<'_>,
    record: &JobRecord,
    report: &JobReport,
) {
    let target = job.target();
    let rw = job.job.pattern.rw;
    let counted = record.directions.of(rw.direction()).counted_from(measurement.warmup_ns);
    let conditions = &mut measurement.conditions;
    match &report.failure {
        Some(why) => {
            let (rw, why) = (rw.name().into(), why.clone());
            conditions.shortfalls.push(Caveat::BesideFailed { rw, target, why });
        }
        None => conditions.beside.push(Beside {
            target,
            rw: rw.name().into(),
            bytes_per_s: counted.bytes as f64 * 1e9 / counted.duration_ns.max(1) as f64,
        }),
    }
}

/// Keeps only reads: a file system's own writes (journal, allocation) cannot be told from other
/// processes'.
fn reads_only(stats: &DiskStats) -> DiskStats {
    DiskStats { writes: 0, written_bytes: 0, ..stats.clone() }
}

/// Options reported for a job; for a step only those that pace it.
fn reported_options(job: &Job, is_fios: bool) -> BTreeMap<String, String> {
    let mut options = non_default_options(job);
    options.retain(|option, _| is_fios || is_rate_limit_option(option));
    options
}

/// Options of a job that differ from fio's defaults, as fio writes them, without those that a
/// workload has a field for and those that name its targets.
fn non_default_options(job: &Job) -> BTreeMap<String, String> {
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

#[cfg(test)]
mod tests;
