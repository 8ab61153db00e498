//! Members of fio's JSON objects, with the types that fio's versions gave them.

use iodyno_model::Histogram;
use serde_json::Value;

/// A whole number; some publishers have them as floats.
pub(super) fn integer(of: &Value, name: &str) -> Option<u64> {
    let value = of.get(name)?;
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        (float >= 0.0 && float < u64::MAX as f64).then_some(float as u64)
    })
}

/// A finite number.
pub(super) fn float(of: &Value, name: &str) -> Option<f64> {
    of.get(name)?.as_f64().filter(|number| number.is_finite())
}

/// A text.
pub(super) fn text(of: &Value, name: &str) -> Option<String> {
    of.get(name)?.as_str().map(str::to_owned)
}

/// Options as written; with several servers they stand in a list.
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

/// Latencies of `of[name]` (`clat_ns`) by their bins; `None` without bins.
pub(super) fn histogram(of: &Value, name: &str) -> Option<Histogram> {
    let latency = of.get(name)?;
    let mut bins = Vec::new();
    for (middle_ns, count) in latency.get("bins")?.as_object()? {
        bins.push((Histogram::index(middle_ns.parse().ok()?), count.as_u64()?));
    }
    let count = bins.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))?;
    let (n, mean) = (count as f64, float(latency, "mean")?);
    let deviation = float(latency, "stddev").unwrap_or(0.0);
    let squares = deviation * deviation * (n - 1.0).max(0.0) + n * mean * mean;
    let (min_ns, max_ns) = (integer(latency, "min")?, integer(latency, "max")?);
    let mut histogram = Histogram::default();
    histogram.add_counts(bins, mean * n, squares, min_ns, max_ns.max(min_ns));
    (count > 0).then_some(histogram)
}

/// Mean of the latencies `of[name]`, ns, where there were any.
pub(super) fn mean_ns(of: &Value, name: &str) -> Option<f64> {
    let latency = of.get(name)?;
    let any = integer(latency, "N").map_or_else(|| integer(latency, "max"), Some)? > 0;
    float(latency, "mean").filter(|_| any)
}

/// Shares in percent of `total`, by class, as counts.
pub(super) fn counts<const N: usize>(of: &Value, name: &str, total: u64) -> [u64; N] {
    let mut counts = [0; N];
    let shares = of.get(name).and_then(Value::as_object).into_iter().flatten();
    for (class, share) in shares {
        // Classes are `1`, `2`, `4` … `32`, `>=64`.
        let lowest: u64 = class.trim_start_matches(">=").parse().unwrap_or(0);
        let at = lowest.checked_ilog2().map_or(N, |class| class as usize);
        if let (Some(count), Some(percent)) = (counts.get_mut(at), share.as_f64()) {
            *count = (percent / 100.0 * total as f64).round() as u64;
        }
    }
    counts
}
