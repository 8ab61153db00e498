//! Formats figures for people.

pub(crate) use iodyno_model::format_percent as percent;
use iodyno_model::{Metric, format_count, format_duration_ns, format_mb_per_s, format_mib_per_s};

/// `6938 MB/s (6617 MiB/s)`, `412k IOPS`, `85.2 us`.
pub(crate) fn value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Bandwidth => format!("{} ({})", format_mb_per_s(value), format_mib_per_s(value)),
        Metric::Iops => format!("{} IOPS", format_count(value)),
        Metric::LatencyMean => format_duration_ns(value),
    }
}

/// Formats an estimate with its interval: `982k ± 3k IOPS`.
pub(crate) use iodyno_model::figures::format_estimate as estimate;
