//! Reduces a run in rounds to its measurement windows: each point once.

use std::borrow::Cow;

use iodyno_model::{DirectionResult, Estimate, Measurement, Rounds, RunRecord};

use crate::convergence::{Convergence, is_whole};

/// A run in which each point measured in rounds appears once, averaged over the measurement window.
/// Rounds are not repetitions: they follow each other on one drive in one state, so their spread
/// says nothing about another run's.
#[derive(Debug, Clone)]
pub struct WindowedRun<'r> {
    /// The reduced run; unchanged if it has no rounds.
    pub record: Cow<'r, RunRecord>,
    /// For each of its measurements, the indices of those of the run that it is made of.
    pub of: Vec<Vec<usize>>,
}

/// Reduces `record` to its windows. Rounds without a window are dropped, since they have no result,
/// and so are points that only condition the drive.
pub fn by_window(record: &RunRecord) -> WindowedRun<'_> {
    let all = || record.measurements.iter().enumerate();
    let Some(plan) = &record.run.rounds else {
        return WindowedRun {
            record: Cow::Borrowed(record),
            of: all().map(|(index, _)| vec![index]).collect(),
        };
    };
    let (mut measurements, mut of): (Vec<Measurement>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for (targets, found) in Convergence::by_target(&plan.rounds, record) {
        let Some(window) = found.window(&plan.rounds) else { continue };
        let is_in_it = |one: &Measurement| {
            one.targets == targets && one.round.is_some_and(|round| window.contains(&round))
        };
        let mut points: Vec<(&str, Vec<usize>)> = Vec::new();
        for (index, one) in all().filter(|(_, one)| is_in_it(one) && is_whole(one)) {
            match points.iter_mut().find(|(name, _)| *name == one.name) {
                Some((_, rounds)) => rounds.push(index),
                None => points.push((&one.name, vec![index])),
            }
        }
        points.retain(|(_, rounds)| rounds.len() == window.clone().count());
        for (_, rounds) in points {
            let of_it: Vec<&Measurement> =
                rounds.iter().map(|index| &record.measurements[*index]).collect();
            if let Some(average) = average(&of_it)
                && !is_conditioning(&plan.rounds, &record.measurements, &average)
            {
                measurements.push(average);
                of.push(rounds);
            }
        }
    }
    for (index, one) in all().filter(|(_, one)| one.round.is_none()) {
        measurements.push(one.clone());
        of.push(vec![index]);
    }
    let record =
        RunRecord { run: record.run.clone(), snapshots: record.snapshots.clone(), measurements };
    WindowedRun { record: Cow::Owned(record), of }
}

/// Returns true if a measurement only conditions the drive for the tracked points: by its purpose, or
/// since a tracked one differs from it in nothing but its time.
fn is_conditioning(rounds: &Rounds, all: &[Measurement], of: &Measurement) -> bool {
    let load = |one: &Measurement| {
        let mut load = one.workload.clone();
        load.options.remove("runtime");
        load
    };
    let does_the_same = |other: &Measurement| rounds.tracks(&other.name) && load(other) == load(of);
    !rounds.tracks(&of.name) && (of.purpose.is_preparation() || all.iter().any(does_the_same))
}

/// Mean of a point's rounds, with the latencies of all of them; `None` without rounds.
fn average(rounds: &[&Measurement]) -> Option<Measurement> {
    let last = *rounds.last()?;
    let of_direction = |result: &DirectionResult| {
        let all: Option<Vec<&DirectionResult>> =
            rounds.iter().map(|one| one.result(result.direction)).collect();
        Some(mean(&all?))
    };
    Some(Measurement {
        round: None,
        started_ns: rounds.first()?.started_ns,
        duration_ns: rounds.iter().map(|one| one.duration_ns).sum(),
        total: last.total.iter().filter_map(of_direction).collect(),
        parts: Vec::new(),
        account: None,
        ..last.clone()
    })
}

fn mean(rounds: &[&DirectionResult]) -> DirectionResult {
    let estimate = |of: &dyn Fn(&DirectionResult) -> Option<Estimate>| {
        let values: Option<Vec<f64>> =
            rounds.iter().map(|one| of(one).map(|known| known.value)).collect();
        values.map(|values| Estimate::bare(values.iter().sum::<f64>() / values.len() as f64))
    };
    let sum = |of: &dyn Fn(&DirectionResult) -> Option<u64>| {
        rounds.iter().map(|one| of(one)).sum::<Option<u64>>()
    };
    let mut mean = DirectionResult {
        ios: sum(&|one| one.ios),
        bytes: sum(&|one| one.bytes),
        whole_ios: sum(&|one| one.whole_ios),
        whole_bytes: sum(&|one| one.whole_bytes),
        errors: sum(&|one| one.errors),
        short_ios: sum(&|one| one.short_ios),
        iops: estimate(&|one| one.iops),
        bandwidth: estimate(&|one| one.bandwidth),
        latency_mean: estimate(&|one| one.latency_mean),
        ..DirectionResult::unknown(rounds[0].direction)
    };
    // Bins of only some rounds are not the distribution of the window.
    if rounds.iter().all(|one| one.latency.count() > 0) {
        rounds.iter().for_each(|one| mean.latency.merge(&one.latency));
    }
    mean
}
