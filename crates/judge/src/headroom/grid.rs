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
    /// Loads that are not tried again: they failed, or had too few I/Os for a p99.
    pub(super) failed: BTreeSet<GridPoint>,
}

/// State of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LoadState {
    /// Logarithm of its p99, measured or interpolated.
    Known(f64),
    /// A rate was not reached, here or at a load with no more of both.
    NotReached,
    /// No reached load has at least as much of both.
    NotMeasured,
}

/// End of the loads along a path that keep the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathEnd {
    /// The p99 crosses the bound.
    Bound,
    /// A rate is not reached beyond it, or it is the maximum.
    Most,
    /// Nothing was measured beyond it.
    Open,
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

    /// Returns what is known of a load. Beyond all reached loads nothing is: a p99 there would be an
    /// extrapolation, and a few light loads would stand for all.
    pub(super) fn state(&self, at: GridPoint) -> LoadState {
        if let Some(known) = self.known.get(&at) {
            return known.map_or(LoadState::NotReached, LoadState::Known);
        }
        if self.is_beyond(at) {
            return LoadState::NotReached;
        }
        // More load is never faster: measured loads with less and with more of both bound it.
        let less = self.reached().filter(|((writes, reads), _)| *writes <= at.0 && *reads <= at.1);
        let more = self.reached().filter(|((writes, reads), _)| *writes >= at.0 && *reads >= at.1);
        let least = less.map(|one| one.1).fold(f64::NEG_INFINITY, f64::max);
        let most = more.map(|one| one.1).fold(f64::INFINITY, f64::min);
        let points = self.reached().map(|(place, p99)| (float(place), p99));
        match local_linear(&points.collect::<Vec<_>>(), float(at)) {
            Some(between) if most < f64::INFINITY => {
                // Noise may swap the bounds.
                let is_bounded = least <= most;
                LoadState::Known(if is_bounded { between.clamp(least, most) } else { between })
            }
            _ => LoadState::NotMeasured,
        }
    }

    /// Returns how far along `path`, in steps, the p99 keeps the bound, and why it ends there.
    /// `None`: no load on it is known to keep the bound. Its first loads may miss it: an idle drive
    /// can be slower than a busy one.
    pub(super) fn limit(
        &self,
        bound: f64,
        path: impl Fn(usize) -> GridPoint,
    ) -> Option<(f64, PathEnd)> {
        let mut before = None;
        for step in 0..=STEPS {
            let end = match self.state(path(step)) {
                LoadState::Known(p99) if p99 <= bound => {
                    before = Some((step, p99));
                    continue;
                }
                LoadState::Known(slower) => match before {
                    Some((step, slow)) => {
                        let share = (bound - slow) / (slower - slow);
                        return Some((step as f64 + share, PathEnd::Bound));
                    }
                    None => continue,
                },
                LoadState::NotReached => PathEnd::Most,
                LoadState::NotMeasured => PathEnd::Open,
            };
            return before.map(|(step, _)| (step as f64, end));
        }
        before.map(|(step, _)| (step as f64, PathEnd::Most))
    }
}

fn float((writes, reads): GridPoint) -> (f64, f64) {
    (writes as f64, reads as f64)
}

fn distance(a: GridPoint, b: GridPoint) -> f64 {
    let (a, b) = (float(a), float(b));
    (a.0 - b.0).hypot(a.1 - b.1)
}
