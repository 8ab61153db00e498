//! JSON form of a latency histogram.

use iodyno_model::Histogram;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Latency histogram. To merge two, add the counts of equal bins.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Bins {
    /// Sum, ns.
    pub sum_ns: f64,
    /// Smallest and largest latency, ns; null if the bins were derived from others.
    pub range_ns: Option<(u64, u64)>,
    /// Non-empty bins in ascending order: lower bound of the bin, ns; count. A bin is 1 ns wide
    /// below 128 ns, and 2^(n-6) ns from 2^n ns on (fio's bins).
    #[serde(deserialize_with = "deserialize_bins")]
    pub bins: Vec<(u64, u64)>,
}

impl Bins {
    pub(super) fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// Converts to a histogram, without a sum of squares. Minimum and maximum are clamped to the
    /// first and last bin, whatever the document of another host claims.
    pub(crate) fn histogram(&self) -> Histogram {
        let bounds = |bin: Option<&(u64, u64)>| Some(Histogram::bounds(Histogram::index(bin?.0)));
        let mut histogram = Histogram::default();
        let (Some(first), Some(last)) = (bounds(self.bins.first()), bounds(self.bins.last()))
        else {
            return histogram;
        };
        let (min_ns, max_ns) = self.range_ns.unwrap_or((first.0, last.1));
        let min_ns = min_ns.clamp(first.0, first.1);
        let max_ns = max_ns.clamp(last.0.max(min_ns), last.1);
        let bins = self.bins.iter().map(|(low_ns, count)| (Histogram::index(*low_ns), *count));
        histogram.add_counts(bins, self.sum_ns, 0.0, min_ns, max_ns);
        histogram
    }

    /// Returns the histogram less `part`, which it includes.
    pub(super) fn without(&self, part: &Self) -> Self {
        let mut parts = part.bins.iter().peekable();
        let left = |&(low_ns, count): &(u64, u64)| {
            while parts.next_if(|of| of.0 < low_ns).is_some() {}
            let of = parts.next_if(|of| of.0 == low_ns).map_or(0, |of| of.1);
            (count > of).then(|| (low_ns, count - of))
        };
        let bins: Vec<(u64, u64)> = self.bins.iter().filter_map(left).collect();
        match bins.is_empty() {
            true => Self::default(),
            false => Self { sum_ns: (self.sum_ns - part.sum_ns).max(0.0), range_ns: None, bins },
        }
    }
}

/// Deserializes bins; fails unless each is a bin of the histogram, in ascending order, and the
/// counts add up without overflow.
fn deserialize_bins<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(u64, u64)>, D::Error> {
    let bins = Vec::<(u64, u64)>::deserialize(from)?;
    let is_bin =
        |(low_ns, _): &(u64, u64)| Histogram::bounds(Histogram::index(*low_ns)).0 == *low_ns;
    let adds_up = bins.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count)).is_some();
    match bins.iter().all(is_bin) && bins.is_sorted_by(|a, b| a.0 < b.0) && adds_up {
        true => Ok(bins),
        false => Err(D::Error::custom("latencies are not in histogram bins")),
    }
}

impl From<&Histogram> for Bins {
    fn from(histogram: &Histogram) -> Self {
        Self {
            sum_ns: histogram.sum_ns(),
            range_ns: histogram.min_ns().zip(histogram.max_ns()),
            bins: histogram.bins().map(|bin| (bin.low_ns, bin.count)).collect(),
        }
    }
}
