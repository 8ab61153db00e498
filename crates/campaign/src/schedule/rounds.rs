//! Rounds: once a drive is steady, the rounds that are left are needless.

use std::collections::BTreeMap;

use iodyno_job::script::Script;
use iodyno_judge::Convergence;
use iodyno_model::{Host, Measurement, Rounds};

use super::turns::{Making, Turn, Turns, by_section};
use crate::phase::{Phase, Schedule, Seen};
use crate::plan::Point;
use crate::typed::is_at;
use crate::watch::{Event, Watcher};

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
    pub(crate) fn schedule<'a>(
        &'a self,
        script: &'a Script,
        making: Making<'a>,
    ) -> RoundsSchedule<'a> {
        let phases = by_section(script);
        let turn = |(section, point): &'a (usize, Point)| {
            Some(Turn { phase: phases.get(section)?, point: Some(point) })
        };
        let turns = Turns::new(self.turns.iter().filter_map(turn).collect(), making);
        RoundsSchedule { asked: &self.asked, turns, over_in: BTreeMap::new() }
    }
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

/// Rounds that go on.
pub(crate) struct RoundsSchedule<'a> {
    asked: &'a Rounds,
    turns: Turns<'a>,
    /// The round with which targets, as they were typed, were done.
    over_in: BTreeMap<Vec<String>, u32>,
}

impl Schedule for RoundsSchedule<'_> {
    fn next(&mut self, seen: &Seen<'_>, watcher: &mut dyn Watcher) -> Option<Phase> {
        if let Some((turn, next)) = self.turns.last() {
            self.after(&turn, next, seen, watcher);
        }
        let over_in = &self.over_in;
        // It is of a round behind the one with which its drives were done.
        self.turns.next(|turn| {
            let over_in = turn.point.and_then(|point| over_in.get(&point.targets));
            turn.round().zip(over_in).is_some_and(|(round, over_in)| round > *over_in)
        })
    }
}

impl RoundsSchedule<'_> {
    /// If `turn` was the last of its round: whether its drives are steady now, or
    /// were written as often as the plan wants.
    fn after(
        &mut self,
        turn: &Turn<'_>,
        next: Option<Turn<'_>>,
        seen: &Seen<'_>,
        watcher: &mut dyn Watcher,
    ) {
        let (Some(point), Some(round)) = (turn.point, turn.round()) else { return };
        let next = next.and_then(|next| next.point);
        if next.is_some_and(|next| (next.round, &next.targets) == (point.round, &point.targets)) {
            return;
        }
        let asked = self.asked;
        let found = convergences(asked, Some(seen.host), &seen.record.measurements, point);
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
        watcher.event(&Event::Warning(&sentence));
        self.over_in.extend(over_in.map(|round| (point.targets.clone(), round)));
    }
}
