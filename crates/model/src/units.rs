//! Sizes, and formatting of sizes, rates and times for people.
//!
//! Decimal units count as on data sheets (1 MB = 10^6 bytes), binary units as in the kernel (1 MiB
//! = 2^20 bytes); a text always says which.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A size in bytes.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Makes a size of `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// Makes a size of `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// Makes a size of `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// Formats in decimal units with three significant digits, as on a data sheet: `3.84 TB`.
    pub fn decimal(self) -> String {
        scaled(self.0 as f64, 1000.0, ["B", "kB", "MB", "GB", "TB", "PB"])
    }

    /// Formats in binary units with three significant digits: `256 KiB`.
    pub fn binary(self) -> String {
        scaled(self.0 as f64, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
    }
}

fn scaled(mut value: f64, base: f64, units: [&str; 6]) -> String {
    let mut unit = 0;
    while value >= base && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    format!("{} {}", significant(value, 3), units[unit])
}

/// Formats `value` with at least `digits` significant digits, without trailing zeros after the
/// point.
pub fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (digits - 1 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// Formats a bandwidth (bytes per second) in MB/s, as on data sheets: `6938 MB/s`.
pub fn format_mb_per_s(bytes_per_s: f64) -> String {
    format!("{} MB/s", significant(bytes_per_s / 1e6, 3))
}

/// Formats a bandwidth (bytes per second) in MiB/s: `6617 MiB/s`.
pub fn format_mib_per_s(bytes_per_s: f64) -> String {
    format!("{} MiB/s", significant(bytes_per_s / f64::from(1 << 20), 3))
}

/// Formats a share in percent: `97 %`, `8.2 %`.
pub fn format_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Formats a value as a ratio to `of`: `97 % of the claim`, `3.6x the claim`.
pub fn format_ratio(ratio: f64, of: &str) -> String {
    match ratio >= 2.0 {
        true => format!("{}x {of}", significant(ratio, 2)),
        false => format!("{} of {of}", format_percent(ratio)),
    }
}

/// Formats a count or rate with k and M: `412k`, `1.65M`, `930`.
pub fn format_count(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 999_500.0 {
        format!("{}M", significant(value / 1e6, 3))
    } else if magnitude >= 9_995.0 {
        format!("{}k", significant(value / 1e3, 3))
    } else if magnitude >= 100.0 {
        format!("{value:.0}")
    } else {
        significant(value, 3)
    }
}

/// Printed instead of an interval that is not known.
pub const WIDTH_NOT_KNOWN: &str = "± not known";

/// Formats the half width of an interval, relative to its value: `± 1.4 %`, `± 17 %`, `± >100 %`.
pub fn format_width(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 10.0 => format!("± {percent:.1} %"),
        percent if percent <= 100.0 => format!("± {percent:.0} %"),
        percent if percent.is_finite() => "± >100 %".into(),
        _ => WIDTH_NOT_KNOWN.into(),
    }
}

/// Formats a time in ns in a suitable unit: `85.2 us`, `1.3 ms`, `10 s`, `22 min`, `3 h 16 min`.
pub fn format_duration_ns(ns: f64) -> String {
    const MINUTE_NS: f64 = 60e9;
    let minutes = (ns / MINUTE_NS).round();
    // From two minutes on: two digits of minutes, or hours and minutes.
    if ns.is_finite() && ns >= 2.0 * MINUTE_NS {
        let (hours, rest) = ((minutes / 60.0).trunc(), minutes % 60.0);
        return match (hours >= 2.0, rest > 0.0) {
            (true, true) => format!("{hours} h {rest} min"),
            (true, false) => format!("{hours} h"),
            (false, _) => format!("{minutes} min"),
        };
    }
    let (scale, unit) = match ns.abs() {
        x if x < 1e3 => (1.0, "ns"),
        x if x < 1e6 => (1e3, "us"),
        x if x < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", significant(ns / scale, 3))
}

/// Writes microseconds in `text` as `µs`, for terminals: `85.2 us` becomes `85.2 µs`.
pub fn with_micro(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(" us") {
        let (before, behind) = rest.split_at(at);
        let is_unit = before.ends_with(|c: char| c.is_ascii_digit() || c == ')')
            && !behind[3..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        out.push_str(before);
        out.push_str(if is_unit { " µs" } else { " us" });
        rest = &behind[3..];
    }
    out + rest
}

/// Formats ns since 1970 as RFC 3339 in UTC.
pub fn rfc3339(ns: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(ns))
        .expect("64 bits of nanoseconds reach from 1677 to 2262, a Timestamp from -9999 to 9999")
        .to_string()
}

/// Parses RFC 3339 to ns since 1970 UTC; `None`: no such time, or outside 1677 to 2262.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

/// Parses a time as in fio's options (`500ms`, `2m`), ns; a plain number is in units of `bare_ns`.
/// `None`: not a time.
pub fn parse_duration_ns(text: &str, bare_ns: f64) -> Option<f64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ns = match text.get(number.len()..)?.to_ascii_lowercase().as_str() {
        "" => bare_ns,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        "d" => 86400e9,
        _ => return None,
    };
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    Some(number? * unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fio_times_are_parsed() {
        let seconds = |text: &str| parse_duration_ns(text, 1e9);
        assert_eq!(seconds("1800ms").map(format_duration_ns).as_deref(), Some("1.8 s"));
        assert_eq!(
            (seconds("60"), seconds("1M"), seconds("60s")),
            (Some(60e9), Some(60e9), Some(60e9))
        );
        assert_eq!(parse_duration_ns("500", 1e3), Some(500e3));
        for text in ["", "s", "1x", "-1s", "nan", "inf", "1 s", "ü", "1ü"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_formatted_in_decimal_and_binary_units() {
        assert_eq!(Bytes(3_840_755_982_336).decimal(), "3.84 TB");
        assert_eq!(Bytes::kib(256).binary(), "256 KiB");
        assert_eq!(Bytes(0).decimal(), "0 B");
        assert_eq!(Bytes(999).decimal(), "999 B");
    }

    #[test]
    fn rates_and_times_keep_three_digits() {
        assert_eq!(format_mb_per_s(6_938_000_000.0), "6938 MB/s");
        assert_eq!(format_mib_per_s(1_048_576.0 * 40.26), "40.3 MiB/s");
        assert_eq!(format_count(999_600.0), "1M");
        assert_eq!(format_count(412_345.0), "412k");
        assert_eq!(format_count(930.4), "930");
        assert_eq!(format_duration_ns(85_230.0), "85.2 us");
        assert_eq!(with_micro("it gave us 85 us, 9 uses, 7 us"), "it gave us 85 µs, 9 uses, 7 µs");
        assert_eq!(format_duration_ns(10e9), "10 s");
        assert_eq!(format_duration_ns(119e9), "119 s");
        assert_eq!(format_duration_ns(1320e9), "22 min");
        assert_eq!(format_duration_ns(11_760e9), "3 h 16 min");
        assert_eq!(format_duration_ns(f64::INFINITY), "inf s");
    }

    #[test]
    fn widths_keep_two_digits() {
        let said =
            [0.001, 0.0149, 0.17, 1.0, 1.01, 3.59, f64::INFINITY, f64::NAN].map(format_width);
        assert_eq!(said[..4], ["± 0.1 %", "± 1.5 %", "± 17 %", "± 100 %"]);
        assert_eq!(said[4..6], ["± >100 %"; 2]);
        assert!(said[6..].iter().all(|said| said == WIDTH_NOT_KNOWN), "{said:?}");
    }
}
