//! Carries a plan out: targets cleared, conditions read, steps measured, each
//! result committed before the next step starts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iodyno_host::Source;
use iodyno_judge::ClaimBook;
use iodyno_load::LoadGenerator;
use iodyno_model::{DiskStats, Host, Origin, Run, RunState, Skipped};
use iodyno_store::Store;
use iodyno_target::{Permission, Target, unused_allowances};

use crate::bench::Ready;
use crate::budget::Budget;
use crate::error::CampaignError;
use crate::look::{Issued, other_io};
use crate::places::Held;
use crate::plan::Plan;
use crate::resume::Resumed;
use crate::scratch::Scratches;
use crate::watch::{Event, Watcher};
use crate::written;

/// Sampling which blocks were written ends after this, ns, however few were read.
const SAMPLING_NS: u64 = 10_000_000_000;

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
    /// What may be written, and lost.
    pub permission: Permission,
    /// Measure nothing: links, health and inventory only.
    pub no_load: bool,
    /// What was asked for and cannot even become a target, and why.
    pub unusable: Vec<Skipped>,
    /// Where the numbers come from.
    pub origin: Origin,
    /// The run that goes on, in place of a new one.
    pub resumed: Option<Resumed>,
}

impl Options {
    /// For jobs and studies, which say themselves how long they take.
    pub fn of_jobs(name: &str, permission: Permission) -> Self {
        Self {
            name: name.to_owned(),
            command: std::env::args().collect::<Vec<_>>().join(" "),
            budget_ns: u64::MAX,
            fixed_ns: None,
            max_ns: None,
            busy: true,
            permission,
            no_load: false,
            unusable: Vec::new(),
            origin: Origin::Measured,
            resumed: None,
        }
    }
}

/// What a campaign works with.
pub struct Tools<'a> {
    /// Facts of the host.
    pub source: &'a dyn Source,
    /// Makes the I/O.
    pub generator: &'a mut dyn LoadGenerator,
    /// What data sheets state.
    pub claims: &'a ClaimBook,
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
    let new = || Run {
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
    let mut run = match &options.resumed {
        Some(resumed) => tools.store.reopen_run(&resumed.run_id)?,
        None => {
            let run = new();
            tools.store.create_run(&run)?;
            run
        }
    };
    let first_snapshot = tools.store.add_snapshot(&run.id, host)?;
    tools.watcher.event(&Event::Host(host));
    let mut campaign = Campaign {
        tools,
        plan: &plan,
        host,
        options,
        budget,
        run_id: run.id.clone(),
        skipped: options.unusable.clone(),
        phase: options.resumed.as_ref().map_or(0, |resumed| resumed.phases),
        failed: false,
        spent_ns: 0,
        last_snapshot: first_snapshot,
        played: Vec::new(),
        touched: false,
        round: None,
        steady_in: BTreeMap::new(),
    };
    let result = match &campaign.plan.script {
        _ if options.no_load => Ok(()),
        Some(script) => match plan.preparation {
            Some(preparation) => campaign.prepare(preparation, targets, script),
            None => campaign.play(script),
        },
        None => campaign.measure(targets),
    };
    let (skipped, failed) = (std::mem::take(&mut campaign.skipped), campaign.failed);
    let touched = campaign.touched;
    for played in std::mem::take(&mut campaign.played) {
        if !run.targets.contains(&played) {
            run.targets.push(played);
        }
    }
    run.state = match &result {
        _ if tools.interrupted.load(Ordering::Relaxed) => RunState::Interrupted,
        Ok(()) if !failed => RunState::Done,
        _ => RunState::Failed,
    };
    run.ended_ns = Some(now_ns());
    run.skipped = skipped;
    tools.store.update_run(&run)?;
    // A job that was refused is no run: a mistyped word is not the last one.
    if result.is_err()
        && !touched
        && (plan.script.is_some() || plan.investigates)
        && tools.store.load(&run.id)?.measurements.is_empty()
    {
        tools.store.remove(&run.id)?;
    }
    result.map(|()| run.id)
}

/// A campaign under way.
pub(crate) struct Campaign<'a, 't> {
    pub(crate) tools: &'a mut Tools<'t>,
    pub(crate) plan: &'a Plan,
    pub(crate) host: &'a Host,
    pub(crate) options: &'a Options,
    pub(crate) budget: Budget,
    pub(crate) run_id: String,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) phase: u32,
    pub(crate) failed: bool,
    /// Of the budget, ns.
    pub(crate) spent_ns: u64,
    /// The snapshot after the last measurement is the one before the next.
    pub(crate) last_snapshot: usize,
    /// What the jobs of a script worked on.
    pub(crate) played: Vec<String>,
    /// A preparation has begun to destroy what was on its targets.
    pub(crate) touched: bool,
    /// The round that is under way.
    pub(crate) round: Option<u32>,
    /// The round in which a target, as it was typed, came to its steady state.
    pub(crate) steady_in: BTreeMap<String, u32>,
}

impl Campaign<'_, '_> {
    fn measure(&mut self, targets: &[Target]) -> Result<(), CampaignError> {
        let names: Vec<String> = targets.iter().map(|target| target.name().to_owned()).collect();
        let directories: Vec<String> = targets
            .iter()
            .filter(|target| target.is_directory())
            .map(|target| target.name().to_owned())
            .collect();
        let writes = self.plan.steps.iter().any(|step| step.job.writes());
        let sentences = match self.plan.investigates {
            true => self.what_is_asked(&names, &directories, writes),
            false => crate::expect::sentences(&names, &directories, &self.budget),
        };
        self.tools.watcher.event(&Event::Expect(&sentences));

        let idle = self.without_busy(targets);
        let mut scratches = Scratches::default();
        let mut cleared: Vec<(&Target, Held)> = Vec::new();
        let mut refused = None;
        for target in idle {
            if self.is_interrupted() {
                break;
            }
            let permission = &self.options.permission;
            let result = if writes {
                let clearance = target.clear_for_writing(self.host, permission);
                clearance
                    .map(|clearance| Held::Write(target.clone(), clearance))
                    .map_err(Into::into)
            } else if target.is_directory() {
                scratches
                    .make(self.tools, &self.run_id, target)
                    .map(|clearance| Held::Read(target.clone(), clearance))
            } else {
                let clearance = target.clear_for_reading();
                clearance.map(|clearance| Held::Read(target.clone(), clearance)).map_err(Into::into)
            };
            match result {
                Ok(held) => cleared.push((target, held)),
                Err(CampaignError::Interrupted) => break,
                // A question is of all its targets or of none.
                Err(error) if self.plan.investigates => {
                    refused = Some(error);
                    break;
                }
                Err(error) => {
                    self.skip(target.name(), None, &error.to_string(), &error.next_step())
                }
            }
        }
        let written = cleared.iter().filter_map(|(_, held)| held.access().write());
        let unused = unused_allowances(&self.options.permission, written);
        let unused = unused.first().cloned().map(CampaignError::UnusedAllowance);
        if let Some(error) = refused.or(unused) {
            drop(cleared);
            scratches.remove(self.tools, &self.run_id)?;
            return Err(error);
        }
        let mut bench: Vec<Ready<'_>> = cleared
            .iter()
            .map(|(target, held)| {
                let access = held.access();
                let mut remarks = target.remarks();
                remarks.extend(access.read().remark());
                let (name, device) = (target.name(), target.device());
                Ready::new(self.host, name, access, device, target.is_directory(), remarks)
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
        if plan.investigates {
            return self.investigate(bench);
        }
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
    pub(crate) fn sample(&mut self, ready: &mut Ready<'_>) -> Result<(), CampaignError> {
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
        let samples =
            self.tools.generator.probe(ready.clearance, &offsets, block_bytes as u32, SAMPLING_NS);
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

    /// The seed of a run's samples follows from its id, so that each run looks
    /// at other blocks and yet can be repeated.
    fn seed(&self) -> u64 {
        self.run_id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.tools.interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn skip(&mut self, target: &str, step: Option<&str>, why: &str, next: &str) {
        // Errors begin with the target's name, which stands beside them already.
        let why = why.strip_prefix(target).and_then(|why| why.strip_prefix(": ")).unwrap_or(why);
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

/// The counters of a device.
pub(crate) fn find<'s>(stats: &'s [DiskStats], device: &str) -> Option<&'s DiskStats> {
    stats.iter().find(|stats| stats.name == device)
}

/// Now, ns since 1970 UTC.
pub fn now_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as i64)
}
