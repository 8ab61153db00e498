//! Converts a trace to job options, as fio's job file and as a plan, and lists what they cannot
//! express.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use iodyno_job::gcd;
use iodyno_model::{
    ModelLikeness, TraceSummary, TracedOperation, format_count, format_duration_ns,
};
use iodyno_report::text::{clean, options_p99_sentence};

use crate::output::OPTIONS_HEAD;

/// Maximum number of zones in options.
const ZONES: usize = 16;
/// Maximum number of sizes of one direction, as in fio (`BSSPLIT_MAX`).
const SIZES: usize = 64;
/// Deviation of the mean size of percentages rounded one by one that is small enough.
const SIZE_DEVIATION: f64 = 0.02;
/// Deviation of a whole number of IOPS from a rate that is worth a word.
const RATE_DEVIATION: f64 = 0.05;
/// Maximum queue depth in options.
const DEPTH: u64 = 256;

/// An option and its value.
type Set = (&'static str, String);

/// Whole percentages that sum to 100: the largest remainders are rounded up.
fn percents(counts: &[u64]) -> Vec<u64> {
    let all = counts.iter().sum::<u64>().max(1);
    let mut parts: Vec<u64> = counts.iter().map(|count| count * 100 / all).collect();
    let mut by_rest: Vec<usize> = (0..counts.len()).collect();
    by_rest.sort_by_key(|at| std::cmp::Reverse(counts[*at] * 100 % all));
    let missing = 100 - parts.iter().sum::<u64>().min(100);
    by_rest.iter().take(missing as usize).for_each(|at| parts[*at] += 1);
    parts
}

/// `SIZE/PERCENT:...` of the reads or writes, which sums to 100.
fn sizes(of: &TracedOperation) -> String {
    let known = of.sizes.iter().filter_map(|size| Some((u64::from(size.bytes?), size.ios)));
    let mut all: Vec<(u64, u64)> = known.filter(|(bytes, _)| *bytes > 0).collect();
    // Sizes that were not told apart count with their mean.
    let others: u64 = of.sizes.iter().filter(|size| size.bytes.is_none()).map(|one| one.ios).sum();
    let known_bytes: u64 = all.iter().map(|(bytes, ios)| bytes * ios).sum();
    let unit = all.iter().fold(0, |unit, (bytes, _)| gcd(unit, *bytes)).max(1);
    let other_mean = of.bytes.saturating_sub(known_bytes).checked_div(others);
    all.extend(other_mean.map(|mean| (mean.div_ceil(unit).max(1) * unit, others)));
    let counts: Vec<u64> = all.iter().map(|(_, ios)| *ios).collect();
    let parts: Vec<(u64, u64)> =
        all.iter().map(|(bytes, _)| *bytes).zip(percents(&counts)).collect();
    let mean = of.bytes as f64 / of.ios.max(1) as f64;
    let rounded = parts.iter().map(|(bytes, percent)| bytes * percent).sum::<u64>() as f64 / 100.0;
    let is_close = (rounded / mean - 1.0).abs() < SIZE_DEVIATION;
    let is_whole = parts.len() <= SIZES && parts.iter().all(|(_, percent)| *percent > 0);
    let parts = if is_close && is_whole { parts } else { pooled(&all, unit) };
    let parts = parts.iter().map(|(bytes, percent)| format!("{bytes}/{percent}"));
    parts.collect::<Vec<_>>().join(":")
}

/// Sizes and percentages of `all` sizes, the most frequent first. Rare sizes and fractions of a
/// percent are put in order of size and cut into equal parts of whole percents, each with its mean,
/// a multiple of `unit` bytes.
fn pooled(all: &[(u64, u64)], unit: u64) -> Vec<(u64, u64)> {
    let total = u128::from(all.iter().map(|(_, ios)| ios).sum::<u64>()).max(1);
    let mut parts: BTreeMap<u64, u64> = BTreeMap::new();
    let mut pool: Vec<(u64, u128)> = Vec::new();
    for (place, (bytes, ios)) in all.iter().enumerate() {
        let hundredfold = u128::from(*ios) * 100;
        let own = if place < SIZES / 2 { hundredfold / total } else { 0 };
        if own > 0 {
            *parts.entry(*bytes).or_default() += own as u64;
        }
        pool.push((*bytes, hundredfold - own * total));
    }
    pool.sort_unstable();
    let percents = 100 - parts.values().sum::<u64>().min(100);
    let step = percents.div_ceil(SIZES as u64 / 2).max(1);
    let mut left = pool.into_iter();
    let mut next = left.next();
    for first in (0..percents).step_by(step as usize) {
        let percent = step.min(percents - first);
        let (mut room, mut sum) = (u128::from(percent) * total, 0);
        let whole = room;
        while let Some((bytes, weight)) = &mut next
            && room > 0
        {
            let taken = room.min(*weight);
            (sum, room, *weight) =
                (sum + taken * u128::from(*bytes), room - taken, *weight - taken);
            if *weight == 0 {
                next = left.next();
            }
        }
        let units = (sum + whole * u128::from(unit) / 2) / (whole * u128::from(unit));
        *parts.entry(unit * (units as u64).max(1)).or_default() += percent;
    }
    parts.into_iter().collect()
}

/// `zoned:ACCESS/SIZE:...` over the whole range of addresses; `None`: they are used evenly.
fn zones(summary: &TraceSummary) -> Option<String> {
    let course = summary.course.as_ref()?;
    let used = course.end_bytes.div_ceil(course.zone_bytes.max(1)) as usize;
    let mut counts = vec![0_u64; used];
    for zones in course.slots.iter().flat_map(|slot| [&slot.reads, &slot.writes]) {
        counts.iter_mut().zip(zones).for_each(|(to, from)| *to += from);
    }
    let grouped: Vec<u64> =
        counts.chunks(used.div_ceil(ZONES).max(1)).map(|some| some.iter().sum()).collect();
    let space = percents(&vec![1; grouped.len()]);
    let access = percents(&grouped);
    let is_even = access.iter().zip(&space).all(|(a, b)| a.abs_diff(*b) <= 2);
    let parts = access.iter().zip(&space).map(|(access, space)| format!("{access}/{space}"));
    (grouped.len() > 1 && !is_even)
        .then(|| format!("zoned:{}", parts.collect::<Vec<_>>().join(":")))
}

/// The reads or writes.
fn data<'a>(summary: &'a TraceSummary, name: &str) -> Option<&'a TracedOperation> {
    summary.operations.iter().find(|one| one.operation == name).filter(|one| one.bytes > 0)
}

/// True if there is anything that options can express.
pub(crate) fn is_expressible(summary: &TraceSummary) -> bool {
    ["read", "write"].iter().any(|name| data(summary, name).is_some())
}

/// Rate, and the whole number in its place; `None`: I/Os of one moment have no rate.
fn rate(summary: &TraceSummary, of: &TracedOperation) -> Option<(f64, f64)> {
    let seconds = summary.duration_ns as f64 / 1e9;
    let iops = of.ios as f64 / seconds;
    (seconds > 0.0).then(|| (iops, iops.round().max(1.0)))
}

/// The options, except engine, target and time.
fn options(summary: &TraceSummary) -> Vec<Set> {
    let both = [data(summary, "read"), data(summary, "write")];
    let each = |value: &dyn Fn(&TracedOperation) -> String| {
        let values: Vec<String> = both.iter().map(|one| one.map_or(String::new(), value)).collect();
        values.join(",")
    };
    let random = |one: &TracedOperation| 100 - (one.sequential * 100 / one.ios.max(1)).min(100);
    let mut set = Vec::new();
    let [read, write] = both;
    let rw = match (read, write) {
        (Some(_), None) => "randread",
        (None, Some(_)) => "randwrite",
        _ => "randrw",
    };
    set.push(("rw", rw.to_owned()));
    if let (Some(read), Some(write)) = (read, write) {
        let percent = (read.ios * 100 + (read.ios + write.ios) / 2) / (read.ios + write.ios);
        set.push(("rwmixread", percent.to_string()));
    }
    set.push(("bssplit", each(&sizes)));
    set.push(("percentage_random", each(&|one| random(one).to_string())));
    if let Some(zones) = zones(summary) {
        set.push(("random_distribution", zones));
    }
    set.push(("norandommap", "1".into()));
    if summary.duration_ns > 0 {
        let whole =
            |one: &_| rate(summary, one).map_or(String::new(), |(_, whole)| whole.to_string());
        set.push(("rate_iops", each(&whole)));
        set.push(("rate_process", "poisson".into()));
    }
    let flushes = summary.operations.iter().find(|one| one.operation == "flush");
    if let (Some(flushes), Some(write)) = (flushes, write) {
        set.push(("fsync", (write.ios / flushes.ios.max(1)).max(1).to_string()));
    }
    let most = summary.bursts.iter().find(|one| one.slot_ns == 1_000_000);
    let most = most.map_or(32, |one| one.most.next_power_of_two());
    set.push(("iodepth", most.clamp(1, DEPTH).to_string()));
    set
}

/// Properties of the trace that the options lack, one per line.
fn losses(summary: &TraceSummary, likeness: &ModelLikeness) -> Vec<String> {
    let burst = |one: &iodyno_model::TraceBurst| {
        format!("{} at {}", format_count(one.dispersion), format_duration_ns(one.slot_ns as f64))
    };
    let bursts: Vec<String> = summary.bursts.iter().map(burst).collect();
    let mut losses = vec![
        "Kept: mean rates, sizes by operation, the share of sequential I/Os, zones, flushes."
            .into(),
        format!(
            "Lost: when bursts come and what is in them (index of dispersion {};",
            bursts.join(", ")
        ),
        "  1 here), the order of operations, lengths of runs, re-use of addresses.".into(),
        format!("{}.", options_p99_sentence(likeness)),
    ];
    for name in ["read", "write"] {
        if let Some((iops, whole)) = data(summary, name).and_then(|of| rate(summary, of))
            && (whole / iops - 1.0).abs() > RATE_DEVIATION
        {
            let iops = format_count(iops);
            losses.push(format!("rate_iops is whole: {whole} for {iops} {name}s a second."));
        }
    }
    if summary.devices.len() > 1 {
        let devices = summary.devices.len();
        losses.push(format!("The addresses of {devices} devices are merged into those of one."));
    }
    if summary.operations.iter().any(|one| one.operation == "discard") {
        losses.push("Discards are left out.".into());
    }
    losses
}

fn heading(name: &str, summary: &TraceSummary, likeness: &ModelLikeness) -> String {
    let ios = format_count(summary.ios() as f64);
    let duration = format_duration_ns(summary.duration_ns as f64);
    let mut text = format!("{OPTIONS_HEAD}{}: {ios} I/Os in {duration}.\n", clean(name));
    for line in losses(summary, likeness) {
        let _ = writeln!(text, "# {line}");
    }
    text + "# A model keeps them: iodyno model TRACE -o FILE.iomodel.\n"
}

/// The trace as fio's job file; the target is given with --filename.
pub(crate) fn job_file(name: &str, summary: &TraceSummary, likeness: &ModelLikeness) -> String {
    let mut text = heading(name, summary, likeness);
    let _ = writeln!(text, "[{}]", plain_name(name));
    for (option, value) in options(summary) {
        let _ = writeln!(text, "{option}={value}");
    }
    let end = summary.course.as_ref().map_or(0, |course| course.end_bytes);
    let seconds = summary.duration_ns.div_ceil(1_000_000_000).max(1);
    text + &format!(
        "# Addresses go up to here.\nsize={end}\ntime_based=1\nruntime={seconds}s\nioengine=libaio\ndirect=1\n"
    )
}

/// The trace as a plan of `iodyno sweep`.
pub(crate) fn plan(name: &str, summary: &TraceSummary, likeness: &ModelLikeness) -> String {
    let mut text = heading(name, summary, likeness);
    let name = plain_name(name);
    let _ = write!(
        text,
        "format = \"iodyno.plan/1\"\nname = \"{name}\"\nabout = \"the means of a trace\"\n\n\
         [job]\nioengine = \"libaio\"\ndirect = 1\nsize = \"100%\"\n\n[[step]]\nname = \"{name}\"\n\n[step.job]\n"
    );
    for (option, value) in options(summary) {
        let _ = writeln!(text, "{option} = \"{value}\"");
    }
    text
}

/// Replaces characters that would need quoting.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(sizes: &[(Option<u32>, u64, u64)]) -> TracedOperation {
        let size = |(bytes, ios, _): &(Option<u32>, u64, u64)| iodyno_model::TracedSize {
            bytes: *bytes,
            ios: *ios,
            ..Default::default()
        };
        TracedOperation {
            operation: "read".into(),
            ios: sizes.iter().map(|(_, ios, _)| ios).sum(),
            bytes: sizes.iter().map(|(_, ios, mean)| ios * mean).sum(),
            sizes: sizes.iter().map(size).collect(),
            ..TracedOperation::default()
        }
    }

    /// Sum of the percentages, mean size and number of entries.
    fn parsed(text: &str) -> (u64, f64, usize) {
        let parts: Vec<(u64, u64)> = text
            .split(':')
            .map(|part| part.split_once('/').unwrap())
            .map(|(bytes, percent)| (bytes.parse().unwrap(), percent.parse().unwrap()))
            .collect();
        let mean = parts.iter().map(|(bytes, percent)| bytes * percent).sum::<u64>() as f64 / 100.0;
        (parts.iter().map(|(_, percent)| percent).sum(), mean, parts.len())
    }

    #[test]
    fn sizes_sum_to_100_and_keep_the_mean() {
        let one = |bytes: u32, ios| (Some(bytes), ios, u64::from(bytes));
        assert_eq!(sizes(&operation(&[one(4096, 703), one(16384, 297)])), "4096/70:16384/30");
        // Three quarters of the I/Os have sizes of less than a percent each.
        let mut many = vec![one(4096, 250)];
        many.extend((2..65).map(|n| one(n * 512, 8)));
        many.push((None, 246, 40_000));
        // A rare size with most of the bytes.
        let rare = vec![one(4096, 996), one(1 << 20, 4)];
        for all in [many, rare, (1..65).map(|n| one(n * 4096, 1)).collect()] {
            let of = operation(&all);
            let mean = of.bytes as f64 / of.ios as f64;
            let (sum, found, entries) = parsed(&sizes(&of));
            assert_eq!(sum, 100);
            assert!((found / mean - 1.0).abs() < 0.03 && entries <= SIZES, "{found} for {mean}");
        }
    }

    #[test]
    fn what_options_do_not_express_is_said() {
        let likeness = ModelLikeness::default();
        let mut summary = TraceSummary {
            duration_ns: 20_000_000_000,
            operations: vec![operation(&[(Some(4096), 2, 4096)])],
            devices: vec!["a".into(), "b".into()],
            ..TraceSummary::default()
        };
        let job = job_file("a", &summary, &likeness);
        assert!(job.contains("rate_iops=1,\n"), "{job}");
        assert!(job.contains("# rate_iops is whole: 1 for 0.1 reads a second."), "{job}");
        assert!(job.contains("# The addresses of 2 devices are merged"), "{job}");
        summary.duration_ns = 0;
        assert!(!job_file("a", &summary, &likeness).contains("rate_iops"));
        assert!(is_expressible(&summary));
        summary.operations[0].operation = "discard".into();
        assert!(!is_expressible(&summary));
    }

    #[test]
    fn percents_are_whole_and_sum_to_100() {
        assert_eq!(percents(&[1, 1, 1]), [34, 33, 33]);
        assert_eq!(percents(&[997, 2, 1]), [100, 0, 0]);
        assert_eq!(percents(&[5, 0, 5]), [50, 0, 50]);
        for many in 1..40 {
            assert_eq!(percents(&vec![1; many]).iter().sum::<u64>(), 100);
        }
    }
}
