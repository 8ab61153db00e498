//! Studies whose next point follows from what is measured: those that measured
//! neighbours bound are left out.

use std::collections::BTreeMap;

use iodyno_job::script::{Phase, Script};
use iodyno_model::{Measurement, Prediction};

use crate::bench::Ready;
use crate::error::CampaignError;
use crate::execute::Campaign;
use crate::places::Places;
use crate::play::lasts_ns;
use crate::study::{Known, Point, Study, Surface, known, outlook};
use crate::watch::Event;

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
        let surface = study.surface(points);
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
}

impl Campaign<'_, '_> {
    /// Measures the phases of `script` that are not predicted by then.
    pub(crate) fn play_adapting(
        &mut self,
        script: &Script,
        adapting: &Adapting,
        places: &Places,
        bench: &[Ready<'_>],
    ) -> Result<(), CampaignError> {
        let section = |phase: &Phase| phase.jobs.first().map(|job| job.section);
        let by_section: BTreeMap<Option<usize>, &Phase> =
            script.phases.iter().map(|phase| (section(phase), phase)).collect();
        let phase_of = |point: &Point| {
            let section = adapting.left.iter().position(|left| left == point)?;
            by_section.get(&Some(section)).copied()
        };
        let phases: Vec<Option<&Phase>> = adapting.points.iter().map(phase_of).collect();
        let before = self.tools.store.measurements(&self.run_id)?;
        let mut known = known(&adapting.points, before.iter());
        let mut count = before.len();
        drop(before);
        // What the script does not have was measured before, or may not be.
        let mut tried: Vec<bool> = phases.iter().map(Option::is_none).collect();
        while let Some(next) = adapting.surface.next(&known, &tried) {
            let Some(phase) = phases[next].filter(|_| !self.is_interrupted()) else { break };
            let predictions = adapting.predictions(&known);
            self.tools.watcher.event(&Event::Predicted(&predictions));
            let is_predicted = |point: &Point| {
                predictions
                    .iter()
                    .any(|one| (&one.name, &one.target) == (&point.title, &point.place()))
            };
            let open = (0..phases.len())
                .filter(|n| *n == next || (!tried[*n] && !is_predicted(&adapting.points[*n])));
            let left_ns = open.filter_map(|n| phases[n]).map(lasts_ns).sum();
            let measured = self
                .phase(script, phase, places, bench, left_ns)
                .map_err(|error| error.placed(script))?;
            known[next] = measured.iter().zip(count..).find_map(|(of, index)| Known::of(of, index));
            count += measured.len();
            tried[next] = true;
        }
        self.tools.watcher.event(&Event::Predicted(&adapting.predictions(&known)));
        Ok(())
    }
}
