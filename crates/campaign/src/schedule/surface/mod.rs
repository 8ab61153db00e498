//! Rates over outstanding I/Os (iodepth x numjobs), measured point by point: chooses the next
//! point, and finds those that need no measurement since their neighbours bound them. Pure: depends
//! only on what it is given.
//!
//! More outstanding I/Os never make a drive slower up to the knee, and never make an I/O faster; by
//! Little's law (rate = outstanding / latency) the second bounds the rate from below, too. Neither
//! is a law of nature. So a tenth of the bounded points is measured as a check, and if one violates
//! its bounds, its curve is not predicted any more.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use iodyno_model::Estimate;

use crate::plan::Point;

mod bounds;
mod knee;
#[cfg(test)]
mod tests;

pub(crate) use knee::KneeOf;

/// Number of predicted points per point measured as a check.
const PREDICTED_FOR_A_CHECK: usize = 10;

/// Largest width of a prediction, in multiples of the requested precision.
const WIDTH: f64 = 2.5;

/// Measured values of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeasuredPoint {
    /// Index of its measurement.
    pub(crate) index: usize,
    /// I/Os per second over all directions, with their interval.
    pub(crate) iops: Estimate,
    /// The p99, ns, with its interval; `None` if unknown.
    pub(crate) p99: Option<Estimate>,
    /// Its iodepth had no effect, since the engine waits for each I/O.
    pub(crate) depth_ignored: bool,
}

/// Position of a point on its curve.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    curve: usize,
    depth: u32,
    jobs: u32,
    /// Pseudorandom number to choose checks by, the same each time.
    lot: u64,
}

impl Place {
    fn outstanding(&self) -> f64 {
        f64::from(self.depth) * f64::from(self.jobs)
    }

    /// True if neither depth nor jobs exceed those of `other`.
    fn is_below(&self, other: &Self) -> bool {
        self.depth <= other.depth && self.jobs <= other.jobs
    }
}

/// Points of a study as curves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Surface {
    /// Place of each point, in the order of measurement; `None` if on no curve.
    places: Vec<Option<Place>>,
    /// Largest relative half width of a prediction.
    most_width: f64,
    p99_bound_ns: Option<u64>,
}

impl Surface {
    /// Curves of `points`; `precision` is that requested of measurements (0.02 = 2 %). With a bound
    /// the best point under it is sought, too.
    pub(crate) fn of(points: &[Point], precision: f64, p99_bound_ns: Option<u64>) -> Self {
        let mut curves = BTreeMap::new();
        let mut places = Vec::with_capacity(points.len());
        for point in points {
            if !point.until_known {
                places.push(None);
                continue;
            }
            let job = point.job();
            let others = point.options.iter().filter(|(name, _)| !is_outstanding(name));
            let key = (&point.targets, &point.part, others.collect::<Vec<_>>());
            let next = curves.len();
            let mut hasher = DefaultHasher::new();
            point.title.hash(&mut hasher);
            places.push(Some(Place {
                curve: *curves.entry(key).or_insert(next),
                depth: job.depth.iodepth,
                jobs: job.threads.numjobs,
                lot: hasher.finish(),
            }));
        }
        Self { places, most_width: WIDTH * precision, p99_bound_ns }
    }

    /// Next point to measure; `None` if all others are predicted, or were tried in vain.
    pub(crate) fn next(&self, known: &[Option<MeasuredPoint>], tried: &[bool]) -> Option<usize> {
        let predicted = self.predicted(known);
        let is_open = |n: usize| known[n].is_none() && !tried[n];
        (0..self.places.len())
            .find(|n| is_open(*n) && predicted[*n].is_none())
            .or_else(|| self.knee_doubt(known, &predicted).filter(|n| is_open(*n)))
            .or_else(|| self.best_doubt(known, &predicted).filter(|n| is_open(*n)))
            .or_else(|| self.check(known, &predicted).filter(|n| is_open(*n)))
    }

    /// Predictions of the points that are not known.
    pub(crate) fn predicted(&self, known: &[Option<MeasuredPoint>]) -> Vec<Option<Estimate>> {
        let broken = self.broken(known);
        let predict = |n: usize| {
            let place = self.places[n].as_ref().filter(|_| known[n].is_none())?;
            (!broken.contains(&place.curve)).then(|| self.bounded(n, known))?
        };
        (0..self.places.len()).map(predict).collect()
    }

    /// For each measured point that others bound: true if it is within the bounds.
    pub(crate) fn checked(&self, known: &[Option<MeasuredPoint>]) -> Vec<(usize, bool)> {
        let check = |n: usize| {
            let found = known[n]?.iops;
            let bound = self.bounded(n, known)?;
            Some((n, found.low() <= bound.high() && bound.low() <= found.high()))
        };
        (0..self.places.len()).filter_map(check).collect()
    }

    /// Curves with a point outside of its bounds.
    fn broken(&self, known: &[Option<MeasuredPoint>]) -> Vec<usize> {
        let missed = self.checked(known).into_iter().filter(|(_, held)| !held);
        missed.filter_map(|(n, _)| Some(self.places[n].as_ref()?.curve)).collect()
    }

    /// A predicted point to measure as a check, if there were too few.
    fn check(
        &self,
        known: &[Option<MeasuredPoint>],
        predicted: &[Option<Estimate>],
    ) -> Option<usize> {
        let open: Vec<usize> = (0..predicted.len()).filter(|n| predicted[*n].is_some()).collect();
        if self.checked(known).len() >= open.len().div_ceil(PREDICTED_FOR_A_CHECK) {
            return None;
        }
        open.into_iter().min_by_key(|n| self.places[*n].as_ref().map(|place| place.lot))
    }

    /// Points of each curve, fewest outstanding first, then fewest jobs.
    fn curves(&self) -> Vec<Vec<usize>> {
        let mut curves: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (n, place) in self.places.iter().enumerate() {
            if let Some(place) = place {
                curves.entry(place.curve).or_default().push(n);
            }
        }
        let mut curves: Vec<Vec<usize>> = curves.into_values().collect();
        for curve in &mut curves {
            curve.sort_by_key(|n| {
                self.places[*n].as_ref().map(|at| (self.outstanding(*n), at.jobs))
            });
        }
        curves
    }

    /// Bound of the p99, ns.
    pub(crate) const fn p99_bound_ns(&self) -> Option<u64> {
        self.p99_bound_ns
    }

    /// Depth of each job, and jobs, of a point on a curve.
    pub(crate) fn depth_and_jobs(&self, n: usize) -> Option<(u32, u32)> {
        self.places[n].as_ref().map(|place| (place.depth, place.jobs))
    }

    /// First known values on the curve of a point.
    pub(crate) fn beside<'k>(
        &self,
        n: usize,
        known: &'k [Option<MeasuredPoint>],
    ) -> Option<&'k MeasuredPoint> {
        let curve = |n: usize| self.places[n].as_ref().map(|place| place.curve);
        let is_on_it = |other: &usize| curve(*other).is_some() && curve(*other) == curve(n);
        (0..known.len()).filter(is_on_it).find_map(|other| known[other].as_ref())
    }

    /// Outstanding I/Os of a point.
    pub(crate) fn outstanding(&self, n: usize) -> u32 {
        self.places[n].as_ref().map_or(1, |place| place.depth.saturating_mul(place.jobs))
    }
}

/// True for options that set the number of outstanding I/Os.
pub(crate) fn is_outstanding(option: &str) -> bool {
    matches!(option, "iodepth" | "numjobs")
}
