//! Parses values in fio's notation: numbers, sizes, times and lists.

mod expression;

use thiserror::Error;

/// An error in an option or its value.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum JobError {
    /// An unknown option.
    #[error("there is no option `{name}`{}", .nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    UnknownOption {
        /// As written.
        name: String,
        /// The option with the most similar name.
        nearest: Option<&'static str>,
    },
    /// A value that the option does not accept.
    #[error("`{option}={value}`: {expected}")]
    BadValue {
        /// The option.
        option: &'static str,
        /// As written.
        value: String,
        /// The values it accepts.
        expected: String,
    },
    /// An option without its mandatory value.
    #[error("`{option}` needs a value: {takes}")]
    NoValue {
        /// The option.
        option: &'static str,
        /// The values it accepts.
        takes: String,
    },
    /// An option or value of fio that the native generator does not support.
    #[error(
        "`{option}={value}` is not supported by the native generator: {reason}; use `iodyno run --generator fio`"
    )]
    NotNative {
        /// The option.
        option: &'static str,
        /// As written.
        value: String,
        /// Why it is not supported.
        reason: String,
    },
    /// An option or value of fio for which iodyno neither has nor runs anything.
    #[error("`{option}={value}` is not supported: {reason}; use fio itself")]
    Foreign {
        /// The option.
        option: &'static str,
        /// As written.
        value: String,
        /// Why it is not supported.
        reason: String,
    },
    /// Options that contradict each other.
    #[error("{0}")]
    Conflict(String),
}

/// A malformed number, size, time or list.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum ValueError {
    /// Something else was expected.
    #[error("expected {expected}, not `{text}`")]
    Expected {
        /// The expected kind of value, with an example.
        expected: &'static str,
        /// As written.
        text: String,
    },
    /// A size with a decimal point, which fio truncates to its integer part.
    #[error("fio cuts `{0}` at its point: write it in a smaller unit, as 1536m for 1.5g")]
    Cut(String),
    /// A number of more than 64 bits.
    #[error("`{0}` is more than 2^64")]
    TooLarge(String),
}

impl ValueError {
    fn expected(expected: &'static str, text: &str) -> Self {
        Self::Expected { expected, text: text.to_owned() }
    }
}

impl From<ValueError> for String {
    fn from(error: ValueError) -> Self {
        error.to_string()
    }
}

impl JobError {
    /// The option in error, if it exists.
    pub const fn option(&self) -> Option<&'static str> {
        match self {
            Self::BadValue { option, .. }
            | Self::NoValue { option, .. }
            | Self::NotNative { option, .. }
            | Self::Foreign { option, .. } => Some(option),
            Self::UnknownOption { .. } | Self::Conflict(_) => None,
        }
    }
}

/// Meaning of the units of sizes: fio's `kb_base`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// 1024: `k` and `kB` are 1024 bytes, and `KiB` is 1000, "the opposite of
    /// SI and IEC, for compatibility with old scripts" (HOWTO, "Parameter
    /// types"); 1000: `k` and `kB` are 1000, and `KiB` is 1024.
    pub kb_base: u64,
}

impl Default for Units {
    fn default() -> Self {
        Self { kb_base: 1024 }
    }
}

impl Units {
    /// Bytes per unit of size, or `None` for an unknown unit.
    fn factor(self, unit: &str) -> Option<i128> {
        let unit = unit.to_ascii_lowercase();
        let (letter, rest) = unit.split_at_checked(1)?;
        if letter == "b" {
            return rest.is_empty().then_some(1);
        }
        let power = "kmgtp".find(letter)? as u32 + 1;
        let base: i128 = match rest {
            "" | "b" | "i" => self.kb_base.into(),
            "ib" if self.kb_base == 1000 => 1024,
            "ib" => 1000,
            _ => return None,
        };
        Some(base.pow(power))
    }
}

/// The unit of a time that is given without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

impl TimeUnit {
    /// Length in ns.
    pub const fn ns(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Milliseconds => 1_000_000,
            Self::Microseconds => 1000,
        }
    }

    /// Its suffix: `s`, `ms` or `us`.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
        }
    }
}

/// Parses an integer, possibly negative, with units of size and arithmetic: `-8k`, `0x1f`,
/// `(2*4k)+1`, `10*10*1000*7`.
///
/// # Errors
/// Malformed or out of range.
pub fn parse_signed(text: &str, units: Units) -> Result<i64, ValueError> {
    expression::evaluate(text, &|unit| units.factor(unit))
        .and_then(|value| i64::try_from(value).ok())
        .ok_or_else(|| size_expected(text))
}

/// Parses a number or a size in bytes: `4k`, `256k`, `1m`, `512`, `0x200`, `(2*4k)`.
///
/// # Errors
/// Malformed or out of range.
pub fn parse_size_in(text: &str, units: Units) -> Result<u64, ValueError> {
    let value = expression::evaluate(text, &|unit| units.factor(unit))
        .ok_or_else(|| size_expected(text))?;
    if value < 0 {
        return Err(size_expected(text));
    }
    u64::try_from(value).map_err(|_| ValueError::TooLarge(text.to_owned()))
}

fn size_expected(text: &str) -> ValueError {
    if text.contains('.') {
        return ValueError::Cut(text.to_owned());
    }
    ValueError::expected("a whole number or a size such as 4k, 256k or 1m", text)
}

/// Parses a size with `kb_base=1024`: `k` and `kB` are 1024 bytes, `KiB` is 1000, as in fio.
///
/// # Errors
/// Malformed or out of range.
pub fn parse_size(text: &str) -> Result<u64, ValueError> {
    parse_size_in(text, Units::default())
}

/// Parses a time, returning ns: `10` in `unit`, `10s`, `500ms`, `20us`, `2m`, `1h`, `1d`.
///
/// # Errors
/// Malformed or out of range.
pub fn parse_time(text: &str, unit: TimeUnit) -> Result<u64, ValueError> {
    let expected = || ValueError::expected("a time such as 10, 10s, 500ms or 2m", text);
    let text = text.trim();
    if let Some((number, sign)) = fraction(text) {
        let factor = factor_of_time(sign, unit).ok_or_else(expected)?;
        let ns = number * factor as f64;
        return if ns < u64::MAX as f64 { Ok(ns as u64) } else { Err(expected()) };
    }
    let has_unit = std::cell::Cell::new(false);
    let factor = |sign: &str| {
        has_unit.set(true);
        factor_of_time(sign, unit)
    };
    expression::evaluate(text, &factor)
        .and_then(
            |value| if has_unit.get() { Some(value) } else { value.checked_mul(unit.ns().into()) },
        )
        .and_then(|value| u64::try_from(value).ok())
        .ok_or_else(expected)
}

/// Splits a number with a decimal point from the unit behind it.
fn fraction(text: &str) -> Option<(f64, &str)> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number = &text[..split];
    let number = number.contains('.').then(|| number.parse().ok()).flatten()?;
    Some((number, text[split..].trim()))
}

fn factor_of_time(sign: &str, unit: TimeUnit) -> Option<i128> {
    let seconds = 1_000_000_000;
    Some(match sign.to_ascii_lowercase().as_str() {
        "" => unit.ns().into(),
        "us" | "usec" => 1000,
        "ms" | "msec" => 1_000_000,
        "s" => seconds,
        "m" => 60 * seconds,
        "h" => 3600 * seconds,
        "d" => 86_400 * seconds,
        _ => return None,
    })
}

/// Parses a time in seconds, or with a unit, returning ns: `10`, `10s`, `500ms`, `2m`, `1h`.
///
/// # Errors
/// Malformed or out of range.
pub fn parse_seconds(text: &str) -> Result<u64, ValueError> {
    parse_time(text, TimeUnit::Seconds)
}

/// Parses a list of numbers in the kernel's and fio's notation: `0-3,8`.
///
/// # Errors
/// Malformed or out of range.
pub fn parse_list(text: &str) -> Result<Vec<u32>, ValueError> {
    let expected = || ValueError::expected("a list such as 0-3,8", text);
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| expected())?;
        let last: u32 = last.trim().parse().map_err(|_| expected())?;
        if last < first || last - first > 65_536 {
            return Err(expected());
        }
        numbers.extend(first..=last);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sizes as printed by `fio --kb_base=… --bs=…` 3.33.
    #[test]
    fn units_mean_what_they_mean_in_fio() {
        for (text, in_1024, in_1000) in [
            ("4k", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("1M", 1 << 20, 1_000_000),
            ("1mib", 1_000_000, 1 << 20),
            ("2g", 2 << 30, 2_000_000_000),
            ("512", 512, 512),
            ("512b", 512, 512),
            ("0x1000", 4096, 4096),
            ("(2*4k)+1", 8193, 8001),
            ("10*10*1000*7", 700_000, 700_000),
        ] {
            assert_eq!(parse_size(text), Ok(in_1024), "{text}");
            assert_eq!(parse_size_in(text, Units { kb_base: 1000 }), Ok(in_1000), "{text}");
        }
        assert_eq!(parse_signed("-8k", Units::default()), Ok(-8192));
    }

    #[test]
    fn malformed_sizes_are_refused() {
        for text in
            ["", "four", "4x", "1G foo", "1 G foo", "100g offset=100g", "-1", "4k4k", "k", "(1"]
        {
            assert!(parse_size(text).unwrap_err().to_string().contains("256k"), "{text}");
        }
        assert!(parse_size("1.5g").unwrap_err().to_string().contains("smaller unit"));
        assert!(parse_size("99999999999t").unwrap_err().to_string().contains("2^64"));
        assert!(parse_size("1/0").is_err());
    }

    #[test]
    fn times() {
        assert_eq!(parse_seconds("500ms"), Ok(500_000_000));
        assert_eq!(parse_seconds("2m"), Ok(120_000_000_000));
        assert_eq!(parse_seconds("5M"), Ok(300_000_000_000));
        assert_eq!(parse_seconds("0.5"), Ok(500_000_000));
        assert_eq!(parse_seconds("1.5s"), Ok(1_500_000_000));
        assert_eq!(parse_seconds("(2*30)"), Ok(60_000_000_000));
        assert_eq!(parse_time("50", TimeUnit::Microseconds), Ok(50_000));
        assert_eq!(parse_time("50ms", TimeUnit::Microseconds), Ok(50_000_000));
        for text in ["-1", "30sec", "", "ten", "1s foo", "99999999999999d"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists() {
        assert_eq!(parse_list("0-2,8"), Ok(vec![0, 1, 2, 8]));
        assert!(parse_list("3-1").is_err());
        assert!(parse_list("0;1").is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text: String, kb_base in prop_oneof![Just(1000_u64), Just(1024)]) {
            let units = Units { kb_base };
            let _ = (parse_size_in(&text, units), parse_signed(&text, units));
            let _ = (parse_seconds(&text), parse_list(&text));
        }

        #[test]
        fn arithmetic_never_panics(text in "[0-9kmgx(){}*/%+^. -]{0,40}") {
            let _ = (parse_size(&text), parse_seconds(&text));
        }
    }
}
