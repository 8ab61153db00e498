//! Rounds carried out: once a drive is steady, the rounds that are left are needless.

use std::collections::BTreeMap;

use iodyno_job::script::{Phase, Script};
use iodyno_judge::Convergence;
use iodyno_model::{Measurement, Rounds, RunRecord};

use crate::error::CampaignError;
use crate::execute::Campaign;
use crate::resume::is_at;
use crate::study::Point;
use crate::watch::Event;

/// A plan in rounds: its script has each point once, however many rounds there are.
#[derive(Debug, Clone, PartialEq)]
pub struct InRounds {
    /// When they are over.
    asked: Rounds,
    /// Section of the script and point, in the order in which they are measured.
    turns: Vec<(usize, Point)>,
}

impl InRounds {
    /// Of `points` in their order; with them those of which the script is made.
    pub fn new(asked: Rounds, points: &[Point]) -> (Self, Vec<Point>) {
        let mut sections: BTreeMap<Point, usize> = BTreeMap::new();
        let mut once: Vec<Point> = Vec::new();
        let mut turns = Vec::with_capacity(points.len());
        for point in points {
            let section =
                *sections.entry(Point { round: None, ..point.clone() }).or_insert(once.len());
            if section == once.len() {
                once.push(point.clone());
            }
            turns.push((section, point.clone()));
        }
        (Self { asked, turns }, once)
    }
}

/// A phase that is carried out, and which point it is of a plan in rounds.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    pub(crate) phase: &'a Phase,
    point: Option<&'a Point>,
}

impl Turn<'_> {
    /// The round that it belongs to.
    pub(crate) fn round(&self) -> Option<u32> {
        self.point.and_then(|point| point.round)
    }
}

/// What is carried out, in order: each phase of the script once, or as often as
/// there are rounds.
pub(crate) fn turns<'a>(script: &'a Script, rounds: Option<&'a InRounds>) -> Vec<Turn<'a>> {
    let Some(rounds) = rounds else {
        return script.phases.iter().map(|phase| Turn { phase, point: None }).collect();
    };
    let section = |phase: &Phase| phase.jobs.first().map(|job| job.section);
    let by_section: BTreeMap<Option<usize>, &Phase> =
        script.phases.iter().map(|phase| (section(phase), phase)).collect();
    let turn = |(section, point): &'a (usize, Point)| {
        Some(Turn { phase: by_section.get(&Some(*section))?, point: Some(point) })
    };
    rounds.turns.iter().filter_map(turn).collect()
}

/// How far the rounds on the target of `point` came.
pub(crate) fn convergence(asked: &Rounds, record: &RunRecord, point: &Point) -> Convergence {
    let is_of = |of: &&Measurement| matches!(&*of.targets, [only] if is_at(only, point));
    let in_rounds = record.measurements.iter().filter(|of| of.round.is_some());
    let of_target: Vec<&Measurement> = in_rounds.filter(is_of).collect();
    Convergence::of(asked, record.host(), of_target.into_iter())
}

impl Campaign<'_, '_> {
    /// Whether it is of a round behind the one with which its target was done.
    pub(crate) fn is_needless(&self, turn: &Turn<'_>) -> bool {
        let over_in = turn.point.and_then(|point| self.over_in.get(&point.target));
        turn.round().zip(over_in).is_some_and(|(round, over_in)| round > *over_in)
    }

    /// If `turn` was the last of its round: whether the drive is steady now, or
    /// was written as often as the plan wants.
    pub(crate) fn after_turn(
        &mut self,
        turn: &Turn<'_>,
        next: Option<&Turn<'_>>,
    ) -> Result<(), CampaignError> {
        let (Some(rounds), Some(point), Some(round)) =
            (&self.plan.rounds, turn.point, turn.round())
        else {
            return Ok(());
        };
        let next = next.and_then(|next| next.point);
        let goes_on =
            next.is_some_and(|next| (next.round, &next.target) == (point.round, &point.target));
        if goes_on || self.is_interrupted() {
            return Ok(());
        }
        let record = self.tools.store.load(&self.run_id)?;
        let found = convergence(&rounds.asked, &record, point);
        let most = rounds.asked.most;
        let sentence = match (found.steady_in, found.full_in, rounds.asked.written_times) {
            (Some(_), ..) => format!("round {round}: steady state reached"),
            (None, Some(_), Some(times)) => format!(
                "round {round}: the tested range was written {times} times over, STEADY STATE \
                 NOT REACHED"
            ),
            _ if round < most => format!("round {round} of at most {most}: not steady yet"),
            _ => format!("round {round}: STEADY STATE NOT REACHED, and no more rounds are left"),
        };
        self.tools.watcher.event(&Event::Warning(&sentence));
        self.over_in.extend(found.over_in().map(|round| (point.target.clone(), round)));
        Ok(())
    }
}
