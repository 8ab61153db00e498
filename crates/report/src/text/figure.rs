//! Formats figures with as many digits as their interval supports.

use iodyno_model::figures::{
    Unit, decimals_for_digits, rounded, rounded_up, with_interval, without_interval,
};
use iodyno_model::{
    DirectionResult, Estimate, LatencyKind, Metric, Spread, format_count, format_duration_ns,
    format_mb_per_s,
};

use crate::percentiles::{Percentile, percentiles_of};

const MIB: f64 = 1_048_576.0;

/// Metric with its interval: `6853 ± 12 MB/s (6536 MiB/s)`, `982k ± 3k IOPS`, `71.3 ± 0.2 us`.
pub(crate) fn measured(metric: Metric, estimate: &Estimate) -> String {
    let text = estimated(metric, estimate);
    if metric == Metric::Bandwidth {
        format!("{text} ({})", without_interval(estimate, Unit::new(MIB, "", "MiB/s")))
    } else {
        text
    }
}

pub(crate) use iodyno_model::figures::format_estimate as estimated;

/// IOPS with their interval, without the unit, for a column: `982k ± 3k`.
pub(crate) fn iops(estimate: &Estimate) -> String {
    with_interval(estimate, Unit::iops_without_unit(estimate.value))
}

/// Estimate without its interval, in as many digits as that supports.
pub(super) fn bare(metric: Metric, estimate: &Estimate) -> String {
    without_interval(estimate, Unit::of(metric, estimate.value))
}

/// Difference in percent, with its interval if known: `-4.7 ± 0.3 %`.
pub(super) fn difference(percent: &Estimate) -> String {
    let half = percent.bounds().map_or(0.0, |(low, high)| (high - low) / 2.0);
    let size = if half > 0.0 { 5.0 * half } else { percent.value.abs() };
    let decimals = match size {
        size if size < 0.1 => 2,
        size if size < 10.0 => 1,
        _ => 0,
    };
    let places = decimals as usize;
    // No sign if it rounds to zero.
    let signed = |value: f64| match format!("{value:+.places$}") {
        text if text.trim_start_matches(['+', '-', '0', '.']).is_empty() => "0".to_owned(),
        text => text,
    };
    let value = signed(percent.value);
    let Spread::Confidence { low, high, .. } = percent.spread else {
        return format!("{value} %");
    };
    let (below, above) = (percent.value - low, high - percent.value);
    if below.max(above) < 0.005 {
        return format!("{value} %");
    }
    if (above - below).abs() <= 0.25 * (high - low) {
        format!("{value} ± {} %", rounded_up(below.max(above), decimals))
    } else {
        format!("{value} % ({} to {})", signed(low), signed(high))
    }
}

/// Figure not measured here: a claim, a ceiling, a median.
pub(super) fn stated(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Bandwidth => format_mb_per_s(value),
        Metric::Iops => format!("{} IOPS", format_count(value)),
        Metric::LatencyMean => format_duration_ns(value),
    }
}

/// Percentile: `p99 95.2 us (94.9–95.6)`, without the interval if it is no wider than the
/// histogram's bins or the digits shown, or is not ours.
pub(super) fn percentile(percentile: &Percentile) -> String {
    format!("p{} {}", percentile.percent, percentile_value(percentile))
}

/// Value of the percentile: `95.2 us (94.9–95.6)`; `95.2 us ± ?` if slow I/Os were too few for an
/// interval.
pub(crate) fn percentile_value(percentile: &Percentile) -> String {
    let value = percentile.value_ns as f64;
    let unit = Unit::of(Metric::LatencyMean, value);
    let decimals = decimals_for_digits(value / unit.divisor, 3);
    let digits = |ns: f64| rounded(ns / unit.divisor, decimals);
    let shown = digits(value);
    if percentile.is_open {
        return format!("{shown} {} ± ?", unit.unit);
    }
    let bounds = percentile.bounds_ns.filter(|_| percentile.is_spread());
    let range = bounds.map(|(low, high)| (digits(low as f64), digits(high as f64)));
    match range {
        Some((low, high)) if low != shown || high != shown => {
            format!("{shown} {} ({low}–{high})", unit.unit)
        }
        _ => format!("{shown} {}", unit.unit),
    }
}

/// Percentiles with their intervals, and the maximum, which has none.
pub(super) fn distribution(result: &DirectionResult, percents: &[f64]) -> Vec<String> {
    let (kind, shown) = percentiles_of(result, percents);
    let mut items: Vec<String> = shown.iter().map(percentile).collect();
    let max = result.max_of(kind);
    items.extend(max.map(|max| format!("max {}", format_duration_ns(max.value))));
    if let Some(first) = items.first_mut() {
        *first = format!("{}{first}", latency_kind(kind));
    }
    items
}

/// Prefix of a latency that is not the total: `clat `.
pub(super) fn latency_kind(kind: LatencyKind) -> String {
    match kind {
        LatencyKind::Total => String::new(),
        part => format!("{} ", part.fio_name()),
    }
}

/// Share in percent, about two significant digits: `99 %`, `0.4 %`, `104 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 9.95 || percent == 0.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mb(value: f64, half: f64) -> Estimate {
        Estimate::confident(value * 1e6, (value - half) * 1e6, (value + half) * 1e6, 0.95)
    }

    #[test]
    fn digits_follow_the_interval() {
        let show = |value, half| measured(Metric::Bandwidth, &mb(value, half));
        assert_eq!(show(6853.4, 12.3), "6853 ± 13 MB/s (6536 MiB/s)");
        assert_eq!(show(6853.4, 68.0), "6850 ± 70 MB/s (6540 MiB/s)");
        assert_eq!(show(6853.4, 1234.0), "6900 ± 1300 MB/s (6500 MiB/s)");
        assert_eq!(show(6853.456, 0.000_1), "6853.5 ± 0.1 MB/s (6536.0 MiB/s)");
        assert_eq!(show(1.0, 0.8), "1.0 ± 0.8 MB/s (0.95 MiB/s)");
        assert_eq!(
            measured(Metric::Iops, &Estimate::confident(2900.0, 0.0, 1_122_100.0, 0.95)),
            "2900 IOPS (0–1120000)"
        );
        assert_eq!(
            measured(Metric::Bandwidth, &Estimate::bare(6_853_456_000.0)),
            "6850 MB/s (6540 MiB/s)"
        );
        assert_eq!(
            measured(Metric::Iops, &Estimate::confident(982_345.0, 979_300.0, 985_400.0, 0.95)),
            "982k ± 4k IOPS"
        );
        assert_eq!(
            measured(
                Metric::Iops,
                &Estimate::confident(1_021_000.0, 1_020_000.0, 1_080_000.0, 0.95)
            ),
            "1.02M IOPS (1.02M–1.08M)"
        );
        assert_eq!(
            measured(Metric::LatencyMean, &Estimate::confident(71_300.0, 71_100.0, 71_500.0, 0.95)),
            "71.3 ± 0.2 us"
        );
    }

    #[test]
    fn printed_values_keep_their_digits() {
        let show = |value, half: f64| {
            let spread = Spread::Rounding { low: value - half, high: value + half };
            estimated(Metric::LatencyMean, &Estimate { value, spread })
        };
        assert_eq!(show(149_500.0, 50.0), "149.5 us");
        assert_eq!(show(149_500.0, 1000.0), "150 us");
        assert_eq!(show(2_000_000.0, 500_000.0), "2.0 ms");
        let iops = Spread::Rounding { low: 8646.9, high: 8647.7 };
        let iops = Estimate { value: 8647.3, spread: iops };
        assert_eq!(measured(Metric::Iops, &iops), "8647.3 IOPS");
    }

    #[test]
    fn differences_have_a_sign_and_the_digits_of_their_interval() {
        let of = |value, low, high| difference(&Estimate::confident(value, low, high, 0.95));
        assert_eq!(of(-4.71, -5.02, -4.41), "-4.7 ± 0.4 %");
        assert_eq!(of(9.98, -13.0, 33.0), "+10 ± 24 %");
        assert_eq!(of(12.3, 2.0, 24.0), "+12 ± 12 %");
        assert_eq!(of(12.3, 11.9, 24.0), "+12 % (+12 to +24)");
        assert_eq!(of(0.031, 0.02, 0.04), "+0.03 ± 0.02 %");
        assert_eq!(of(-0.001, -0.0012, -0.0008), "0 %");
        assert_eq!(of(0.4, -3.1, 3.9), "0 ± 4 %");
        assert_eq!(difference(&Estimate::bare(4.72)), "+4.7 %");
        assert_eq!(difference(&Estimate::bare(0.031)), "+0.03 %");
        assert_eq!(difference(&Estimate::bare(-47.2)), "-47 %");
    }

    #[test]
    fn percentiles_show_an_interval_that_is_wider_than_the_digits() {
        let at = |low, high| Percentile {
            percent: 99.9,
            value_ns: 131_071,
            bounds_ns: Some((low, high)),
            is_open: false,
        };
        assert_eq!(percentile(&at(129_024, 134_143)), "p99.9 131 us (129–134)");
        assert_eq!(percentile(&at(130_900, 131_100)), "p99.9 131 us");
        assert_eq!(percentile(&at(90_000, 900_000)), "p99.9 131 us (90–900)");
        let open = Percentile { bounds_ns: None, is_open: true, ..at(0, 0) };
        assert_eq!(percentile(&open), "p99.9 131 us ± ?");
    }

    #[test]
    fn non_finite_values_do_not_panic() {
        for bad in [f64::NAN, f64::INFINITY, -0.0, 0.0, 1e300, 1e-300] {
            for metric in [Metric::Bandwidth, Metric::Iops, Metric::LatencyMean] {
                measured(metric, &Estimate::bare(bad));
                measured(metric, &Estimate::confident(bad, bad, bad, 0.95));
                measured(metric, &Estimate::confident(1.0, -bad, bad, 0.95));
            }
        }
    }
}
