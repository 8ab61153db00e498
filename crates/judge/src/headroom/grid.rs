//! Loads as a grid of shares of the maxima: the next one to measure, and interpolation between
//! them.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_stats::local_linear;

/// Number of steps from 0 to the maximum.
pub(super) const STEPS: usize = 20;
/// Multiples of this many steps are measured first, as far as they are reached.
const COARSE: usize = 5;
/// Number of neighbours from which the slope of the surface at a load is estimated.
const NEIGHBOURS: usize = 4;

/// Steps of the maximum writes, and of the maximum reads.
pub(super) type GridPoint = (usize, usize);

/// Measured loads.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Grid {
    /// Logarithm of the p99 of each load that was measured; `None`: a rate was not reached.
    pub(super) known: BTreeMap<GridPoint, Option<f64>>,
    /// Loads that failed.
    pub(super) failed: BTreeSet<GridPoint>,
}

/// All loads, by writes and then by reads.
pub(super) fn all() -> impl Iterator<Item = GridPoint> {
    (0..=STEPS).flat_map(|writes| (0..=STEPS).map(move |reads| (writes, reads)))
}

impl Grid {
    /// Returns the next load to measure, of `points` in all; `bound` is the logarithm of the p99
    /// bound. Light loads come first and show which heavy ones need not be tried.
    pub(super) fn next(&self, points: usize, bound: f64) -> Option<GridPoint> {
        if self.known.len() + self.failed.len() >= points {
            return None;
        }
        let open = || {
            all().filter(|at| {
                !self.known.contains_key(at) && !self.failed.contains(at) && !self.is_beyond(*at)
            })
        };
        let is_coarse = |at: &GridPoint| at.0.is_multiple_of(COARSE) && at.1.is_multiple_of(COARSE);
        let first = open().filter(is_coarse).min_by_key(|at| (at.0 + at.1, at.0));
        first.or_else(|| {
            open().max_by(|a, b| {
                self.value_of_measuring(*a, bound).total_cmp(&self.value_of_measuring(*b, bound))
            })
        })
    }

    /// Returns true if a load with no more of either was not reached.
    fn is_beyond(&self, at: GridPoint) -> bool {
        let mut missed = self.known.iter().filter(|(_, p99)| p99.is_none());
        missed.any(|((writes, reads), _)| *writes <= at.0 && *reads <= at.1)
    }

    /// Value of measuring a load: higher the farther it is from measured ones, the more the p99
    /// changes there, and if the bound is crossed there.
    fn value_of_measuring(&self, at: GridPoint, bound: f64) -> f64 {
        let slowest = self.reached().map(|(_, p99)| p99).fold(f64::NEG_INFINITY, f64::max);
        let mut near: Vec<(f64, f64)> = self
            .known
            .iter()
            .map(|(place, p99)| (distance(at, *place), p99.unwrap_or(slowest)))
            .collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        near.truncate(NEIGHBOURS);
        let Some((nearest, _)) = near.first() else { return f64::INFINITY };
        let least = near.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
        let greatest = near.iter().map(|one| one.1).fold(f64::NEG_INFINITY, f64::max);
        let is_at_bound = least <= bound && bound < greatest;
        nearest * (1.0 + (greatest - least).min(1.0) + f64::from(is_at_bound))
    }

    fn reached(&self) -> impl Iterator<Item = (GridPoint, f64)> {
        self.known.iter().filter_map(|(at, p99)| Some((*at, (*p99)?)))
    }

    /// Returns the logarithm of the p99 at a load, measured or interpolated; `None`: presumably not
    /// reached.
    pub(super) fn p99(&self, at: GridPoint) -> Option<f64> {
        if let Some(known) = self.known.get(&at) {
            return *known;
        }
        let is_within = self.reached().any(|((writes, reads), _)| writes >= at.0 && reads >= at.1);
        let places = self.known.iter();
        let nearest = places.min_by(|a, b| distance(at, *a.0).total_cmp(&distance(at, *b.0)))?;
        if self.is_beyond(at) || (!is_within && nearest.1.is_none()) {
            return None;
        }
        let points = self.reached().map(|(place, p99)| (float(place), p99));
        let between = local_linear(&points.collect::<Vec<_>>(), float(at))?;
        // More load is never faster: measured loads with less and with more of both bound it.
        let less = self.reached().filter(|((writes, reads), _)| *writes <= at.0 && *reads <= at.1);
        let more = self.reached().filter(|((writes, reads), _)| *writes >= at.0 && *reads >= at.1);
        let least = less.map(|one| one.1).fold(f64::NEG_INFINITY, f64::max);
        let most = more.map(|one| one.1).fold(f64::INFINITY, f64::min);
        // Noise may swap the bounds.
        Some(if least <= most { between.clamp(least, most) } else { between })
    }

    /// Returns how far along `path`, in steps, the p99 keeps the bound, and true if no higher load
    /// was reached. `None`: not even the start keeps it.
    pub(super) fn limit(
        &self,
        bound: f64,
        path: impl Fn(usize) -> GridPoint,
    ) -> Option<(f64, bool)> {
        let mut before = None;
        for step in 0..=STEPS {
            let here = self.p99(path(step));
            match (before, here) {
                (_, Some(p99)) if p99 <= bound => before = Some((step, p99)),
                (None, _) => return None,
                (Some((step, _)), None) => return Some((step as f64, true)),
                (Some((step, slow)), Some(slower)) => {
                    return Some((step as f64 + (bound - slow) / (slower - slow), false));
                }
            }
        }
        before.map(|(step, _)| (step as f64, true))
    }
}

fn float((writes, reads): GridPoint) -> (f64, f64) {
    (writes as f64, reads as f64)
}

fn distance(a: GridPoint, b: GridPoint) -> f64 {
    let (a, b) = (float(a), float(b));
    (a.0 - b.0).hypot(a.1 - b.1)
}
