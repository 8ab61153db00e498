//! What a measurement says of itself: its metric and figure, its options, what it wrote.

use std::collections::BTreeSet;

use iodyno_model::{
    Direction, DirectionResult, Estimate, Measurement, Metric, RunRecord, WrittenState,
};

use crate::outstanding::allowed;

/// What is judged of a measurement, by its workload: large blocks are about bandwidth, one I/O at a
/// time on each target is about latency, unless that depth is what a search for a rate came to.
pub(crate) fn metric(of: &Measurement) -> Metric {
    let targets = of.targets.len().max(1);
    let is_alone = || allowed(of).is_some_and(|all| all as usize <= targets);
    match of.workload.bs {
        Some(bs) if bs >= 64 << 10 => Metric::Bandwidth,
        _ if of.conditions.depths_tried.is_empty() && is_alone() => Metric::LatencyMean,
        _ => Metric::Iops,
    }
}

/// One of fio's options as it was written; `Ok(None)`: it was not, so that
/// its default was in effect. Options of our own jobs are recorded wherever
/// they are not fio's defaults; of a report without any nothing is known.
pub(crate) fn option<'m>(of: &'m Measurement, name: &str) -> Result<Option<&'m str>, String> {
    let options = &of.workload.options;
    // These two have a place of their own, and nothing but options tells them.
    let none = options.is_empty() && of.workload.direct.is_none() && of.workload.size.is_none();
    if is_fio(of) && none {
        return Err("the options of the job are not known".into());
    }
    Ok(options.get(name).map(String::as_str))
}

/// Whether fio measured it.
pub(crate) fn is_fio(of: &Measurement) -> bool {
    of.source.split(' ').next() == Some("fio")
}

/// Options that make a job pause between I/Os …
const PAUSES: [&str; 3] = ["rate", "rate_iops", "thinktime"];
/// … and that keep it to its share, or to a latency.
const KEEPS: [&str; 2] = ["flow", "latency_target"];

/// Whether an option of fio's asks a job to go no faster.
pub fn is_pace(option: &str) -> bool {
    PAUSES.contains(&option) || KEEPS.contains(&option)
}

/// Whether it paused between I/Os because it was asked to.
pub(crate) fn pauses(of: &Measurement) -> bool {
    is_set(of, &PAUSES) || of.account.as_ref().is_some_and(|account| account.replayed.is_some())
}

/// Whether it was asked to go no faster: it paused, or kept to its share or to a latency.
pub(crate) fn is_paced(of: &Measurement) -> bool {
    pauses(of) || is_set(of, &KEEPS)
}

/// One of these options of fio's is set to more than 0, which is none.
fn is_set(of: &Measurement, names: &[&str]) -> bool {
    let mut values = names.iter().filter_map(|name| of.workload.options.get(*name));
    values.any(|value| value.contains(|digit: char| matches!(digit, '1'..='9')))
}

/// Whether it wrote, as far as is known.
pub(crate) fn writes(of: &Measurement) -> bool {
    let rw = of.workload.rw.as_deref().unwrap_or_default();
    rw.contains("write") || rw.contains("rw") || of.result(Direction::Write).is_some()
}

/// Whether it did nothing but trim, which moves no data.
pub(crate) fn only_trims(of: &Measurement) -> bool {
    !of.total.is_empty() && of.total.iter().all(|result| result.direction == Direction::Trim)
}

/// The metric that a measurement is judged by, and its figure; `None` where it
/// failed or has none.
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

/// The figure of a metric in a result.
pub(crate) fn figure_of(result: &DirectionResult, metric: Metric) -> Option<Estimate> {
    match metric {
        Metric::Bandwidth => result.bandwidth,
        Metric::Iops => result.iops,
        Metric::LatencyMean => result.latency_mean,
    }
}

/// Seven random reads for each three writes, which data sheets state the sum of.
pub(crate) fn is_70_30(of: &Measurement) -> bool {
    of.workload.rw.as_deref() == Some("randrw")
        && of.total.len() == 2
        && of.workload.options.get("rwmixread").is_some_and(|percent| percent == "70")
}

/// Names of a run's steps whose depth was searched for: what several targets at once get is what
/// was found for each alone.
pub fn searched(record: &RunRecord) -> BTreeSet<&str> {
    let searches = record.measurements.iter().filter(|of| !of.conditions.depths_tried.is_empty());
    searches.map(|of| of.name.as_str()).collect()
}

/// Whether a target's blocks were written.
pub(crate) fn written(of: &Measurement, target: &str) -> WrittenState {
    let share = of.conditions.written.iter().find(|share| share.target == target);
    share.map_or(WrittenState::Unknown, |share| share.state)
}

/// No target of it holds data, so that its figures are no drive's.
pub(crate) fn unwritten(of: &Measurement) -> bool {
    !of.targets.is_empty()
        && of.targets.iter().all(|target| written(of, target) == WrittenState::Unwritten)
}
