//! Formatting of values with their intervals, in as many digits as the interval supports.
//!
//! A quantity has one interval, that of its own estimate, and one form: `79.5k ± 1.9k IOPS`. A
//! width is given in percent only beside a target in percent, for the same estimate.

use std::cmp::Ordering;

use crate::{Estimate, Metric, Spread, WIDTH_NOT_KNOWN};

/// Maximum number of digits, however narrow the interval.
const MAX_DIGITS: i32 = 5;

/// Relative error of computations, with a margin.
const ARITHMETIC: f64 = 1e-12;

/// Display unit: value over `divisor`, then `suffix` without a space (`k`), then `unit` after a
/// space.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// Divisor of the value.
    pub divisor: f64,
    /// Suffix directly after the digits: `k`.
    pub suffix: &'static str,
    /// Unit after a space: `IOPS`. Empty: no space either.
    pub unit: &'static str,
}

impl Unit {
    /// Makes a unit.
    pub const fn new(divisor: f64, suffix: &'static str, unit: &'static str) -> Self {
        Self { divisor, suffix, unit }
    }

    /// I/Os per second, without the unit: for columns whose heading names it.
    pub fn iops_without_unit(value: f64) -> Self {
        Self { unit: "", ..Self::of(Metric::Iops, value) }
    }

    /// Returns the text after the digits and the suffix.
    fn unit_suffix(self) -> String {
        if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) }
    }

    /// Selects the unit for a value.
    pub fn of(metric: Metric, value: f64) -> Self {
        let size = value.abs();
        match metric {
            Metric::Bandwidth => Self::new(1e6, "", "MB/s"),
            Metric::Iops if size >= 999_500.0 => Self::new(1e6, "M", "IOPS"),
            Metric::Iops if size >= 9_995.0 => Self::new(1e3, "k", "IOPS"),
            Metric::Iops => Self::new(1.0, "", "IOPS"),
            Metric::LatencyMean if size < 1e3 => Self::new(1.0, "", "ns"),
            Metric::LatencyMean if size < 1e6 => Self::new(1e3, "", "us"),
            Metric::LatencyMean if size < 1e9 => Self::new(1e6, "", "ms"),
            Metric::LatencyMean => Self::new(1e9, "", "s"),
        }
    }
}

/// Formats an estimate with its interval, in one unit: `6853 ± 12 MB/s`.
pub fn format_estimate(metric: Metric, estimate: &Estimate) -> String {
    with_interval(estimate, Unit::of(metric, estimate.value))
}

/// Formats an estimate with its interval, or its ends: `9400 IOPS (0–35400)`. Rounding bounds are
/// not shown.
pub fn with_interval(estimate: &Estimate, unit: Unit) -> String {
    let text = without_interval(estimate, unit);
    let Spread::Confidence { low, high, .. } = estimate.spread else { return text };
    if !(low.is_finite() && high.is_finite()) {
        return format!("{text} {WIDTH_NOT_KNOWN}");
    }
    // Equal values have an interval as narrow as the arithmetic's own error.
    if (high - low).partial_cmp(&(ARITHMETIC * estimate.value.abs())) != Some(Ordering::Greater) {
        return text;
    }
    let Unit { divisor, suffix, .. } = unit;
    if estimate.is_too_wide() {
        let end = |value: f64| {
            let value = value / divisor;
            rounded(value, decimals_for_digits(value, 3).min(2)) + suffix
        };
        return format!("{text} ({}–{})", end(low), end(high));
    }
    let decimals = decimals_of(estimate, divisor);
    let value = rounded(estimate.value / divisor, decimals);
    let (below, above) = (estimate.value - low, high - estimate.value);
    if (above - below).abs() <= 0.25 * (high - low) {
        let half = rounded_up(below.max(above) / divisor, decimals);
        format!("{value}{suffix} ± {half}{suffix}{}", unit.unit_suffix())
    } else {
        let (low, high) = (rounded(low / divisor, decimals), rounded(high / divisor, decimals));
        format!("{text} ({low}{suffix}–{high}{suffix})")
    }
}

/// Formats an estimate in as many digits as its interval supports.
pub fn without_interval(estimate: &Estimate, unit: Unit) -> String {
    let digits = rounded(estimate.value / unit.divisor, decimals_of(estimate, unit.divisor));
    format!("{digits}{}{}", unit.suffix, unit.unit_suffix())
}

/// Decimals (negative: zeros before the point) that an estimate supports in the unit `divisor`:
/// half of the interval keeps one digit, or two if it starts with 1; a rounded value keeps the
/// decimals it was printed with; three significant digits without an interval.
fn decimals_of(estimate: &Estimate, divisor: f64) -> i32 {
    let value = estimate.value / divisor;
    let half = estimate.bounds().map_or(0.0, |(low, high)| (high - low) / 2.0 / divisor);
    if half <= 0.0 || !half.is_finite() || estimate.is_too_wide() {
        return decimals_for_digits(value, 3);
    }
    if let Spread::Rounding { .. } = estimate.spread {
        // Small tolerance: a value printed as 0.1 has one decimal.
        let decimals = (-(2.0 * half).log10() - 1e-6).ceil() as i32;
        return decimals
            .max(decimals_for_digits(value, 2))
            .min(decimals_for_digits(value, MAX_DIGITS));
    }
    let exponent = half.log10().floor();
    let two_digits = i32::from(half / 10f64.powf(exponent) < 1.95);
    // Keeps some digits of the value, however wide the interval.
    let fewest = if half >= value.abs() / 2.0 { decimals_for_digits(value, 2) } else { i32::MIN };
    (two_digits - exponent as i32).max(fewest).min(decimals_for_digits(value, MAX_DIGITS))
}

/// Returns the decimals that give `value` this many significant digits.
pub fn decimals_for_digits(value: f64, digits: i32) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    digits - 1 - value.abs().log10().floor() as i32
}

/// Formats `value` with this many decimals (negative: zeros before the point).
pub fn rounded(value: f64, decimals: i32) -> String {
    if decimals >= 0 {
        return format!("{value:.*}", decimals as usize);
    }
    let step = 10f64.powi(-decimals);
    format!("{:.0}", (value / step).round() * step)
}

/// Rounds away from zero, so that an interval never looks narrower than it is.
pub fn rounded_up(value: f64, decimals: i32) -> String {
    let step = 10f64.powi(-decimals);
    rounded((value / step - 1e-9).ceil() * step, decimals)
}
