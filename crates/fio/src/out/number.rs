//! Formats numbers as fio prints them for people.

use iodyno_model::Histogram;

/// Unit printed after a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// No unit.
    None,
    /// `B`.
    Bytes,
    /// `B/s`.
    BytesPerSecond,
    /// `bit/s`: the number is in bytes.
    BitsPerSecond,
}

/// Formats `value` with at most `width` digits (the point counts as one) and a prefix: `30.3k`,
/// binary: `116MiB/s`. fio truncates first and rounds only the decimals (num2str; carry as since
/// 3.26).
pub(super) fn num2str(value: u64, width: usize, binary: bool, unit: Unit) -> String {
    const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let (step, prefixes) = if binary { (1024, BINARY) } else { (1000, DECIMAL) };
    let unit_name = match unit {
        Unit::None => "",
        Unit::Bytes => "B",
        Unit::BytesPerSecond => "B/s",
        Unit::BitsPerSecond => "bit/s",
    };
    let mut whole = if unit == Unit::BitsPerSecond { value.saturating_mul(8) } else { value };
    let mut rest = None;
    let mut prefix = 0;
    while whole.to_string().len() > width && prefix + 1 < prefixes.len() {
        rest = Some(whole % step);
        whole /= step;
        prefix += 1;
    }
    let suffix = format!("{}{unit_name}", prefixes[prefix]);
    let Some(rest) = rest else { return format!("{whole}{suffix}") };
    let room = width.saturating_sub(whole.to_string().len());
    if room <= 1 {
        return format!("{}{suffix}", whole + u64::from(rest >= step / 2));
    }
    let decimals = room - 1;
    let fraction = format!("{:.decimals$}", rest as f64 / step as f64);
    let carry = u64::from(fraction.starts_with('1'));
    format!("{}.{}{suffix}", whole + carry, &fraction[2..])
}

/// Unit of a latency line in normal output: (name, length in ns).
pub(super) fn unit_of_line(histogram: &Histogram) -> (&'static str, u64) {
    let min = histogram.min_ns().unwrap_or(0);
    let max = histogram.max_ns().unwrap_or(0);
    let deviation = histogram.stdev_ns().unwrap_or(0.0);
    if min > 2_000_000 && max > 99_999_999 && deviation > 1_000_000.0 {
        ("msec", 1_000_000)
    } else if min > 2_000 && max > 99_999 && deviation > 1_000.0 {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    }
}
