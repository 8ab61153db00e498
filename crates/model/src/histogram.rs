//! A latency histogram with fio's own bins.
//!
//! 64 sub-buckets for each power of two: values below 128 ns have a bin each,
//! above that a bin is at most 1/64 of its value wide. fio stops at about 17 s
//! (29 groups); the same rule is continued to the end of `u64`, so fio's JSON+
//! and histogram logs convert without loss. (fio, stat.h and
//! `plat_val_to_idx` in stat.c: the documented layout; the code is our own.)

use serde::{Deserialize, Serialize};

const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;

/// A bin: values from `low` to `high` ns inclusive, seen `count` times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// Smallest value of the bin, ns.
    pub low_ns: u64,
    /// Largest value of the bin, ns.
    pub high_ns: u64,
    /// How many were seen.
    pub count: u64,
}

/// Counts of latencies in log-linear bins, with exact count, sum, sum of
/// squares, minimum and maximum.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// (bin index, count), by index, without empty bins.
    #[serde(with = "sparse")]
    counts: Vec<u64>,
    count: u64,
    sum_ns: f64,
    sum_squares: f64,
    min_ns: u64,
    max_ns: u64,
}

impl Histogram {
    /// Number of bins that cover all of `u64`.
    pub const BINS: usize = ((64 - SUB_BITS as usize) << SUB_BITS) + SUB as usize;

    /// The bin of a value in ns.
    #[inline]
    pub const fn index(ns: u64) -> usize {
        if ns < 2 * SUB {
            return ns as usize;
        }
        // What is left of the value has SUB as its highest bit: it counts one group.
        let shift = ns.ilog2() - SUB_BITS;
        ((shift as usize) << SUB_BITS) + (ns >> shift) as usize
    }

    /// Smallest and largest value, ns, of the bin `index` (below [`Self::BINS`]).
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
        let index = Self::index(ns);
        self.reserve(index);
        self.counts[index] += 1;
        self.add_moments(1, ns as f64, (ns as f64) * (ns as f64), ns, ns);
    }

    /// Adds counts by bin, with the exact moments of the same values (sum in
    /// ns, sum of squares in ns², extremes in ns). Bins beyond [`Self::BINS`]
    /// go into the last one.
    pub fn add_counts(
        &mut self,
        counts: impl IntoIterator<Item = (usize, u64)>,
        sum_ns: f64,
        sum_squares: f64,
        min_ns: u64,
        max_ns: u64,
    ) {
        let mut added = 0;
        for (index, count) in counts {
            let index = index.min(Self::BINS - 1);
            self.reserve(index);
            self.counts[index] += count;
            added += count;
        }
        self.add_moments(added, sum_ns, sum_squares, min_ns, max_ns);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        if let Some(last) = other.counts.len().checked_sub(1) {
            self.reserve(last);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.add_moments(other.count, other.sum_ns, other.sum_squares, other.min_ns, other.max_ns);
    }

    fn add_moments(&mut self, count: u64, sum: f64, squares: f64, min_ns: u64, max_ns: u64) {
        if count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { min_ns } else { self.min_ns.min(min_ns) };
        self.max_ns = self.max_ns.max(max_ns);
        self.count += count;
        self.sum_ns += sum;
        self.sum_squares += squares;
    }

    fn reserve(&mut self, index: usize) {
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
    }

    /// How many values were counted.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Nothing was counted.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many values lie in the bin `index` or above it.
    pub fn count_from(&self, index: usize) -> u64 {
        self.counts.get(index..).unwrap_or_default().iter().sum()
    }

    /// Exact mean, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns / self.count as f64)
    }

    /// Exact sum, ns.
    pub const fn sum_ns(&self) -> f64 {
        self.sum_ns
    }

    /// Standard deviation of the sample, ns.
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

    /// The value of rank `rank` (1 = smallest) as far as the bins know it: the
    /// upper end of its bin, as fio reports percentiles, within the exact
    /// extremes. `None` for a rank of 0 or beyond the count.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 || rank > self.count {
            return None;
        }
        let mut seen = 0;
        self.bins()
            .find(|bin| {
                seen += bin.count;
                seen >= rank
            })
            .map(|bin| bin.high_ns.clamp(self.min_ns, self.max_ns))
    }

    /// The quantile `q` (0..=1): the value of rank ceil(q n).
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        self.value_at_rank(rank.max(1))
    }

    /// The bins that are not empty, smallest first.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(index, &count)| {
            let (low_ns, high_ns) = Self::bounds(index);
            Bin { low_ns, high_ns, count }
        })
    }
}

/// Bins as (index, count) pairs: most of them are empty.
mod sparse {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(counts: &[u64], to: S) -> Result<S::Ok, S::Error> {
        let pairs: Vec<(usize, u64)> = counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, count)| (index, *count))
            .collect();
        pairs.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
        let pairs = Vec::<(usize, u64)>::deserialize(from)?;
        let mut counts = Vec::new();
        for (index, count) in pairs {
            if index >= super::Histogram::BINS {
                return Err(D::Error::custom(format!("histogram bin {index} does not exist")));
            }
            if counts.len() <= index {
                counts.resize(index + 1, 0);
            }
            counts[index] = count;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn first_bins_are_one_ns_wide_and_groups_join_without_gaps() {
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
