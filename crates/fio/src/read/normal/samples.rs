//! Parses the lines of a direction's rate samples.

use iodyno_model::{Estimate, RateSamples};

use super::scan::{after, field, numbers, up_to};
use crate::read::printed_number::estimate;

/// Parses `bw(KiB/s):min=38976,max=66136,per=99.75%,avg=65372.80,stdev=27.1,samples=12`, in bytes.
/// fio counts in KiB whatever `kb_base` is; an `M` is `kib_in_m` of them.
pub(super) fn bandwidths(text: &str, kib_in_m: f64) -> RateSamples {
    let unit = text.split_once('(').and_then(|(_, rest)| up_to(rest, |c| c == ')'));
    let unit = unit.unwrap_or_default();
    let bits = if unit.contains("bit") { 8.0 } else { 1.0 };
    match unit.chars().next() {
        Some('K' | 'k') => samples(text, 1024.0 / bits, 0.0),
        Some('M') => samples(text, 1024.0 * kib_in_m / bits, 1.0),
        _ => RateSamples::default(),
    }
}

/// Parses `iops:min=9744,max=16534,avg=16343.20,stdev=6.8,samples=12`.
pub(super) fn rates(text: &str) -> RateSamples {
    samples(text, 1.0, 0.0)
}

/// Parses figures in `unit`; extremes were truncated by up to `cut`.
fn samples(text: &str, unit: f64, cut: f64) -> RateSamples {
    let number = |key| field(text, key)?.parse::<f64>().ok();
    let extreme = |key| -> Option<Estimate> {
        let value = number(key)?;
        match cut > 0.0 {
            true => estimate(value * unit, value * unit, (value + cut) * unit),
            false => Some(Estimate::bare(value * unit)).filter(|of| of.value.is_finite()),
        }
    };
    let rounded = |key| {
        let value = number(key)?;
        let half = 0.005;
        estimate(value * unit, (value - half).max(0.0) * unit, (value + half) * unit)
    };
    RateSamples {
        min: extreme("min="),
        max: extreme("max="),
        mean: rounded("avg="),
        stdev: rounded("stdev="),
        count: after(text, "samples=").and_then(|count| numbers(count).first().copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_in_bytes() {
        let line = "bw(KiB/s):min=38976,max=66136,per=99.75%,avg=65372.80,stdev=27.10,samples=12\n";
        let of = bandwidths(line, 1024.0);
        let value = |of: Option<Estimate>| of.unwrap().value;
        assert_eq!((value(of.min), value(of.max)), (38_976.0 * 1024.0, 66_136.0 * 1024.0));
        assert_eq!((value(of.mean), of.count), (65_372.8 * 1024.0, Some(12)));
        let of = bandwidths("bw(MB/s):min=3,max=4,per=1.00%,avg=3.50,stdev=0.10\n", 1000.0);
        assert_eq!(of.min.unwrap().bounds(), Some((3_072_000.0, 4_096_000.0)));
        assert_eq!((of.count, value(of.mean)), (None, 3_584_000.0));
        let of = bandwidths("bw(Kibit/s):min=8,max=16,per=1.00%,avg=8.00,stdev=0.00\n", 1024.0);
        assert_eq!(value(of.min), 1024.0);
        let of = rates("iops:min=9744,max=16534,avg=16343.20,stdev=6.80,samples=12\n");
        assert_eq!((value(of.max), value(of.stdev), of.count), (16_534.0, 6.8, Some(12)));
        assert_eq!(bandwidths("bw(apples/s):min=1,max=2\n", 1024.0), RateSamples::default());
    }
}
