//! One workload on its targets within one phase, with results and conditions.

use serde::{Deserialize, Serialize};

use crate::job_stats::EIO;
use crate::{
    Cause, Conditions, CpuUse, Direction, DiskUse, Estimate, Failure, Histogram, JobStats,
    LatencyKind, LatencySeries, PriorityLatencies, Purpose, RateSeries, Replayed, SampledRates,
    StatedLatencies, Workload,
};

/// Maximum number of targets in a title.
const MAX_TARGETS_IN_TITLE: usize = 8;

/// A measurement, in the same form for every load generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of its step: `seq-read`, `rand-read`, `latency`. One step on all drives at once is one
    /// measurement with several targets.
    pub name: String,
    /// Purpose of the step.
    #[serde(default, skip_serializing_if = "Purpose::is_measure")]
    pub purpose: Purpose,
    /// Phase within the run; measurements of the same phase run at the same time.
    pub phase: u32,
    /// fio's reporting group: with `group_reporting`, jobs reported as one.
    #[serde(default)]
    pub group: u32,
    /// Round of a plan in rounds, from 1; null: not part of a round.
    #[serde(default)]
    pub round: Option<u32>,
    /// Targets, by block device name or path.
    pub targets: Vec<String>,
    /// Known settings of the I/O.
    pub workload: Workload,
    /// Load generator: `native 0.1.0`, `simulated`, `fio 3.36`.
    pub source: String,
    /// Start, ns since 1970 UTC; null: not in the report.
    pub started_ns: Option<i64>,
    /// Time a report was printed, by its machine's clock in an unknown time zone:
    /// `2017-12-28T00:16:42`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// Length of the measured window, after warm-up, ns; null: not in the report.
    pub duration_ns: Option<u64>,
    /// Warm-up before the measured window, ns.
    pub warmup_ns: u64,
    /// Results over all targets, one per direction that occurred.
    pub total: Vec<DirectionResult>,
    /// Results per target, if there are several and they are known separately.
    pub parts: Vec<Part>,
    /// Conditions of the measurement.
    pub conditions: Conditions,
    /// CPU time.
    pub cpu: Option<CpuUse>,
    /// Statistics of its jobs, over all of them; null: not counted.
    #[serde(default)]
    pub account: Option<JobStats>,
    /// Block device activity while all jobs of its report ran, as stated there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskUse>,
    /// Reason for its end.
    pub end: EndReason,
    /// Snapshot before it, an index into the run's snapshots.
    pub before: Option<usize>,
    /// Snapshot of links and temperatures under load, taken without admin commands.
    pub under_load: Option<usize>,
    /// Snapshot after it.
    pub after: Option<usize>,
}

/// Results of one of several targets, or of one clone of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Target, as in `Measurement::targets`; several targets of a clone are joined by `:`.
    pub target: String,
    /// Number of the job clone (fio's `numjobs`), from 0; null if the parts are targets.
    #[serde(default)]
    pub clone: Option<u32>,
    /// Results per direction.
    pub results: Vec<DirectionResult>,
    /// Other statistics; null: not counted.
    #[serde(default)]
    pub account: Option<JobStats>,
    /// Reason of the failure, if this part failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Results of one direction. `None`: missing in the report that was read; iodyno's own measurements
/// have every value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionResult {
    /// Direction.
    pub direction: Direction,
    /// I/Os completed in the measured window.
    pub ios: Option<u64>,
    /// Bytes transferred in the measured window.
    pub bytes: Option<u64>,
    /// I/Os issued in total, warm-up included; comparable with the drive's own counters.
    pub whole_ios: Option<u64>,
    /// Bytes issued in total.
    pub whole_bytes: Option<u64>,
    /// Failed I/Os in total.
    pub errors: Option<u64>,
    /// Short I/Os (fewer bytes transferred than requested) in total.
    #[serde(default)]
    pub short_ios: Option<u64>,
    /// I/Os per second.
    pub iops: Option<Estimate>,
    /// Bytes per second.
    pub bandwidth: Option<Estimate>,
    /// Mean of the total latency (submission to completion), ns.
    pub latency_mean: Option<Estimate>,
    /// Total latencies in the measured window; empty if bins are not known.
    pub latency: Histogram,
    /// Latencies as stated in a report, if read from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<Box<StatedLatencies>>,
    /// Rates sampled by fio, if stated in a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Box<SampledRates>>,
    /// Submission and completion latencies (fio's slat and clat), if timestamps were taken for each
    /// I/O.
    #[serde(default)]
    pub split: Option<SplitLatency>,
    /// Latencies by priority (ioprio_set(2)), if I/Os have individual priorities (fio's
    /// `cmdprio_*`): total latencies with `lat_percentiles`, else completion latencies.
    #[serde(default, skip_serializing_if = "PriorityLatencies::is_empty")]
    pub by_priority: PriorityLatencies,
    /// Rates over time, warm-up included.
    pub series: RateSeries,
    /// Latencies over time, warm-up included.
    #[serde(default)]
    pub latency_series: LatencySeries,
    /// True if no trend of the rate was found over the measured window; null: not known.
    pub steady: Option<bool>,
    /// True if the rate fluctuates, or may, over times as long as the measured window, so that its
    /// intervals hold for that window only; null: not known.
    #[serde(default)]
    pub slow: Option<bool>,
    /// Clustering of total latencies by percentile, in ascending order; empty: not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clustering: Vec<Clustering>,
}

/// Number of I/Os that tell as much about a percentile as one independent I/O (design effect).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clustering {
    /// Percentile, in percent.
    pub percent: f64,
    /// Design effect, 1 or more; null: too few windows.
    pub effect: Option<f64>,
}

/// Latency in two parts (fio's slat and clat).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SplitLatency {
    /// Submission latency (fio's slat).
    pub submission: Histogram,
    /// Completion latency (fio's clat).
    pub completion: Histogram,
}

/// Reason for the end of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Fixed run time elapsed.
    Time,
    /// Confidence interval narrow enough.
    Precision,
    /// Maximum run time elapsed before the interval was narrow enough.
    MaxTime,
    /// All work done.
    Done,
    /// Interrupted by the user.
    Interrupted,
    /// Failed.
    Failed(#[serde(deserialize_with = "Failure::stored")] Failure),
}

impl DirectionResult {
    /// Makes an empty result of `direction`.
    pub fn unknown(direction: Direction) -> Self {
        Self {
            direction,
            ios: None,
            bytes: None,
            whole_ios: None,
            whole_bytes: None,
            errors: None,
            short_ios: None,
            iops: None,
            bandwidth: None,
            latency_mean: None,
            latency: Histogram::default(),
            stated: None,
            sampled: None,
            split: None,
            by_priority: PriorityLatencies::default(),
            series: RateSeries::default(),
            latency_series: LatencySeries::default(),
            steady: None,
            slow: None,
            clustering: Vec::new(),
        }
    }

    /// Bins of the latencies of `kind`, if known.
    pub fn bins(&self, kind: LatencyKind) -> Option<&Histogram> {
        let bins = match (kind, &self.split) {
            (LatencyKind::Total, _) => &self.latency,
            (LatencyKind::Submission, Some(split)) => &split.submission,
            (LatencyKind::Completion, Some(split)) => &split.completion,
            (_, None) => return None,
        };
        (bins.count() > 0).then_some(bins)
    }

    /// Mean latency of `kind`, ns.
    pub fn mean_of(&self, kind: LatencyKind) -> Option<Estimate> {
        let own = self.latency_mean.filter(|_| kind == LatencyKind::Total);
        own.or_else(|| self.stated.as_ref()?.of(kind).mean_ns)
            .or_else(|| self.bins(kind)?.mean_ns().map(Estimate::bare))
    }

    /// Minimum latency of `kind`, ns.
    pub fn min_of(&self, kind: LatencyKind) -> Option<Estimate> {
        let binned = self.bins(kind).and_then(Histogram::min_ns);
        binned.map(|ns| Estimate::bare(ns as f64)).or_else(|| self.stated.as_ref()?.of(kind).min_ns)
    }

    /// Maximum latency of `kind`, ns.
    pub fn max_of(&self, kind: LatencyKind) -> Option<Estimate> {
        let binned = self.bins(kind).and_then(Histogram::max_ns);
        binned.map(|ns| Estimate::bare(ns as f64)).or_else(|| self.stated.as_ref()?.of(kind).max_ns)
    }

    /// Percentile `percent` of the latencies of `kind`, ns: from the bins, else as stated.
    pub fn percentile_of(&self, kind: LatencyKind, percent: f64) -> Option<Estimate> {
        let binned = self.bins(kind).and_then(|bins| bins.quantile_ns(percent / 100.0));
        binned
            .map(|ns| Estimate::bare(ns as f64))
            .or_else(|| self.stated.as_ref()?.of(kind).percentile(percent))
    }

    /// Mean latency, ns, and its kind: the total latency, or the completion latency if nothing else
    /// is known (never the submission latency).
    pub fn mean_latency(&self) -> Option<(LatencyKind, Estimate)> {
        total_or_completion(|kind| self.mean_of(kind))
    }

    /// Percentile `percent`, ns, of the kind chosen as in [`Self::mean_latency`].
    pub fn percentile(&self, percent: f64) -> Option<(LatencyKind, Estimate)> {
        total_or_completion(|kind| self.percentile_of(kind, percent))
    }

    /// Percentile `percent` as in [`Self::percentile`], if enough I/Os lie beyond it or, without
    /// bins, a report states it.
    pub fn known_percentile(&self, percent: f64) -> Option<(LatencyKind, Estimate)> {
        match self.total_or_completion_bins() {
            Some((kind, bins)) => Some((kind, Estimate::bare(bins.percentile_ns(percent)? as f64))),
            None => self.percentile(percent),
        }
    }

    /// Bins of the kind chosen as in [`Self::mean_latency`].
    pub fn total_or_completion_bins(&self) -> Option<(LatencyKind, &Histogram)> {
        total_or_completion(|kind| self.bins(kind))
    }
}

/// Value of the total latency, else of the completion latency.
fn total_or_completion<T>(of: impl Fn(LatencyKind) -> Option<T>) -> Option<(LatencyKind, T)> {
    let kinds = [LatencyKind::Total, LatencyKind::Completion];
    kinds.into_iter().find_map(|kind| of(kind).map(|known| (kind, known)))
}

impl SplitLatency {
    /// Adds the latencies of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.submission.merge(&other.submission);
        self.completion.merge(&other.completion);
    }
}

impl Measurement {
    /// Makes an empty measurement with this name, which ended at its time.
    pub fn unknown(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            purpose: Purpose::Measure,
            phase: 0,
            group: 0,
            round: None,
            targets: Vec::new(),
            workload: Workload::default(),
            source: String::new(),
            started_ns: None,
            printed: None,
            duration_ns: None,
            warmup_ns: 0,
            total: Vec::new(),
            parts: Vec::new(),
            conditions: Conditions::default(),
            cpu: None,
            account: None,
            disks: Vec::new(),
            end: EndReason::Time,
            before: None,
            under_load: None,
            after: None,
        }
    }

    /// Returns the replayed trace with its results; `None`: it is no replay.
    pub fn replayed(&self) -> Option<&Replayed> {
        self.account.as_ref()?.replayed.as_deref()
    }

    /// Returns the result of a direction.
    pub fn result(&self, direction: Direction) -> Option<&DirectionResult> {
        self.total.iter().find(|result| result.direction == direction)
    }

    /// Name with targets: `seq-read nvme0n1`; for many targets only the first.
    pub fn title(&self) -> String {
        match self.targets.as_slice() {
            [first, .., _] if self.targets.len() > MAX_TARGETS_IN_TITLE => {
                format!("{} {first} and {} more", self.name, self.targets.len() - 1)
            }
            targets => format!("{} {}", self.name, targets.join(" ")),
        }
    }

    /// errno of the failure, EIO for another cause; 0: it did not fail.
    pub fn errno(&self) -> i32 {
        match &self.end {
            EndReason::Failed(Failure { cause: Cause::Errno(errno), .. }) => *errno,
            EndReason::Failed(_) => EIO,
            _ => 0,
        }
    }

    /// Reason of the failure, if it failed.
    pub fn failure(&self) -> Option<&str> {
        match &self.end {
            EndReason::Failed(how) => Some(&how.text),
            _ => None,
        }
    }
}
