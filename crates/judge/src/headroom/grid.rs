//! Loads as a grid of shares of the most: which is measured next, and what lies between.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_stats::local_linear;

/// Shares are so many parts of the most.
pub(super) const STEPS: usize = 20;
/// These are measured first, as far as they are reached: every fifth of either.
const COARSE: usize = 5;
/// So many neighbours of a load say how the surface changes there.
const NEIGHBOURS: usize = 4;

/// Parts of the most writes, and of the most reads.
pub(super) type At = (usize, usize);

/// What is known of loads.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Grid {
    /// Of those that were measured the logarithm of the p99; `None`: a rate was not reached.
    pub(super) known: BTreeMap<At, Option<f64>>,
    /// Those that failed.
    pub(super) failed: BTreeSet<At>,
}

/// All loads, by writes and then by reads.
pub(super) fn all() -> impl Iterator<Item = At> {
    (0..=STEPS).flat_map(|writes| (0..=STEPS).map(move |reads| (writes, reads)))
}

impl Grid {
    /// The next load to measure, of `points` in all; `bound` is the logarithm of that of the p99.
    /// Light loads come first and tell which heavy ones need not be tried.
    pub(super) fn next(&self, points: usize, bound: f64) -> Option<At> {
        if self.known.len() + self.failed.len() >= points {
            return None;
        }
        let open = || {
            all().filter(|at| {
                !self.known.contains_key(at) && !self.failed.contains(at) && !self.is_beyond(*at)
            })
        };
        let is_coarse = |at: &At| at.0.is_multiple_of(COARSE) && at.1.is_multiple_of(COARSE);
        let first = open().filter(is_coarse).min_by_key(|at| (at.0 + at.1, at.0));
        first.or_else(|| {
            open().max_by(|a, b| self.worth(*a, bound).total_cmp(&self.worth(*b, bound)))
        })
    }

    /// A load that was not reached has no more of either.
    fn is_beyond(&self, at: At) -> bool {
        let mut missed = self.known.iter().filter(|(_, p99)| p99.is_none());
        missed.any(|((writes, reads), _)| *writes <= at.0 && *reads <= at.1)
    }

    /// How much measuring a load says: the farther it is from what is known, the more the p99
    /// changes there, and the nearer the bound is.
    fn worth(&self, at: At, bound: f64) -> f64 {
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

    fn reached(&self) -> impl Iterator<Item = (At, f64)> {
        self.known.iter().filter_map(|(at, p99)| Some((*at, (*p99)?)))
    }

    /// The logarithm of the p99 at a load, measured or interpolated; `None`: it is not reached, as
    /// far as can be told.
    pub(super) fn p99(&self, at: At) -> Option<f64> {
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
        // More load is no faster: what was measured of less and of more of both bounds it.
        let less = self.reached().filter(|((writes, reads), _)| *writes <= at.0 && *reads <= at.1);
        let more = self.reached().filter(|((writes, reads), _)| *writes >= at.0 && *reads >= at.1);
        let least = less.map(|one| one.1).fold(f64::NEG_INFINITY, f64::max);
        let most = more.map(|one| one.1).fold(f64::INFINITY, f64::min);
        // Noise may turn them round.
        Some(if least <= most { between.clamp(least, most) } else { between })
    }

    /// How far one can go along `path`, in parts of the most, while the p99 keeps the bound, and
    /// whether more is not reached. `None`: not even its start keeps it.
    pub(super) fn limit(&self, bound: f64, path: impl Fn(usize) -> At) -> Option<(f64, bool)> {
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

fn float((writes, reads): At) -> (f64, f64) {
    (writes as f64, reads as f64)
}

fn distance(a: At, b: At) -> f64 {
    let (a, b) = (float(a), float(b));
    (a.0 - b.0).hypot(a.1 - b.1)
}
