//! Reads members of fio's JSON objects, with the types that fio's versions gave them.

use iodyno_model::{Estimate, LatencyRange, Spread};
use serde_json::Value;

/// Upper limit of plausible counts: anything above is damaged. Sums of many such numbers still fit.
pub(super) const MOST: u64 = 1 << 48;

/// Reads a whole number; some publishers write them as floats.
pub(super) fn integer(of: &Value, name: &str) -> Option<u64> {
    let value = of.get(name)?;
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        (float >= 0.0 && float < u64::MAX as f64).then_some(float as u64)
    })
}

/// Reads a finite number.
pub(super) fn float(of: &Value, name: &str) -> Option<f64> {
    of.get(name)?.as_f64().filter(|number| number.is_finite())
}

/// Reads a string.
pub(super) fn text(of: &Value, name: &str) -> Option<String> {
    of.get(name)?.as_str().map(str::to_owned)
}

/// Reads options as written; with several servers they are in a list.
pub(super) fn options(of: &Value, name: &str) -> Vec<(String, String)> {
    let objects = match of.get(name) {
        Some(Value::Array(objects)) => objects.iter().collect(),
        Some(object) => vec![object],
        None => Vec::new(),
    };
    let members = objects.into_iter().filter_map(Value::as_object).flatten();
    members
        .filter_map(|(name, value)| match value {
            Value::String(text) => Some((name.clone(), text.clone())),
            Value::Number(number) => Some((name.clone(), number.to_string())),
            _ => None,
        })
        .collect()
}

/// Reads shares in percent by class and converts them to counts out of `total`.
pub(super) fn counts<const N: usize>(of: &Value, name: &str, total: u64) -> [u64; N] {
    let mut counts = [0; N];
    let shares = of.get(name).and_then(Value::as_object).into_iter().flatten();
    for (class, share) in shares {
        // Classes are `1`, `2`, `4` … `32`, `>=64`.
        let lowest: u64 = class.trim_start_matches(">=").parse().unwrap_or(0);
        let at = lowest.checked_ilog2().map_or(N, |class| class as usize);
        if let (Some(count), Some(percent)) = (counts.get_mut(at), share.as_f64()) {
            *count = ((percent / 100.0 * total as f64).round() as u64).min(MOST);
        }
    }
    counts
}

/// Latency classes: JSON member, unit in ns, upper bounds.
pub(super) const CLASSES: [(&str, u64, &[u64]); 3] = [
    ("latency_ns", 1, &[2, 4, 10, 20, 50, 100, 250, 500, 750, 1000]),
    ("latency_us", 1000, &[2, 4, 10, 20, 50, 100, 250, 500, 750, 1000]),
    ("latency_ms", 1_000_000, &[2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000]),
];

/// Reads shares of I/Os by latency.
pub(super) fn latency_ranges(of: &Value) -> Vec<LatencyRange> {
    let mut shares = Vec::new();
    for (name, unit_ns, ends) in CLASSES {
        let Some(classes) = of.get(name) else { continue };
        shares
            .extend(ends.iter().map(|end| (Some(end * unit_ns), float(classes, &end.to_string()))));
        if let Some(beyond) = float(classes, ">=2000") {
            shares.push((None, Some(beyond)));
        }
    }
    ranges(shares)
}

/// Builds consecutive ranges from (upper bound in ns, share in percent). fio prints shares with two
/// decimals, and values below 0.01 as 0.01.
pub(super) fn ranges(shares: Vec<(Option<u64>, Option<f64>)>) -> Vec<LatencyRange> {
    let mut low_ns = 0;
    let mut ranges = Vec::new();
    for (high_ns, percent) in shares {
        if let Some(percent) = percent.filter(|percent| *percent > 0.0 && *percent <= 100.0) {
            let low = if percent <= 0.01 { 0.0 } else { (percent - 0.005) / 100.0 };
            let spread = Spread::Rounding { low, high: ((percent + 0.005) / 100.0).min(1.0) };
            let share = Estimate { value: percent / 100.0, spread };
            ranges.push(LatencyRange { low_ns, high_ns, share });
        }
        low_ns = high_ns.unwrap_or(low_ns);
    }
    ranges.shrink_to_fit();
    ranges
}
