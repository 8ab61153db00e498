//! Latency histogram with fio's bins.
//!
//! 64 sub-buckets per power of two: one bin per ns below 128 ns, above that bins of at most 1/64 of
//! their value. fio stops at about 17 s (29 groups); here the same rule continues to the end of
//! `u64`, so fio's JSON+ and histogram logs convert without loss. (fio, stat.h and
//! `plat_val_to_idx` in stat.c: the documented layout; the code is our own.)

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;

/// A bin: values from `low_ns` to `high_ns` inclusive, and their count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// Smallest value of the bin, ns.
    pub low_ns: u64,
    /// Largest value of the bin, ns.
    pub high_ns: u64,
    /// Number of values.
    pub count: u64,
}

/// Latency counts in log-linear bins, with exact count, sum, sum of squares, minimum and maximum.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Histogram {
    /// (bin index, count) of non-empty bins, by index.
    #[schemars(with = "Vec<(u64, u64)>")]
    counts: Counts,
    count: u64,
    sum_ns: f64,
    sum_squares: f64,
    min_ns: u64,
    max_ns: u64,
}

impl Histogram {
    /// Number of bins needed for all of `u64`.
    pub const BINS: usize = ((64 - SUB_BITS as usize) << SUB_BITS) + SUB as usize;
    /// I/Os required beyond a percentile that is shown: with fewer, a single straggler moves it.
    pub const LEAST_BEYOND: u64 = 30;

    /// Returns the bin index of a value in ns.
    #[inline]
    pub const fn index(ns: u64) -> usize {
        if ns < 2 * SUB {
            return ns as usize;
        }
        // After the shift the highest bit of the value is SUB, which adds one to the group.
        let shift = ns.ilog2() - SUB_BITS;
        ((shift as usize) << SUB_BITS) + (ns >> shift) as usize
    }

    /// Returns the smallest and the largest value, ns, of the bin `index` (below [`Self::BINS`]).
    pub const fn bounds(index: usize) -> (u64, u64) {
        if index < 2 * SUB as usize {
            return (index as u64, index as u64);
        }
        let shift = (index >> SUB_BITS) as u32 - 1;
        let low = (SUB + (index as u64 & (SUB - 1))) << shift;
        (low, low + ((1 << shift) - 1))
    }

    /// Counts one value.
    pub fn record(&mut self, ns: u64) {
        self.counts.add(Self::index(ns), 1);
        self.add_moments(1, ns as f64, (ns as f64) * (ns as f64), ns, ns);
    }

    /// Adds counts by bin, with the exact moments of the same values (sum in ns, sum of squares in
    /// ns², extremes in ns). Bins beyond [`Self::BINS`] are counted in the last one.
    pub fn add_counts(
        &mut self,
        counts: impl IntoIterator<Item = (usize, u64)>,
        sum_ns: f64,
        sum_squares: f64,
        min_ns: u64,
        max_ns: u64,
    ) {
        let mut added = 0_u64;
        for (index, count) in counts {
            self.counts.add(index.min(Self::BINS - 1), count);
            added = added.saturating_add(count);
        }
        self.add_moments(added, sum_ns, sum_squares, min_ns, max_ns);
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (index, count) in other.counts.pairs() {
            self.counts.add(index, count);
        }
        self.add_moments(other.count, other.sum_ns, other.sum_squares, other.min_ns, other.max_ns);
    }

    fn add_moments(&mut self, count: u64, sum: f64, squares: f64, min_ns: u64, max_ns: u64) {
        if count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { min_ns } else { self.min_ns.min(min_ns) };
        self.max_ns = self.max_ns.max(max_ns);
        // Imported documents may claim any number.
        self.count = self.count.saturating_add(count);
        self.sum_ns += sum;
        self.sum_squares += squares;
    }

    /// Number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// True if there are no values.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of values in bin `index` and above.
    pub fn count_from(&self, index: usize) -> u64 {
        self.counts.pairs().filter(|(bin, _)| *bin >= index).map(|(_, count)| count).sum()
    }

    /// Exact mean, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns / self.count as f64)
    }

    /// Exact sum, ns.
    pub const fn sum_ns(&self) -> f64 {
        self.sum_ns
    }

    /// Sample standard deviation, ns.
    pub fn stdev_ns(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        let n = self.count as f64;
        (self.count > 1).then(|| ((self.sum_squares - n * mean * mean).max(0.0) / (n - 1.0)).sqrt())
    }

    /// Exact minimum, ns.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_ns)
    }

    /// Exact maximum, ns.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// Returns the value of rank `rank` (1 = smallest) to bin precision: the upper end of its bin,
    /// as fio reports percentiles, within the exact extremes. `None` for rank 0 or beyond the
    /// count.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 || rank > self.count {
            return None;
        }
        let mut seen = 0_u64;
        self.bins()
            .find(|bin| {
                seen = bin.count.saturating_add(seen);
                seen >= rank
            })
            .map(|bin| bin.high_ns.clamp(self.min_ns, self.max_ns))
    }

    /// Returns the quantile `q` (0..=1): the value of rank ceil(q n).
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        self.value_at_rank(rank.max(1))
    }

    /// Returns percentile `percent`, if [`Self::LEAST_BEYOND`] I/Os lie beyond it, below one under
    /// the median and above any other.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let q = percent / 100.0;
        // Tolerance for rounding: 30 000 x 0.001 should be 30.
        let beyond = self.count as f64 * q.min(1.0 - q) + 1e-6;
        self.quantile_ns(q).filter(|_| beyond >= Self::LEAST_BEYOND as f64)
    }

    /// Returns the non-empty bins, smallest first.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.counts.pairs().map(|(index, count)| {
            let (low_ns, high_ns) = Self::bounds(index);
            Bin { low_ns, high_ns, count }
        })
    }
}

/// Counts of consecutive bins, each in as many bytes as the largest one needs: a report of ten
/// thousand jobs holds twice as many histograms at the same time.
#[derive(Debug, Clone, Default)]
struct Counts {
    /// Index of the first bin.
    first: usize,
    /// Bytes per count.
    width: usize,
    bytes: Vec<u8>,
}

impl Counts {
    /// Bins per group: space is allocated in whole groups, so that it seldom grows.
    const GROUP: usize = SUB as usize;

    /// Returns (index, count) of the non-empty bins, by index.
    fn pairs(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let counts = self.bytes.chunks_exact(self.width.max(1)).map(decode_count);
        counts.enumerate().filter(|(_, count)| *count > 0).map(|(n, count)| (self.first + n, count))
    }

    #[inline]
    fn add(&mut self, index: usize, count: u64) {
        let Some(at) = self.position(index) else { return self.grow(index, count) };
        let mut rest = count;
        for byte in &mut self.bytes[at..at + self.width] {
            rest = rest.saturating_add(u64::from(*byte));
            *byte = rest as u8;
            rest >>= u8::BITS;
            if rest == 0 {
                return;
            }
        }
        // Grows for the carry beyond the last byte; a carry beyond eight bytes is dropped.
        self.grow(index, rest.checked_shl(u8::BITS * self.width as u32).unwrap_or(0));
    }

    /// Returns the position of a bin's count, if there is space for it.
    fn position(&self, index: usize) -> Option<usize> {
        let at = index.checked_sub(self.first)? * self.width;
        (at < self.bytes.len()).then_some(at)
    }

    /// Adds `count` to a bin that has no space yet, or too few bytes.
    #[cold]
    fn grow(&mut self, index: usize, count: u64) {
        let group = index - index % Self::GROUP;
        let bins = self.bytes.len() / self.width.max(1);
        let (first, end) = match bins {
            0 => (group, group + Self::GROUP),
            _ => (self.first.min(group), (self.first + bins).max(group + Self::GROUP)),
        };
        let width = self.width.max(byte_width(count));
        let grown = Self { first, width, bytes: vec![0; (end - first) * width] };
        let before = std::mem::replace(self, grown);
        before.pairs().chain([(index, count)]).for_each(|(index, count)| self.add(index, count));
    }
}

/// Returns the bytes that a count needs.
const fn byte_width(count: u64) -> usize {
    1 + ((count | 1).ilog2() / u8::BITS) as usize
}

fn decode_count(bytes: &[u8]) -> u64 {
    bytes.iter().rfold(0, |whole, byte| whole << u8::BITS | u64::from(*byte))
}

/// Equal if the bins are equal, whatever space they take.
impl PartialEq for Counts {
    fn eq(&self, other: &Self) -> bool {
        self.pairs().eq(other.pairs())
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.pairs())
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut counts = Self::default();
        for (index, count) in Vec::<(usize, u64)>::deserialize(from)? {
            if index >= Histogram::BINS {
                return Err(D::Error::custom(format!("histogram bin {index} does not exist")));
            }
            counts.add(index, count);
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn first_bins_are_one_ns_wide_and_groups_have_no_gaps() {
        assert_eq!(Histogram::index(127), 127);
        assert_eq!(Histogram::index(128), 128);
        assert_eq!(Histogram::index(129), 128);
        let mut next = 0;
        for index in 0..Histogram::BINS {
            let (low, high) = Histogram::bounds(index);
            assert_eq!(low, next, "bin {index}");
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bin ends at u64::MAX");
        assert_eq!(Histogram::index(u64::MAX), Histogram::BINS - 1);
    }

    #[test]
    fn counts_of_all_byte_widths_coexist() {
        let mut histogram = Histogram::default();
        histogram.add_counts([(500, 0)], 0.0, 0.0, 0, 0);
        assert_eq!(histogram, Histogram::default());
        let counts = (0..8).map(|n| (400 - 70 * n % 350, 1_u64 << (8 * n as u32)));
        histogram.add_counts(counts.clone().chain(counts.clone()), 1.0, 1.0, 1, 1);
        let mut expected = std::collections::BTreeMap::<usize, u64>::new();
        counts.for_each(|(index, count)| *expected.entry(index).or_default() += 2 * count);
        assert!(histogram.counts.pairs().eq(expected));
        let twice = format!("[[3,{}],[3,{}]]", u64::MAX, u64::MAX);
        assert!(serde_json::from_str::<Counts>(&twice).is_ok(), "no panic on a damaged store");
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bin_and_bins_are_narrow(ns: u64) {
            let (low, high) = Histogram::bounds(Histogram::index(ns));
            prop_assert!(low <= ns && ns <= high);
            prop_assert!((high - low) as f64 <= ns as f64 / 64.0);
        }

        #[test]
        fn merging_equals_recording(a in prop::collection::vec(0u64..1 << 40, 0..50),
                                    b in prop::collection::vec(0u64..1 << 40, 0..50)) {
            let record = |values: &[u64]| {
                let mut h = Histogram::default();
                values.iter().for_each(|v| h.record(*v));
                h
            };
            let mut merged = record(&a);
            merged.merge(&record(&b));
            let mut all = a.clone();
            all.extend(&b);
            let whole = record(&all);
            prop_assert_eq!(merged.count(), whole.count());
            prop_assert_eq!(merged.min_ns(), whole.min_ns());
            prop_assert_eq!(merged.max_ns(), whole.max_ns());
            prop_assert!(merged.bins().eq(whole.bins()));
            let json = serde_json::to_string(&merged).unwrap();
            prop_assert!(serde_json::from_str::<Histogram>(&json).unwrap().bins().eq(whole.bins()));
        }

        #[test]
        fn quantiles_are_within_a_bin_of_the_sorted_value(
            mut values in prop::collection::vec(1u64..1 << 40, 1..80), q in 0.0f64..=1.0) {
            let mut h = Histogram::default();
            values.iter().for_each(|v| h.record(*v));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).max(1);
            let exact = values[rank - 1] as f64;
            let got = h.quantile_ns(q).unwrap() as f64;
            prop_assert!(got >= exact && got <= exact * (1.0 + 1.0 / 64.0) + 1.0);
        }
    }
}
