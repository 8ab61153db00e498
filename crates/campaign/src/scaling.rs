//! Scaling carried out: once another drive brings nothing, more of them are needless.

use iodyno_job::script::{Phase, Script};
use iodyno_judge::Growth;
use iodyno_model::{Measurement, Scaling};

use crate::error::CampaignError;
use crate::execute::Campaign;
use crate::resume::is_at;
use crate::rounds::Turn;
use crate::study::Point;
use crate::watch::Event;

/// A plan whose points are measured on more and more drives.
#[derive(Debug, Clone, PartialEq)]
pub struct InScaling {
    /// When drives are added no more.
    pub asked: Scaling,
    /// The point of each section of the script.
    pub points: Vec<Point>,
}

impl InScaling {
    /// What is carried out, in order.
    pub(crate) fn turns<'a>(&'a self, script: &'a Script) -> Vec<Turn<'a>> {
        let point = |phase: &Phase| self.points.get(phase.jobs.first()?.section);
        script.phases.iter().map(|phase| Turn { phase, point: point(phase), asked: None }).collect()
    }
}

/// `a` and `b` are one point on other numbers of drives.
fn is_same(a: &Point, b: &Point) -> bool {
    (&a.title, a.repetition) == (&b.title, b.repetition)
}

/// How the aggregate of `point` has grown so far.
pub(crate) fn growth(asked: &Scaling, measurements: &[Measurement], point: &Point) -> Growth {
    let is_of = |of: &&Measurement| {
        let first = of.targets.first().zip(point.targets.first());
        of.name == point.title && first.is_some_and(|(at, typed)| is_at(at, typed, point.own_file))
    };
    let own: Vec<&Measurement> = measurements.iter().filter(is_of).collect();
    Growth::of(asked, own.into_iter())
}

impl Campaign<'_, '_> {
    /// Whether fewer drives have already all that there is to be had.
    pub(crate) fn has_enough_drives(&self, turn: &Turn<'_>) -> bool {
        let Some(point) = turn.point else { return false };
        self.saturated
            .iter()
            .any(|known| is_same(known, point) && known.targets.len() < point.targets.len())
    }

    /// After a point: whether another drive still brought something, and what
    /// came of it all where it was the last.
    pub(crate) fn after_drives(
        &mut self,
        turn: &Turn<'_>,
        next: Option<&Turn<'_>>,
    ) -> Result<(), CampaignError> {
        let (Some(scaling), Some(point)) = (&self.plan.scaling, turn.point) else {
            return Ok(());
        };
        if self.is_interrupted() {
            return Ok(());
        }
        let measurements = self.tools.store.measurements(&self.run_id)?;
        let found = growth(&scaling.asked, &measurements, point);
        let goes_on = next.and_then(|next| next.point).is_some_and(|next| is_same(next, point));
        if (found.stopped_at.is_some() || !goes_on)
            && let Some(sentence) = found.sentence(&point.title)
        {
            self.tools.watcher.event(&Event::Warning(&sentence));
        }
        if found.stopped_at.is_some() {
            self.saturated.push(point.clone());
        }
        Ok(())
    }
}
