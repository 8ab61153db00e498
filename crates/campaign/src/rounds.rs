//! Rounds carried out: once a drive is steady, the rounds that are left are needless.

use iodyno_job::script::{Phase, Script};
use iodyno_judge::Convergence;
use iodyno_model::{Measurement, Rounds};

use crate::error::CampaignError;
use crate::execute::Campaign;
use crate::resume::is_at;
use crate::study::Point;
use crate::watch::Event;

/// The points of a script in rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct InRounds {
    /// When they are over.
    pub asked: Rounds,
    /// The point of each section.
    pub points: Vec<Point>,
}

impl InRounds {
    fn point(&self, phase: &Phase) -> Option<&Point> {
        self.points.get(phase.jobs.first()?.section)
    }
}

/// The round in which the target of `point` came to its steady state.
pub(crate) fn steady_in(
    asked: &Rounds,
    measurements: &[Measurement],
    point: &Point,
) -> Option<u32> {
    // Few are tracked, and looking at a target's name asks the file system.
    let is_tracked = |of: &&Measurement| asked.track.iter().any(|one| one.point == of.name);
    let is_of = |of: &&Measurement| matches!(&*of.targets, [only] if is_at(only, point));
    let tracked = measurements.iter().filter(is_tracked).filter(is_of);
    let tracked: Vec<&Measurement> = tracked.collect();
    Convergence::of(asked, tracked.into_iter()).steady_in
}

impl Campaign<'_, '_> {
    /// The round that a section of the script belongs to.
    pub(crate) fn round_of(&self, section: usize) -> Option<u32> {
        self.plan.rounds.as_ref()?.points.get(section)?.round
    }

    /// Whether it is of a round behind the one in which its drive was steady.
    pub(crate) fn is_needless(&self, phase: &Phase) -> bool {
        let point = self.plan.rounds.as_ref().and_then(|rounds| rounds.point(phase));
        let steady = point.and_then(|point| self.steady_in.get(&point.target));
        point.and_then(|point| point.round).zip(steady).is_some_and(|(round, in_)| round > *in_)
    }

    /// If phase `n` was the last of its round: whether the drive is steady now.
    pub(crate) fn after_round(&mut self, script: &Script, n: usize) -> Result<(), CampaignError> {
        let Some(rounds) = &self.plan.rounds else { return Ok(()) };
        let Some(point) = script.phases.get(n).and_then(|phase| rounds.point(phase)) else {
            return Ok(());
        };
        let next = script.phases.get(n + 1).and_then(|phase| rounds.point(phase));
        let is_over =
            next.is_none_or(|next| (next.round, &next.target) != (point.round, &point.target));
        let (Some(round), true, false) = (point.round, is_over, self.is_interrupted()) else {
            return Ok(());
        };
        let record = self.tools.store.load(&self.run_id)?;
        let steady_in = steady_in(&rounds.asked, &record.measurements, point);
        let most = rounds.asked.most;
        let sentence = match steady_in {
            Some(_) => format!("round {round}: steady state reached"),
            None if round < most => format!("round {round} of at most {most}: not steady yet"),
            None => format!("round {round}: STEADY STATE NOT REACHED, and no more rounds are left"),
        };
        self.tools.watcher.event(&Event::Warning(&sentence));
        self.steady_in.extend(steady_in.map(|round| (point.target.clone(), round)));
        Ok(())
    }
}
