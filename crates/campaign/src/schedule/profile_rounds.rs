//! An application's profile: its jobs in rounds, and more of those that decide where a bound lies
//! within the interval.

use iodyno_judge::fit::borderline;
use iodyno_model::Profile;

use crate::phase::{Phase, Schedule, Seen};
use crate::watch::Watcher;

/// So often the rounds of a profile are measured again at most, where that may decide a bound.
const LONGER: u32 = 2;

/// The phases of a profile in rounds.
#[derive(Debug, Clone)]
pub(super) struct ProfileRounds {
    profile: Profile,
    phases: Vec<Phase>,
    /// Phases of the round that are left, last one first.
    left: Vec<usize>,
    /// Which round that is, from 1.
    round: u32,
}

impl ProfileRounds {
    pub(super) const fn new(profile: Profile, phases: Vec<Phase>) -> Self {
        Self { profile, phases, left: Vec::new(), round: 0 }
    }

    /// The phases of the next round: all, then those that are not decided.
    fn next_round(&self, seen: &Seen<'_>) -> Vec<usize> {
        let all = (0..self.phases.len()).rev();
        if self.round < self.profile.rounds {
            return all.collect();
        }
        if self.round >= self.profile.rounds * LONGER {
            return Vec::new();
        }
        let open = borderline(&self.profile, seen.record);
        let is_open = |n: &usize| {
            self.phases[*n].jobs.iter().any(|one| open.iter().any(|name| *name == one.job.name))
        };
        all.filter(is_open).collect()
    }
}

impl Schedule for ProfileRounds {
    fn next(&mut self, seen: &Seen<'_>, _: &mut dyn Watcher) -> Option<Phase> {
        if self.left.is_empty() {
            self.left = self.next_round(seen);
            self.round += 1;
        }
        let phase = self.phases[self.left.pop()?].clone();
        let all_ns: u64 = self.phases.iter().map(|one| one.most_ns).sum();
        let rounds = self.profile.rounds.saturating_sub(self.round);
        let in_round: u64 = self.left.iter().map(|n| self.phases[*n].most_ns).sum();
        let left_ns = phase.most_ns + in_round + u64::from(rounds) * all_ns;
        Some(Phase { left_ns, round: Some(self.round), ..phase })
    }
}
