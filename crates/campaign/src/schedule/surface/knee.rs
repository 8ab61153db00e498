//! Knees of curves: where the rate stops growing, and the best point under a latency bound.

use iodyno_model::Estimate;

use super::{MeasuredPoint, Surface};

/// Share of the maximum rate that counts as the maximum.
const AS_GOOD: f64 = 0.95;

/// Fewest points of a curve with a knee.
const LEAST_POINTS: usize = 3;

/// Knee of a curve, as numbers of its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KneeOf {
    /// Fewest outstanding I/Os with a rate within 5 % of the maximum.
    pub(crate) knee: usize,
    /// Point with the maximum rate.
    pub(crate) most: usize,
    /// No measured point has fewer outstanding I/Os than the knee.
    pub(crate) is_first: bool,
    /// No measured point has more outstanding I/Os than the knee.
    pub(crate) is_last: bool,
    /// The intervals are too wide to tell where the knee is.
    pub(crate) is_unclear: bool,
    /// Measured points whose p99 is not known.
    pub(crate) unknown_p99: usize,
    /// Maximum under the bound; `None` if no measured point keeps it, or there is no bound.
    pub(crate) best_under: Option<usize>,
}

impl Surface {
    /// Knee of each curve with enough measured points whose depth had an effect.
    pub(crate) fn knees(&self, known: &[Option<MeasuredPoint>]) -> Vec<KneeOf> {
        let rate = |n: &usize| known[*n].map(|known| known.iops.value);
        let knee = |curve: Vec<usize>| {
            let several = curve.len() >= LEAST_POINTS
                && self.outstanding(curve[0]) < self.outstanding(*curve.last()?);
            let measured = curve.into_iter().filter(|n| known[*n].is_some()).collect::<Vec<_>>();
            let ignored = measured.iter().any(|n| known[*n].is_some_and(|of| of.depth_ignored));
            let most = greatest(&measured, rate).filter(|_| several && !ignored)?;
            let enough = AS_GOOD * rate(&most)?;
            let knee = measured.iter().copied().find(|n| rate(n) >= Some(enough))?;
            let outstanding = |n: &usize| self.outstanding(*n);
            let is_first = measured.iter().map(outstanding).min() == Some(outstanding(&knee));
            let is_last = measured.iter().map(outstanding).max() == Some(outstanding(&knee));
            let best_under = self.best_under(&measured, known);
            let is_unclear = is_unclear(&measured, known, knee, most);
            let unknown_p99 = measured.iter().filter_map(|n| known[*n]);
            let unknown_p99 = unknown_p99.filter(|known| known.p99.is_none()).count();
            Some(KneeOf { knee, most, is_first, is_last, is_unclear, unknown_p99, best_under })
        };
        self.curves().into_iter().filter_map(knee).collect()
    }

    /// A predicted point that may be the knee or the maximum, and has to be measured.
    pub(super) fn knee_doubt(
        &self,
        known: &[Option<MeasuredPoint>],
        predicted: &[Option<Estimate>],
    ) -> Option<usize> {
        let doubt = |curve: Vec<usize>| {
            let most = greatest(&curve, |n| Some(known[*n]?.iops.value))?;
            let most = known[most]?.iops.value;
            // A point that may be slightly above the maximum counts as equal; one that surely is
            // above does not.
            let low = |n: &usize| predicted[*n].map(|predicted| predicted.low());
            if let Some(more) = greatest(&curve, low).filter(|n| low(n) > Some(most)) {
                return Some(more);
            }
            let enough = AS_GOOD * most;
            // The first point that surely or possibly is within it.
            let first = curve.into_iter().find(|n| match (known[*n], predicted[*n]) {
                (Some(known), _) => known.iops.value >= enough,
                (None, Some(predicted)) => predicted.high() >= enough,
                (None, None) => false,
            })?;
            known[first].is_none().then_some(first)
        };
        self.curves().into_iter().find_map(doubt)
    }

    /// A predicted point that may be the best one under the bound.
    pub(super) fn best_doubt(
        &self,
        known: &[Option<MeasuredPoint>],
        predicted: &[Option<Estimate>],
    ) -> Option<usize> {
        let bound_ns = self.p99_bound_ns? as f64;
        let doubt = |curve: Vec<usize>| {
            let best = self.best_under(&curve, known).and_then(|n| Some(known[n]?.iops.value));
            // Latencies only grow: points beyond one that is too slow are too slow as well.
            let too_slow = |n: usize| {
                let (slow, fast) = (self.places[n].as_ref(), |p99: Estimate| p99.low() <= bound_ns);
                curve.iter().any(|other| {
                    let p99 = known[*other].and_then(|known| known.p99);
                    let below = self.places[*other].as_ref().zip(slow);
                    p99.is_some_and(|p99| !fast(p99)) && below.is_some_and(|(a, b)| a.is_below(b))
                })
            };
            let may_be = |n: &usize| {
                let high = predicted[*n].map(|predicted| predicted.high());
                // Within 5 % counts as equal here, too.
                high.is_some_and(|high| best.is_none_or(|best| AS_GOOD * high > best))
                    && !too_slow(*n)
            };
            let open: Vec<usize> = curve.iter().copied().filter(may_be).collect();
            greatest(&open, |n| Some(predicted[*n]?.value))
        };
        self.curves().into_iter().find_map(doubt)
    }

    /// Measured point of a curve with the highest rate whose p99 keeps the bound.
    fn best_under(&self, curve: &[usize], known: &[Option<MeasuredPoint>]) -> Option<usize> {
        let bound_ns = self.p99_bound_ns? as f64;
        let rate = |n: &usize| {
            let known =
                known[*n].filter(|known| known.p99.is_some_and(|p99| p99.value <= bound_ns));
            Some(known?.iops.value)
        };
        greatest(curve, rate)
    }
}

/// True if a point before the knee may be within 5 % of the maximum, or one behind it more than that
/// above the knee, and the interval of their ratio is not known or wider than 5 % to each side.
fn is_unclear(
    measured: &[usize],
    known: &[Option<MeasuredPoint>],
    knee: usize,
    most: usize,
) -> bool {
    let may_be_either = |n: usize, than: usize| {
        let (Some(one), Some(other)) = (known[n], known[than]) else { return false };
        let Some((one, other)) = one.iops.known_bounds().zip(other.iops.known_bounds()) else {
            return true;
        };
        let (low, high) = (one.0 / other.1, one.1 / other.0.max(0.0));
        low < AS_GOOD && high > AS_GOOD && high - low > 2.0 * (1.0 - AS_GOOD)
    };
    let at = measured.iter().position(|n| *n == knee).unwrap_or_default();
    measured[..at].iter().any(|n| may_be_either(*n, most))
        || measured[at + 1..].iter().any(|n| may_be_either(knee, *n))
}

/// First point with the greatest rate.
fn greatest(all: &[usize], rate: impl Fn(&usize) -> Option<f64>) -> Option<usize> {
    let known = all.iter().filter_map(|n| Some((*n, rate(n)?)));
    let greater = |a: (usize, f64), b: (usize, f64)| if b.1 > a.1 { b } else { a };
    known.reduce(greater).map(|(n, _)| n)
}
