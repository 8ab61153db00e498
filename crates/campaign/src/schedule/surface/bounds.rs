//! What the measured neighbours of a point say of its rate.

use iodyno_model::Estimate;

use super::{Known, Place, Surface};

/// Level of a prediction's interval.
const LEVEL: f64 = 0.95;

/// The greatest of several lower ends is beyond the truth more often than each of
/// them. Up to eight are held against each other on either side: by Bonferroni each
/// may be wrong in 0.31 % in place of 2.5 %, which normal noise is at 2.73 / 1.96
/// times the half width.
const WIDER: f64 = 1.4;

impl Surface {
    /// The rate of point `n`, as far as its measured neighbours bound it closely
    /// enough: never slower than with fewer outstanding I/Os, and no I/O ever
    /// faster.
    pub(super) fn bounded(&self, n: usize, known: &[Option<Known>]) -> Option<Estimate> {
        let place = self.places[n].as_ref()?;
        let others: Vec<(&Place, Ends)> = self
            .places
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != n)
            .filter_map(|(other, at)| {
                let at = at.as_ref().filter(|at| at.curve == place.curve)?;
                Some((at, Ends::of(known[other]?.iops)?))
            })
            .collect();
        let below = || nearest(others.iter().filter(|(at, _)| at.is_below(place)), Place::is_below);
        let above = || {
            let is_above = |a: &Place, b: &Place| b.is_below(a);
            nearest(others.iter().filter(|(at, _)| place.is_below(at)), is_above)
        };
        // By Little's law, since latencies only grow.
        let share = |at: &Place| place.outstanding() / at.outstanding();
        let lows = below().map(|(_, ends)| ends.low);
        let low =
            lows.chain(above().map(|(at, ends)| ends.low * share(at))).max_by(f64::total_cmp)?;
        let highs = above().map(|(_, ends)| ends.high);
        let high =
            highs.chain(below().map(|(at, ends)| ends.high * share(at))).min_by(f64::total_cmp)?;
        let is_between = below().next().is_some() && above().next().is_some();
        let value = f64::midpoint(low, high);
        // Where they contradict each other, they bound nothing.
        let is_narrow = low <= high && (high - low) / 2.0 <= self.most_width * value;
        (is_between && is_narrow).then(|| Estimate::confident(value, low, high, LEVEL))
    }
}

/// The ends of a rate's interval, made wider.
#[derive(Clone, Copy)]
struct Ends {
    low: f64,
    high: f64,
}

impl Ends {
    /// `None`: nothing is known of the spread.
    fn of(iops: Estimate) -> Option<Self> {
        let (low, high) = iops.bounds()?;
        let wider = |end: f64| iops.value + WIDER * (end - iops.value);
        Some(Self { low: wider(low).max(0.0), high: wider(high) })
    }
}

/// Those of `all` beyond which, in the sense of `is_beyond`, there is no other.
fn nearest<'o>(
    all: impl Iterator<Item = &'o (&'o Place, Ends)> + Clone,
    is_before: impl Fn(&Place, &Place) -> bool,
) -> impl Iterator<Item = (&'o Place, Ends)> {
    let kept: Vec<_> = all
        .clone()
        .filter(|(at, _)| !all.clone().any(|(other, _)| other != at && is_before(at, other)))
        .copied()
        .collect();
    kept.into_iter()
}
