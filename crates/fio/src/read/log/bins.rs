//! Parses rows of histogram logs: `time, direction, bs, bin 0, bin 1, …`.

use iodyno_model::Histogram;

use super::row::Columns;
use crate::read::latency::{Unit, middle};
use crate::read::members::MOST;

/// A row of a histogram log: the latencies of one direction in a window.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BinsRow {
    /// End, ms since the start.
    pub(super) time_ms: u64,
    /// 0 read, 1 write, 2 trim.
    pub(super) direction: usize,
    pub(super) latency: Histogram,
}

impl BinsRow {
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let mut columns = Columns::new(line);
        let time_ms = columns.next()??;
        let direction =
            usize::try_from(columns.next()??).ok().filter(|direction| *direction <= 2)?;
        let _bs = columns.next()??;
        let mut counts = Vec::new();
        while let Some(count) = columns.next()? {
            counts.push(count);
        }
        Some(Self { time_ms, direction, latency: histogram(&counts)? })
    }
}

/// Builds a histogram from fio's bins, of which `log_hist_coarseness` joins 2, 4, 8 …: their number
/// gives the coarseness, and the version with its unit. A joined bin counts at its middle.
fn histogram(counts: &[u64]) -> Option<Histogram> {
    const COARSEST: u32 = 6;
    let of = |bins: usize, unit: Unit| {
        (0..=COARSEST).find(|coarse| bins >> coarse == counts.len()).map(|coarse| (unit, coarse))
    };
    let (unit, coarse) = of(29 * 64, Unit::Ns).or_else(|| of(19 * 64, Unit::Us))?;
    let total = counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count))?;
    // fio has been seen writing uninitialized memory.
    if total > MOST {
        return None;
    }
    let mut histogram = Histogram::default();
    for (n, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let first = n << coarse;
        let (low_ns, high_ns) = unit.bins_ns(first, first + (1 << coarse) - 1);
        let middle_ns = middle((low_ns, high_ns));
        let (value, n) = (middle_ns as f64, *count as f64);
        let bin = [(Histogram::index(middle_ns), *count)];
        histogram.add_counts(bin, value * n, value * value * n, low_ns, high_ns);
    }
    Some(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_bins_tells_their_unit_and_width() {
        let row = |bins: usize, at: usize| {
            let mut counts = vec!["0"; bins];
            counts[at] = "7";
            BinsRow::parse(format!("505, 1, 4096, {}\n", counts.join(", ")).as_bytes())
        };
        let only = |bins, at| {
            let latency = row(bins, at).unwrap().latency;
            (latency.count(), latency.min_ns().unwrap(), latency.max_ns().unwrap())
        };
        assert_eq!(only(1856, 128), (7, 128, 129));
        assert_eq!(only(464, 32), (7, 128, 135));
        assert_eq!(only(1216, 100), (7, 100_000, 100_999));
        assert_eq!(only(304, 25), (7, 100_000, 103_999));
        assert_eq!(row(17, 3), None);
    }
}
