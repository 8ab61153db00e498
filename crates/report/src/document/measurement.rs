//! Public form of a measurement: its workload, results and conditions.

use std::collections::BTreeMap;

use iodyno_model as model;
use iodyno_model::{
    Conditions, CpuUse, Direction, EndReason, Estimate, JudgedMeasurement, LatencyKind, Purpose,
    Reason, SampledRates, Validity, Workload, rfc3339,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::account::JobStats;
use super::mergeable::Mergeable;
use super::reported::Disk;
use super::verdict::{Ceiling, Claim, MetricVerdict};
use crate::percentiles::{LEVEL, Percentile, percentiles, percentiles_of_kind};

/// One workload on its targets within one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// Name of the step: `seq-read`, `rand-read`, `latency`.
    pub name: String,
    /// Purpose; absent for an ordinary measurement.
    #[serde(default, skip_serializing_if = "Purpose::is_measure")]
    pub purpose: Purpose,
    /// Phase within the run; measurements of the same phase ran at the same time.
    pub phase: u32,
    /// Round of a plan in rounds, from 1; null: not part of a round.
    pub round: Option<u32>,
    /// Workload, in fio's option names; unknown options are absent.
    pub workload: Workload,
    /// Targets: block device names or paths.
    pub targets: Vec<String>,
    /// Start, RFC 3339; null: not known.
    pub started: Option<String>,
    /// Time at which its report was printed, by the machine's clock in an unknown time zone:
    /// `2017-12-28T00:16:42`; absent if the report does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// Length of the measured window, after warm-up, ns; null: not known.
    pub duration_ns: Option<u64>,
    /// Excluded warm-up, ns.
    pub warmup_ns: u64,
    /// Tool that measured: `native 0.1.0`.
    pub source: String,
    /// Reason for the end.
    pub end: End,
    /// Error; null unless `end` is `failed`.
    pub failure: Option<String>,
    /// Kind of error; absent unless `end` is `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<model::Cause>,
    /// Validity; null: not assessed.
    pub validity: Option<Validity>,
    /// Caveats.
    pub reasons: Vec<Reason>,
    /// Results by direction.
    #[serde(flatten)]
    pub results: Results,
    /// Results by target, if there are several and they are known separately.
    pub parts: Vec<Part>,
    /// Conditions of the measurement.
    pub conditions: Conditions,
    /// CPU time.
    pub cpu: Option<CpuUse>,
    /// Other statistics of its jobs; null if not counted.
    pub account: Option<JobStats>,
    /// Activity of block devices while all jobs of its report ran, as stated there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<Disk>,
    /// Data sheet claim for the judged metric.
    pub claim: Option<Claim>,
    /// Known upper bounds.
    pub ceilings: Vec<Ceiling>,
    /// Verdicts by metric.
    pub verdicts: Vec<MetricVerdict>,
}

/// Reason for the end of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Its fixed time was over.
    Time,
    /// The interval was narrow enough.
    Precision,
    /// Its maximum time was over before the interval was narrow enough.
    MaxTime,
    /// All work was done.
    Done,
    /// Stopped by the user.
    Interrupted,
    /// Failed.
    Failed,
}

/// Results of one of several targets, or of one clone of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Target; several files of a clone are joined by `:`.
    pub target: String,
    /// Clone of the job (fio's numjobs), from 0; null if parts are targets.
    pub clone: Option<u32>,
    /// Results by direction.
    #[serde(flatten)]
    pub results: Results,
    /// Error, if this part failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Results by direction; absent for directions without I/O.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<DirectionResult>,
    /// Writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<DirectionResult>,
    /// Trims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionResult>,
    /// Directions reported together (fio's unified_rw_reporting).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<DirectionResult>,
}

/// Results of one direction in the measured window. Unknown values are null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResult {
    /// I/Os completed.
    pub ios: Option<u64>,
    /// Bytes moved.
    pub bytes: Option<u64>,
    /// Total I/Os issued, warm-up included.
    pub whole_ios: Option<u64>,
    /// Total bytes issued, warm-up included.
    pub whole_bytes: Option<u64>,
    /// I/Os that failed, warm-up included.
    pub errors: Option<u64>,
    /// I/Os that transferred fewer bytes than requested, warm-up included.
    pub short_ios: Option<u64>,
    /// I/Os per second.
    pub iops: Option<Estimate>,
    /// Bytes per second.
    pub bandwidth: Option<Estimate>,
    /// Rates sampled by fio; absent if the report has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledRates>,
    /// Latencies, by fio's kinds; iodyno measures `total`, submission to completion.
    pub latency: Latencies,
    /// Whether the rate had no trend over the measured window; null: undecided. Whether the drive
    /// was in steady state, by SNIA's limits, is another question: the rule
    /// `steady-state-not-reached` answers it under `reasons`.
    pub steady: Option<bool>,
    /// Whether the rate fluctuates, or may fluctuate, as slowly as the measured window is long: its
    /// intervals are then valid for that window only; null: undecided.
    #[serde(default)]
    pub slow: Option<bool>,
    /// Results that add up exactly with those of other nodes; only of runs that began at an agreed
    /// time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mergeable: Option<Mergeable>,
}

/// Latencies by kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    /// Until the submitting system call returned (fio's slat); absent if not timed separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission: Option<Latency>,
    /// From its return to the completion (fio's clat).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<Latency>,
    /// From submission to completion; absent if not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Latency>,
}

/// Latency distribution, ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Smallest, ns.
    pub min_ns: Option<u64>,
    /// Mean of all I/Os, ns.
    pub mean_ns: Option<f64>,
    /// Mean with its interval, ns.
    pub mean: Option<Estimate>,
    /// Largest, ns. Has no interval: it can only grow.
    pub max_ns: Option<u64>,
    /// Standard deviation, ns.
    pub stdev_ns: Option<f64>,
    /// Percentiles with at least 30 I/Os beyond them, or as stated by a report: percent, ns.
    pub percentiles: BTreeMap<String, u64>,
    /// Order-statistic intervals of the percentiles, or the range left by rounding.
    pub percentile_intervals: Vec<PercentileInterval>,
}

/// Interval of a percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileInterval {
    /// Key in `percentiles`.
    pub percentile: String,
    /// Lower end, ns.
    pub low_ns: u64,
    /// Upper end, ns.
    pub high_ns: u64,
    /// Coverage, 0..1; null: the range left by rounding of a printed value.
    pub level: Option<f64>,
}

impl Measurement {
    /// Builds the public form; `judged` is its judgement.
    pub(crate) fn new(
        measurement: &model::Measurement,
        judged: Option<&JudgedMeasurement>,
    ) -> Self {
        let metrics = judged.map_or(&[][..], |judged| &judged.metrics);
        Self {
            name: measurement.name.clone(),
            purpose: measurement.purpose,
            phase: measurement.phase,
            round: measurement.round,
            workload: measurement.workload.clone(),
            targets: measurement.targets.clone(),
            started: measurement.started_ns.map(rfc3339),
            printed: measurement.printed.clone(),
            duration_ns: measurement.duration_ns,
            warmup_ns: measurement.warmup_ns,
            source: measurement.source.clone(),
            end: End::from(&measurement.end),
            failure: measurement.failure().map(str::to_string),
            cause: match &measurement.end {
                EndReason::Failed(how) => Some(how.cause),
                _ => None,
            },
            validity: judged.map(|judged| judged.validity),
            reasons: judged.map_or(Vec::new(), |judged| judged.reasons.clone()),
            results: Results::of(&measurement.total),
            parts: measurement.parts.iter().map(Part::from).collect(),
            conditions: measurement.conditions.clone(),
            cpu: measurement.cpu,
            account: measurement.account.as_ref().map(JobStats::from),
            disks: measurement.disks.iter().map(Disk::from).collect(),
            claim: metrics.iter().find_map(Claim::of),
            ceilings: metrics.iter().filter_map(Ceiling::of).collect(),
            verdicts: metrics.iter().map(MetricVerdict::from).collect(),
        }
    }

    /// Adds the mergeable results of `measurement`, of which this is the public form.
    pub(crate) fn mergeable(mut self, measurement: &model::Measurement) -> Self {
        for of in &measurement.total {
            let result = match of.direction {
                Direction::Read => &mut self.results.read,
                Direction::Write => &mut self.results.write,
                Direction::Trim => &mut self.results.trim,
                Direction::Mixed => &mut self.results.mixed,
            };
            if let Some(result) = result {
                result.mergeable = Mergeable::of(of, measurement.warmup_ns);
            }
        }
        self
    }
}

impl From<&EndReason> for End {
    fn from(end: &EndReason) -> Self {
        match end {
            EndReason::Time => Self::Time,
            EndReason::Precision => Self::Precision,
            EndReason::MaxTime => Self::MaxTime,
            EndReason::Done => Self::Done,
            EndReason::Interrupted => Self::Interrupted,
            EndReason::Failed(_) => Self::Failed,
        }
    }
}

impl From<&model::Part> for Part {
    fn from(part: &model::Part) -> Self {
        Self {
            target: part.target.clone(),
            clone: part.clone,
            results: Results::of(&part.results),
            failure: part.failure.clone(),
        }
    }
}

impl Results {
    pub(super) fn of(all: &[model::DirectionResult]) -> Self {
        let result = |direction| {
            let result = all.iter().find(|result| result.direction == direction);
            result.map(DirectionResult::from)
        };
        Self {
            read: result(Direction::Read),
            write: result(Direction::Write),
            trim: result(Direction::Trim),
            mixed: result(Direction::Mixed),
        }
    }

    /// Iterates over the directions with I/O, in the order read, write, trim, mixed.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Direction, &DirectionResult)> {
        let names = [Direction::Read, Direction::Write, Direction::Trim, Direction::Mixed];
        let known = names.into_iter().zip([&self.read, &self.write, &self.trim, &self.mixed]);
        known.filter_map(|(direction, of)| Some((direction, of.as_ref()?)))
    }
}

impl From<&model::DirectionResult> for DirectionResult {
    fn from(result: &model::DirectionResult) -> Self {
        let latency = |kind| Latency::of(result, kind);
        Self {
            ios: result.ios,
            bytes: result.bytes,
            whole_ios: result.whole_ios,
            whole_bytes: result.whole_bytes,
            errors: result.errors,
            short_ios: result.short_ios,
            iops: result.iops.and_then(Estimate::finite),
            bandwidth: result.bandwidth.and_then(Estimate::finite),
            sampled: result.sampled.as_deref().copied(),
            latency: Latencies {
                submission: latency(LatencyKind::Submission),
                completion: latency(LatencyKind::Completion),
                total: latency(LatencyKind::Total),
            },
            steady: result.steady,
            slow: result.slow,
            mergeable: None,
        }
    }
}

impl Latency {
    /// Summarises the bins if known, else takes the values stated by a report.
    fn of(result: &model::DirectionResult, kind: LatencyKind) -> Option<Self> {
        let mean = result.mean_of(kind);
        if let Some(bins) = result.bins(kind) {
            let shown = percentiles_of_kind(result, kind, &model::PERCENTILES);
            let mean = mean.as_ref().filter(|_| kind == LatencyKind::Total);
            return Self::of_bins(bins, mean, &shown);
        }
        let stated = result.stated.as_ref().map(|stated| stated.of(kind));
        let Some(stated) = stated.filter(|stated| !stated.is_empty()) else {
            return Self::new(&model::Histogram::default(), mean.as_ref());
        };
        let whole = |of: Option<Estimate>| of.map(|ns| ns.value.round() as u64);
        let mut latency = Self {
            min_ns: whole(stated.min_ns),
            mean_ns: mean.map(|mean| mean.value),
            mean: mean.and_then(Estimate::finite),
            max_ns: whole(stated.max_ns),
            stdev_ns: stated.stdev_ns.map(|stdev| stdev.value),
            percentiles: BTreeMap::new(),
            percentile_intervals: Vec::new(),
        };
        for (percent, value) in &stated.percentiles {
            latency.percentiles.insert(percent.to_string(), value.value.round() as u64);
            latency.percentile_intervals.extend(value.bounds().map(|(low, high)| {
                PercentileInterval {
                    percentile: percent.to_string(),
                    low_ns: low.round() as u64,
                    high_ns: high.round() as u64,
                    level: match value.spread {
                        model::Spread::Confidence { level, .. } => Some(level),
                        _ => None,
                    },
                }
            }));
        }
        Some(latency)
    }

    pub(super) fn new(histogram: &model::Histogram, mean: Option<&Estimate>) -> Option<Self> {
        Self::of_bins(histogram, mean, &percentiles(histogram, &model::PERCENTILES))
    }

    fn of_bins(
        histogram: &model::Histogram,
        mean: Option<&Estimate>,
        shown: &[Percentile],
    ) -> Option<Self> {
        let mean = mean.copied().and_then(Estimate::finite);
        if histogram.count() == 0 && mean.is_none() {
            return None;
        }
        Some(Self {
            min_ns: histogram.min_ns(),
            mean_ns: histogram.mean_ns().or_else(|| mean.as_ref().map(|mean| mean.value)),
            mean,
            max_ns: histogram.max_ns(),
            stdev_ns: histogram.stdev_ns(),
            percentiles: shown.iter().map(|p| (p.percent.to_string(), p.value_ns)).collect(),
            percentile_intervals: shown
                .iter()
                .filter_map(|p| {
                    let (low_ns, high_ns) = p.bounds_ns?;
                    let percentile = p.percent.to_string();
                    Some(PercentileInterval { percentile, low_ns, high_ns, level: Some(LEVEL) })
                })
                .collect(),
        })
    }
}
