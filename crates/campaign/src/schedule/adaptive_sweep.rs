//! Adaptive sweep: chooses the next point by the measurements so far, and leaves out points bounded
//! by measured neighbours.

use iodyno_model::{Measurement, Prediction};

use super::predictions::{known, predictions, surface};
use super::surface::{MeasuredPoint, Surface};
use crate::phase::{Phase, RunView, Schedule};
use crate::plan::{Point, Study};
use crate::watch::{Event, Watcher};

/// Points of a study, and what is known of them.
#[derive(Debug, Clone)]
pub struct Adapting {
    surface: Surface,
    /// All points in their order, also those that a run has already.
    points: Vec<Point>,
    /// Number of each point's phase; `None` if measured before, or not to be measured.
    numbers: Vec<Option<usize>>,
    phases: Vec<Phase>,
    /// Points that need not be tried any more.
    tried: Vec<bool>,
    known: Option<Vec<Option<MeasuredPoint>>>,
    /// The point under measurement, and the number of measurements before it.
    measuring: Option<(usize, usize)>,
}

impl Adapting {
    /// Sweep of `points`, of which those `left` are still to be measured.
    pub fn new(study: &Study, points: &[Point], left: &[Point]) -> Self {
        let number = |point: &Point| left.iter().position(|left| left == point);
        let numbers: Vec<Option<usize>> = points.iter().map(number).collect();
        Self {
            surface: surface(study, points),
            points: points.to_vec(),
            tried: numbers.iter().map(Option::is_none).collect(),
            numbers,
            phases: Vec::new(),
            known: None,
            measuring: None,
        }
    }

    /// Adds a phase for each point that is left.
    pub(super) fn with(self, phases: Vec<Phase>) -> Self {
        Self { phases, ..self }
    }

    /// True if nothing is left to measure after `measurements`: the rest is predicted.
    pub fn is_done(&self, measurements: &[Measurement]) -> bool {
        self.surface.next(&known(&self.points, measurements.iter()), &self.tried).is_none()
    }
}

impl Schedule for Adapting {
    fn next(&mut self, view: &RunView<'_>, watcher: &mut dyn Watcher) -> Option<Phase> {
        let measurements = &view.record.measurements;
        let before = || known(&self.points, measurements.iter());
        let known = self.known.get_or_insert_with(before);
        if let Some((n, count)) = self.measuring.take() {
            let mut measured = measurements.iter().enumerate().skip(count);
            known[n] = measured.find_map(|(index, of)| MeasuredPoint::of(of, index));
            self.tried[n] = true;
        }
        let predictions: Vec<Prediction> =
            predictions(&self.points, &self.surface, known, true).predictions;
        watcher.event(&Event::Predicted(&predictions));
        let next = self.surface.next(known, &self.tried)?;
        let phase = self.phases.get(self.numbers[next]?)?.clone();
        self.measuring = Some((next, measurements.len()));
        let is_predicted = |point: &Point| {
            predictions.iter().any(|one| (&one.name, &one.target) == (&point.title, &point.place()))
        };
        let open = (0..self.points.len())
            .filter(|n| *n == next || (!self.tried[*n] && !is_predicted(&self.points[*n])));
        let left_ns = open.filter_map(|n| Some(self.phases[self.numbers[n]?].most_ns)).sum();
        Some(Phase { left_ns, ..phase })
    }
}
