//! Properties of a measurement: metric and figure, options, written blocks.

use std::collections::BTreeSet;

use iodyno_model::{
    Direction, DirectionResult, Estimate, Measurement, Metric, RunRecord, WrittenState,
};

use crate::outstanding::allowed;

/// Returns the metric to judge by, from the workload: bandwidth for large blocks; latency for one
/// I/O at a time on each target, unless a search for a rate ended at that depth; else IOPS.
pub(crate) fn metric(of: &Measurement) -> Metric {
    let targets = of.targets.len().max(1);
    let is_alone = || allowed(of).is_some_and(|all| all as usize <= targets);
    match of.workload.bs {
        Some(bs) if bs >= 64 << 10 => Metric::Bandwidth,
        _ if of.conditions.depths_tried.is_empty() && is_alone() => Metric::LatencyMean,
        _ => Metric::Iops,
    }
}

/// Returns one of fio's options as written; `Ok(None)`: not set, so its default was in effect.
/// Options of our own jobs are recorded wherever they differ from fio's defaults; a fio report
/// without any option says nothing.
pub(crate) fn option<'m>(of: &'m Measurement, name: &str) -> Result<Option<&'m str>, String> {
    let options = &of.workload.options;
    // `direct` and `size` have their own fields, and are only known from options.
    let none = options.is_empty() && of.workload.direct.is_none() && of.workload.size.is_none();
    if is_fio(of) && none {
        return Err("the job's options are not known".into());
    }
    Ok(options.get(name).map(String::as_str))
}

/// Returns true if fio measured it.
pub(crate) fn is_fio(of: &Measurement) -> bool {
    of.source.split(' ').next() == Some("fio")
}

/// Options that make a job pause between I/Os.
const PAUSES: [&str; 3] = ["rate", "rate_iops", "thinktime"];
/// Options that limit a job to its share, or to a latency.
const SHARE_OR_LATENCY: [&str; 2] = ["flow", "latency_target"];

/// Returns true if this fio option limits a job's speed.
pub fn is_rate_limit_option(option: &str) -> bool {
    PAUSES.contains(&option) || SHARE_OR_LATENCY.contains(&option)
}

/// Returns true if it paused between I/Os because it was asked to.
pub(crate) fn pauses(of: &Measurement) -> bool {
    is_set(of, &PAUSES) || of.account.as_ref().is_some_and(|account| account.replayed.is_some())
}

/// Returns true if its speed was limited by its options: by pauses, a share or a latency target.
pub(crate) fn is_paced(of: &Measurement) -> bool {
    pauses(of) || is_set(of, &SHARE_OR_LATENCY)
}

/// Returns true if one of these fio options is not 0, which means unset.
fn is_set(of: &Measurement, names: &[&str]) -> bool {
    let mut values = names.iter().filter_map(|name| of.workload.options.get(*name));
    values.any(|value| value.contains(|digit: char| matches!(digit, '1'..='9')))
}

/// Returns true if it is known to have written.
pub(crate) fn writes(of: &Measurement) -> bool {
    let rw = of.workload.rw.as_deref().unwrap_or_default();
    rw.contains("write") || rw.contains("rw") || of.result(Direction::Write).is_some()
}

/// Returns the options by which a measurement wrote data that is compressible or repeated, as set;
/// `None`: none, as far as known.
pub fn compressible(of: &Measurement) -> Option<String> {
    compressing_options(of).ok().flatten()
}

/// As [`compressible`].
///
/// # Errors
/// What is missing to tell.
pub(crate) fn compressing_options(of: &Measurement) -> Result<Option<String>, String> {
    const SMALLER: [&str; 4] =
        ["zero_buffers", "buffer_pattern", "buffer_compress_percentage", "dedupe_percentage"];
    if !writes(of) {
        return Ok(None);
    }
    let mut found = Vec::new();
    for name in SMALLER {
        if let Some(value) = option(of, name)?.filter(|value| *value != "0") {
            // fio prints a flag without a value as an empty one.
            found.push(if value.is_empty() { name.to_owned() } else { format!("{name}={value}") });
        }
    }
    Ok((!found.is_empty()).then(|| found.join(" ")))
}

/// Returns true if its accesses are random.
pub(crate) fn is_random(of: &Measurement) -> bool {
    of.workload.rw.as_deref().is_some_and(|rw| rw.starts_with("rand"))
}

/// Returns true if it only trimmed, which moves no data.
pub(crate) fn only_trims(of: &Measurement) -> bool {
    !of.total.is_empty() && of.total.iter().all(|result| result.direction == Direction::Trim)
}

/// Returns the metric that a measurement is judged by, and its figure; `None` if it failed or has
/// none.
pub(crate) fn figure(of: &Measurement) -> Option<(Metric, Estimate)> {
    if of.failure().is_some() {
        return None;
    }
    let metric = metric(of);
    let estimate = match metric {
        Metric::Iops if is_70_30(of) => {
            let rates: Option<Vec<Estimate>> = of.total.iter().map(|one| one.iops).collect();
            rates?.into_iter().reduce(Estimate::plus)?
        }
        _ => figure_of(of.total.first()?, metric)?,
    };
    (estimate.value.is_finite() && estimate.value > 0.0).then_some((metric, estimate))
}

/// Returns the figure of a metric in a result.
pub(crate) fn figure_of(result: &DirectionResult, metric: Metric) -> Option<Estimate> {
    match metric {
        Metric::Bandwidth => result.bandwidth,
        Metric::Iops => result.iops,
        Metric::LatencyMean => result.latency_mean,
    }
}

/// Returns true for seven random reads to three writes, of which data sheets state the sum.
pub(crate) fn is_70_30(of: &Measurement) -> bool {
    of.workload.rw.as_deref() == Some("randrw")
        && of.total.len() == 2
        && of.workload.options.get("rwmixread").is_some_and(|percent| percent == "70")
}

/// Names of a run's steps with a depth search: several targets at once then use the depth found for
/// each alone.
pub(crate) fn searched(record: &RunRecord) -> BTreeSet<&str> {
    let searches = record.measurements.iter().filter(|of| !of.conditions.depths_tried.is_empty());
    searches.map(|of| of.name.as_str()).collect()
}

/// Returns the written state of a target's blocks.
pub(crate) fn written(of: &Measurement, target: &str) -> WrittenState {
    let share = of.conditions.written.iter().find(|share| share.target == target);
    share.map_or(WrittenState::Unknown, |share| share.state)
}

/// Returns true if none of its targets holds data, so that its figures say nothing about the drive.
pub(crate) fn unwritten(of: &Measurement) -> bool {
    !of.targets.is_empty()
        && of.targets.iter().all(|target| written(of, target) == WrittenState::Unwritten)
}
