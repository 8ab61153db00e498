//! Parses latencies as fio prints them.

use iodyno_model::{Estimate, Histogram, LatencySummary, Spread};
use serde_json::Value;

use crate::read::members::{MOST, float, integer};

/// Unit in which latencies are printed, and in which fio counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// ns: JSON and logs of fio 3.
    Ns,
    /// us, truncated to us before they were counted: fio 2.
    Us,
    /// Counted in ns and printed in us: terse output of fio 3.
    NsInUs,
}

impl Unit {
    /// Length of the printed unit, ns.
    pub(super) const fn printed_ns(self) -> u64 {
        match self {
            Self::Ns => 1,
            Self::Us | Self::NsInUs => 1000,
        }
    }

    /// fio's last bin, which also holds everything above it (FIO_IO_U_PLAT_NR, stat.h).
    const fn last_bin(self) -> usize {
        match self {
            Self::Us => 19 * 64 - 1,
            Self::Ns | Self::NsInUs => 29 * 64 - 1,
        }
    }

    /// Converts a minimum or maximum.
    pub(super) fn extreme(self, printed: u64) -> Estimate {
        let unit = self.printed_ns();
        let value = printed.saturating_mul(unit) as f64;
        match unit {
            1 => Estimate::bare(value),
            _ => rounded(value, value, value + (unit - 1) as f64),
        }
    }

    /// Converts a mean, printed with decimals.
    pub(super) fn mean(self, printed: f64) -> Estimate {
        let value = printed * self.printed_ns() as f64;
        match self {
            // Mean of values that were truncated by up to 1 us each.
            Self::Us => rounded(value, value, value + 1000.0),
            Self::Ns | Self::NsInUs => Estimate::bare(value),
        }
    }

    /// Converts a standard deviation, printed with decimals.
    pub(super) fn deviation(self, printed: f64) -> Estimate {
        let value = printed * self.printed_ns() as f64;
        match self {
            Self::Us => rounded(value, (value - 1000.0).max(0.0), value + 1000.0),
            Self::Ns | Self::NsInUs => Estimate::bare(value),
        }
    }

    /// Converts a percentile, which fio knows to the bin; `max_ns` bounds the last bin.
    pub(super) fn percentile(self, printed: u64, max_ns: Option<f64>) -> Estimate {
        let ns = printed.saturating_mul(self.printed_ns());
        let (first, last, bin_ns) = match self {
            Self::Us => (printed, printed, 1000),
            Self::Ns | Self::NsInUs => (ns, ns.saturating_add(self.printed_ns() - 1), 1),
        };
        let low = Histogram::bounds(Histogram::index(first)).0.saturating_mul(bin_ns) as f64;
        let high = Histogram::bounds(Histogram::index(last)).1;
        let high = high.saturating_mul(bin_ns).saturating_add(bin_ns - 1) as f64;
        let open = Histogram::index(last) >= self.last_bin();
        let high = max_ns.filter(|max_ns| open && *max_ns > high).unwrap_or(high);
        rounded(ns as f64, low, high)
    }

    /// Range of fio's bins `first` to `last`, ns.
    pub(super) fn bins_ns(self, first: usize, last: usize) -> (u64, u64) {
        let unit = if self == Self::Us { 1000 } else { 1 };
        let end = Histogram::BINS - 1;
        let low = Histogram::bounds(first.min(end)).0.saturating_mul(unit);
        let high = Histogram::bounds(last.min(end)).1;
        (low, high.saturating_mul(unit).saturating_add(unit - 1))
    }
}

const fn rounded(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, spread: Spread::Rounding { low, high } }
}

/// JSON object of the latencies `kind` (`clat`) of a direction, if it has any: fio 3 names the
/// unit, fio 2 does not.
pub(super) fn latencies<'a>(direction: &'a Value, kind: &str) -> Option<(&'a Value, Unit)> {
    let in_ns = direction.get(format!("{kind}_ns")).map(|found| (found, Unit::Ns));
    let (found, unit) = in_ns.or_else(|| Some((direction.get(kind)?, Unit::Us)))?;
    let any = match integer(found, "N") {
        Some(count) => count > 0,
        None => ["max", "mean"].iter().any(|name| float(found, name) > Some(0.0)),
    };
    any.then_some((found, unit))
}

/// Latency summary of `kind` in a direction.
pub(super) fn stated(direction: &Value, kind: &str) -> LatencySummary {
    let Some((found, unit)) = latencies(direction, kind) else {
        return LatencySummary::default();
    };
    let max_ns = integer(found, "max").map(|max| unit.extreme(max));
    let listed = found.get("percentile").and_then(Value::as_object).into_iter().flatten();
    let mut percentiles: Vec<(f64, Estimate)> = listed
        .filter_map(|(percent, value)| {
            // fio up to 3.3 fills the rest of the list with `0.00`.
            let percent = percent.parse().ok().filter(|p| *p > 0.0 && *p <= 100.0)?;
            let whole =
                value.as_u64().or_else(|| Some(value.as_f64().filter(|v| *v >= 0.0)? as u64));
            Some((percent, unit.percentile(whole?, max_ns.map(|max| max.value))))
        })
        .collect();
    percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
    percentiles.shrink_to_fit();
    let positive = |name| float(found, name).filter(|value| *value >= 0.0);
    LatencySummary {
        min_ns: integer(found, "min").map(|min| unit.extreme(min)),
        mean_ns: positive("mean").map(|mean| unit.mean(mean)),
        max_ns,
        stdev_ns: positive("stddev").map(|deviation| unit.deviation(deviation)),
        percentiles,
    }
}

/// Histogram of the latencies of `kind`; `None` without bins (JSON, not JSON+).
pub(super) fn binned(direction: &Value, kind: &str) -> Option<Histogram> {
    let (found, unit) = latencies(direction, kind)?;
    let mut bins = Vec::new();
    let listed = found.get("bins")?.as_object()?;
    // Up to fio 2.19 a bin's name is its number, and three constants are listed next to the bins;
    // since 2.20 it is the middle of the bin, in us up to 2.21.
    let are_numbered = listed.contains_key("FIO_IO_U_PLAT_BITS");
    for (name, count) in listed {
        let (Ok(name), Some(count)) = (name.parse::<u64>(), count.as_u64()) else { continue };
        let middle_ns = match unit {
            Unit::Us => {
                let bin = if are_numbered { name as usize } else { Histogram::index(name) };
                middle(unit.bins_ns(bin, bin))
            }
            Unit::Ns | Unit::NsInUs => name,
        };
        bins.push((Histogram::index(middle_ns), count));
    }
    let count = bins.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))?;
    let (n, mean) = (count as f64, float(found, "mean")? * unit.printed_ns() as f64);
    let deviation = float(found, "stddev").unwrap_or(0.0) * unit.printed_ns() as f64;
    let squares = deviation * deviation * (n - 1.0).max(0.0) + n * mean * mean;
    let extreme = |name| Some(integer(found, name)?.saturating_mul(unit.printed_ns()));
    let (min_ns, max_ns) = (extreme("min")?, extreme("max")?);
    let mut histogram = Histogram::default();
    histogram.add_counts(bins, mean * n, squares, min_ns, max_ns.max(min_ns));
    (1..=MOST).contains(&count).then_some(histogram)
}

/// Middle of a range.
pub(super) const fn middle((low, high): (u64, u64)) -> u64 {
    low + (high - low) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_known_to_its_bin() {
        // 56576 ns is the middle of 56320..=56831 ns.
        assert_eq!(Unit::Ns.percentile(56576, None).bounds(), Some((56320.0, 56831.0)));
        assert_eq!(Unit::NsInUs.percentile(56, None).bounds(), Some((55808.0, 57343.0)));
        assert_eq!(Unit::Us.percentile(948, None).bounds(), Some((944_000.0, 951_999.0)));
        let saturated = Unit::Ns.percentile(17_112_760_320, Some(40e9));
        assert_eq!(saturated.high(), 40e9);
    }

    #[test]
    fn us_are_rounded_by_up_to_one() {
        assert_eq!(Unit::NsInUs.extreme(9).bounds(), Some((9000.0, 9999.0)));
        assert_eq!(Unit::Us.mean(1.5).bounds(), Some((1500.0, 2500.0)));
        assert_eq!(Unit::Ns.extreme(9).bounds(), None);
    }
}
