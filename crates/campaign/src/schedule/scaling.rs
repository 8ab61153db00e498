//! Scaling: once another drive brings no gain, larger numbers of drives are skipped.

use iodyno_judge::Growth;
use iodyno_model::{Measurement, Scaling};

use super::turns::Turns;
use crate::phase::{Phase, RunView, Schedule};
use crate::plan::Point;
use crate::target_names::is_same_target;
use crate::watch::{Event, Watcher};

/// A plan whose points are measured on more and more drives.
#[derive(Debug, Clone)]
pub(super) struct InScaling {
    /// When to stop adding drives.
    asked: Scaling,
    turns: Turns,
    /// Points that gained nothing from another drive.
    saturated: Vec<Point>,
}

impl InScaling {
    /// Takes `points`, and a phase for each.
    pub(super) fn new(asked: Scaling, points: &[Point], phases: Vec<Phase>) -> Self {
        let turns = Turns::new(phases, points.iter().cloned().map(Some).enumerate());
        Self { asked, turns, saturated: Vec::new() }
    }
}

/// True if `a` and `b` are one point on different numbers of drives.
fn is_same(a: &Point, b: &Point) -> bool {
    (&a.title, a.repetition) == (&b.title, b.repetition)
}

/// Growth of the aggregate rate of `point` so far.
pub(crate) fn growth(asked: &Scaling, measurements: &[Measurement], point: &Point) -> Growth {
    let is_of = |of: &&Measurement| {
        let first = of.targets.first().zip(point.targets.first());
        of.name == point.title
            && first.is_some_and(|(at, typed)| is_same_target(at, typed, point.own_file))
    };
    let own: Vec<&Measurement> = measurements.iter().filter(is_of).collect();
    Growth::of(asked, own.into_iter())
}

impl Schedule for InScaling {
    fn next(&mut self, view: &RunView<'_>, watcher: &mut dyn Watcher) -> Option<Phase> {
        self.after(view, watcher);
        let saturated = &self.saturated;
        // Fewer drives already reach the maximum.
        self.turns.next(|turn| {
            turn.point.as_ref().is_some_and(|point| {
                saturated
                    .iter()
                    .any(|known| is_same(known, point) && known.targets.len() < point.targets.len())
            })
        })
    }
}

impl InScaling {
    /// After a point: checks whether another drive brought a gain, and reports the growth after the
    /// last one.
    fn after(&mut self, view: &RunView<'_>, watcher: &mut dyn Watcher) {
        let Some((turn, next)) = self.turns.last() else { return };
        let Some(point) = &turn.point else { return };
        let found = growth(&self.asked, &view.record.measurements, point);
        let next = next.and_then(|next| next.point.as_ref());
        let goes_on = next.is_some_and(|next| is_same(next, point));
        if (found.stopped_at.is_some() || !goes_on)
            && let Some(sentence) = found.sentence(&point.title)
        {
            watcher.event(&Event::Warning(&sentence));
        }
        if found.stopped_at.is_some() {
            self.saturated.push(point.clone());
        }
    }
}
