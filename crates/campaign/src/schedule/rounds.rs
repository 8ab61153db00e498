//! Rounds: once a drive is steady, the remaining rounds are skipped.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_judge::Convergence;
use iodyno_model::{Host, Measurement, Rounds};

use super::turns::Turns;
use crate::phase::{Phase, RunView, Schedule};
use crate::plan::Point;
use crate::target_names::is_same_target;
use crate::watch::{Event, Watcher};

/// A plan in rounds; its script has each point once, whatever the number of rounds.
#[derive(Debug, Clone)]
pub(super) struct InRounds {
    /// End condition of the rounds.
    asked: Rounds,
    turns: Turns,
    /// Last round needed, by targets as typed.
    over_in: BTreeMap<Vec<String>, u32>,
}

/// Each of `points` once, whatever its round.
pub(super) fn once(points: &[Point]) -> Vec<Point> {
    let mut known = BTreeSet::new();
    let is_new = |point: &&Point| known.insert(Point { round: None, ..(*point).clone() });
    points.iter().filter(is_new).cloned().collect()
}

impl InRounds {
    /// Takes `points` in their order, and a phase for each of [`once`].
    pub(super) fn new(asked: Rounds, points: &[Point], phases: Vec<Phase>) -> Self {
        let of_none = |point: &Point| Point { round: None, ..point.clone() };
        let numbers: BTreeMap<Point, usize> = once(points).iter().map(of_none).zip(0..).collect();
        let turns = points.iter().map(|point| (numbers[&of_none(point)], Some(point.clone())));
        Self { asked, turns: Turns::new(phases, turns), over_in: BTreeMap::new() }
    }
}

/// Progress of the rounds on each target of `point`.
pub(crate) fn convergences(
    asked: &Rounds,
    host: Option<&Host>,
    measurements: &[Measurement],
    point: &Point,
) -> Vec<Convergence> {
    let in_rounds: Vec<&Measurement> =
        measurements.iter().filter(|of| of.round.is_some()).collect();
    let of_target = |target: &String| {
        let is_of = |of: &&&Measurement| matches!(&*of.targets, [only] if is_same_target(only, target, point.own_file));
        let own: Vec<&Measurement> = in_rounds.iter().filter(is_of).copied().collect();
        Convergence::of(asked, host, own.into_iter())
    };
    point.targets.iter().map(of_target).collect()
}

/// Last round needed by all targets.
pub(crate) fn over_in(all: &[Convergence]) -> Option<u32> {
    let each: Option<Vec<u32>> = all.iter().map(Convergence::over_in).collect();
    each?.into_iter().max()
}

impl Schedule for InRounds {
    fn next(&mut self, view: &RunView<'_>, watcher: &mut dyn Watcher) -> Option<Phase> {
        self.after(view, watcher);
        let over_in = &self.over_in;
        // Skip rounds after the last one that its drives need.
        self.turns.next(|turn| {
            let over_in = turn.point.as_ref().and_then(|point| over_in.get(&point.targets));
            turn.round().zip(over_in).is_some_and(|(round, over_in)| round > *over_in)
        })
    }
}

impl InRounds {
    /// After the last turn of a round: checks whether its drives are steady, or were written as
    /// often as the plan wants.
    fn after(&mut self, view: &RunView<'_>, watcher: &mut dyn Watcher) {
        let Some((turn, next)) = self.turns.last() else { return };
        let (Some(point), Some(round)) = (&turn.point, turn.round()) else { return };
        let next = next.and_then(|next| next.point.as_ref());
        if next.is_some_and(|next| (next.round, &next.targets) == (point.round, &point.targets)) {
            return;
        }
        let asked = &self.asked;
        let found = convergences(asked, Some(view.host), &view.record.measurements, point);
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
            _ => format!("round {round}: STEADY STATE NOT REACHED, no rounds left"),
        };
        watcher.event(&Event::Warning(&sentence));
        self.over_in.extend(over_in.map(|round| (point.targets.clone(), round)));
    }
}
