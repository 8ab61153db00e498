//! Measurements read back.

use std::collections::BTreeMap;

use iodyno_model as model;
use iodyno_model::{
    Direction, EndReason, Estimate, Failure, LatencySummary, Spread, StatedLatencies, Workload,
};

use super::{DocumentError, time_ns};
use crate::document::account::Account;
use crate::document::measurement::{DirectionResult, End, Latency, Measurement, Part};
use crate::document::reported::Disk;

/// The measurement; `before` is the index of the one snapshot that a document has.
pub(super) fn measurement(
    of: &Measurement,
    before: Option<usize>,
) -> Result<model::Measurement, DocumentError> {
    Ok(model::Measurement {
        phase: of.phase,
        round: of.round,
        targets: of.targets.clone(),
        workload: workload(&of.workload),
        source: of.source.clone(),
        started_ns: of.started.as_deref().map(time_ns).transpose()?,
        printed: of.printed.clone(),
        duration_ns: of.duration_ns,
        warmup_ns: of.warmup_ns,
        total: directions([&of.read, &of.write, &of.trim, &of.mixed]),
        parts: of.parts.iter().map(part).collect(),
        conditions: of.conditions.clone(),
        cpu: of.cpu,
        account: of.account.as_ref().map(|known| account(known, of.cpu)),
        disks: of.disks.iter().map(Disk::read).collect(),
        end: end(of),
        before,
        ..model::Measurement::unknown(of.name.as_str())
    })
}

fn end(of: &Measurement) -> EndReason {
    match of.end {
        End::Time => EndReason::Time,
        End::Precision => EndReason::Precision,
        End::MaxTime => EndReason::MaxTime,
        End::Done => EndReason::Done,
        End::Interrupted => EndReason::Interrupted,
        End::Failed => EndReason::Failed(Failure {
            cause: of.cause.unwrap_or_default(),
            text: of.failure.clone().unwrap_or_default(),
        }),
    }
}

/// The inverse of what the document writes: a value that is no number of its
/// kind stays an option as it is written.
fn workload(written: &BTreeMap<String, String>) -> Workload {
    let mut options = written.clone();
    fn number<T: std::str::FromStr>(
        options: &mut BTreeMap<String, String>,
        name: &str,
    ) -> Option<T> {
        let value = options.get(name)?.parse().ok()?;
        options.remove(name);
        Some(value)
    }
    Workload {
        rw: options.remove("rw"),
        ioengine: options.remove("ioengine"),
        bs: number(&mut options, "bs"),
        iodepth: number(&mut options, "iodepth"),
        numjobs: number(&mut options, "numjobs"),
        size: number(&mut options, "size"),
        direct: number::<u8>(&mut options, "direct").map(|direct| direct == 1),
        options,
    }
}

fn part(of: &Part) -> model::Part {
    model::Part {
        target: of.target.clone(),
        clone: of.clone,
        results: directions([&of.read, &of.write, &of.trim, &of.mixed]),
        account: None,
        failure: of.failure.clone(),
    }
}

/// Results in the order read, write, trim, mixed.
fn directions(of: [&Option<DirectionResult>; 4]) -> Vec<model::DirectionResult> {
    let names = [Direction::Read, Direction::Write, Direction::Trim, Direction::Mixed];
    let known = names.into_iter().zip(of);
    known.filter_map(|(direction, of)| Some(result(direction, of.as_ref()?))).collect()
}

fn result(direction: Direction, of: &DirectionResult) -> model::DirectionResult {
    let summary = |of: &Option<Latency>| of.as_ref().map(summary).unwrap_or_default();
    let stated = StatedLatencies {
        submission: summary(&of.latency.submission),
        completion: summary(&of.latency.completion),
        total: summary(&of.latency.total),
    };
    model::DirectionResult {
        ios: of.ios,
        bytes: of.bytes,
        whole_ios: of.whole_ios,
        whole_bytes: of.whole_bytes,
        errors: of.errors,
        short_ios: of.short_ios,
        iops: of.iops,
        bandwidth: of.bandwidth,
        sampled: of.sampled.map(Box::new),
        latency_mean: stated.total.mean_ns,
        stated: (stated != StatedLatencies::default()).then(|| Box::new(stated)),
        steady: of.steady,
        slow: of.slow,
        ..model::DirectionResult::unknown(direction)
    }
}

fn summary(of: &Latency) -> LatencySummary {
    let whole = |ns: Option<u64>| ns.map(|ns| Estimate::bare(ns as f64));
    let percentile = |(name, ns): (&String, &u64)| {
        let interval = of.percentile_intervals.iter().find(|known| known.percentile == *name);
        let spread = interval.map_or(Spread::Unknown, |interval| {
            let (low, high) = (interval.low_ns as f64, interval.high_ns as f64);
            match interval.level {
                Some(level) => Spread::Confidence { low, high, level },
                None => Spread::Rounding { low, high },
            }
        });
        Some((name.parse().ok()?, Estimate { value: *ns as f64, spread }))
    };
    let mut percentiles: Vec<(f64, Estimate)> =
        of.percentiles.iter().filter_map(percentile).collect();
    percentiles.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    LatencySummary {
        min_ns: whole(of.min_ns),
        mean_ns: of.mean.or(of.mean_ns.map(Estimate::bare)),
        max_ns: whole(of.max_ns),
        stdev_ns: of.stdev_ns.map(Estimate::bare),
        percentiles,
    }
}

/// What the rules read of it; batches and latencies of fsync are not in a document.
fn account(of: &Account, cpu: Option<model::CpuUse>) -> model::Account {
    model::Account {
        elapsed_ns: of.elapsed_ns,
        error: of.error,
        errors: of.errors.clone(),
        verified: of.verified,
        mismatches: of.mismatches,
        cpu: cpu.unwrap_or_default(),
        switches: of.context_switches,
        major_faults: of.major_faults,
        minor_faults: of.minor_faults,
        latency_target_depth: of.latency_target_depth,
        depth_levels: of.depth_levels,
        latency_ranges: of.latency_classes.clone(),
        steadystate_attained: of.steadystate_attained,
        ..model::Account::default()
    }
}
