//! Carries a plan out: targets cleared, conditions read, steps measured, each
//! result committed before the next step starts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iodyno_host::{Depth, Source};
use iodyno_load::{ClearedJob, LoadGenerator};
use iodyno_model::{
    Conditions, DiskStats, EndReason, Host, Measurement, Origin, Run, RunState, Skipped,
};
use iodyno_stats::{Rule, Stopper};
use iodyno_store::Store;
use iodyno_target::Target;

use crate::adaptive::{DepthSearch, spread};
use crate::bench::Ready;
use crate::budget::Budget;
use crate::error::CampaignError;
use crate::look::{Issued, other_io};
use crate::measure::Taken;
use crate::plan::{Plan, Search, Step};
use crate::scratch::Scratches;
use crate::watch::{Event, PhaseWatch, Progress, Watcher};
use crate::written;

/// How a plan is to be carried out.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of the run.
    pub name: String,
    /// The command as it was typed, for the record.
    pub command: String,
    /// Longest time for all measurements, ns.
    pub budget_ns: u64,
    /// Each measurement takes exactly this, ns.
    pub fixed_ns: Option<u64>,
    /// Each measurement takes at most this, ns, instead of what the plan says.
    pub max_ns: Option<u64>,
    /// Measure drives that serve others, too.
    pub busy: bool,
    /// Measure nothing: links, health and inventory only.
    pub no_load: bool,
    /// Where the numbers come from.
    pub origin: Origin,
}

/// What a campaign works with.
pub struct Tools<'a> {
    /// Facts of the host.
    pub source: &'a dyn Source,
    /// Makes the I/O.
    pub generator: &'a mut dyn LoadGenerator,
    /// Keeps the results.
    pub store: &'a mut Store,
    /// Is told what happens.
    pub watcher: &'a mut dyn Watcher,
    /// Set when the user wants it to end.
    pub interrupted: &'a AtomicBool,
}

/// Carries `plan` out on `targets`, which were resolved on `host`, and returns
/// the run's id. What was measured is in the store whatever happens.
///
/// # Errors
/// Where nothing can be recorded or no step carried out at all. What fails on
/// one target is recorded as such, and the others go on.
pub fn carry_out(
    tools: &mut Tools<'_>,
    plan: &Plan,
    host: &Host,
    targets: &[Target],
    options: &Options,
) -> Result<String, CampaignError> {
    let mut plan = plan.clone();
    if let Some(max_ns) = options.max_ns.or(options.fixed_ns) {
        plan.stop.max_ns = max_ns;
        plan.stop.min_ns = plan.stop.min_ns.min(max_ns / 2);
    }
    let budget = Budget::divide(&plan, targets.len(), options.budget_ns);
    let mut run = Run {
        id: iodyno_store::new_id(),
        name: options.name.clone(),
        command: options.command.clone(),
        state: RunState::Running,
        started_ns: now_ns(),
        ended_ns: None,
        writer: env!("CARGO_PKG_VERSION").to_owned(),
        plan_name: plan.name.clone(),
        plan: plan.text.clone(),
        origin: options.origin.clone(),
        targets: targets.iter().map(Target::name).map(str::to_owned).collect(),
        skipped: Vec::new(),
    };
    tools.store.create_run(&run)?;
    tools.store.add_snapshot(&run.id, host)?;
    tools.watcher.event(&Event::Host(host));
    let mut campaign = Campaign {
        tools,
        plan: &plan,
        host,
        options,
        budget,
        run_id: run.id.clone(),
        skipped: Vec::new(),
        phase: 0,
        failed: false,
        spent_ns: 0,
        last_snapshot: 0,
    };
    let result = if options.no_load { Ok(()) } else { campaign.measure(targets) };
    let (skipped, failed) = (std::mem::take(&mut campaign.skipped), campaign.failed);
    run.state = match &result {
        _ if tools.interrupted.load(Ordering::Relaxed) => RunState::Interrupted,
        Ok(()) if !failed => RunState::Done,
        _ => RunState::Failed,
    };
    run.ended_ns = Some(now_ns());
    run.skipped = skipped;
    tools.store.update_run(&run)?;
    result.map(|()| run.id)
}

struct Campaign<'a, 't> {
    tools: &'a mut Tools<'t>,
    plan: &'a Plan,
    host: &'a Host,
    options: &'a Options,
    budget: Budget,
    run_id: String,
    skipped: Vec<Skipped>,
    phase: u32,
    failed: bool,
    /// Of the budget, ns.
    spent_ns: u64,
    /// The snapshot after the last measurement is the one before the next.
    last_snapshot: usize,
}

impl Campaign<'_, '_> {
    fn measure(&mut self, targets: &[Target]) -> Result<(), CampaignError> {
        let names: Vec<String> = targets.iter().map(|target| target.name().to_owned()).collect();
        let directories: Vec<String> = targets
            .iter()
            .filter(|target| target.is_directory())
            .map(|target| target.name().to_owned())
            .collect();
        let sentences = crate::expect::sentences(&names, &directories, &self.budget);
        self.tools.watcher.event(&Event::Expect(&sentences));

        let idle = self.without_busy(targets);
        let mut scratches = Scratches::default();
        let mut cleared = Vec::new();
        for target in idle {
            if self.is_interrupted() {
                break;
            }
            let result = if target.is_directory() {
                scratches.make(self.tools, &self.run_id, target)
            } else {
                target.clear_for_reading().map_err(CampaignError::from)
            };
            match result {
                Ok(clearance) => cleared.push((target, clearance)),
                Err(CampaignError::Interrupted) => break,
                Err(error) => {
                    self.skip(target.name(), None, &error.to_string(), &error.next_step())
                }
            }
        }
        let mut bench: Vec<Ready<'_>> = cleared
            .iter()
            .map(|(target, clearance)| {
                let mut remarks = target.remarks();
                remarks.extend(clearance.remark());
                let (name, device) = (target.name(), target.device());
                Ready::new(self.host, name, clearance, device, target.is_directory(), remarks)
            })
            .collect();
        let result = self.on_the_bench(&mut bench);
        drop(bench);
        drop(cleared);
        scratches.remove(self.tools, &self.run_id)?;
        result
    }

    fn on_the_bench(&mut self, bench: &mut [Ready<'_>]) -> Result<(), CampaignError> {
        let plan = self.plan;
        for ready in bench.iter_mut() {
            if self.is_interrupted() {
                return Ok(());
            }
            self.sample(ready)?;
            let mut look = true;
            for step in plan.steps.iter().filter(|step| step.each) {
                self.step(step, std::slice::from_mut(ready), std::mem::take(&mut look))?;
            }
        }
        if bench.len() > 1 {
            let mut look = true;
            for step in plan.steps.iter().filter(|step| step.together) {
                self.step(step, bench, std::mem::take(&mut look))?;
            }
        }
        Ok(())
    }

    /// The targets whose devices do not serve others, after a look of 1 s.
    fn without_busy<'t>(&mut self, targets: &'t [Target]) -> Vec<&'t Target> {
        let devices: Vec<Vec<String>> = targets
            .iter()
            .map(|target| {
                let bottom = target.device().map(|device| self.host.bottom_of(device));
                bottom.unwrap_or_default().iter().map(|block| block.name.clone()).collect()
            })
            .collect();
        if self.options.busy || devices.iter().all(Vec::is_empty) {
            return targets.iter().collect();
        }
        self.tools.watcher.event(&Event::Looking);
        let before = iodyno_host::disk_stats(self.tools.source);
        let start = Instant::now();
        std::thread::sleep(Duration::from_secs(1));
        let after = iodyno_host::disk_stats(self.tools.source);
        let seconds = start.elapsed().as_secs_f64();
        let mut idle = Vec::new();
        for (target, devices) in targets.iter().zip(&devices) {
            let busy = devices.iter().find_map(|device| {
                let (a, b) = (find(&before, device)?, find(&after, device)?);
                let other = other_io(a, b, seconds, Issued::default(), None)?;
                other.is_busy().then_some((device, other))
            });
            match busy {
                None => idle.push(target),
                Some((device, other)) => {
                    let why = format!(
                        "{device} serves others: {:.0} IOPS and {:.0} MB/s during a look of 1 s, so it \
                         was not loaded",
                        other.iops,
                        other.bytes_per_s / 1e6
                    );
                    let next = format!("iodyno check {} --busy", target.name());
                    self.skip(target.name(), None, &why, &next);
                }
            }
        }
        idle
    }

    /// Tells which blocks of a target were ever written.
    fn sample(&mut self, ready: &mut Ready<'_>) -> Result<(), CampaignError> {
        if ready.written.is_some() || self.plan.written_samples == 0 {
            return Ok(());
        }
        self.tools.watcher.event(&Event::Sampling { target: &ready.name });
        let size = ready.clearance.size_bytes();
        // A simulated drive has nothing to do with the file that stands for it.
        if self.options.origin == Origin::Measured
            && let Some(data) = ready.clearance.data_extents(written::MOST_EXTENTS)
        {
            ready.written = Some(written::of_file(&ready.name, size, &data));
            return Ok(());
        }
        let block_bytes = u64::from(ready.clearance.block_bytes()).max(4096);
        let seed = self.seed();
        let offsets = written::sample_offsets(size, block_bytes, self.plan.written_samples, seed);
        // 4096 reads at depth 1 take less than a second on an SSD; a slow
        // device gets a bounded time and a wider interval.
        let most_ns = self.budget.stop.max_ns.max(1_000_000_000);
        let samples =
            self.tools.generator.probe(ready.clearance, &offsets, block_bytes as u32, most_ns);
        match samples {
            Ok(samples) => {
                let namespace = ready
                    .drive
                    .as_ref()
                    .and_then(|_| self.host.namespace(&ready.name))
                    .and_then(|(_, namespace)| namespace.identify.value());
                ready.written =
                    Some(written::judge(&ready.name, size, &samples, namespace.as_ref()));
            }
            Err(error) => ready.lost = Some(error.to_string()),
        }
        Ok(())
    }

    /// Measures `step` on the targets that are still there, at the same time.
    /// `look`: links are read again while it runs.
    fn step(
        &mut self,
        step: &Step,
        bench: &mut [Ready<'_>],
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
                        tried = self.search(step, search, ready)?;
                        let found = tried_found(&tried, search);
                        ready.found.push((step.name.clone(), found));
                        (found, ready.cpu_count())
                    }
                };
                *shape = Some(spread(outstanding, cpus));
            }
        }
        if self.is_interrupted() {
            return Ok(());
        }
        let rule = self.rule();
        let jobs: Vec<ClearedJob<'_>> = present
            .iter()
            .zip(&shapes)
            .enumerate()
            .map(|(turn, (ready, shape))| ready.cleared(&step.job, *shape, turn))
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
        let drives: Vec<String> = present.iter().filter_map(|r| r.drive.clone()).collect();
        let bottoms: Vec<(Vec<String>, Option<u64>)> =
            present.iter().map(|r| (r.bottom.clone(), r.largest_bytes)).collect();
        let (measurement, failures) =
            self.take(step, rule, &jobs, conditions, &drives, &bottoms, look)?;
        drop(jobs);
        for (ready, failure) in present.iter_mut().zip(failures) {
            ready.lost = failure;
        }
        self.failed |= measurement.failure().is_some();
        self.tools.watcher.event(&Event::Done(&measurement));
        Ok(())
    }

    /// Runs one phase and commits what came of it. Also returns, for each job,
    /// why it could not go on.
    #[expect(clippy::too_many_arguments, reason = "one call; a struct would only rename them")]
    fn take(
        &mut self,
        step: &Step,
        rule: Rule,
        jobs: &[ClearedJob<'_>],
        conditions: Conditions,
        drives: &[String],
        bottoms: &[(Vec<String>, Option<u64>)],
        look: bool,
    ) -> Result<(Measurement, Vec<Option<String>>), CampaignError> {
        self.phase += 1;
        let target = match jobs {
            [only] => only.target.name().to_owned(),
            _ => "all at once".into(),
        };
        let source = self.tools.source;
        // Reading a temperature makes the kernel send an admin command: never
        // while single latencies are what is measured.
        let reads_temperature = step.job.iodepth > 1 || step.outstanding.is_some();
        let mut under_load: Option<Host> = None;
        let mut each_second = || {
            if look && under_load.is_none() {
                under_load = Some(iodyno_host::snapshot(source, Depth::Quick));
            }
            if !reads_temperature {
                return None;
            }
            drives
                .iter()
                .filter_map(|drive| iodyno_host::temperature_c(source, drive))
                .reduce(f32::max)
        };
        let progress = self.progress(&target, &step.name, None);
        let started_ns = now_ns();
        let stats_before = iodyno_host::disk_stats(source);
        let clock = Instant::now();
        let mut watch = PhaseWatch::new(
            Stopper::new(rule),
            self.tools.watcher,
            self.tools.interrupted,
            progress,
            &mut each_second,
        );
        let report = self.tools.generator.run(jobs, &mut watch);
        let seconds = clock.elapsed().as_secs_f64();
        let stats_after = iodyno_host::disk_stats(source);
        let (recorder, end) = watch.finish();
        self.spent_ns += progress.most_ns;
        let mut failures = vec![None; jobs.len()];
        let mut measurement = match report {
            Ok(report) => {
                for (failure, job) in failures.iter_mut().zip(&report.jobs) {
                    failure.clone_from(&job.failure);
                }
                let taken = Taken {
                    name: &step.name,
                    phase: self.phase,
                    jobs,
                    source: self.tools.generator.source(),
                    started_ns,
                    recorder: &recorder,
                    report: &report,
                    end,
                    level: self.plan.stop.level,
                    conditions,
                };
                taken.measurement()
            }
            Err(error) => {
                failures.fill(Some(error.to_string()));
                not_measured(step, self.phase, jobs, started_ns, conditions, error.to_string())
            }
        };
        let other = others(&measurement, &stats_before, &stats_after, seconds, bottoms);
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
    fn search(
        &mut self,
        step: &Step,
        search: Search,
        ready: &Ready<'_>,
    ) -> Result<Vec<(u32, f64)>, CampaignError> {
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
            let windows = recorder.jobs.first().map(|job| job.series.windows()).unwrap_or_default();
            // The queue fills during the first tenth.
            let settled = &windows[windows.len() / 10..];
            let (ios, ns) = settled
                .iter()
                .fold((0, 0), |(ios, ns), window| (ios + window.ios, ns + window.duration_ns));
            if ns == 0 {
                break;
            }
            depths.tried(outstanding, ios as f64 * 1e9 / ns as f64);
        }
        Ok(depths.history().to_vec())
    }

    fn rule(&self) -> Rule {
        let seconds = |ns: u64| ns as f64 / 1e9;
        match self.options.fixed_ns {
            Some(ns) => Rule::Time { seconds: seconds(ns) },
            None => Rule::Precision {
                relative_half_width: self.budget.stop.precision,
                level: self.budget.stop.level,
                min_seconds: seconds(self.budget.stop.min_ns),
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
        }
    }

    /// The seed of a run's samples follows from its id, so that each run looks
    /// at other blocks and yet can be repeated.
    fn seed(&self) -> u64 {
        self.run_id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    fn is_interrupted(&self) -> bool {
        self.tools.interrupted.load(Ordering::Relaxed)
    }

    fn skip(&mut self, target: &str, step: Option<&str>, why: &str, next: &str) {
        let skipped = Skipped {
            target: target.into(),
            step: step.map(Into::into),
            why: why.into(),
            next: next.into(),
        };
        self.tools.watcher.event(&Event::Skipped(&skipped));
        self.skipped.push(skipped);
    }
}

fn tried_found(tried: &[(u32, f64)], search: Search) -> u32 {
    let mut depths = DepthSearch::new(search, u32::MAX);
    tried.iter().for_each(|(depth, iops)| depths.tried(*depth, *iops));
    depths.found()
}

fn find<'s>(stats: &'s [DiskStats], device: &str) -> Option<&'s DiskStats> {
    stats.iter().find(|stats| stats.name == device)
}

/// The most that any device under the targets did for others.
fn others(
    measurement: &Measurement,
    before: &[DiskStats],
    after: &[DiskStats],
    seconds: f64,
    bottoms: &[(Vec<String>, Option<u64>)],
) -> Option<crate::look::OtherIo> {
    let whole = |n: usize| {
        let results = match measurement.parts.get(n) {
            Some(part) => &part.results,
            None => &measurement.total,
        };
        results.iter().fold(Issued::default(), |sum, result| Issued {
            ios: sum.ios + result.whole_ios,
            bytes: sum.bytes + result.whole_bytes,
        })
    };
    bottoms
        .iter()
        .enumerate()
        // Over several devices it is not known which got how much.
        .filter_map(|(n, (devices, largest))| match devices.as_slice() {
            [device] => {
                other_io(find(before, device)?, find(after, device)?, seconds, whole(n), *largest)
            }
            _ => None,
        })
        .reduce(|a, b| crate::look::OtherIo {
            iops: a.iops.max(b.iops),
            bytes_per_s: a.bytes_per_s.max(b.bytes_per_s),
        })
}

/// A measurement that could not even start.
fn not_measured(
    step: &Step,
    phase: u32,
    jobs: &[ClearedJob<'_>],
    started_ns: i64,
    conditions: Conditions,
    why: String,
) -> Measurement {
    Measurement {
        name: step.name.clone(),
        phase,
        targets: jobs.iter().map(|job| job.target.name().to_owned()).collect(),
        workload: step.job.workload(None),
        source: String::new(),
        started_ns,
        duration_ns: 0,
        warmup_ns: 0,
        total: Vec::new(),
        parts: Vec::new(),
        conditions,
        cpu: None,
        end: EndReason::Failed(why),
        before: Some(0),
        under_load: None,
        after: None,
    }
}

fn now_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as i64)
}
