//! Shares of I/Os by depth and by range of latency, in fio's classes.

use iodyno_model::{Bin, Histogram};

/// Upper bounds of the classes in ns and in us, and in ms without the last.
pub(super) const RANGES: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// Shares of latencies by class, percent: below 1 us, below 1 ms, and above (the last is 2 s and
/// more).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct LatencyShares {
    pub(super) ns: [f64; 10],
    pub(super) us: [f64; 10],
    pub(super) ms: [f64; 12],
}

impl LatencyShares {
    /// Shares of the latencies in `counted`, of `total` I/Os. A bin across a class boundary counts
    /// where its middle is.
    pub(super) fn of<'h>(counted: impl IntoIterator<Item = &'h Histogram>, total: u64) -> Self {
        let mut shares = Self::default();
        if total == 0 {
            return shares;
        }
        for bin in counted.into_iter().flat_map(Histogram::bins) {
            let ns = middle_ns(&bin);
            let class = |value: u64| RANGES.partition_point(|end| *end <= value);
            let share = match ns {
                0..1_000 => &mut shares.ns[class(ns)],
                1_000..1_000_000 => &mut shares.us[class(ns / 1_000)],
                _ => &mut shares.ms[class(ns / 1_000_000)],
            };
            *share += bin.count as f64 * 100.0 / total as f64;
        }
        for share in shares.ns.iter_mut().chain(&mut shares.us).chain(&mut shares.ms) {
            if *share > 0.0 {
                *share = share.max(0.01);
            }
        }
        shares
    }

    /// Shares for terse output, which has no ns: everything below 1 us counts as below 2 us.
    pub(super) fn us_with_ns(&self) -> [f64; 10] {
        let mut us = self.us;
        us[0] += self.ns.iter().sum::<f64>();
        us
    }
}

/// Value that fio prints for a bin: its middle.
pub(super) const fn middle_ns(bin: &Bin) -> u64 {
    bin.low_ns + (bin.high_ns - bin.low_ns).div_ceil(2)
}

/// Converts counts of seven classes to percent; non-zero counts give at least 0.1.
pub(super) fn level_shares(counts: &[u64; 7]) -> [f64; 7] {
    let total = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        _ => (count as f64 * 100.0 / total as f64).max(0.1),
    })
}

/// Percentiles, ns, for each of `list` (percent): the middle of the bin that reaches the rank, as
/// fio prints them. Empty without latencies.
pub(super) fn percentiles(histogram: &Histogram, list: &[f64]) -> Vec<(f64, u64)> {
    let mut bins = histogram.bins();
    let Some(mut bin) = bins.next() else { return Vec::new() };
    let mut seen = bin.count as f64;
    let mut found = Vec::with_capacity(list.len());
    for &percent in list {
        let rank = percent.min(100.0) / 100.0 * histogram.count() as f64;
        while seen < rank {
            let Some(next) = bins.next() else { break };
            bin = next;
            seen += bin.count as f64;
        }
        found.push((percent, middle_ns(&bin)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_fios_classes() {
        let mut histogram = Histogram::default();
        for ns in [1, 3, 999, 1_000, 4_100, 990_000, 5_000_000, 3_000_000_000] {
            histogram.record(ns);
        }
        let shares = LatencyShares::of([&histogram], 8);
        assert_eq!((shares.ns[0], shares.ns[1], shares.ns[9]), (12.5, 12.5, 12.5));
        assert_eq!((shares.us[0], shares.us[2], shares.us[9]), (12.5, 12.5, 12.5));
        assert_eq!((shares.ms[2], shares.ms[11]), (12.5, 12.5));
        assert_eq!(shares.us_with_ns()[0], 50.0);
        assert_eq!(LatencyShares::of([&histogram], 1_000_000).ms[11], 0.01);
    }

    #[test]
    fn percentiles_are_the_middle_of_their_bin() {
        let mut histogram = Histogram::default();
        (0..100).for_each(|n| histogram.record(1_000_000 + n * 100_000));
        let found = percentiles(&histogram, &[1.0, 50.0, 100.0]);
        let middle = |ns| {
            let (low_ns, high_ns) = Histogram::bounds(Histogram::index(ns));
            middle_ns(&Bin { low_ns, high_ns, count: 1 })
        };
        let expected = [(1.0, 1_000_000), (50.0, 5_900_000), (100.0, 10_900_000)];
        assert_eq!(found, expected.map(|(percent, ns)| (percent, middle(ns))));
        assert!(percentiles(&Histogram::default(), &[50.0]).is_empty());
    }

    #[test]
    fn nonzero_shares_are_at_least_a_tenth() {
        assert_eq!(level_shares(&[1, 0, 99_999, 0, 0, 0, 0])[..2], [0.1, 0.0]);
        assert_eq!(level_shares(&[0; 7]), [0.0; 7]);
    }
}
