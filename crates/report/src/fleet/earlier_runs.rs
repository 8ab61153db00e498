//! Compares drives with their earlier runs, in whichever host: a drive that slows down over months
//! stays close to its class for long.

use std::collections::HashMap;

use iodyno_judge::compare_with_peers;
use iodyno_model::Estimate;
use iodyno_stats::two_sample::median;

use super::Measured;
use super::drive::{Against, DriveKind, Outlier};
use super::host_run::{Figure, HostRun, Step};

/// Identity of a drive in any host: model and serial number.
type Identity = (String, String);

/// Figures of drives from superseded runs of their hosts.
#[derive(Default)]
pub(super) struct EarlierRuns {
    of: HashMap<Identity, Vec<(i64, Vec<Figure>)>>,
}

/// Earlier figure of a drive.
struct Earlier {
    /// Median over its runs.
    value: f64,
    runs: usize,
    /// Start of the first, ns since 1970 UTC.
    since_ns: i64,
}

impl EarlierRuns {
    /// Stores the figures of a run.
    pub(super) fn add(&mut self, run: HostRun) {
        for (kind, drive, figures) in run.drives {
            let model = kind.and_then(|kind| kind.model);
            if let (Some(model), Some(serial), false) = (model, drive.serial, figures.is_empty()) {
                self.of.entry((model, serial)).or_default().push((run.started_ns, figures));
            }
        }
    }

    fn before(&self, identity: &Identity, step: &Step) -> Option<Earlier> {
        let runs = self.of.get(identity)?.iter();
        let of = |figures: &[Figure]| {
            let found = figures.iter().find(|figure| figure.step == *step)?;
            Some(found.estimate.value).filter(|value| *value > 0.0)
        };
        let known: Vec<(i64, f64)> =
            runs.filter_map(|(at_ns, figures)| Some((*at_ns, of(figures)?))).collect();
        let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
        let since_ns = known.iter().map(|(at_ns, _)| *at_ns).min()?;
        Some(Earlier { value: median(&values)?, runs: known.len(), since_ns })
    }

    /// Compares the changes of a class's figures since earlier runs with each other: a change
    /// shared by all, as by a kernel or another way of measuring, is not the drive's. Returns the
    /// index of each drive with its outlier.
    pub(super) fn unlike(
        &self,
        kind: Option<&DriveKind>,
        drives: &[Measured],
    ) -> Vec<(usize, Outlier)> {
        let Some(model) = kind.and_then(|kind| kind.model.as_ref()) else { return Vec::new() };
        let mut steps: HashMap<&Step, Vec<(usize, Estimate, Earlier)>> = HashMap::new();
        for (at, (drive, figures)) in drives.iter().enumerate() {
            let Some(serial) = &drive.serial else { continue };
            let identity = (model.clone(), serial.clone());
            for Figure { step, estimate } in figures {
                let known = steps.entry(step).or_default();
                // Repetitions are not more drives.
                if known.last().is_none_or(|(last, ..)| *last != at)
                    && let Some(before) = self.before(&identity, step)
                {
                    known.push((at, *estimate, before));
                }
            }
        }
        let mut unlike = Vec::new();
        for (step, known) in steps {
            let changes: Vec<Estimate> =
                known.iter().map(|(_, now, before)| now.scaled(1.0 / before.value)).collect();
            let found = compare_with_peers(step.metric, &changes);
            unlike.extend(known.into_iter().zip(found).filter_map(|((at, now, before), found)| {
                let Earlier { value, runs, since_ns } = before;
                Some((
                    at,
                    Outlier {
                        measurement: step.measurement.clone(),
                        metric: step.metric,
                        estimate: now,
                        unlike: found?,
                        against: Against::Itself { value, runs, since_ns },
                    },
                ))
            }));
        }
        unlike
    }
}
