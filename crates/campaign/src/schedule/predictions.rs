//! Conclusions from the measurements of a study: predictions and knees.

use std::path::{Component, Path, PathBuf};

use iodyno_judge::quantile_of_result;
use iodyno_model::{
    DirectionResult, EndReason, Estimate, Knee, Measurement, Peak, PeakUnder, Prediction,
    Predictions, RunRecord, Under,
};

use super::surface::{KneeOf, MeasuredPoint, Surface, is_outstanding};
use crate::measurement::p99::Q;
use crate::plan::{Order, Point, Study};
use crate::target_names::{are_same_targets, is_same_target};

/// Confidence level of percentiles.
const LEVEL: f64 = 0.95;

impl MeasuredPoint {
    /// The `index`th measurement, if it ended by itself and did not fail.
    pub(crate) fn of(measurement: &Measurement, index: usize) -> Option<Self> {
        if matches!(measurement.end, EndReason::Interrupted | EndReason::Failed(_)) {
            return None;
        }
        let rates: Option<Vec<Estimate>> =
            measurement.total.iter().map(|result| result.iops).collect();
        let iops = rates?.into_iter().reduce(Estimate::plus)?;
        let of_each: Option<Vec<Estimate>> = measurement.total.iter().map(p99).collect();
        let p99 =
            of_each.unwrap_or_default().into_iter().max_by(|a, b| a.value.total_cmp(&b.value));
        let depth_ignored = measurement.workload.ignores_depth();
        Some(Self { index, iops, p99, depth_ignored })
    }
}

/// The p99, ns: with its interval if that is known, else as shown.
fn p99(result: &DirectionResult) -> Option<Estimate> {
    let kind = result.total_or_completion_bins().map(|(kind, _)| kind);
    let found = kind.and_then(|kind| quantile_of_result(result, kind, Q * 100.0, LEVEL));
    let found = found.map(|of| Estimate::confident(of.value, of.low, of.high, LEVEL));
    found.or_else(|| Some(result.known_percentile(Q * 100.0)?.1))
}

/// Measured values of each point.
pub(crate) fn known<'m>(
    points: &[Point],
    measurements: impl Iterator<Item = &'m Measurement> + Clone,
) -> Vec<Option<MeasuredPoint>> {
    let is_of = |of: &Measurement, point: &Point| {
        of.name == point.title && are_same_targets(&of.targets, &point.targets, point.own_file)
    };
    let known = |point: &Point| {
        let mut its = measurements.clone().enumerate().filter(|(_, of)| is_of(of, point));
        its.find_map(|(index, of)| MeasuredPoint::of(of, index))
    };
    points.iter().map(known).collect()
}

/// Curves of the points of a study.
pub(crate) fn surface(study: &Study, points: &[Point]) -> Surface {
    // Mistakes in these were reported when the study was parsed.
    let precision = study.stop().map_or(0.0, |stop| stop.precision);
    Surface::of(points, precision, study.p99_bound_ns().ok().flatten())
}

impl Study {
    /// Conclusions from the measurements of its run: predicted points (of an adaptive study) and
    /// knees. `None` for rounds, repetitions and steps on whole targets.
    pub fn outlook(&self, record: &RunRecord) -> Option<Predictions> {
        if self.rounds.is_some() || self.repeat > 1 || self.is_of_steps() {
            return None;
        }
        let located = self.located(&record.run.targets);
        if self.headroom.is_some() {
            let headroom = located.headrooms(&record.measurements);
            return Some(Predictions { headroom, ..Predictions::default() });
        }
        let points = located.points(0);
        let surface = surface(self, &points);
        let known = known(&points, record.measurements.iter());
        Some(predictions(&points, &surface, &known, self.adaptive))
    }

    /// The study as its axes are written, not as points were measured, with its targets under the
    /// run's names if they were typed in another directory or on another machine.
    pub(crate) fn located(&self, began: &[String]) -> Self {
        let own_file = self.parts().iter().any(|step| step.own_file);
        let locate = |typed: &String| {
            if began.iter().any(|target| is_same_target(target, typed, own_file)) {
                return typed.clone();
            }
            let names = Path::new(typed).components();
            let tail: PathBuf = names.filter(|one| matches!(one, Component::Normal(_))).collect();
            let mut paths = began.iter().flat_map(|target| Path::new(target).ancestors());
            let is_it = |path: &&Path| !tail.as_os_str().is_empty() && path.ends_with(&tail);
            let found = paths.find(is_it).and_then(Path::to_str);
            match (began, &*self.targets) {
                _ if found.is_some() => found.unwrap_or_default().to_owned(),
                ([only], [_]) => only.clone(),
                _ => typed.clone(),
            }
        };
        let mut located = self.clone();
        located.targets = self.targets.iter().map(locate).collect();
        located.order = Order::Written;
        located
    }
}

/// Conclusions from what is `known` of `points`; `predicts`: predict points that were not measured.
pub(crate) fn predictions(
    points: &[Point],
    surface: &Surface,
    known: &[Option<MeasuredPoint>],
    predicts: bool,
) -> Predictions {
    let mut result = Predictions::default();
    if predicts {
        let predicted = surface.predicted(known).into_iter().enumerate();
        let prediction = |(n, iops): (usize, Option<Estimate>)| {
            let (iodepth, numjobs) = surface.depth_and_jobs(n)?;
            Some(Prediction {
                name: points[n].title.clone(),
                target: points[n].place(),
                beside: surface.beside(n, known)?.index,
                iodepth,
                numjobs,
                iops: iops?,
            })
        };
        result.predictions = predicted.filter_map(prediction).collect();
        let checked = surface.checked(known);
        result.checked = checked.len() as u32;
        result.held = checked.iter().filter(|(_, held)| *held).count() as u32;
    }
    let knee = |of: KneeOf| knee(points, surface, known, of);
    result.knees = surface.knees(known).into_iter().filter_map(knee).collect();
    result
}

fn knee(
    points: &[Point],
    surface: &Surface,
    known: &[Option<MeasuredPoint>],
    of: KneeOf,
) -> Option<Knee> {
    let words = |n: usize, of_curve: bool| {
        let at = points[n].at.iter().filter(|(option, _)| is_outstanding(option) != of_curve);
        let words = at.map(|(option, value)| format!("{option}={value}"));
        let part = Some(points[n].part.clone()).filter(|part| of_curve && !part.is_empty());
        part.into_iter().chain(words).collect::<Vec<_>>().join(" ")
    };
    let peak = |n: usize| {
        let (outstanding, iops) = (surface.outstanding(n), known[n]?.iops.value);
        Some(Peak { at: words(n, false), outstanding, iops })
    };
    let best = of.best_under.and_then(|n| {
        let p99_ns = known[n]?.p99?.value as u64;
        Some(PeakUnder { peak: peak(n)?, p99_ns })
    });
    Some(Knee {
        curve: words(of.most, true),
        target: points[of.most].place(),
        knee: peak(of.knee)?,
        most: peak(of.most)?,
        is_first: of.is_first,
        is_last: of.is_last,
        is_unclear: of.is_unclear,
        measurement: known[of.knee]?.index,
        under: surface.p99_bound_ns().map(|bound_ns| Under {
            bound_ns,
            best,
            unknown: of.unknown_p99 as u32,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Direction;

    #[test]
    fn a_p99_without_an_interval_is_the_one_shown() {
        let of = |counts: &[u64]| {
            let result = |count: &u64| {
                let mut result = DirectionResult::unknown(Direction::Read);
                result.iops = Some(Estimate::bare(100.0));
                (0..*count).for_each(|_| result.latency.record(4_060_000));
                result
            };
            let total = counts.iter().map(result).collect();
            let of = Measurement { total, ..Measurement::unknown("point") };
            MeasuredPoint::of(&of, 0).unwrap().p99.map(|p99| p99.value / 4_060_000.0)
        };
        assert!((of(&[4000]).unwrap() - 1.0).abs() < 0.01);
        assert_eq!(of(&[100]), None);
        assert_eq!(of(&[4000, 100]), None, "that of one direction is not known");
    }
}
