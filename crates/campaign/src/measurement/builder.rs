//! Builds a measurement from a generator's report.

use iodyno_load::{ClearedJob, Counted, DirectionRecord, JobRecord, JobReport, Whole};
use iodyno_model::{
    Caveat, Conditions, CpuUse, Direction, DirectionResult, EndReason, Estimate, Failure, JobStats,
    Measurement, Part, SplitLatency, add_missing,
};

use super::p99::windows;
use super::result::result;
use super::series::{Cut, summed};

/// A pace is kept from this share of it on.
const PACE_KEPT: f64 = 0.95;

/// One job of a phase: the job, its recording, its report.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) job: &'a ClearedJob<'a>,
    pub(crate) record: &'a JobRecord,
    pub(crate) report: &'a JobReport,
}

/// Relation between the jobs of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Members {
    /// The same job on several targets.
    Targets,
    /// Clones of one job (fio's `numjobs`).
    Clones,
}

/// Inputs of a measurement.
pub(crate) struct MeasurementBuilder<'a> {
    pub(crate) name: &'a str,
    pub(crate) phase: u32,
    pub(crate) members: Vec<Member<'a>>,
    pub(crate) kind: Members,
    pub(crate) source: String,
    pub(crate) started_ns: i64,
    pub(crate) end: EndReason,
    /// CPU time of all submitting threads.
    pub(crate) cpu: CpuUse,
    /// Part of the start that is not counted.
    pub(crate) cut: Cut,
    /// Confidence level of its intervals.
    pub(crate) level: f64,
    /// Conditions known so far.
    pub(crate) conditions: Conditions,
}

impl MeasurementBuilder<'_> {
    /// The measurement: warm-up cut off, estimates with their intervals.
    pub(crate) fn build(self) -> Measurement {
        let records = || self.members.iter().map(|member| member.record);
        // One warm-up for all, since the stop rule looks at totals.
        let all =
            summed(records().flat_map(|job| job.directions.iter().map(|(_, one)| &one.series)));
        let cut_ns = self.cut.ns(&all, self.level);
        let whole = self.whole();
        let mut total = Vec::new();
        let mut parts: Vec<Part> = self.members.iter().map(|member| self.part(member)).collect();
        let mut from_ns = cut_ns;
        let mut duration_ns = 0;
        for (direction, whole) in whole.whole.iter() {
            let counted: Vec<Counted> = self
                .members
                .iter()
                .map(|member| {
                    let record = member.record.directions.of(direction);
                    let mut counted = record.counted_from(cut_ns);
                    if let Some(active_ns) = member.report.active_ns.of(direction) {
                        counted.duration_ns = counted.duration_ns.min(*active_ns);
                    }
                    counted
                })
                .collect();
            if *whole == Whole::default() && counted.iter().all(|one| one.ios == 0) {
                continue;
            }
            for ((part, one), member) in parts.iter_mut().zip(&counted).zip(&self.members) {
                let (record, report) = (member.record.directions.of(direction), member.report);
                let used = one.ios > 0 || *report.whole.of(direction) != Whole::default();
                // Targets measured at the same time all get a line, even without I/O.
                if used || self.kind == Members::Targets {
                    let whole = report.whole.of(direction);
                    let split = report.split.of(direction).as_ref();
                    // With a single target its part equals the total.
                    let is_kept = self.kind == Members::Clones || self.members.len() > 1;
                    let windows = if is_kept { windows(&[record], cut_ns) } else { Vec::new() };
                    let over_time = (record, windows.as_slice());
                    let of_part = result(direction, one, over_time, whole, split, self.level);
                    let by_priority = report.by_priority.of(direction).clone();
                    part.results.push(DirectionResult { by_priority, ..of_part });
                }
            }
            let sum = total_of(&counted);
            from_ns = sum.start_ns;
            duration_ns = duration_ns.max(sum.duration_ns);
            let all: Vec<_> = records().map(|job| job.directions.of(direction)).collect();
            let (together, windows) = (together(all.iter().copied()), windows(&all, cut_ns));
            let over_time = (&together, windows.as_slice());
            let split = split_of(&self.members, direction);
            let split = split.as_ref();
            let mut of_all = result(direction, &sum, over_time, whole, split, self.level);
            for member in &self.members {
                of_all.by_priority.merge(member.report.by_priority.of(direction));
            }
            let asked = self.members.iter().map(|one| *one.job.job.pace.rate_iops.of(direction));
            let asked: Option<u64> = asked.sum();
            if asked.is_some_and(|asked| falls_behind(&of_all, asked)) {
                of_all.latency_mean = of_all.latency_mean.map(|mean| Estimate::bare(mean.value));
            }
            total.push(of_all);
        }
        if self.kind == Members::Targets && parts.len() < 2 {
            parts.clear();
        }
        let several = self.members.len() > 1;
        let failures = self.members.iter().filter_map(|member| {
            let why = member.report.failure.as_ref()?;
            let errno = member.report.account.error;
            Some(Failure::of(errno, format!("{}: {why}", member.job.target())))
        });
        let end = first_of(failures.collect()).map_or(self.end.clone(), EndReason::Failed);
        let first = self.members.first().map(|member| &member.job.job);
        let mut targets: Vec<String> = Vec::new();
        for member in &self.members {
            for file in &member.job.files {
                let name = file.read().name().to_owned();
                if self.kind == Members::Targets || !targets.contains(&name) {
                    targets.push(name);
                }
            }
        }
        let account = (self.kind == Members::Clones || !several).then(|| account_of(&self.members));
        Measurement {
            phase: self.phase,
            group: first.map_or(0, |job| job.threads.group),
            targets,
            workload: first
                .map(|job| job.workload(whole.engine.as_str().into()))
                .unwrap_or_default(),
            started_ns: Some(self.started_ns),
            duration_ns: Some(duration_ns),
            warmup_ns: from_ns,
            conditions: self.conditions(&whole, &total, from_ns),
            source: self.source,
            total,
            parts,
            cpu: Some(self.cpu),
            account,
            end,
            ..Measurement::unknown(self.name)
        }
    }

    /// Part of a clone or a target, without results yet.
    fn part(&self, member: &Member<'_>) -> Part {
        let clone = (self.kind == Members::Clones).then_some(member.job.job.threads.clone);
        let account = clone.map(|_| member.report.account.clone());
        let failure = member.report.failure.clone();
        Part { target: member.job.target(), clone, results: Vec::new(), account, failure }
    }

    /// Sum of the jobs' reports; settings in effect are those of the first one.
    fn whole(&self) -> JobReport {
        let mut reports = self.members.iter().map(|member| member.report);
        let mut whole = reports.next().cloned().unwrap_or_default();
        for report in reports {
            for (direction, one) in report.whole.iter() {
                *whole.whole.of_mut(direction) += *one;
            }
            whole.threads += report.threads;
            whole.cpus.extend(&report.cpus);
            // Lapses are of the phase, and all of its jobs report them.
            whole.lapses_ns.extend(report.lapses_ns.iter().skip(whole.lapses_ns.len()));
            whole.iodepth = whole.iodepth.min(report.iodepth);
            whole.punted = match (whole.punted, report.punted) {
                (Some(a), Some(b)) => Some(a || b),
                (a, b) => a.or(b),
            };
            whole.first_error = whole.first_error.take().or_else(|| report.first_error.clone());
            add_missing(&mut whole.shortfalls, report.shortfalls.iter().cloned());
        }
        whole.cpus.sort_unstable();
        whole.cpus.dedup();
        whole
    }

    fn conditions(&self, whole: &JobReport, total: &[DirectionResult], from_ns: u64) -> Conditions {
        let depth_asked: u32 = self.members.iter().map(|one| one.job.job.outstanding()).sum();
        let staged = self.members.iter().filter(|one| one.report.active_ns.write.is_some());
        let staged_ns = staged.map(|one| one.record.directions.write.counted_ns(from_ns)).max();
        let known = self.conditions.clone();
        let mut shortfalls = known.shortfalls;
        shortfalls.extend(whole.shortfalls.iter().cloned());
        let (ios, errors) = whole
            .whole
            .iter()
            .fold((0, 0), |(ios, errors), (_, one)| (ios + one.ios, errors + one.errors));
        // Data that fails verification is not an I/O error.
        let first = whole.first_error.clone().filter(|_| errors > 0);
        let ios = ios + errors;
        shortfalls.extend(first.map(|first| Caveat::IosFailed { failed: errors, ios, first }));
        Conditions {
            engine_reason: whole.engine_reason.clone(),
            punted: whole.punted,
            registered_buffers: whole.registered_buffers,
            threads: Some(whole.threads),
            cpus: whole.cpus.clone(),
            depth_asked: Some(depth_asked),
            depth_reached: depth_reached(total, depth_asked, staged_ns),
            shortfalls,
            lapses_ns: whole.lapses_ns.clone(),
            ..known
        }
    }
}

/// True if a job paced by `asked` IOPS does not keep them. Its latencies count from when I/Os were
/// due: they are those of a backlog that grows for as long as it is measured, and have no mean.
fn falls_behind(result: &DirectionResult, asked: u64) -> bool {
    result.iops.is_some_and(|iops| iops.value < PACE_KEPT * asked as f64)
}

/// Mean outstanding I/Os (Little's law), capped at the number requested: the latency of a paced I/O
/// counts from its due time. Consecutive stages took `staged_ns` together: their rates do not add
/// up. `None` if more than 1 % failed: the latency of those is not known.
fn depth_reached(total: &[DirectionResult], asked: u32, staged_ns: Option<u64>) -> Option<f64> {
    let fails = |of: &DirectionResult| of.errors.unwrap_or(0) > of.ios.unwrap_or(0) / 100;
    if total.iter().any(fails) {
        return None;
    }
    let depth = |result: &DirectionResult| {
        let per_ns = match staged_ns {
            Some(ns) => result.ios? as f64 / ns.max(1) as f64,
            None => result.iops?.value / 1e9,
        };
        Some(per_ns * result.latency_mean?.value)
    };
    let all = total.iter().filter_map(depth).reduce(|a, b| a + b);
    all.map(|reached| reached.min(f64::from(asked)))
}

/// Recordings of several jobs in one direction, merged.
fn together<'r>(all: impl Iterator<Item = &'r DirectionRecord> + Clone) -> DirectionRecord {
    let mut sum = DirectionRecord::default();
    sum.series = summed(all.clone().map(|one| &one.series));
    all.for_each(|one| sum.latencies.merge(&one.latencies));
    sum
}

/// Sum from the first one's start to the last one's end.
fn total_of(counted: &[Counted]) -> Counted {
    let mut total = Counted::default();
    let used = counted.iter().filter(|one| one.duration_ns > 0);
    total.start_ns = used.clone().map(|one| one.start_ns).min().unwrap_or(0);
    let end_ns = used.map(|one| one.start_ns + one.duration_ns).max().unwrap_or(0);
    total.duration_ns = end_ns.saturating_sub(total.start_ns);
    for part in counted {
        total.ios += part.ios;
        total.bytes += part.bytes;
        total.latency.merge(&part.latency);
    }
    total
}

fn split_of(members: &[Member<'_>], direction: Direction) -> Option<SplitLatency> {
    let mut splits = members.iter().map(|member| member.report.split.of(direction).as_ref());
    let mut sum = splits.next()??.clone();
    for split in splits {
        sum.merge(split?);
    }
    Some(sum)
}

/// Statistics of all clones of a job.
fn account_of(members: &[Member<'_>]) -> JobStats {
    let mut reports = members.iter().map(|member| &member.report.account);
    let mut sum = reports.next().cloned().unwrap_or_default();
    for one in reports {
        sum.extend_times(one);
        if sum.error == 0 {
            sum.error = one.error;
            sum.failure.clone_from(&one.failure);
        }
        for error in &one.errors {
            let same = sum
                .errors
                .iter_mut()
                .find(|known| (known.errno, known.direction) == (error.errno, error.direction));
            match same {
                Some(known) => {
                    known.count += error.count;
                    known.offsets.extend(&error.offsets);
                    known.offsets.truncate(8);
                }
                None => sum.errors.push(error.clone()),
            }
        }
        sum.add_counts(one);
        sum.latency_target_depth = sum.latency_target_depth.or(one.latency_target_depth);
        sum.steadystate_attained = sum.steadystate_attained.or(one.steadystate_attained);
    }
    sum
}

/// Merges failures; of many only the first ones are shown, since the others are alike.
fn first_of(failures: Vec<Failure>) -> Option<Failure> {
    const SHOWN: usize = 3;
    let cause = failures.first()?.cause;
    let more = failures.len().saturating_sub(SHOWN);
    let shown: Vec<&str> = failures.iter().take(SHOWN).map(|one| one.text.as_str()).collect();
    let shown = shown.join("; ");
    Some(Failure {
        cause,
        text: if more > 0 { format!("{shown}; and {more} more") } else { shown },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_kept_or_fallen_behind() {
        let reads = |iops| DirectionResult {
            iops: Some(Estimate::bare(iops)),
            ..DirectionResult::unknown(Direction::Read)
        };
        assert!(falls_behind(&reads(1420.0), 5000));
        assert!(!falls_behind(&reads(4990.0), 5000) && !falls_behind(&reads(6000.0), 5000));
        assert!(!falls_behind(&DirectionResult::unknown(Direction::Read), 5000), "not known");
    }

    #[test]
    fn depth_reached_is_capped_at_the_depth_asked() {
        let reads = |iops, latency_ns| DirectionResult {
            iops: Some(Estimate::bare(iops)),
            latency_mean: Some(Estimate::bare(latency_ns)),
            ..DirectionResult::unknown(Direction::Read)
        };
        assert_eq!(depth_reached(&[reads(50e3, 60e3)], 4, None), Some(3.0));
        assert_eq!(depth_reached(&[reads(50e3, 20e3), reads(25e3, 80e3)], 4, None), Some(3.0));
        // Late by 15 s, since 500,000 a second were requested.
        assert_eq!(depth_reached(&[reads(50e3, 15e9)], 4, None), Some(4.0));
        assert_eq!(depth_reached(&[], 4, None), None);
        let failing = DirectionResult { ios: Some(99), errors: Some(1), ..reads(50e3, 60e3) };
        assert_eq!(depth_reached(&[failing], 4, None), None);
    }
}
