//! Carries a plan out: targets cleared, conditions read, steps measured, each
//! result committed before the next step starts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use iodyno_host::Source;
use iodyno_job::Extent;
use iodyno_judge::ClaimBook;
use iodyno_load::LoadGenerator;
use iodyno_model::{DiskStats, Host, Origin, Scope, Setting, Skipped};
use iodyno_store::Store;
use iodyno_target::{Access, Permission, Target, TargetError, WriteClearance, unused_allowances};

use crate::bench::Ready;
use crate::budget::Budget;
use crate::error::CampaignError;
use crate::places::Held;
use crate::plan::Plan;
use crate::read_blocks::BlockHistory;
use crate::resume::Resumed;
use crate::scratch::Scratches;
use crate::study::Point;
use crate::watch::{Event, Watcher};
use crate::written;

/// Sampling which blocks were written ends after this, ns, however few were read.
pub(crate) const SAMPLING_NS: u64 = 10_000_000_000;

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
    /// The permission stands for more runs than this one: words that this one has no need of are
    /// no mistake.
    pub standing: bool,
    /// Devices beside the targets, of which an investigation may write those that
    /// the permission names.
    pub neighbours: Vec<Target>,
    /// Measure nothing: links, health and inventory only.
    pub no_load: bool,
    /// Whether targets were named.
    pub scope: Scope,
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
            standing: false,
            neighbours: Vec::new(),
            no_load: false,
            scope: Scope::Targets,
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
    /// The round with which targets, as they were typed, were done.
    pub(crate) over_in: BTreeMap<Vec<String>, u32>,
    /// Points to which another drive brought nothing more.
    pub(crate) saturated: Vec<Point>,
    /// What it did to the blocks of its targets.
    pub(crate) blocks: BlockHistory,
    /// What was set on the machine for it.
    pub(crate) settings: Vec<Setting>,
}

impl Campaign<'_, '_> {
    /// What holds no block of the plan's largest is too small for it, whatever
    /// is wrong with the drive.
    fn holding_a_block(&self, held: Held) -> Result<Held, CampaignError> {
        let block_bytes =
            self.plan.steps.iter().map(|step| step.job.largest_block()).max().unwrap_or(0);
        let size = held.access().read().size_bytes();
        if size >= block_bytes {
            return Ok(held);
        }
        let name = held.access().read().name().to_owned();
        let block_bytes = u32::try_from(block_bytes).unwrap_or(u32::MAX);
        Err(TargetError::TooSmall { name, size, block_bytes }.into())
    }

    pub(crate) fn measure(&mut self, targets: &[Target]) -> Result<(), CampaignError> {
        let names: Vec<String> = targets.iter().map(|target| target.name().to_owned()).collect();
        let directories: Vec<String> = targets
            .iter()
            .filter(|target| target.is_directory())
            .map(|target| target.name().to_owned())
            .collect();
        let writes = self.plan.steps.iter().any(|step| step.job.writes());
        let neighbours = match self.plan.investigates && !writes {
            true => may_be_written(self.options, self.host),
            false => Vec::new(),
        };
        let beside: Vec<String> =
            neighbours.iter().map(|target| target.name().to_owned()).collect();
        let sentences = match self.plan.investigates {
            true => self.what_is_asked(&names, &directories, writes, &beside),
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
            match result.and_then(|held| self.holding_a_block(held)) {
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
        let mut held: Vec<(&Target, WriteClearance)> = Vec::new();
        for target in neighbours {
            match target.clear_for_writing(self.host, &self.options.permission) {
                Ok(clearance) => held.push((target, clearance)),
                Err(error) => refused = refused.or(Some(error.into())),
            }
        }
        let beside = || held.iter().map(|(_, clearance)| clearance);
        let written = cleared.iter().filter_map(|(_, held)| held.access().write()).chain(beside());
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
        let beside: Vec<Ready<'_>> = held
            .iter()
            .map(|(target, clearance)| {
                let access = Access::Write(clearance);
                Ready::new(self.host, target.name(), access, target.device(), false, Vec::new())
            })
            .collect();
        let result = self.on_the_bench(&mut bench, &beside);
        drop((bench, beside));
        drop((cleared, held));
        scratches.remove(self.tools, &self.run_id)?;
        result
    }

    fn on_the_bench(
        &mut self,
        bench: &mut [Ready<'_>],
        neighbours: &[Ready<'_>],
    ) -> Result<(), CampaignError> {
        let plan = self.plan;
        if plan.investigates {
            return self.investigate(bench, neighbours);
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
                let whole = Extent { offset: 0, length: size };
                ready.written = Some(match self.emptied_by(ready, whole) {
                    Some(why) => {
                        let sampled =
                            written::judge(&ready.name, size, &samples, namespace.as_ref());
                        written::emptied(&sampled.share, &why)
                    }
                    None => written::judge(&ready.name, size, &samples, namespace.as_ref()),
                });
                ready.samples = samples;
            }
            Err(error) => {
                let why = error.to_string();
                self.tools.watcher.event(&Event::Warning(&format!(
                    "{why}: which of its blocks were ever written is not known"
                )));
                ready.lost = Some(why);
            }
        }
        Ok(())
    }

    /// The seed of a run's samples follows from its id, so that each run looks
    /// at other blocks and yet can be repeated.
    pub(crate) fn seed(&self) -> u64 {
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

/// The neighbours that the permission names.
fn may_be_written<'o>(options: &'o Options, host: &Host) -> Vec<&'o Target> {
    let named = |target: &&Target| target.is_named_in(host, &options.permission);
    options.neighbours.iter().filter(named).collect()
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
