//! Parses the latency lines below a direction's line.

use iodyno_model::{LatencyRange, LatencySummary};

use super::scan::{field, numbers, unit_ns, up_to};
use crate::read::printed_number::{Notation, estimate, rounded_latency, share};

/// Parses `clat(usec):min=…,max=…,avg=…,stdev=…`.
pub(super) fn summary(text: &str, notation: Notation, into: &mut LatencySummary) {
    let Some(unit_ns) = unit(text) else { return };
    let cut = |key| notation.cut_latency(field(text, key)?, unit_ns);
    let rounded = |key| rounded_latency(field(text, key)?, unit_ns);
    into.min_ns = cut("min=");
    into.max_ns = cut("max=");
    into.mean_ns = rounded("avg=");
    // Name in 1.x.
    into.stdev_ns = rounded("stdev=").or_else(|| rounded("dev="));
}

/// Parses `clat percentiles(usec):|1.00th=[69],…`.
pub(super) fn percentiles(text: &str, notation: Notation, into: &mut LatencySummary) {
    let Some(unit_ns) = unit(text) else { return };
    let unit = f64::from(unit_ns);
    for (at, _) in text.match_indices("th=[") {
        let percent = text[..at].rsplit(|c: char| !c.is_ascii_digit() && c != '.').next();
        let percent = percent.and_then(|percent| percent.parse().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        let value = up_to(&text[at + "th=[".len()..], |c| c == ']');
        let value = value.map(|value| value.trim_start_matches('>').trim());
        let value = value.and_then(|value| value.parse::<u64>().ok()).map(|value| value as f64);
        let (Some(percent), Some(value)) = (percent, value) else { continue };
        // Units coarser than the clock's were rounded up (stat.c).
        let (low, high) = match unit_ns > notation.clock_ns {
            true => ((value - 1.0).max(0.0), value),
            false if unit_ns > 1 => (value, value + 1.0),
            false => (value, value),
        };
        if let Some(value) = estimate(value * unit, low * unit, high * unit) {
            into.percentiles.push((percent, value));
        }
    }
    into.percentiles.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    into.percentiles.dedup_by(|(a, _), (b, _)| a == b);
}

/// Widens percentiles in the last bin to the maximum: fio's histogram ends at 17.1 s (16.7 s in
/// 2.x), so their only upper bound is the largest latency.
pub(super) fn open_last_percentiles(summary: &mut LatencySummary) {
    const LAST_NS: f64 = 16_711_680_000.0;
    let Some(max_ns) = summary.max_ns else { return };
    for (_, value) in &mut summary.percentiles {
        if value.value >= LAST_NS
            && let Some(open) = estimate(value.value, value.low(), value.high().max(max_ns.high()))
        {
            *value = open;
        }
    }
}

/// Parses `lat(usec):50=77.85%,100=9.91%`: shares of latencies below each limit.
pub(super) fn ranges(text: &str, notation: Notation, into: &mut Vec<LatencyRange>) {
    const LIMITS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];
    let (Some(unit_ns), Some((_, shares))) = (unit(text), text.split_once("):")) else { return };
    for item in shares.split(',') {
        let Some((limit, percent)) = item.split_once('=') else { continue };
        let (Some(limit_number), Some(share)) =
            (numbers(limit).first().copied(), up_to(percent, |c| c == '%').and_then(share))
        else {
            continue;
        };
        let Some(at) = LIMITS.iter().position(|known| *known == limit_number) else { continue };
        let ns = |limit: u64| limit * u64::from(unit_ns);
        // The first range of a unit begins where the finer unit ends.
        let below = match at {
            0 if unit_ns > notation.clock_ns => ns(1),
            0 => 0,
            _ => ns(LIMITS[at - 1]),
        };
        into.push(match limit.trim().starts_with(">=") {
            true => LatencyRange { low_ns: ns(limit_number), high_ns: None, share },
            false => LatencyRange { low_ns: below, high_ns: Some(ns(limit_number)), share },
        });
    }
}

/// Unit in the first parentheses, ns.
fn unit(text: &str) -> Option<u32> {
    unit_ns(up_to(text.split_once('(')?.1, |c| c == ')')?)
}
