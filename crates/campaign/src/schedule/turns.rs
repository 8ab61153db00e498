//! Phases in their order: each once, or once per round.

use std::collections::HashSet;

use iodyno_job::script::{self, Script, ScriptJob};
use iodyno_model::Purpose;
use iodyno_stats::SHORT;

use crate::measurement::p99;
use crate::phase::{End, Phase, PhaseJob, RunView, Schedule};
use crate::plan::{Point, PointEnd, Stop};
use crate::targets::keys;
use crate::watch::Watcher;

/// A phase in its turn, with its point of a study.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    phase: usize,
    pub(super) point: Option<Point>,
    /// Keys of files that no later turn uses.
    unlink: Vec<String>,
}

impl Turn {
    /// Round of its point.
    pub(super) fn round(&self) -> Option<u32> {
        self.point.as_ref().and_then(|point| point.round)
    }
}

/// Turns, and the progress through them.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    phases: Vec<Phase>,
    turns: Vec<Turn>,
    next: usize,
}

impl Turns {
    /// Turns given as numbers of `phases`, each with its point.
    pub(super) fn new(
        phases: Vec<Phase>,
        turns: impl Iterator<Item = (usize, Option<Point>)>,
    ) -> Self {
        let turn = |(phase, point)| Turn { phase, point, unlink: Vec::new() };
        let mut turns: Vec<Turn> = turns.map(turn).collect();
        let mut later: HashSet<String> = HashSet::new();
        for turn in turns.iter_mut().rev() {
            let jobs = || phases[turn.phase].jobs.iter().map(|one| &one.job);
            let ended = jobs().filter(|job| job.files.unlink).flat_map(keys);
            turn.unlink = ended.filter(|key| !later.contains(key)).collect();
            later.extend(jobs().flat_map(keys));
        }
        Self { phases, turns, next: 0 }
    }

    /// Each phase once.
    pub(super) fn once(phases: Vec<Phase>) -> Self {
        let turns = (0..phases.len()).map(|n| (n, None));
        Self::new(phases, turns)
    }

    /// The last turn carried out, and the one after it.
    pub(super) fn last(&self) -> Option<(&Turn, Option<&Turn>)> {
        Some((self.turns.get(self.next.checked_sub(1)?)?, self.turns.get(self.next)))
    }

    /// Phase of the next turn that is not needless.
    pub(super) fn next(&mut self, is_needless: impl Fn(&Turn) -> bool) -> Option<Phase> {
        let ahead = self.turns[self.next..].iter().position(|turn| !is_needless(turn))?;
        let left = &self.turns[self.next + ahead..];
        self.next += ahead + 1;
        let needed = left.iter().filter(|turn| !is_needless(turn));
        let left_ns = needed.map(|turn| self.phases[turn.phase].most_ns).sum();
        let unlink = left[0].unlink.clone();
        let phase = self.phases[left[0].phase].clone();
        Some(Phase { left_ns, round: left[0].round(), unlink, ..phase })
    }
}

/// Every turn once.
impl Schedule for Turns {
    fn next(&mut self, _: &RunView<'_>, _: &mut dyn Watcher) -> Option<Phase> {
        self.next(|_| false)
    }
}

/// Phases of a script; `ends` is the end condition of each section, `purposes` the purpose of each
/// phase, if not to measure.
pub(super) fn phases(
    script: &Script,
    stop: &Stop,
    ends: &[PointEnd],
    purposes: &[Purpose],
) -> Vec<Phase> {
    let job = |ScriptJob { job, section, .. }: &ScriptJob| PhaseJob {
        job: job.clone(),
        section: *section,
        on: None,
    };
    let time = |job: &ScriptJob| job.job.time.time_based && job.job.time.steadystate.is_none();
    let phase = |(n, phase): (usize, &script::Phase)| {
        // All of its jobs are of one point.
        let asked = phase.jobs.first().and_then(|first| ends.get(first.section)).copied();
        let end = match asked.filter(|_| phase.jobs.iter().all(time)).unwrap_or_default() {
            PointEnd::ByThemselves => End::ByThemselves,
            ends => End::Known {
                least_times: SHORT,
                p99: p99::required_precision(stop, phase.jobs.iter().map(|job| &job.job)),
                steady: ends == PointEnd::Steady,
            },
        };
        let jobs = phase.jobs.iter().map(job).collect();
        let purpose = purposes.get(n).copied().unwrap_or_default();
        Phase { jobs, purpose, end, most_ns: lasts_ns(phase), ..Phase::default() }
    };
    script.phases.iter().enumerate().map(phase).collect()
}

/// Longest duration of a phase, ns; 0: until its work is done.
fn lasts_ns(phase: &script::Phase) -> u64 {
    phase.jobs.iter().filter_map(|job| job.job.longest_ns()).max().unwrap_or(0)
}
