//! Values of options: sizes, times and lists in fio's notation.

use thiserror::Error;

/// What is wrong with an option or its value.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum JobError {
    /// No such option.
    #[error("there is no option `{name}`{}", .nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    UnknownOption {
        /// As it was written.
        name: String,
        /// The option with the nearest name.
        nearest: Option<&'static str>,
    },
    /// A value that the option does not take.
    #[error("`{option}={value}`: {expected}")]
    BadValue {
        /// The option.
        option: &'static str,
        /// As it was written.
        value: String,
        /// What it takes.
        expected: String,
    },
}

/// A size in fio's notation with kb_base=1024: `4k`, `256KiB`, `1m`, `1g`, `512`.
/// fio's rule: with `kb_base=1024` both `k` and `KiB` are 1024, and `kB` is 1000.
///
/// # Errors
/// A sentence that says what is expected.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let expected = || format!("a size such as 4k, 256KiB or 1m was expected, not `{text}`");
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().map_err(|_| expected())?;
    let unit = text[digits..].trim();
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(expected()),
    };
    number.checked_mul(factor).ok_or_else(|| format!("`{text}` is more than 2^64 bytes"))
}

/// A time in seconds in fio's notation, as ns: `10`, `10s`, `500ms`, `2m`, `1h`.
///
/// # Errors
/// A sentence that says what is expected.
pub fn parse_seconds(text: &str) -> Result<u64, String> {
    let expected = || format!("a time such as 10, 10s, 500ms or 2m was expected, not `{text}`");
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..split].parse().map_err(|_| expected())?;
    let factor = match text[split..].trim() {
        "" | "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        "m" => 60e9,
        "h" => 3600e9,
        "d" => 86_400e9,
        _ => return Err(expected()),
    };
    let ns = number * factor;
    if ns.is_finite() && ns < u64::MAX as f64 { Ok(ns as u64) } else { Err(expected()) }
}

/// A list of numbers in the kernel's and fio's notation: `0-3,8`.
///
/// # Errors
/// A sentence that says what is expected.
pub fn parse_list(text: &str) -> Result<Vec<u32>, String> {
    let expected = || format!("a list such as 0-3,8 was expected, not `{text}`");
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

    #[test]
    fn sizes_and_times_and_lists() {
        assert_eq!(parse_size("4k"), Ok(4096));
        assert_eq!(parse_size("256KiB"), Ok(262_144));
        assert_eq!(parse_size("1MB"), Ok(1_000_000));
        assert!(parse_size("four").unwrap_err().contains("256KiB"));
        assert!(parse_size("99999999999t").is_err());
        assert_eq!(parse_seconds("500ms"), Ok(500_000_000));
        assert_eq!(parse_seconds("2m"), Ok(120_000_000_000));
        assert!(parse_seconds("-1").is_err());
        assert_eq!(parse_list("0-2,8"), Ok(vec![0, 1, 2, 8]));
        assert!(parse_list("3-1").is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text: String) {
            let _ = (parse_size(&text), parse_seconds(&text), parse_list(&text));
        }
    }
}
