//! An application profile: its jobs in rounds, then more rounds of jobs whose bound lies within the
//! interval.

use iodyno_judge::fit::undecided;
use iodyno_model::{Profile, placeholders};

use super::turns::phases;
use crate::phase::{Phase, RunView, Schedule};
use crate::plan::Stop;
use crate::profiles::script;
use crate::watch::Watcher;

/// Longest extension: this multiple of the profile's rounds, if more may decide a bound.
const MAX_EXTENSION: u32 = 2;

/// Phases of a profile in rounds.
#[derive(Debug, Clone)]
pub(super) struct ProfileRounds {
    profile: Profile,
    /// Target, as named by its jobs.
    target: String,
    phases: Vec<Phase>,
    /// Phases left in the round, last one first.
    left: Vec<usize>,
    /// Number of the round, from 1.
    round: u32,
}

impl ProfileRounds {
    pub(super) const fn new(profile: Profile, target: String, phases: Vec<Phase>) -> Self {
        Self { profile, target, phases, left: Vec::new(), round: 0 }
    }

    /// Phases of the next round: first all, later the undecided ones.
    fn next_round(&self, view: &RunView<'_>) -> Vec<usize> {
        let all = (0..self.phases.len()).rev();
        if self.round < self.profile.rounds {
            return all.collect();
        }
        if self.round >= self.profile.rounds * MAX_EXTENSION {
            return Vec::new();
        }
        let open = undecided(&self.profile, view.record);
        let is_open =
            |n: &usize| self.phases[*n].jobs.iter().any(|one| open.contains(&one.job.name));
        all.filter(is_open).collect()
    }
}

impl ProfileRounds {
    /// Phase of this number, with measured values inserted if its jobs depend on them.
    fn phase(&self, n: usize, view: &RunView<'_>) -> Phase {
        let is_made = placeholders(&self.profile.jobs).next().is_some();
        let made = is_made.then(|| script(&self.profile, &self.target, Some(view.record)).ok());
        let made =
            made.flatten().and_then(|of| phases(&of, &Stop::NEVER, &[], &[]).into_iter().nth(n));
        made.unwrap_or_else(|| self.phases[n].clone())
    }
}

impl Schedule for ProfileRounds {
    fn next(&mut self, view: &RunView<'_>, _: &mut dyn Watcher) -> Option<Phase> {
        if self.left.is_empty() {
            self.left = self.next_round(view);
            self.round += 1;
        }
        let next = self.left.pop()?;
        let phase = self.phase(next, view);
        let all_ns: u64 = self.phases.iter().map(|one| one.most_ns).sum();
        let rounds = self.profile.rounds.saturating_sub(self.round);
        let in_round: u64 = self.left.iter().map(|n| self.phases[*n].most_ns).sum();
        let left_ns = phase.most_ns + in_round + u64::from(rounds) * all_ns;
        Some(Phase { left_ns, round: Some(self.round), ..phase })
    }
}
