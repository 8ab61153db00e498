//! Rounds carried out: once a drive is steady, the rounds that are left are needless.

use std::collections::BTreeMap;

use iodyno_job::script::{Phase, Script};
use iodyno_judge::Convergence;
use iodyno_model::{Host, Measurement, Rounds};

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
    /// First section of the script and point, in the order in which they are measured.
    turns: Vec<(usize, Point)>,
}

impl InRounds {
    /// Of `points` in their order; with them those of which the script is made.
    pub fn new(asked: Rounds, points: &[Point]) -> (Self, Vec<Point>) {
        let mut sections: BTreeMap<Point, usize> = BTreeMap::new();
        let mut once: Vec<Point> = Vec::new();
        let mut turns = Vec::with_capacity(points.len());
        // A point has a section for each of its targets.
        let mut next = 0;
        for point in points {
            let section = *sections.entry(Point { round: None, ..point.clone() }).or_insert(next);
            if section == next {
                next += point.targets.len();
                once.push(point.clone());
            }
            turns.push((section, point.clone()));
        }
        (Self { asked, turns }, once)
    }

    /// Every round that there may be: each phase of the script as often.
    pub(crate) fn turns<'a>(&'a self, script: &'a Script) -> Vec<Turn<'a>> {
        let section = |phase: &Phase| phase.jobs.first().map(|job| job.section);
        let by_section: BTreeMap<Option<usize>, &Phase> =
            script.phases.iter().map(|phase| (section(phase), phase)).collect();
        let turn = |(section, point): &'a (usize, Point)| {
            let phase = by_section.get(&Some(*section))?;
            Some(Turn { phase, point: Some(point), asked: Some(&self.asked) })
        };
        self.turns.iter().filter_map(turn).collect()
    }
}

/// A phase that is carried out, and which point it is of a plan in rounds, or
/// on more and more drives.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) point: Option<&'a Point>,
    /// When the rounds are over that it is one of.
    pub(crate) asked: Option<&'a Rounds>,
}

impl Turn<'_> {
    /// The round that it belongs to.
    pub(crate) fn round(&self) -> Option<u32> {
        self.point.and_then(|point| point.round)
    }
}

/// Each phase of a script once, in order.
pub(crate) fn turns_once(script: &Script) -> Vec<Turn<'_>> {
    script.phases.iter().map(|phase| Turn { phase, point: None, asked: None }).collect()
}

/// How far the rounds came, on each target of `point`.
pub(crate) fn convergences(
    asked: &Rounds,
    host: Option<&Host>,
    measurements: &[Measurement],
    point: &Point,
) -> Vec<Convergence> {
    let in_rounds: Vec<&Measurement> =
        measurements.iter().filter(|of| of.round.is_some()).collect();
    let of_target = |target: &String| {
        let is_of = |of: &&&Measurement| matches!(&*of.targets, [only] if is_at(only, target, point.own_file));
        let own: Vec<&Measurement> = in_rounds.iter().filter(is_of).copied().collect();
        Convergence::of(asked, host, own.into_iter())
    };
    point.targets.iter().map(of_target).collect()
}

/// The round with which all targets were done.
pub(crate) fn over_in(all: &[Convergence]) -> Option<u32> {
    let each: Option<Vec<u32>> = all.iter().map(Convergence::over_in).collect();
    each?.into_iter().max()
}

impl<'a> Campaign<'a, '_> {
    /// What is carried out, in order: each phase of the plan's script once, or
    /// as often as there are rounds.
    pub(crate) fn turns<'s>(&self, script: &'s Script) -> Vec<Turn<'s>>
    where
        'a: 's,
    {
        let plan = self.plan;
        match (&plan.rounds, &plan.scaling) {
            (Some(rounds), _) => rounds.turns(script),
            (None, Some(scaling)) => scaling.turns(script),
            (None, None) => turns_once(script),
        }
    }

    /// Whether nothing is to be learned from it any more: it is of a round
    /// behind the one with which its drives were done, or fewer drives have
    /// already all that there is to be had.
    pub(crate) fn is_needless(&self, turn: &Turn<'_>) -> bool {
        let over_in = turn.point.and_then(|point| self.over_in.get(&point.targets));
        turn.round().zip(over_in).is_some_and(|(round, over_in)| round > *over_in)
            || self.has_enough_drives(turn)
    }

    /// If `turn` was the last of its round: whether its drives are steady now, or
    /// were written as often as the plan wants.
    pub(crate) fn after_round(
        &mut self,
        turn: &Turn<'_>,
        next: Option<&Turn<'_>>,
    ) -> Result<(), CampaignError> {
        let (Some(asked), Some(point), Some(round)) = (turn.asked, turn.point, turn.round()) else {
            return Ok(());
        };
        let next = next.and_then(|next| next.point);
        let goes_on =
            next.is_some_and(|next| (next.round, &next.targets) == (point.round, &point.targets));
        if goes_on || self.is_interrupted() {
            return Ok(());
        }
        let measurements = self.tools.store.measurements(&self.run_id)?;
        let found = convergences(asked, Some(self.host), &measurements, point);
        let over_in = over_in(&found);
        let most = asked.most;
        let is_steady = found.iter().all(|one| one.steady_in.is_some());
        let sentence = match (over_in, asked.written_times) {
            (Some(_), _) if is_steady => format!("round {round}: steady state reached"),
            (Some(_), Some(times)) => format!(
                "round {round}: the tested range was written {times} times over, STEADY STATE \
                 NOT REACHED"
            ),
            _ if round < most => format!("round {round} of at most {most}: not steady yet"),
            _ => format!("round {round}: STEADY STATE NOT REACHED, and no more rounds are left"),
        };
        self.tools.watcher.event(&Event::Warning(&sentence));
        self.over_in.extend(over_in.map(|round| (point.targets.clone(), round)));
        Ok(())
    }
}
