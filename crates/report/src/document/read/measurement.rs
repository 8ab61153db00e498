//! Reads measurements back from the run document.

use iodyno_model as model;
use iodyno_model::{
    Direction, EndReason, Estimate, Failure, LatencySummary, Spread, StatedLatencies,
};

use super::{DocumentError, time_ns};
use crate::document::measurement::{DirectionResult, End, Latency, Measurement, Part, Results};
use crate::document::reported::Disk;

/// Converts a measurement; `before` is the index of the only snapshot that a document has.
pub(super) fn measurement(
    of: &Measurement,
    before: Option<usize>,
) -> Result<model::Measurement, DocumentError> {
    Ok(model::Measurement {
        purpose: of.purpose,
        phase: of.phase,
        round: of.round,
        targets: of.targets.clone(),
        workload: of.workload.clone(),
        source: of.source.clone(),
        started_ns: of.started.as_deref().map(time_ns).transpose()?,
        printed: of.printed.clone(),
        duration_ns: of.duration_ns,
        warmup_ns: of.warmup_ns,
        total: directions(&of.results),
        parts: of.parts.iter().map(part).collect(),
        conditions: of.conditions.clone(),
        cpu: of.cpu,
        account: of.account.as_ref().map(|known| known.account.clone()),
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

fn part(of: &Part) -> model::Part {
    model::Part {
        target: of.target.clone(),
        clone: of.clone,
        results: directions(&of.results),
        account: None,
        failure: of.failure.clone(),
    }
}

fn directions(of: &Results) -> Vec<model::DirectionResult> {
    of.each().map(|(direction, of)| result(direction, of)).collect()
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
