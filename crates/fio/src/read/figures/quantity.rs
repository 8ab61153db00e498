//! Parses numbers with units as printed for people, with their rounding intervals.

use iodyno_model::{Estimate, Spread};

/// Parses IOPS: `343k`, `3M`, `1,000,000`, `780 K IOPS`.
pub(super) fn iops(text: &str) -> Result<Estimate, String> {
    let (number, unit) = parts(text)?;
    let unit = unit.trim_end_matches("IOPS").trim_end_matches("iops").trim();
    let scale = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        _ => return Err(format!("`{text}`: expected IOPS such as 343k")),
    };
    number.scaled(scale)
}

/// Parses bytes per second: `1660 MB/s`, `1.6GiB/s`; `unit` is the column's, used if the cell has
/// none.
pub(super) fn bytes_per_s(text: &str, unit: &str) -> Result<Estimate, String> {
    let (number, own) = parts(text)?;
    let unit = if own.is_empty() { unit } else { own };
    let plain = unit.trim().trim_end_matches("ps").trim_end_matches("/s");
    let scale = match plain {
        "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => {
            return Err(format!(
                "`{text}`: expected a bandwidth with unit, such as 1660 MB/s or 1.5 GiB/s"
            ));
        }
    };
    number.scaled(scale)
}

/// Parses a time: `85 us`, `1.2 ms`; `unit` is the column's. In ns.
pub(super) fn time_ns(text: &str, unit: &str) -> Result<Estimate, String> {
    let (number, own) = parts(text)?;
    let unit = if own.is_empty() { unit } else { own };
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" | "μs" | "usec" => 1e3,
        "ms" | "msec" => 1e6,
        "s" => 1e9,
        _ => return Err(format!("`{text}`: expected a latency with unit, such as 85 us")),
    };
    number.scaled(scale)
}

/// A number and its count of decimals.
struct Number {
    value: f64,
    decimals: i32,
}

impl Number {
    /// Multiplies by `scale`, with the bounds that rounding leaves.
    fn scaled(&self, scale: f64) -> Result<Estimate, String> {
        let half = scale / 2.0 / 10_f64.powi(self.decimals);
        let value = self.value * scale;
        if !(value.is_finite() && value > 0.0) {
            return Err("expected a number above 0".into());
        }
        let spread = Spread::Rounding { low: (value - half).max(0.0), high: value + half };
        Ok(Estimate { value, spread })
    }
}

/// Splits `text` into the number at its start and the rest.
fn parts(text: &str) -> Result<(Number, &str), String> {
    let text = text.trim().trim_start_matches(['~', '≈']).trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".,_".contains(c))).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    // `1,654,000` groups thousands; `3,5` is a decimal comma in half of Europe, hence ambiguous.
    let grouped = number
        .split(',')
        .skip(1)
        .all(|group| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()));
    if !grouped {
        return Err(format!("`{text}`: use a point for decimals"));
    }
    let plain = number.replace([',', '_'], "");
    let value = plain.parse().map_err(|_| format!("`{text}`: expected a number"))?;
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    Ok((Number { value, decimals }, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_with_their_rounding() {
        let k = iops("343k").unwrap();
        assert_eq!((k.value, k.low(), k.high()), (343e3, 342.5e3, 343.5e3));
        assert_eq!(iops("1,654,000 IOPS").unwrap().value, 1_654_000.0);
        assert_eq!(iops("~3.0M").unwrap().high(), 3.05e6);
        let mbs = bytes_per_s("1660 MB/s", "").unwrap();
        assert_eq!((mbs.value, mbs.low()), (1660e6, 1659.5e6));
        assert_eq!(bytes_per_s("4400", "MB/s").unwrap().value, 4400e6);
        assert_eq!(bytes_per_s("1GiB/s", "MB/s").unwrap().value, 1_073_741_824.0);
        assert_eq!(time_ns("85 us", "").unwrap().value, 85_000.0);
        for wrong in ["", "-5k", "fast", "3,5M", "0", "1e999", "12 parsecs"] {
            assert!(iops(wrong).is_err(), "{wrong}");
        }
        assert!(bytes_per_s("1660", "").is_err(), "a number without a unit may be anything");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = iops(&text);
            let _ = bytes_per_s(&text, "MB/s");
            let _ = time_ns(&text, "us");
        }
    }
}
