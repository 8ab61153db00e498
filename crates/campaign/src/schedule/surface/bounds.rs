//! Bounds of a point's rate from its measured neighbours.

use iodyno_model::Estimate;

use super::{MeasuredPoint, Place, Surface};

/// Confidence level of predictions.
const LEVEL: f64 = 0.95;

/// Factor on half widths. The greatest of several lower ends exceeds the truth more often than each
/// of them. Up to eight are compared on either side: by Bonferroni each may be wrong in 0.31 %
/// instead of 2.5 %, which for normal noise means 2.73 / 1.96 times the half width.
const WIDER: f64 = 1.4;

impl Surface {
    /// Rate of point `n`, if its measured neighbours bound it closely enough: never slower than
    /// with fewer outstanding I/Os, and no I/O ever faster.
    pub(super) fn bounded(&self, n: usize, known: &[Option<MeasuredPoint>]) -> Option<Estimate> {
        let place = self.places[n].as_ref()?;
        let others: Vec<(&Place, WideInterval)> = self
            .places
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != n)
            .filter_map(|(other, at)| {
                let at = at.as_ref().filter(|at| at.curve == place.curve)?;
                Some((at, WideInterval::of(known[other]?.iops)?))
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
        // Contradicting bounds predict nothing.
        let is_narrow = low <= high && (high - low) / 2.0 <= self.most_width * value;
        (is_between && is_narrow).then(|| Estimate::confident(value, low, high, LEVEL))
    }
}

/// Ends of a rate's interval, widened.
#[derive(Clone, Copy)]
struct WideInterval {
    low: f64,
    high: f64,
}

impl WideInterval {
    /// `None` if the spread is unknown.
    fn of(iops: Estimate) -> Option<Self> {
        let (low, high) = iops.bounds()?;
        let wider = |end: f64| iops.value + WIDER * (end - iops.value);
        Some(Self { low: wider(low).max(0.0), high: wider(high) })
    }
}

/// Nearest places among `all`: those without another one between, in the sense of `is_before`.
fn nearest<'o>(
    all: impl Iterator<Item = &'o (&'o Place, WideInterval)> + Clone,
    is_before: impl Fn(&Place, &Place) -> bool,
) -> impl Iterator<Item = (&'o Place, WideInterval)> {
    let kept: Vec<_> = all
        .clone()
        .filter(|(at, _)| !all.clone().any(|(other, _)| other != at && is_before(at, other)))
        .copied()
        .collect();
    kept.into_iter()
}
