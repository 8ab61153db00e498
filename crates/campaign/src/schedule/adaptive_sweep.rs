//! Studies whose next point follows from what is measured: those that measured
//! neighbours bound are left out.

use iodyno_job::script::{self, Script};
use iodyno_model::{Measurement, Prediction};

use super::outlook::{known, outlook};
use super::surface::{Known, Surface};
use super::turns::{Making, by_section, lasts_ns};
use crate::phase::{Phase, Schedule, Seen};
use crate::plan::{Point, Study};
use crate::watch::{Event, Watcher};

/// The points of a study, and which of them the script has.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapting {
    surface: Surface,
    /// All of them in their order, also those that a run has already.
    points: Vec<Point>,
    /// Those that are still to be measured, in the script's order.
    left: Vec<Point>,
}

impl Adapting {
    /// Of `points`, `left` of which are the phases of the script.
    pub fn new(study: &Study, points: &[Point], left: &[Point]) -> Self {
        let surface = super::outlook::surface(study, points);
        Self { surface, points: points.to_vec(), left: left.to_vec() }
    }

    /// Whether `measurements` leave nothing to be measured: what is not known is predicted.
    pub fn is_done(&self, measurements: &[Measurement]) -> bool {
        let known = known(&self.points, measurements.iter());
        let tried: Vec<bool> = self.points.iter().map(|point| !self.left.contains(point)).collect();
        self.surface.next(&known, &tried).is_none()
    }

    /// What is predicted of the points that are not `known`.
    fn predictions(&self, known: &[Option<Known>]) -> Vec<Prediction> {
        outlook(&self.points, &self.surface, known, true).predictions
    }

    /// What is carried out of `script`: the points that are not predicted by then.
    pub(crate) fn schedule<'a>(
        &'a self,
        script: &'a Script,
        making: Making<'a>,
    ) -> AdaptiveSchedule<'a> {
        let phases = by_section(script);
        let phase_of =
            |point: &Point| phases.get(&self.left.iter().position(|left| left == point)?).copied();
        let phases: Vec<Option<&script::Phase>> = self.points.iter().map(phase_of).collect();
        // What the script does not have was measured before, or may not be.
        let tried = phases.iter().map(Option::is_none).collect();
        AdaptiveSchedule { adapting: self, phases, tried, making, measuring: None, begun: None }
    }
}

/// A study whose next point follows from what is measured.
pub(crate) struct AdaptiveSchedule<'a> {
    adapting: &'a Adapting,
    /// The phase of each point.
    phases: Vec<Option<&'a script::Phase>>,
    tried: Vec<bool>,
    making: Making<'a>,
    /// The point that is measured, and how many measurements there were before it.
    measuring: Option<(usize, usize)>,
    /// What is known of each point.
    begun: Option<Vec<Option<Known>>>,
}

impl Schedule for AdaptiveSchedule<'_> {
    fn next(&mut self, seen: &Seen<'_>, watcher: &mut dyn Watcher) -> Option<Phase> {
        let (adapting, measurements) = (self.adapting, &seen.record.measurements);
        let before = || known(&adapting.points, measurements.iter());
        let known = self.begun.get_or_insert_with(before);
        if let Some((n, count)) = self.measuring.take() {
            let mut measured = measurements.iter().enumerate().skip(count);
            known[n] = measured.find_map(|(index, of)| Known::of(of, index));
            self.tried[n] = true;
        }
        let predictions = adapting.predictions(known);
        watcher.event(&Event::Predicted(&predictions));
        let next = adapting.surface.next(known, &self.tried)?;
        let phase = self.phases[next]?;
        self.measuring = Some((next, measurements.len()));
        let is_predicted = |point: &Point| {
            predictions.iter().any(|one| (&one.name, &one.target) == (&point.title, &point.place()))
        };
        let open = (0..self.phases.len())
            .filter(|n| *n == next || (!self.tried[*n] && !is_predicted(&adapting.points[*n])));
        let left_ns = open.filter_map(|n| self.phases[n]).map(lasts_ns).sum();
        Some(Phase { left_ns, ..self.making.phase(phase, None) })
    }
}
