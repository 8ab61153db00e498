//! The executor: runs each phase that a schedule asks for on cleared targets, watches it and stores
//! its measurements before asking for the next. Independent of the schedule.

use std::collections::BTreeMap;

use iodyno_host::Depth;
use iodyno_load::{ClearedJob, Counting, LoadError, Recorder};
use iodyno_model::{Host, Measurement, Origin, RunRecord, Setting};
use iodyno_stats::Stopper;
use iodyno_trace::tracefs::Watched;

use crate::block_times;
use crate::end_condition::EndCondition;
use crate::error::CampaignError;
use crate::host_watch::{HostWatch, hottest_c};
use crate::measurement::{Cut, FinishedPhase, SteadyWatch, settled_rate};
use crate::phase::{End, Measured, Phase, PhaseJob, RunView, Schedule};
use crate::phase_watch::{DisksAt, Observed, PhaseWatch};
use crate::plan::Stop;
use crate::targets::{BlockHistory, PreparedTarget, Targets};
use crate::tools::{Options, Tools, now_ns};
use crate::watch::{Begin, Event, Progress};

/// Temperature drop after which a drive has rested, °C.
const COOLER_C: f32 = 5.0;
/// Interval between temperature readings while resting, ns.
const TEMPERATURE_INTERVAL_NS: u64 = 1_000_000_000;

/// A run under way.
pub(crate) struct Execution<'a, 't> {
    pub(crate) tools: &'a mut Tools<'t>,
    pub(crate) host: &'a Host,
    pub(crate) options: &'a Options,
    /// Default end of measurements.
    stop: Stop,
    /// Settings applied to the machine.
    settings: Vec<Setting>,
    /// The run as stored, without snapshots unless the schedule reads them.
    pub(crate) record: RunRecord,
    /// Number of the last phase, from 1.
    phase: u32,
    /// A phase failed.
    pub(crate) failed: bool,
    /// Longest time of all phases and rests so far, ns.
    spent_ns: u64,
    /// Number of the snapshot after the last measurement, which is the one before the next.
    last_snapshot: usize,
    /// Knowledge of written blocks on the targets.
    blocks: BlockHistory,
    /// Keep snapshots in memory, since the schedule reads them.
    keeps_hosts: bool,
}

impl<'a, 't> Execution<'a, 't> {
    /// Begins to execute a run that is already recorded. `samples` blocks of each target are
    /// sampled to find out which were ever written.
    pub(crate) fn begin(
        tools: &'a mut Tools<'t>,
        host: &'a Host,
        options: &'a Options,
        record: RunRecord,
        settings: Vec<Setting>,
        (stop, samples): (Stop, u32),
    ) -> Result<Self, CampaignError> {
        let last_snapshot = tools.store.add_snapshot(&record.run.id, host)?;
        tools.watcher.event(&Event::Run(&record.run));
        tools.watcher.event(&Event::Host(host));
        let blocks = BlockHistory::new(samples, &record.run.id, &options.origin);
        let phase = options.resumed.as_ref().map_or(0, |resumed| resumed.phases);
        let record = RunRecord { snapshots: vec![host.clone()], ..record };
        Ok(Self {
            tools,
            host,
            options,
            stop,
            settings,
            record,
            phase,
            failed: false,
            spent_ns: 0,
            last_snapshot,
            blocks,
            keeps_hosts: false,
        })
    }

    /// True if no phase has run yet, not even before an interruption.
    pub(crate) const fn is_first(&self) -> bool {
        self.phase == 0
    }

    /// Runs the phases of `schedule` on `targets` until there are no more; then removes the files
    /// to be unlinked, also after a failure.
    ///
    /// # Errors
    /// Nothing can be recorded any more, or the very first job cannot be run.
    pub(crate) fn carry_out(
        &mut self,
        schedule: &mut dyn Schedule,
        targets: &mut Targets,
    ) -> Result<(), CampaignError> {
        let result = self.phases(schedule, targets);
        result.and(targets.unlink_all())
    }

    fn phases(
        &mut self,
        schedule: &mut dyn Schedule,
        targets: &mut Targets,
    ) -> Result<(), CampaignError> {
        self.keeps_hosts = schedule.reads_hosts();
        let mut trial_iops = None;
        while !self.tools.is_interrupted() {
            let view = RunView {
                host: self.host,
                record: &self.record,
                targets: &targets.prepared,
                trial_iops,
                spent_ns: self.spent_ns,
                elapsed_ns: u64::try_from(now_ns() - self.record.run.started_ns).unwrap_or(0),
            };
            let Some(phase) = schedule.next(&view, self.tools.watcher) else { break };
            if phase.rest_ns > 0 {
                self.rest(targets, phase.rest_ns)?;
            }
            let phase = self.without_lost_targets(phase, targets);
            trial_iops = match phase.measured_jobs() > 0 && !self.tools.is_interrupted() {
                true => self.measure(&phase, targets)?,
                false => None,
            };
            targets.unlink(&phase.unlink)?;
        }
        Ok(())
    }

    /// Samples which blocks of these targets were ever written.
    pub(crate) fn sample(
        &mut self,
        targets: &mut Targets,
        numbers: impl IntoIterator<Item = usize>,
    ) {
        for number in numbers {
            if self.tools.is_interrupted() {
                return;
            }
            let (target, held) = targets.target(number);
            self.blocks.sample(self.tools, self.host, target, held.access().read());
        }
    }

    /// `phase` without jobs whose targets cannot be measured any more. Each target is sampled
    /// before the first job that is fitted to it.
    fn without_lost_targets(&mut self, mut phase: Phase, targets: &mut Targets) -> Phase {
        let measured = phase.measured_jobs();
        let (name, mut n, mut lost) = (phase.name(), 0, 0);
        for one in phase.jobs.iter_mut().take(measured) {
            if let Some(on) = &one.on
                && !self.tools.is_interrupted()
            {
                let number = on.index;
                targets.with_fitted_job(one, |target, job| {
                    self.blocks.sample_for_job(self.tools, self.host, target, job);
                });
                one.on = one.on.take().map(|on| on.updated_from(&targets.prepared[number]));
            }
        }
        phase.jobs.retain(|PhaseJob { on, .. }| {
            n += 1;
            let Some(on) = on.as_ref().filter(|_| n <= measured) else { return true };
            let Some(why) = &on.lost else { return true };
            // A trial's failure is reported by the measurement after it.
            if !matches!(phase.measured, Measured::Trial(_)) {
                self.tools.skip_failed(&mut self.record.run, &on.name, Some(&name), why, "");
                self.failed = true;
            }
            lost += 1;
            false
        });
        if let Measured::Targets(count) = &mut phase.measured {
            *count -= lost;
        }
        phase
    }

    /// Runs a phase and stores its measurements: one for each section, or just one. Returns the
    /// IOPS of a trial; `None` if it failed, which the measurement after it will report.
    fn measure(
        &mut self,
        phase: &Phase,
        targets: &mut Targets,
    ) -> Result<Option<f64>, CampaignError> {
        let trying = match phase.measured {
            Measured::Trial(outstanding) => Some(outstanding),
            Measured::Sections | Measured::Targets(_) => None,
        };
        self.phase += u32::from(trying.is_none());
        let (jobs, sections, on) = cleared(phase, targets);
        let known = self.with_known_blocks(phase, &jobs, &targets.prepared);
        let measured = phase.measured_jobs().min(jobs.len());
        let source = self.tools.source;
        let outstanding = jobs.iter().map(|one| one.job.depth.iodepth).sum();
        let worked_on = on[..measured].iter().flatten().map(|number| &known[*number]).collect();
        let host = HostWatch::begin(source, self.host, phase, worked_on, outstanding);
        let (name, target) = (phase.name(), place(phase, &jobs[..measured]));
        let ends_itself = phase.end == End::ByThemselves;
        let ending = EndCondition::of(phase, &self.stop, self.options.fixed_ns);
        let progress = Progress {
            goal: ending.goal(),
            most_ns: phase.most_ns,
            left_ns: phase.left_ns,
            trying,
            work_bytes: ends_itself.then(|| crate::announce::work_bytes(&jobs)).flatten(),
            target: &target,
            step: &name,
            ..Progress::default()
        };
        let steady = match ends_itself {
            true => SteadyWatch::of(jobs.iter().map(|job| &job.job)),
            false => Vec::new(),
        };
        let started_ns = now_ns();
        let counting = if ends_itself { Counting::Whole } else { Counting::Steady };
        self.tools.watcher.event(&Event::Begin(Begin {
            phase: self.phase,
            jobs: &jobs,
            sections: &sections[..measured],
            counting,
            trying,
        }));
        let queues = self.queues(phase, &on[..measured], &known);
        let mut watch = PhaseWatch {
            recorder: Recorder::counting(counting),
            stopper: Stopper::new(ending.rule),
            watcher: self.tools.watcher,
            interrupted: self.tools.interrupted,
            progress,
            host,
            rounds: ending.rounds,
            jobs: &jobs,
            steady,
            measured,
            observed: Observed::default(),
            source,
            since: DisksAt::now(source),
        };
        let (report, block_times) =
            block_times::during(queues, || self.tools.generator.run(&jobs, &mut watch));
        if let (Err(LoadError::Unfit { what, .. }), Measured::Sections, 1, Some(first)) =
            (&report, phase.measured, self.phase, jobs.first())
        {
            // Nothing was done yet: refuse it like a mistyped option.
            return Err(CampaignError::of_job(&first.job.name, what.clone()));
        }
        self.spent_ns += phase.most_ns;
        if trying.is_some() {
            let (recorder, ..) = watch.finish();
            return Ok(report.ok().and_then(|_| settled_rate(&recorder)));
        }
        let stats_after = iodyno_host::disk_stats(source);
        let settings = self.settings.clone();
        let steady = std::mem::take(&mut watch.steady);
        let steady_state = watch.steady_state();
        let cut = if ends_itself { Cut::Nothing } else { watch.cut() };
        let (recorder, host, end, since) = watch.finish();
        let seconds = since.at.elapsed().as_secs_f64();
        let (under_load, above_limits) = host.end();
        self.blocks.add(&jobs);
        let finished = FinishedPhase {
            phase,
            number: self.phase,
            jobs: &jobs,
            on: &on,
            targets: &known,
            report,
            recorder,
            end,
            source: self.tools.generator.source(),
            started_ns,
            seconds,
            disk_stats: (since.stats, stats_after),
            steady,
            cut,
            steady_state,
            above_limits,
            p99_asked: ending.p99,
            block_times,
            stop: self.stop,
            settings: &settings,
        };
        self.commit(&finished, &sections[..measured], under_load)?;
        let failures = if phase.gives_up { finished.failures() } else { Vec::new() };
        for (number, why) in failures {
            targets.prepared[number].lost = Some(why);
        }
        Ok(None)
    }

    /// Stores a snapshot of the host after a phase, and a measurement for each of the jobs'
    /// `sections`.
    fn commit(
        &mut self,
        finished: &FinishedPhase<'_>,
        sections: &[usize],
        under_load: Option<Host>,
    ) -> Result<(), CampaignError> {
        let run_id = &self.record.run.id;
        let mut keep = |host: &Host| {
            self.record.snapshots.extend(self.keeps_hosts.then(|| host.clone()));
            self.tools.store.add_snapshot(run_id, host)
        };
        let under_load = under_load.map(|host| keep(&host)).transpose()?;
        let host = iodyno_host::snapshot(self.tools.source, Depth::Full);
        let after = keep(&host)?;
        self.tools.watcher.event(&Event::Host(&host));
        let before = std::mem::replace(&mut self.last_snapshot, after);
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, section) in sections.iter().enumerate() {
            groups.entry(*section).or_default().push(index);
        }
        for mut members in groups.into_values() {
            members.sort_by_key(|index| finished.jobs[*index].job.threads.clone);
            let measurement = Measurement {
                purpose: finished.phase.purpose,
                round: finished.phase.round,
                under_load,
                before: Some(before),
                after: Some(after),
                ..finished.measurement(&members)
            };
            self.tools.store.add_measurement(run_id, &measurement)?;
            self.failed |= measurement.failure().is_some();
            self.tools.watcher.event(&Event::Done(&measurement));
            self.record.measurements.push(measurement);
        }
        Ok(())
    }

    /// `targets` with what is known of the blocks that `jobs` will read.
    fn with_known_blocks(
        &mut self,
        phase: &Phase,
        jobs: &[ClearedJob<'_>],
        targets: &[PreparedTarget],
    ) -> Vec<PreparedTarget> {
        let mut known = targets.to_vec();
        for one in &mut known {
            let mut fitted = phase.jobs.iter().filter_map(|job| job.on.as_ref());
            if let Some(on) = fitted.find(|on| on.index == one.index) {
                *one = on.clone();
            } else if phase.measured == Measured::Sections
                // Rounds follow each other without a pause, on prepared drives.
                && phase.round.is_none()
                && let Some(found) = self.blocks.read_by(self.tools, self.host, jobs, one)
            {
                one.written = Some(found);
            }
        }
        known
    }

    /// Queues to trace while a phase begins, if its I/Os go through this kernel.
    fn queues(
        &self,
        phase: &Phase,
        on: &[Vec<usize>],
        known: &[PreparedTarget],
    ) -> Option<Vec<Watched>> {
        let is_seen = phase.traces_blocks && self.record.run.origin == Origin::Measured;
        let is_direct = phase.jobs.iter().all(|one| one.job.engine.direct);
        let targets: Vec<_> = on.iter().flatten().map(|number| &known[*number]).collect();
        (is_seen && is_direct).then(|| block_times::queues(self.host, &targets)).flatten()
    }

    /// Makes no I/O until the hottest drive is cooler by [`COOLER_C`], or for `most_ns`. The
    /// snapshot after it is the one before the next measurement.
    fn rest(&mut self, targets: &Targets, most_ns: u64) -> Result<(), CampaignError> {
        let source = self.tools.source;
        let measured = || targets.prepared.iter().filter(|target| !target.is_neighbour);
        let from_c = hottest_c(source, measured());
        let mut rested_ns = 0;
        while rested_ns < most_ns && !self.tools.is_interrupted() {
            let now_c = hottest_c(source, measured());
            if from_c.zip(now_c).is_some_and(|(from_c, now_c)| from_c - now_c >= COOLER_C) {
                break;
            }
            let event = Event::Resting { elapsed_ns: rested_ns, most_ns, temperature_c: now_c };
            self.tools.watcher.event(&event);
            let next_ns = TEMPERATURE_INTERVAL_NS.min(most_ns - rested_ns);
            self.tools.generator.rest(next_ns);
            rested_ns += next_ns;
        }
        self.spent_ns += rested_ns;
        let host = iodyno_host::snapshot(source, Depth::Full);
        self.last_snapshot = self.tools.store.add_snapshot(&self.record.run.id, &host)?;
        self.record.snapshots.extend(self.keeps_hosts.then_some(host));
        Ok(())
    }
}

/// Jobs of a phase with their clearances, their sections, and the numbers of their targets.
type Cleared<'c> = (Vec<ClearedJob<'c>>, Vec<usize>, Vec<Vec<usize>>);

fn cleared<'c>(phase: &Phase, targets: &'c Targets) -> Cleared<'c> {
    let (mut jobs, mut sections, mut on) = Cleared::default();
    for (turn, one) in phase.jobs.iter().enumerate() {
        if let Some((job, numbers)) = targets.cleared(one, turn) {
            jobs.push(job);
            sections.push(one.section);
            on.push(numbers);
        }
    }
    (jobs, sections, on)
}

/// Display name of the targets of jobs.
fn place(phase: &Phase, jobs: &[ClearedJob<'_>]) -> String {
    let mut targets: Vec<String> = jobs.iter().map(ClearedJob::target).collect();
    targets.sort();
    targets.dedup();
    match (targets.as_slice(), phase.measured) {
        ([only], _) => only.clone(),
        (_, Measured::Targets(_)) => "all at once".into(),
        (several, _) => format!("{} targets", several.len()),
    }
}
