//! Recognizes the same run in several of fio's formats (`--output-format=normal,json`) and in
//! several of its reports (`--status-interval`).

use std::collections::{BTreeMap, VecDeque};

use iodyno_model::{DirectionResult, Estimate, Measurement};

use crate::read::workload::complete;

/// Largest number of jobs of the same name that are compared.
const NEAR: usize = 1024;

/// Adds to `best` those of `others` that it does not contain; the runs that it contains are
/// completed with what the others know.
pub(super) fn merge_formats(
    mut best: Vec<Measurement>,
    others: Vec<Measurement>,
) -> Vec<Measurement> {
    // Unmatched ones by name: others come in the same order.
    let mut left = BTreeMap::<String, VecDeque<usize>>::new();
    for (n, one) in best.iter().enumerate() {
        left.entry(one.name.trim().to_owned()).or_default().push_back(n);
    }
    for other in others {
        let left = left.get_mut(other.name.trim());
        let same = left.and_then(|left| {
            let near = left.iter().take(NEAR).position(|n| same_run(&best[*n], &other))?;
            left.remove(near)
        });
        match same {
            Some(same) => supplement(&mut best[same], other),
            None => best.push(other),
        }
    }
    best
}

/// Shifts the phases of `measurements` past those before, which ran at another time.
pub(super) fn shift_phases(next_phase: &mut u32, measurements: &mut [Measurement]) {
    let first = *next_phase;
    for one in measurements {
        one.phase = one.phase.saturating_add(first);
        *next_phase = (*next_phase).max(one.phase.saturating_add(1));
    }
}

/// True if both are of one run as far as names, run times and amounts tell, which are rounded in
/// print.
fn same_run(one: &Measurement, other: &Measurement) -> bool {
    let near = |a: f64, b: f64, rounding: f64| (a - b).abs() <= rounding * a.max(b);
    let time = match (one.duration_ns, other.duration_ns) {
        (Some(a), Some(b)) => near(a as f64, b as f64, 0.01) || a.abs_diff(b) <= 2_000_000,
        _ => true,
    };
    // With unified reporting there is one direction, up to fio 3.26 called read. A direction that
    // moved nothing may be missing.
    let sum = |of: &Measurement, amount: fn(&DirectionResult) -> Option<u64>| {
        let moved = of.total.iter().filter(|one| one.bytes != Some(0));
        moved.clone().next()?;
        moved.into_iter().try_fold(0_u64, |sum, one| sum.checked_add(amount(one)?))
    };
    let ios = match (sum(one, |side| side.ios), sum(other, |side| side.ios)) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    let bytes = match (sum(one, |side| side.bytes), sum(other, |side| side.bytes)) {
        (Some(a), Some(b)) => near(a as f64, b as f64, 0.06) || a.abs_diff(b) <= 4096,
        _ => true,
    };
    one.name.trim() == other.name.trim() && one.group == other.group && time && ios && bytes
}

fn supplement(best: &mut Measurement, other: Measurement) {
    complete(&mut best.workload, other.workload);
    if best.targets.is_empty() {
        best.targets = other.targets;
    }
    best.started_ns = best.started_ns.or(other.started_ns);
    best.printed = best.printed.take().or(other.printed);
    if best.disks.is_empty() {
        best.disks = other.disks;
    }
    for side in other.total {
        let Some(mine) = best.total.iter_mut().find(|one| one.direction == side.direction) else {
            continue;
        };
        mine.ios = mine.ios.or(side.ios);
        mine.whole_ios = mine.whole_ios.or(side.whole_ios);
        mine.short_ios = mine.short_ios.or(side.short_ios);
        mine.errors = mine.errors.or(side.errors);
        mine.iops = narrower(mine.iops, side.iops);
        mine.latency_mean = mine.latency_mean.or(side.latency_mean);
        mine.stated = mine.stated.take().or(side.stated);
        mine.sampled = mine.sampled.take().or(side.sampled);
    }
}

/// Estimate with the narrower interval; the first if neither has one.
fn narrower(one: Option<Estimate>, other: Option<Estimate>) -> Option<Estimate> {
    let width = |estimate: Estimate| estimate.bounds().map_or(0.0, |(low, high)| high - low);
    match (one, other) {
        (Some(a), Some(b)) if b.bounds().is_some() && width(b) < width(a) => Some(b),
        (one, other) => one.or(other),
    }
}

/// True if `later` is a later report of the same run, without times to compare: no value may be
/// less than before; if bytes were added, time must have grown in proportion; if none were, the
/// latencies must be equal. (Clones, and other runs of the same job, have moved as many bytes with
/// other latencies, or more or fewer bytes in as much time.)
pub(super) fn is_later_report(earlier: &Measurement, later: &Measurement) -> bool {
    const BURST: f64 = 8.0;
    // Times this short have no meaningful rate yet.
    const BEGINNING_NS: u64 = 100_000_000;
    let (Some(time), Some(next_time)) = (earlier.duration_ns, later.duration_ns) else {
        // The earlier one had not begun.
        return earlier.failure().is_none();
    };
    let share = |now: u64, before: u64| (now as f64 - before as f64) / before.max(1) as f64;
    let goes_on = |side: &DirectionResult| {
        let Some(next) = later.result(side.direction) else { return false };
        let (bytes, next_bytes) = (side.bytes.unwrap_or(0), next.bytes.unwrap_or(0));
        if next_bytes == bytes {
            return next.stated == side.stated;
        }
        let extremes = |one: &DirectionResult| {
            let stated = one.stated.as_ref().map(|stated| &stated.completion);
            let value = |of: Option<Estimate>| of.map(|of| of.value);
            stated.map(|stated| (value(stated.min_ns), value(stated.max_ns))).unwrap_or_default()
        };
        let ((min, max), (next_min, next_max)) = (extremes(side), extremes(next));
        let in_proportion = bytes == 0
            || (time < BEGINNING_NS && next_time > 2 * time)
            || share(next_bytes, bytes) <= BURST * share(next_time, time);
        next_bytes > bytes && max <= next_max && (min.is_none() || next_min <= min) && in_proportion
    };
    next_time >= time && earlier.total.iter().all(goes_on)
}
