//! Converts a trace to job options, as fio's job file and as a plan, and lists what they cannot
//! express.

use std::fmt::Write as _;

use iodyno_model::{
    ModelLikeness, TraceSummary, TracedOperation, format_count, format_duration_ns,
};
use iodyno_report::text::{clean, options_p99_sentence};

/// Maximum number of zones in options.
const ZONES: usize = 16;
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

fn sizes(of: &TracedOperation) -> String {
    let counts: Vec<u64> = of.sizes.iter().map(|size| size.ios).collect();
    let parts = of.sizes.iter().zip(percents(&counts));
    let parts = parts.filter_map(|(size, percent)| Some((size.bytes?, percent)));
    let parts = parts.filter(|(bytes, percent)| *bytes > 0 && *percent > 0);
    parts.map(|(bytes, percent)| format!("{bytes}/{percent}")).collect::<Vec<_>>().join(":")
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

/// The options, except engine, target and time.
fn options(summary: &TraceSummary) -> Vec<Set> {
    let of = |name: &str| {
        summary.operations.iter().find(|one| one.operation == name).filter(|one| one.bytes > 0)
    };
    let seconds = (summary.duration_ns as f64 / 1e9).max(1e-9);
    let both = [of("read"), of("write")];
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
    set.push(("rate_iops", each(&|one| (one.ios as f64 / seconds).ceil().to_string())));
    set.push(("rate_process", "poisson".into()));
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
    if summary.operations.iter().any(|one| one.operation == "discard") {
        losses.push("Discards are left out.".into());
    }
    losses
}

fn heading(name: &str, summary: &TraceSummary, likeness: &ModelLikeness) -> String {
    let ios = format_count(summary.ios() as f64);
    let duration = format_duration_ns(summary.duration_ns as f64);
    let mut text = format!("# Of the trace {}: {ios} I/Os in {duration}.\n", clean(name));
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
