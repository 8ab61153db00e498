//! Units of axis labels, and steps between them.

use crate::Quantity;

/// Maximum number of steps on an axis.
const MOST_STEPS: f64 = 5.0;

/// Unit for values up to `greatest`: its name, and its size in base units.
pub(crate) fn unit(quantity: Quantity, greatest: f64) -> (&'static str, f64) {
    let units: &[(&str, f64)] = match quantity {
        Quantity::Iops => &[("IOPS", 1.0), ("kIOPS", 1e3), ("MIOPS", 1e6)],
        Quantity::Bandwidth => &[("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)],
        Quantity::Latency => &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)],
        Quantity::Time if greatest > 2e13 => &[("h", 3.6e12)],
        Quantity::Time => &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)],
        Quantity::Share => &[("%", 0.01)],
        Quantity::Data => &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)],
        Quantity::Size | Quantity::Nines | Quantity::Ratio | Quantity::Count => &[("", 1.0)],
    };
    // The largest unit that leaves the greatest value four digits; seconds from 1 s, and MB/s up to
    // the rates of one machine.
    let least = match quantity {
        Quantity::Time => 1.0,
        Quantity::Bandwidth => 10.0,
        _ => 5.0,
    };
    let suits = |(name, size): &&(&str, f64)| {
        greatest >= size * if *name == "GB/s" { 100.0 } else { least }
    };
    units.iter().rev().find(suits).or(units.first()).copied().unwrap_or(("", 1.0))
}

/// The smallest of 1, 2, 5, 10, … that reaches `greatest` in at most `MOST_STEPS` steps.
pub(crate) fn round_step(greatest: f64) -> f64 {
    if !(greatest > 0.0 && greatest.is_finite()) {
        return 0.0;
    }
    let power = 10f64.powf((greatest / MOST_STEPS).log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|digit| digit * power);
    steps.into_iter().find(|step| greatest / step <= MOST_STEPS).unwrap_or(10.0 * power)
}
