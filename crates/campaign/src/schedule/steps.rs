//! Steps on each target alone, one after the other, then on all targets at once.

use std::collections::BTreeMap;

use super::depth_search::{DepthSearch, spread};
use crate::budget::{Budget, SEARCH_COST};
use crate::phase::{Measured, Phase, PhaseJob, RunView, Schedule};
use crate::plan::{Step, divided};
use crate::targets::PreparedTarget;
use crate::watch::Watcher;

/// Steps in progress.
pub(crate) struct Steps<'a> {
    steps: &'a [Step],
    budget: Budget,
    /// Turns in order; `None` until the number of targets is known.
    turns: Option<Vec<Turn>>,
    next: usize,
    /// Search in progress: number of its target, and the depth being tried.
    search: Option<(usize, DepthSearch, u32)>,
    /// Sufficient outstanding I/Os, by step and target.
    found: BTreeMap<(usize, usize), Found>,
}

struct Turn {
    /// Number of the step.
    step: usize,
    /// Numbers of the targets.
    on: Vec<usize>,
    /// First turn on these targets.
    is_first: bool,
}

/// Result of a search.
struct Found {
    outstanding: u32,
    /// Number of the turn that it was made for.
    turn: usize,
    tried: Vec<(u32, f64)>,
}

impl<'a> Steps<'a> {
    pub(crate) const fn new(steps: &'a [Step], budget: Budget) -> Self {
        let found = BTreeMap::new();
        Self { steps, budget, turns: None, next: 0, search: None, found }
    }

    /// All turns on this many targets.
    fn turns(&self, targets: usize) -> Vec<Turn> {
        let [each, together] = divided(self.steps, targets);
        let of = |on: Vec<usize>, steps: &[usize]| -> Vec<Turn> {
            let turn = |(n, &step)| Turn { step, on: on.clone(), is_first: n == 0 };
            steps.iter().enumerate().map(turn).collect()
        };
        let alone = (0..targets).flat_map(|target| of(vec![target], &each));
        alone.chain(of((0..targets).collect(), &together)).collect()
    }

    /// Next trial of a search that `turn` needs on one of its targets; `None` once all results are
    /// known.
    fn trial(&mut self, turn: &Turn, view: &RunView<'_>) -> Option<Phase> {
        let step = &self.steps[turn.step];
        let search = step.outstanding?;
        loop {
            let (target, depths) = match self.search.take() {
                Some((target, mut depths, depth)) => {
                    let Some(iops) = view.trial_iops else {
                        // The measurement will fail as well, and report it.
                        self.end(turn, target, &depths);
                        continue;
                    };
                    depths.tried(depth, iops);
                    (target, depths)
                }
                None => {
                    let is_open = |target: &&usize| {
                        view.targets[**target].lost.is_none()
                            && !self.found.contains_key(&(turn.step, **target))
                    };
                    let target = *turn.on.iter().find(is_open)?;
                    (target, DepthSearch::new(search, view.targets[target].queue_depth))
                }
            };
            let Some(depth) = depths.next() else {
                self.end(turn, target, &depths);
                continue;
            };
            let target_now = &view.targets[target];
            let shape = spread(depth, target_now.cpu_count());
            let job = shaped(step, target_now, Some(shape));
            let most_ns = (self.most_ns(view) / 10).max(200_000_000);
            let left_ns = self.budget.total_ns.saturating_sub(view.spent_ns);
            self.search = Some((target, depths, depth));
            let phase = Phase::fitted(vec![job], Measured::Trial(depth), most_ns);
            return Some(Phase { left_ns, ..phase });
        }
    }

    /// Longest duration of the next measurement, ns, so that all that is left fits into the budget.
    fn most_ns(&self, view: &RunView<'_>) -> u64 {
        let turns = self.turns(view.targets.len());
        let cost = |turn: &Turn| {
            let searches = self.steps[turn.step].outstanding.is_some() && turn.on.len() == 1;
            let is_open = searches && !self.found.contains_key(&(turn.step, turn.on[0]));
            1.0 + if is_open { SEARCH_COST } else { 0.0 }
        };
        let left: f64 = turns.iter().skip(self.next).map(cost).sum();
        self.budget.next_ns(view.spent_ns.max(view.elapsed_ns), left)
    }

    fn end(&mut self, turn: &Turn, target: usize, depths: &DepthSearch) {
        let (outstanding, tried) = (depths.found(), depths.history().to_vec());
        let found = Found { outstanding, turn: self.next, tried };
        self.found.insert((turn.step, target), found);
    }

    fn measured(&self, turn: &Turn, view: &RunView<'_>) -> Phase {
        let step = &self.steps[turn.step];
        let all_cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let mut depths_tried = Vec::new();
        let mut jobs = Vec::with_capacity(turn.on.len());
        for target in turn.on.iter().map(|number| &view.targets[*number]) {
            let found = self.found.get(&(turn.step, target.index));
            let shape = found.map(|found| {
                let cpus = target.cpu_count();
                if found.turn == self.next {
                    depths_tried.clone_from(&found.tried);
                    return spread(found.outstanding, cpus);
                }
                // All at once: the depth that sufficed alone, on a fair share of the CPUs.
                spread(found.outstanding, cpus.min(all_cpus / 2).max(1))
            });
            jobs.push(shaped(step, target, shape));
        }
        let count = jobs.len();
        Phase {
            left_ns: self.budget.total_ns.saturating_sub(view.spent_ns),
            reads_links: turn.is_first,
            reads_temperature: step.job.depth.iodepth > 1 || step.outstanding.is_some(),
            depths_tried,
            ..Phase::fitted(jobs, Measured::Targets(count), self.most_ns(view))
        }
    }
}

impl Schedule for Steps<'_> {
    fn next(&mut self, view: &RunView<'_>, _: &mut dyn Watcher) -> Option<Phase> {
        let turns = self.turns.take().unwrap_or_else(|| self.turns(view.targets.len()));
        let phase = turns.get(self.next).map(|turn| match self.trial(turn, view) {
            Some(trial) => trial,
            None => {
                let phase = self.measured(turn, view);
                self.next += 1;
                phase
            }
        });
        self.turns = Some(turns);
        phase
    }
}

/// Job of a step on a target, with this (number of threads, depth).
fn shaped(step: &Step, target: &PreparedTarget, shape: Option<(u32, u32)>) -> PhaseJob {
    let mut job = step.job.clone();
    if let Some((threads, depth)) = shape {
        job.threads.shared_by = threads;
        job.depth.iodepth = depth;
    }
    PhaseJob { job, section: 0, on: Some(target.clone()) }
}
