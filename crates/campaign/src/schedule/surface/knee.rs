//! Where a curve stops to rise, and where it is best under a bound of latency.

use iodyno_model::Estimate;

use super::{Known, Surface};

/// A rate within this of the most is as good as the most.
const AS_GOOD: f64 = 0.95;

/// Fewer points have no knee.
const LEAST_POINTS: usize = 3;

/// The knee of a curve, by the numbers of its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KneeOf {
    /// The least outstanding I/O within 5 % of the most.
    pub(crate) knee: usize,
    /// The most.
    pub(crate) most: usize,
    /// Nothing that was measured has more outstanding than the knee.
    pub(crate) is_last: bool,
    /// The most under the bound; `None`: no measured point keeps it, or there is no bound.
    pub(crate) best_under: Option<usize>,
}

impl Surface {
    /// The knee of each curve of which enough was measured.
    pub(crate) fn knees(&self, known: &[Option<Known>]) -> Vec<KneeOf> {
        let rate = |n: &usize| known[*n].map(|known| known.iops.value);
        let knee = |curve: Vec<usize>| {
            let several = curve.len() >= LEAST_POINTS
                && self.outstanding(curve[0]) < self.outstanding(*curve.last()?);
            let measured = curve.into_iter().filter(|n| known[*n].is_some()).collect::<Vec<_>>();
            let most = greatest(&measured, rate).filter(|_| several)?;
            let enough = AS_GOOD * rate(&most)?;
            let knee = measured.iter().copied().find(|n| rate(n) >= Some(enough))?;
            let last = measured.iter().map(|n| self.outstanding(*n)).max()?;
            let is_last = self.outstanding(knee) == last;
            let best_under = self.best_under(&measured, known);
            Some(KneeOf { knee, most, is_last, best_under })
        };
        self.curves().into_iter().filter_map(knee).collect()
    }

    /// A predicted point that may be the knee, or the most: those are measured.
    pub(super) fn knee_doubt(
        &self,
        known: &[Option<Known>],
        predicted: &[Option<Estimate>],
    ) -> Option<usize> {
        let doubt = |curve: Vec<usize>| {
            let most = greatest(&curve, |n| Some(known[*n]?.iops.value))?;
            let most = known[most]?.iops.value;
            // One that may be a little more is as good; one that surely is more is not.
            let low = |n: &usize| predicted[*n].map(|predicted| predicted.low());
            if let Some(more) = greatest(&curve, low).filter(|n| low(n) > Some(most)) {
                return Some(more);
            }
            let enough = AS_GOOD * most;
            // The first that surely or possibly has it.
            let first = curve.into_iter().find(|n| match (known[*n], predicted[*n]) {
                (Some(known), _) => known.iops.value >= enough,
                (None, Some(predicted)) => predicted.high() >= enough,
                (None, None) => false,
            })?;
            known[first].is_none().then_some(first)
        };
        self.curves().into_iter().find_map(doubt)
    }

    /// A predicted point that may be the best under the bound.
    pub(super) fn best_doubt(
        &self,
        known: &[Option<Known>],
        predicted: &[Option<Estimate>],
    ) -> Option<usize> {
        let bound_ns = self.p99_bound_ns? as f64;
        let doubt = |curve: Vec<usize>| {
            let best = self.best_under(&curve, known).and_then(|n| Some(known[n]?.iops.value));
            // Latencies only grow: what is behind a point that is too slow is too slow.
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
                // Within 5 % is as good here, too.
                high.is_some_and(|high| best.is_none_or(|best| AS_GOOD * high > best))
                    && !too_slow(*n)
            };
            let open: Vec<usize> = curve.iter().copied().filter(may_be).collect();
            greatest(&open, |n| Some(predicted[*n]?.value))
        };
        self.curves().into_iter().find_map(doubt)
    }

    /// The measured point of a curve with the highest rate whose p99
    /// keeps the bound.
    fn best_under(&self, curve: &[usize], known: &[Option<Known>]) -> Option<usize> {
        let bound_ns = self.p99_bound_ns? as f64;
        let rate = |n: &usize| {
            let known =
                known[*n].filter(|known| known.p99.is_some_and(|p99| p99.value <= bound_ns));
            Some(known?.iops.value)
        };
        greatest(curve, rate)
    }
}

/// The first of those whose rate is greatest.
fn greatest(all: &[usize], rate: impl Fn(&usize) -> Option<f64>) -> Option<usize> {
    let known = all.iter().filter_map(|n| Some((*n, rate(n)?)));
    let greater = |a: (usize, f64), b: (usize, f64)| if b.1 > a.1 { b } else { a };
    known.reduce(greater).map(|(n, _)| n)
}
