//! Measurements read back.

use std::collections::BTreeMap;

use iodyno_model as model;
use iodyno_model::{
    Direction, EndReason, Failure, LatencySummary, Spread, StatedLatencies, Workload,
};

use super::{DocumentError, reported, time_ns};
use crate::document::account::Account;
use crate::document::conditions::{
    Beside, Conditions, CpuUse, FillOrder, Setting, SteadyState, Written, WrittenState,
};
use crate::document::estimate::{Estimate, Interval};
use crate::document::measurement::{DirectionResult, End, Latency, Measurement, Part};

/// The measurement; `before` is the index of the one snapshot that a document has.
pub(super) fn measurement(
    of: &Measurement,
    before: Option<usize>,
) -> Result<model::Measurement, DocumentError> {
    let cpu = of.cpu.as_ref().and_then(cpu);
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
        conditions: conditions(&of.conditions),
        cpu,
        account: of.account.as_ref().map(|of| account(of, cpu)),
        disks: of.disks.iter().map(reported::disk).collect(),
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
        iops: of.iops.as_ref().map(estimate),
        bandwidth: of.bandwidth.as_ref().map(estimate),
        sampled: of.sampled.as_ref().map(|of| Box::new(reported::sampled(of))),
        latency_mean: stated.total.mean_ns,
        stated: (stated != StatedLatencies::default()).then(|| Box::new(stated)),
        steady: of.steady,
        slow: of.slow,
        ..model::DirectionResult::unknown(direction)
    }
}

fn summary(of: &Latency) -> LatencySummary {
    let whole = |ns: Option<u64>| ns.map(|ns| model::Estimate::bare(ns as f64));
    let percentile = |(name, ns): (&String, &u64)| {
        let interval = of.percentile_intervals.iter().find(|known| known.percentile == *name);
        let spread = interval.map_or(Spread::Unknown, |interval| {
            let (low, high) = (interval.low_ns as f64, interval.high_ns as f64);
            match interval.level {
                Some(level) => Spread::Confidence { low, high, level },
                None => Spread::Rounding { low, high },
            }
        });
        Some((name.parse().ok()?, model::Estimate { value: *ns as f64, spread }))
    };
    let mut percentiles: Vec<(f64, model::Estimate)> =
        of.percentiles.iter().filter_map(percentile).collect();
    percentiles.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    LatencySummary {
        min_ns: whole(of.min_ns),
        mean_ns: of.mean.as_ref().map(estimate).or(of.mean_ns.map(model::Estimate::bare)),
        max_ns: whole(of.max_ns),
        stdev_ns: of.stdev_ns.map(model::Estimate::bare),
        percentiles,
    }
}

pub(super) fn estimate(of: &Estimate) -> model::Estimate {
    let spread = match (of.interval, of.low, of.high) {
        (Some(Interval::Rounding), Some(low), Some(high)) => Spread::Rounding { low, high },
        (Some(Interval::Confidence), Some(low), Some(high)) => match of.level {
            Some(level) => Spread::Confidence { low, high, level },
            None => Spread::Unknown,
        },
        _ => Spread::Unknown,
    };
    model::Estimate { value: of.value, spread }
}

fn cpu(of: &CpuUse) -> Option<model::CpuUse> {
    Some(model::CpuUse { user: of.user?, system: of.system?, busiest_thread: of.busiest_thread? })
}

/// What the rules read of it; batches and latencies of fsync are not in a document.
fn account(of: &Account, cpu: Option<model::CpuUse>) -> model::Account {
    let direction = |name: &str| {
        let all = [Direction::Read, Direction::Write, Direction::Trim];
        all.into_iter().find(|one| one.name() == name).unwrap_or(Direction::Mixed)
    };
    model::Account {
        elapsed_ns: of.elapsed_ns,
        error: of.error,
        errors: of
            .errors
            .iter()
            .map(|error| model::ErrorCount {
                errno: error.errno,
                direction: direction(&error.direction),
                count: error.count,
                offsets: error.offsets.clone(),
            })
            .collect(),
        verified: of.verified,
        mismatches: of.mismatches,
        cpu: cpu.unwrap_or_default(),
        switches: of.context_switches,
        major_faults: of.major_faults,
        minor_faults: of.minor_faults,
        latency_target_depth: of.latency_target_depth,
        depth_levels: of.depth_levels,
        latency_ranges: of.latency_classes.iter().filter_map(reported::class).collect(),
        steadystate_attained: of.steadystate_attained,
        ..model::Account::default()
    }
}

fn conditions(of: &Conditions) -> model::Conditions {
    model::Conditions {
        engine_reason: of.engine_reason.clone(),
        punted: of.punted,
        registered_buffers: of.registered_buffers,
        threads: of.threads,
        cpus: of.cpus.clone(),
        depth_asked: of.depth_asked,
        depth_reached: of.depth_reached,
        depths_tried: of
            .depths_tried
            .iter()
            .filter_map(|tried| Some((tried.depth, tried.iops?)))
            .collect(),
        ranges: of.ranges.iter().map(|range| (range.offset_bytes, range.length_bytes)).collect(),
        written: of.written.iter().filter_map(written).collect(),
        fill: of.fill.map(|fill| match fill {
            FillOrder::Sequential => model::FillOrder::Sequential,
            FillOrder::Random => model::FillOrder::Random,
        }),
        device: of.device.clone(),
        scratch: of.scratch,
        target_remarks: of.target_remarks.clone(),
        shortfalls: of.shortfalls.clone(),
        other_iops: of.other_iops,
        other_bytes_per_s: of.other_bytes_per_s,
        precision_asked: of.precision_asked,
        lapses_ns: of.lapses_ns.clone(),
        settings: of.settings.iter().map(setting).collect(),
        p99_precision_asked: of.p99_precision_asked,
        steady_state: of.steady_state.as_ref().map(steady_state),
        beside: of.beside.iter().filter_map(beside).collect(),
    }
}

fn steady_state(of: &SteadyState) -> model::SteadyState {
    let SteadyState { rounds, round_ns, excursion, slope_excursion } = of.clone();
    model::SteadyState { rounds, round_ns, excursion, slope_excursion }
}

fn beside(of: &Beside) -> Option<model::Beside> {
    let Beside { target, rw, bytes_per_s } = of.clone();
    Some(model::Beside { target, rw, bytes_per_s: bytes_per_s? })
}

fn setting(of: &Setting) -> model::Setting {
    let Setting { path, before, value } = of.clone();
    model::Setting { path, before, value }
}

fn written(of: &Written) -> Option<model::WrittenShare> {
    Some(model::WrittenShare {
        target: of.target.clone(),
        samples: of.samples,
        share: estimate(of.share.as_ref()?),
        state: match of.state {
            WrittenState::Written => model::WrittenState::Written,
            WrittenState::Partly => model::WrittenState::Partly,
            WrittenState::Unwritten => model::WrittenState::Unwritten,
            WrittenState::Unknown => model::WrittenState::Unknown,
        },
        evidence: of.evidence.clone(),
    })
}
