//! Rates over outstanding I/Os (iodepth x numjobs), measured point by point:
//! which point is next, and which need not be measured since their neighbours
//! bound them. Pure: told what is known, it says what follows.
//!
//! More outstanding I/Os never make a drive slower up to the knee, and never
//! make an I/O faster; the second is a lower bound of the rate, too, by Little's
//! law (rate = outstanding / latency). Neither is a law of nature. So a tenth of
//! the bounded points is measured as a check, and where one is not what its
//! bounds said, nothing of its curve is predicted any more.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use iodyno_model::Estimate;

use crate::plan::Point;

mod bounds;
mod knee;
#[cfg(test)]
mod tests;

pub(crate) use knee::KneeOf;

/// Of the points that are predicted so many are measured for one as a check.
const PREDICTED_FOR_A_CHECK: usize = 10;

/// A prediction may be so many times as wide as a measurement is asked to be.
const WIDTH: f64 = 2.5;

/// What is known of a measured point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Known {
    /// The measurement's, among all.
    pub(crate) index: usize,
    /// I/Os per second over all directions, with their interval.
    pub(crate) iops: Estimate,
    /// The p99, ns, with its interval; `None`: not known.
    pub(crate) p99: Option<Estimate>,
}

/// Where a point stands on its curve.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    curve: usize,
    depth: u32,
    jobs: u32,
    /// Draws lots for the checks, the same each time.
    lot: u64,
}

impl Place {
    fn outstanding(&self) -> f64 {
        f64::from(self.depth) * f64::from(self.jobs)
    }

    /// No more of either than `other` has.
    fn is_below(&self, other: &Self) -> bool {
        self.depth <= other.depth && self.jobs <= other.jobs
    }
}

/// The points of a study as curves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Surface {
    /// For each point, in the order in which they are to be measured; `None`: it
    /// is on no curve.
    places: Vec<Option<Place>>,
    /// Relative half width of a prediction at most.
    most_width: f64,
    p99_bound_ns: Option<u64>,
}

impl Surface {
    /// The curves of `points`; measurements are asked for with this `precision`
    /// (0.02 = 2 %). With a bound the best point under it is looked for, too.
    pub(crate) fn of(points: &[Point], precision: f64, p99_bound_ns: Option<u64>) -> Self {
        let mut curves = BTreeMap::new();
        let mut places = Vec::with_capacity(points.len());
        for point in points {
            if !point.until_known {
                places.push(None);
                continue;
            }
            let number = |name: &str| {
                let (_, value) = point.options.iter().find(|(option, _)| option == name)?;
                value.parse::<u32>().ok().filter(|number| *number > 0)
            };
            let others = point.options.iter().filter(|(name, _)| !is_outstanding(name));
            let key = (&point.targets, &point.part, others.collect::<Vec<_>>());
            let next = curves.len();
            let mut hasher = DefaultHasher::new();
            point.title.hash(&mut hasher);
            places.push(Some(Place {
                curve: *curves.entry(key).or_insert(next),
                depth: number("iodepth").unwrap_or(1),
                jobs: number("numjobs").unwrap_or(1),
                lot: hasher.finish(),
            }));
        }
        Self { places, most_width: WIDTH * precision, p99_bound_ns }
    }

    /// The next point to measure; `None`: all that is not `known` is predicted,
    /// or was tried in vain.
    pub(crate) fn next(&self, known: &[Option<Known>], tried: &[bool]) -> Option<usize> {
        let predicted = self.predicted(known);
        let is_open = |n: usize| known[n].is_none() && !tried[n];
        (0..self.places.len())
            .find(|n| is_open(*n) && predicted[*n].is_none())
            .or_else(|| self.knee_doubt(known, &predicted).filter(|n| is_open(*n)))
            .or_else(|| self.best_doubt(known, &predicted).filter(|n| is_open(*n)))
            .or_else(|| self.check(known, &predicted).filter(|n| is_open(*n)))
    }

    /// What is predicted of each point that is not known.
    pub(crate) fn predicted(&self, known: &[Option<Known>]) -> Vec<Option<Estimate>> {
        let broken = self.broken(known);
        let predict = |n: usize| {
            let place = self.places[n].as_ref().filter(|_| known[n].is_none())?;
            (!broken.contains(&place.curve)).then(|| self.bounded(n, known))?
        };
        (0..self.places.len()).map(predict).collect()
    }

    /// For each measured point that the others bound: whether it is what they say.
    pub(crate) fn checked(&self, known: &[Option<Known>]) -> Vec<(usize, bool)> {
        let check = |n: usize| {
            let found = known[n]?.iops;
            let said = self.bounded(n, known)?;
            Some((n, found.low() <= said.high() && said.low() <= found.high()))
        };
        (0..self.places.len()).filter_map(check).collect()
    }

    /// Curves of which a point was not what its bounds said.
    fn broken(&self, known: &[Option<Known>]) -> Vec<usize> {
        let missed = self.checked(known).into_iter().filter(|(_, held)| !held);
        missed.filter_map(|(n, _)| Some(self.places[n].as_ref()?.curve)).collect()
    }

    /// A predicted point to be measured as a check, where there were too few.
    fn check(&self, known: &[Option<Known>], predicted: &[Option<Estimate>]) -> Option<usize> {
        let open: Vec<usize> = (0..predicted.len()).filter(|n| predicted[*n].is_some()).collect();
        if self.checked(known).len() >= open.len().div_ceil(PREDICTED_FOR_A_CHECK) {
            return None;
        }
        open.into_iter().min_by_key(|n| self.places[*n].as_ref().map(|place| place.lot))
    }

    /// The points of each curve, least outstanding first, then fewest jobs.
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

    /// The bound of the p99, ns.
    pub(crate) const fn p99_bound_ns(&self) -> Option<u64> {
        self.p99_bound_ns
    }

    /// Depth of each job, and jobs, of a point that is on a curve.
    pub(crate) fn depth_and_jobs(&self, n: usize) -> Option<(u32, u32)> {
        self.places[n].as_ref().map(|place| (place.depth, place.jobs))
    }

    /// What is known first on the curve of a point.
    pub(crate) fn beside<'k>(&self, n: usize, known: &'k [Option<Known>]) -> Option<&'k Known> {
        let curve = |n: usize| self.places[n].as_ref().map(|place| place.curve);
        let is_on_it = |other: &usize| curve(*other).is_some() && curve(*other) == curve(n);
        (0..known.len()).filter(is_on_it).find_map(|other| known[other].as_ref())
    }

    /// Outstanding I/Os of a point.
    pub(crate) fn outstanding(&self, n: usize) -> u32 {
        self.places[n].as_ref().map_or(1, |place| place.depth.saturating_mul(place.jobs))
    }
}

/// An option that says how many I/Os are outstanding.
pub(crate) fn is_outstanding(option: &str) -> bool {
    matches!(option, "iodepth" | "numjobs")
}
