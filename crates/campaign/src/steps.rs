//! The steps of a campaign: searched, run, committed.

use std::time::Instant;

use iodyno_host::Depth;
use iodyno_job::Job;
use iodyno_load::{ClearedJob, JobRecord, JobReport, Whole};
use iodyno_model::{
    Beside, Caveat, Conditions, DiskStats, EndReason, Failure, Host, Measurement, Part,
};
use iodyno_stats::autocorrelation::INDEPENDENT;
use iodyno_stats::{PtsRounds, Rule, Stopper};

use crate::adaptive::{DepthSearch, spread};
use crate::bench::Ready;
use crate::error::CampaignError;
use crate::execute::{Campaign, find, now_ns};
use crate::look::{Issued, OtherIo, issued_to, other_io};
use crate::measure::{Cut, Member, Members, Taken, summed};
use crate::plan::{Search, Step};
use crate::watch::{Event, PhaseWatch, Progress, ramp_ns};

/// An autocorrelation time of white noise, in windows of 100 ms, s.
const INDEPENDENT_S: f64 = INDEPENDENT * 0.1;

impl Campaign<'_, '_> {
    /// Measures `step` on the targets that are still there, at the same time.
    /// `look`: links are read again while it runs.
    pub(crate) fn step(
        &mut self,
        step: &Step,
        bench: &mut [Ready<'_>],
        look: bool,
    ) -> Result<(), CampaignError> {
        self.step_beside(step, bench, &[], look)
    }

    /// The same while `beside` goes on, which is not measured.
    pub(crate) fn step_beside(
        &mut self,
        step: &Step,
        bench: &mut [Ready<'_>],
        beside: &[(Ready<'_>, Job)],
        look: bool,
    ) -> Result<(), CampaignError> {
        let mut present: Vec<&mut Ready<'_>> = Vec::new();
        for ready in bench.iter_mut() {
            match &ready.lost {
                None => present.push(ready),
                Some(why) => {
                    let why = why.clone();
                    self.skip(&ready.name, Some(&step.name), &why, "");
                    self.failed = true;
                }
            }
        }
        if present.is_empty() || self.is_interrupted() {
            return Ok(());
        }
        let alone = present.len() == 1;
        let mut tried = Vec::new();
        let mut shapes: Vec<Option<(u32, u32)>> = vec![None; present.len()];
        if let Some(search) = step.outstanding {
            let all_cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
            for (shape, ready) in shapes.iter_mut().zip(&mut present) {
                let known = ready.found.iter().find(|(name, _)| *name == step.name);
                let (outstanding, cpus) = match known {
                    // All at once: what sufficed alone, on a fair share of the CPUs.
                    Some((_, found)) => (*found, ready.cpu_count().min(all_cpus / 2).max(1)),
                    None => {
                        let depths = self.search(step, search, ready);
                        let found = depths.found();
                        ready.found.push((step.name.clone(), found));
                        tried = depths.history().to_vec();
                        (found, ready.cpu_count())
                    }
                };
                *shape = Some(spread(outstanding, cpus));
            }
        }
        if self.is_interrupted() {
            return Ok(());
        }
        let measured = present.iter().zip(&shapes);
        let measured = measured.map(|(ready, shape)| (&**ready, &step.job, *shape));
        let jobs: Vec<ClearedJob<'_>> = measured
            .chain(beside.iter().map(|(ready, job)| (ready, job, None)))
            .enumerate()
            .map(|(turn, (ready, job, shape))| ready.cleared(job, shape, turn))
            .collect();
        let mut conditions = Conditions {
            precision_asked: Some(self.plan.stop.precision),
            depths_tried: tried,
            ..present[0].conditions()
        };
        if !alone {
            conditions.ranges.clear();
            conditions.device = None;
            conditions.written =
                present.iter().flat_map(|ready| ready.conditions().written).collect();
            conditions.target_remarks =
                present.iter().flat_map(|ready| ready.remarks.clone()).collect();
            conditions.scratch = present.iter().all(|ready| ready.scratch);
        }
        let (measurement, failures) = self.take(step, &jobs, &present, beside, conditions, look)?;
        drop(jobs);
        for (ready, failure) in present.iter_mut().zip(failures) {
            ready.lost = failure;
        }
        self.failed |= measurement.failure().is_some();
        self.tools.watcher.event(&Event::Done(&measurement));
        Ok(())
    }

    /// Runs one phase, a job for each target on the bench and then those beside
    /// it, and commits what came of the former. Also returns, for each of them,
    /// why it could not go on.
    fn take(
        &mut self,
        step: &Step,
        all: &[ClearedJob<'_>],
        bench: &[&mut Ready<'_>],
        beside: &[(Ready<'_>, Job)],
        conditions: Conditions,
        look: bool,
    ) -> Result<(Measurement, Vec<Option<String>>), CampaignError> {
        self.phase += 1;
        let jobs = &all[..bench.len()];
        let target = match jobs {
            [only] => only.target(),
            _ => "all at once".into(),
        };
        let source = self.tools.source;
        // Reading a temperature makes the kernel send an admin command: never
        // while single latencies are what is measured.
        let reads_temperature = step.job.depth.iodepth > 1 || step.outstanding.is_some();
        let mut under_load: Option<Host> = None;
        let mut each_second = || {
            if look && under_load.is_none() {
                under_load = Some(iodyno_host::snapshot(source, Depth::Quick));
            }
            if !reads_temperature {
                return None;
            }
            let drives = bench.iter().filter_map(|ready| ready.drive.as_deref());
            drives.filter_map(|drive| iodyno_host::temperature_c(source, drive)).reduce(f32::max)
        };
        let progress = self.progress(&target, &step.name, None);
        let started_ns = now_ns();
        let stats_before = iodyno_host::disk_stats(source);
        let clock = Instant::now();
        let mut watch = PhaseWatch::new(
            Stopper::new(self.rule(iodyno_stats::LONG, None, None)),
            self.tools.watcher,
            self.tools.interrupted,
            progress,
            &mut each_second,
        )
        .measuring(jobs.len());
        let report = self.tools.generator.run(all, &mut watch);
        let seconds = clock.elapsed().as_secs_f64();
        let stats_after = iodyno_host::disk_stats(source);
        let (recorder, end) = watch.finish();
        self.spent_ns += progress.most_ns;
        let mut failures = vec![None; jobs.len()];
        let mut issued_beside: Vec<(&[String], Issued)> = Vec::new();
        let mut measurement = match report {
            Ok(report) => {
                for (failure, job) in failures.iter_mut().zip(&report.jobs) {
                    failure.clone_from(&job.failure);
                }
                let members = jobs.iter().zip(&recorder.jobs).zip(&report.jobs);
                let taken = Taken {
                    name: &step.name,
                    phase: self.phase,
                    members: members
                        .map(|((job, record), report)| Member { job, record, report })
                        .collect(),
                    kind: Members::Targets,
                    source: self.tools.generator.source(),
                    started_ns,
                    end,
                    cpu: report.cpu,
                    cut: Cut::WarmUp(ramp_ns(progress.most_ns)),
                    level: self.plan.stop.level,
                    conditions,
                };
                let mut measurement = taken.measurement();
                let behind = all.iter().zip(&recorder.jobs).zip(&report.jobs).skip(jobs.len());
                for ((ready, _), ((job, record), report)) in beside.iter().zip(behind) {
                    let Whole { ios, bytes, .. } = *report.whole.of(job.job.pattern.rw.direction());
                    issued_beside.push((ready.bottom.as_slice(), Issued { ios, bytes }));
                    went_on_beside(&mut measurement, job, record, report);
                }
                measurement
            }
            Err(error) => {
                let why = Failure::from(&error);
                let is_its = |job: &ClearedJob<'_>| error.target() == Some(job.target().as_str());
                let is_known = jobs.iter().any(is_its);
                for (failure, job) in failures.iter_mut().zip(jobs) {
                    *failure = (!is_known || is_its(job)).then(|| why.text.clone());
                }
                let parts = jobs.iter().zip(&failures).map(|(job, failure)| Part {
                    target: job.target(),
                    clone: None,
                    results: Vec::new(),
                    account: None,
                    failure: failure.clone(),
                });
                let parts = if jobs.len() > 1 { parts.collect() } else { Vec::new() };
                let (name, job, phase) = (&step.name, &step.job, self.phase);
                Measurement {
                    parts,
                    ..not_measured(name, job, phase, jobs, started_ns, conditions, why)
                }
            }
        };
        let stats = [&stats_before[..], &stats_after[..]];
        let other = others(&measurement, stats, seconds, bench, &issued_beside);
        measurement.conditions.other_iops = other.map(|other| other.iops);
        measurement.conditions.other_bytes_per_s = other.map(|other| other.bytes_per_s);
        if let Some(host) = under_load {
            measurement.under_load = Some(self.tools.store.add_snapshot(&self.run_id, &host)?);
        }
        let after = iodyno_host::snapshot(source, Depth::Full);
        let after = self.tools.store.add_snapshot(&self.run_id, &after)?;
        measurement.before = Some(std::mem::replace(&mut self.last_snapshot, after));
        measurement.after = Some(after);
        self.tools.store.add_measurement(&self.run_id, &measurement)?;
        Ok((measurement, failures))
    }

    /// Doubles the outstanding I/Os until the rate grows little.
    fn search(&mut self, step: &Step, search: Search, ready: &Ready<'_>) -> DepthSearch {
        let mut depths = DepthSearch::new(search, ready.queue_depth);
        let trial_ns = (self.budget.stop.max_ns / 10).max(200_000_000);
        while let Some(outstanding) = depths.next() {
            if self.is_interrupted() {
                break;
            }
            let job = ready.cleared(&step.job, Some(spread(outstanding, ready.cpu_count())), 0);
            let progress = Progress {
                most_ns: trial_ns,
                ..self.progress(&ready.name, &step.name, Some(outstanding))
            };
            let rule = Rule::Time { seconds: trial_ns as f64 / 1e9 };
            let mut nothing = || None;
            let mut watch = PhaseWatch::new(
                Stopper::new(rule),
                self.tools.watcher,
                self.tools.interrupted,
                progress,
                &mut nothing,
            );
            let report = self.tools.generator.run(&[job], &mut watch);
            let (recorder, _) = watch.finish();
            // What goes wrong here goes wrong in the measurement too, and is told there.
            if report.is_err() {
                break;
            }
            let job = recorder.jobs.first();
            let series = job.into_iter().flat_map(|job| job.directions.iter());
            let series = summed(series.map(|(_, one)| &one.series));
            let windows = series.windows();
            // The queue fills during the first tenth.
            let settled = &windows[windows.len() / 10..];
            let (ios, ns) = settled.iter().fold((0, 0), |(ios, ns), window| {
                (ios + window.ios.unwrap_or(0), ns + window.duration_ns)
            });
            if ns == 0 {
                break;
            }
            depths.tried(outstanding, ios as f64 * 1e9 / ns as f64);
        }
        depths
    }

    /// When a measurement ends, which has to last for so many autocorrelation times; with `p99`
    /// its 99 % percentile has to be known, with `steady` its rate has to be steady, too.
    pub(crate) fn rule(
        &self,
        least_times: f64,
        p99: Option<f64>,
        steady: Option<PtsRounds>,
    ) -> Rule {
        let seconds = |ns: u64| ns as f64 / 1e9;
        match self.options.fixed_ns {
            Some(ns) => Rule::Time { seconds: seconds(ns) },
            None => Rule::Precision {
                relative_half_width: self.budget.stop.precision,
                level: self.budget.stop.level,
                p99_relative_half_width: p99,
                least_times,
                steady,
                // Before that not even white noise can be known.
                min_seconds: seconds(self.budget.stop.min_ns)
                    .max(seconds(ramp_ns(self.budget.stop.max_ns)) + least_times * INDEPENDENT_S),
                max_seconds: seconds(self.budget.stop.max_ns),
            },
        }
    }

    fn progress<'p>(&self, target: &'p str, step: &'p str, trying: Option<u32>) -> Progress<'p> {
        Progress {
            target,
            step,
            trying,
            iops: 0.0,
            bytes_per_s: 0.0,
            elapsed_ns: 0,
            most_ns: self.budget.stop.max_ns,
            left_ns: self.budget.total_ns.saturating_sub(self.spent_ns),
            done_bytes: 0,
            work_bytes: None,
        }
    }
}

/// Notes what went on beside a measurement, or that it did not.
fn went_on_beside(
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

/// The most that any device under the targets did for others.
fn others(
    measurement: &Measurement,
    [before, after]: [&[DiskStats]; 2],
    seconds: f64,
    bench: &[&mut Ready<'_>],
    beside: &[(&[String], Issued)],
) -> Option<OtherIo> {
    let whole = |n: usize| {
        let results = match measurement.parts.get(n) {
            Some(part) => &part.results,
            None => &measurement.total,
        };
        results.iter().fold(Issued::default(), |sum, result| Issued {
            ios: sum.ios + result.whole_ios.unwrap_or(0),
            bytes: sum.bytes + result.whole_bytes.unwrap_or(0),
        })
    };
    let targets = bench.iter().enumerate().map(|(n, ready)| (ready.bottom.as_slice(), whole(n)));
    let targets = targets.chain(beside.iter().copied());
    bench
        .iter()
        // Over several devices it is not known which got how much.
        .filter_map(|ready| match ready.bottom.as_slice() {
            [device] => {
                let (before, after) = (find(before, device)?, find(after, device)?);
                let issued = issued_to(device, targets.clone());
                other_io(before, after, seconds, issued, ready.largest_bytes)
            }
            _ => None,
        })
        .reduce(|a, b| OtherIo {
            iops: a.iops.max(b.iops),
            bytes_per_s: a.bytes_per_s.max(b.bytes_per_s),
        })
}

/// A measurement that could not even start.
pub(crate) fn not_measured(
    name: &str,
    job: &Job,
    phase: u32,
    jobs: &[ClearedJob<'_>],
    started_ns: i64,
    conditions: Conditions,
    why: Failure,
) -> Measurement {
    Measurement {
        phase,
        group: job.threads.group,
        targets: jobs.iter().map(ClearedJob::target).collect(),
        workload: job.workload(None),
        started_ns: Some(started_ns),
        duration_ns: Some(0),
        conditions,
        end: EndReason::Failed(why),
        before: Some(0),
        ..Measurement::unknown(name)
    }
}
