//! The same run in several of fio's formats (`--output-format=normal,json`).

use iodyno_model::{DirectionResult, Estimate, Measurement};

use crate::read::workload::complete;

/// `best` with those of `others` that it does not hold. What others know of a
/// run that it holds, and it does not, is taken over.
pub(super) fn together(mut best: Vec<Measurement>, others: Vec<Measurement>) -> Vec<Measurement> {
    let mut met = vec![false; best.len()];
    for other in others {
        let same = best.iter().enumerate().position(|(n, one)| !met[n] && same_run(one, &other));
        match same {
            Some(same) => {
                met[same] = true;
                supplement(&mut best[same], other);
            }
            None => {
                met.push(true);
                best.push(other);
            }
        }
    }
    best
}

/// Both are of one run as far as names, run times and amounts tell, which are
/// rounded where they are printed.
fn same_run(one: &Measurement, other: &Measurement) -> bool {
    let near = |a: f64, b: f64, rounding: f64| (a - b).abs() <= rounding * a.max(b);
    let time = match (one.duration_ns, other.duration_ns) {
        (Some(a), Some(b)) => near(a as f64, b as f64, 0.01) || a.abs_diff(b) <= 2_000_000,
        _ => true,
    };
    // Reported together they stand as one direction, up to fio 3.26 as reads.
    let sum = |of: &Measurement, amount: fn(&DirectionResult) -> Option<u64>| {
        of.total.iter().try_fold(0_u64, |sum, one| sum.checked_add(amount(one)?))
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
    }
}

/// The estimate of the narrower interval; of bare ones the first.
fn narrower(one: Option<Estimate>, other: Option<Estimate>) -> Option<Estimate> {
    let width = |estimate: Estimate| estimate.bounds().map_or(0.0, |(low, high)| high - low);
    match (one, other) {
        (Some(a), Some(b)) if b.bounds().is_some() && width(b) < width(a) => Some(b),
        (one, other) => one.or(other),
    }
}
