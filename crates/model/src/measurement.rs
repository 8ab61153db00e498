//! One workload on its targets within one phase, with its results and the
//! conditions that it was taken under.

use serde::{Deserialize, Serialize};

use crate::{
    Conditions, CpuUse, Direction, DiskUse, Estimate, Failure, Histogram, JobStats, LatencyKind,
    LatencySeries, PriorityLatencies, Purpose, RateSeries, SampledRates, StatedLatencies, Workload,
};

/// A title names so many targets at most.
const MOST_TARGETS_NAMED: usize = 8;

/// A measurement. Whoever made it, it has this form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the step that asked for it: `seq-read`, `rand-read`, `latency`.
    /// The same step on all drives at once has the same name and several targets.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Purpose::is_measure")]
    pub purpose: Purpose,
    /// Phase within the run: equal phase means at the same time.
    pub phase: u32,
    /// fio's reporting group: with `group_reporting` what is reported as one.
    #[serde(default)]
    pub group: u32,
    /// Which round of a plan in rounds, from 1; `None`: it is not one of a round.
    #[serde(default)]
    pub round: Option<u32>,
    /// Targets, by block device name or path.
    pub targets: Vec<String>,
    /// What is known of the I/O that was made.
    pub workload: Workload,
    /// Who measured: `native 0.1.0`, `simulated`, `fio 3.36`.
    pub source: String,
    /// Start, ns since 1970 UTC; `None`: a report does not say.
    pub started_ns: Option<i64>,
    /// When a report was printed by the clock of its machine, whose time zone it does not
    /// say: `2017-12-28T00:16:42`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// Length of the measured window, after warm-up, ns; `None`: a report does not say.
    pub duration_ns: Option<u64>,
    /// Warm-up that was cut off in front of it, ns.
    pub warmup_ns: u64,
    /// Results over all targets, one for each direction that occurred.
    pub total: Vec<DirectionResult>,
    /// The same for each target, where there are several and they are known apart.
    pub parts: Vec<Part>,
    /// What it was taken under.
    pub conditions: Conditions,
    /// CPU time.
    pub cpu: Option<CpuUse>,
    /// What else its jobs did, over all of them; `None` where nobody counted.
    #[serde(default)]
    pub account: Option<JobStats>,
    /// What block devices did while everything ran that its report is of, as that states it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskUse>,
    /// Why it ended.
    pub end: EndReason,
    /// Snapshot before it, an index into the run's snapshots.
    pub before: Option<usize>,
    /// Snapshot of links and temperatures while it ran, read without admin commands.
    pub under_load: Option<usize>,
    /// Snapshot after it.
    pub after: Option<usize>,
}

/// Results of one target of several, or of one clone of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Target, as in `Measurement::targets`; of a clone with several, joined by `:`.
    pub target: String,
    /// Which clone of the job (fio's `numjobs`), from 0; `None` where the parts are targets.
    #[serde(default)]
    pub clone: Option<u32>,
    /// Its results.
    pub results: Vec<DirectionResult>,
    /// What else it did; `None` where nobody counted.
    #[serde(default)]
    pub account: Option<JobStats>,
    /// Why it could not go on, where it is it that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Results of one direction. `None` is what a report that it was read from
/// does not say; nothing that was measured here is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionResult {
    /// Direction.
    pub direction: Direction,
    /// I/Os completed in the measured window.
    pub ios: Option<u64>,
    /// Bytes moved in the measured window.
    pub bytes: Option<u64>,
    /// I/Os issued in all, warm-up included; what a drive's own counters count.
    pub whole_ios: Option<u64>,
    /// Bytes issued in all.
    pub whole_bytes: Option<u64>,
    /// I/Os that failed, in all.
    pub errors: Option<u64>,
    /// I/Os that moved fewer bytes than they were asked to, in all.
    #[serde(default)]
    pub short_ios: Option<u64>,
    /// I/Os per second.
    pub iops: Option<Estimate>,
    /// Bytes per second.
    pub bandwidth: Option<Estimate>,
    /// Mean of the total latency (submission to completion), ns.
    pub latency_mean: Option<Estimate>,
    /// Total latencies in the measured window; empty where their bins are not known.
    pub latency: Histogram,
    /// Latencies as a report states them, where it was read from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<Box<StatedLatencies>>,
    /// Rates that fio sampled while it ran, where a report states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Box<SampledRates>>,
    /// Its parts up to the end of the submitting system call, and from there
    /// to the completion (fio's slat and clat), where each I/O was stamped for it.
    #[serde(default)]
    pub split: Option<SplitLatency>,
    /// Latencies by priority as in ioprio_set(2), where I/Os have one each (fio's `cmdprio_*`):
    /// total ones with `lat_percentiles`, else completion latencies.
    #[serde(default, skip_serializing_if = "PriorityLatencies::is_empty")]
    pub by_priority: PriorityLatencies,
    /// Rates over time, warm-up included.
    pub series: RateSeries,
    /// Latencies over time, warm-up included.
    #[serde(default)]
    pub latency_series: LatencySeries,
    /// The rate neither grew nor fell over the measured window, as far as that
    /// can be told; `None` where it cannot.
    pub steady: Option<bool>,
    /// The rate fluctuates as slowly as the measured window is long, or may: its intervals are of
    /// that window only. `None` where it cannot be told.
    #[serde(default)]
    pub slow: Option<bool>,
    /// How far total latencies come in clusters, by percentile, in ascending order; empty where
    /// that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clustering: Vec<Clustering>,
}

/// How many I/Os say as much of a percentile as an independent one would.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clustering {
    /// The percentile, in percent.
    pub percent: f64,
    /// That many: 1 or more (statistics call it the design effect); `None`: the windows are too few to say.
    pub effect: Option<f64>,
}

/// Latency in two parts (fio's slat and clat).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SplitLatency {
    /// Until the submitting system call returned.
    pub submission: Histogram,
    /// From there to the completion.
    pub completion: Histogram,
}

/// Why a measurement ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The time that was fixed for it was over.
    Time,
    /// The interval was narrow enough.
    Precision,
    /// The longest time was over before the interval was narrow enough.
    MaxTime,
    /// All of the work was done.
    Done,
    /// The user stopped it.
    Interrupted,
    /// It failed.
    Failed(#[serde(deserialize_with = "Failure::stored")] Failure),
}

impl DirectionResult {
    /// An empty result of `direction`: nothing is known of it.
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

    /// Bins of the latencies of `kind`, where they are known.
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

    /// Smallest latency of `kind`, ns.
    pub fn min_of(&self, kind: LatencyKind) -> Option<Estimate> {
        let binned = self.bins(kind).and_then(Histogram::min_ns);
        binned.map(|ns| Estimate::bare(ns as f64)).or_else(|| self.stated.as_ref()?.of(kind).min_ns)
    }

    /// Largest latency of `kind`, ns.
    pub fn max_of(&self, kind: LatencyKind) -> Option<Estimate> {
        let binned = self.bins(kind).and_then(Histogram::max_ns);
        binned.map(|ns| Estimate::bare(ns as f64)).or_else(|| self.stated.as_ref()?.of(kind).max_ns)
    }

    /// The percentile `percent` of the latencies of `kind`, ns: from the bins,
    /// else as it is stated.
    pub fn percentile_of(&self, kind: LatencyKind, percent: f64) -> Option<Estimate> {
        let binned = self.bins(kind).and_then(|bins| bins.quantile_ns(percent / 100.0));
        binned
            .map(|ns| Estimate::bare(ns as f64))
            .or_else(|| self.stated.as_ref()?.of(kind).percentile(percent))
    }

    /// Mean latency, ns, and from where to where it runs: the total, or the
    /// completion alone where nothing else is known (never the submission).
    pub fn mean_latency(&self) -> Option<(LatencyKind, Estimate)> {
        known(|kind| self.mean_of(kind))
    }

    /// The percentile `percent`, ns, as [`Self::mean_latency`] chooses.
    pub fn percentile(&self, percent: f64) -> Option<(LatencyKind, Estimate)> {
        known(|kind| self.percentile_of(kind, percent))
    }

    /// Bins, as [`Self::mean_latency`] chooses.
    pub fn known_bins(&self) -> Option<(LatencyKind, &Histogram)> {
        known(|kind| self.bins(kind))
    }
}

/// Of the total, else of the completion.
fn known<T>(of: impl Fn(LatencyKind) -> Option<T>) -> Option<(LatencyKind, T)> {
    let kinds = [LatencyKind::Total, LatencyKind::Completion];
    kinds.into_iter().find_map(|kind| of(kind).map(|known| (kind, known)))
}

impl SplitLatency {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.submission.merge(&other.submission);
        self.completion.merge(&other.completion);
    }
}

impl Measurement {
    /// A measurement of this name of which nothing else is known; it ended at its time.
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

    /// The result of a direction.
    pub fn result(&self, direction: Direction) -> Option<&DirectionResult> {
        self.total.iter().find(|result| result.direction == direction)
    }

    /// Its name with its targets: `seq-read nvme0n1`; of many the first.
    pub fn title(&self) -> String {
        match self.targets.as_slice() {
            [first, .., _] if self.targets.len() > MOST_TARGETS_NAMED => {
                format!("{} {first} and {} more", self.name, self.targets.len() - 1)
            }
            targets => format!("{} {}", self.name, targets.join(" ")),
        }
    }

    /// It ended without anything to judge.
    pub fn failure(&self) -> Option<&str> {
        match &self.end {
            EndReason::Failed(how) => Some(&how.text),
            _ => None,
        }
    }
}
