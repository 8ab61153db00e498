//! One workload on its targets within one phase, with its results and the
//! conditions that it was taken under.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::number;
use crate::{
    BlockLife, Conditions, Direction, DiskUse, Estimate, Failure, Histogram, LatencyKind,
    LatencyRange, LatencySeries, PriorityLatencies, RateSeries, SampledRates, StatedLatencies,
    Workload,
};

/// A title names so many targets at most.
const MOST_TARGETS_NAMED: usize = 8;

/// A measurement. Whoever made it, it has this form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the step that asked for it: `seq-read`, `rand-read`, `latency`.
    /// The same step on all drives at once has the same name and several targets.
    pub name: String,
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

/// What a job, or all clones of one, did besides moving data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JobStats {
    /// Start, ns since 1970 UTC.
    #[serde(rename = "started", alias = "started_ns", with = "crate::json::time")]
    #[schemars(with = "String")]
    pub started_ns: i64,
    /// From its start to its end, ramp included, ns.
    pub elapsed_ns: u64,
    /// Of that, what is counted, ns.
    pub counted_ns: u64,
    /// Why it ended early: errno and what happened; errno 0 where it did not.
    pub error: i32,
    /// As a sentence.
    pub failure: Option<String>,
    /// I/Os that failed, by errno.
    pub errors: Vec<ErrorCount>,
    /// Blocks that were verified, and those that were not what was written.
    pub verified: u64,
    /// Blocks that were not what was written.
    pub mismatches: u64,
    /// Threads that a report adds up in it; 0: it is of one, or of parts that are known apart.
    pub threads: u32,
    /// CPU time of its threads.
    pub cpu: CpuUse,
    /// Context switches of its threads.
    #[serde(rename = "context_switches", alias = "switches")]
    pub switches: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
    /// I/Os that were submitted while 1, 2, 4, 8, 16, 32, 64 or more were
    /// outstanding (that one included).
    pub depth_levels: [u64; 7],
    /// System calls that submitted 0, 1-4, 5-8, 9-16, 17-32, 33-64, more.
    pub submit_levels: [u64; 7],
    /// Times that 0, 1-4, 5-8, 9-16, 17-32, 33-64, more completions were seen.
    pub complete_levels: [u64; 7],
    /// Latencies of fsync and fdatasync, ns.
    #[serde(rename = "sync_bins", alias = "sync", skip_serializing_if = "Histogram::is_empty")]
    #[schemars(skip)]
    pub sync: Histogram,
    /// Shares of I/Os by latency, over all directions, as a report states them.
    #[serde(
        rename = "latency_classes",
        alias = "latency_ranges",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub latency_ranges: Vec<LatencyRange>,
    /// Blocks by how often they were trimmed and how they ended, where a job asks for it
    /// (fio's `block_error_percentiles`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub block_lives: Vec<BlockLife>,
    /// What `latency_target` found: the depth that keeps it.
    pub latency_target_depth: Option<u32>,
    /// What `steadystate` found.
    pub steadystate_attained: Option<bool>,
}

/// I/Os that failed in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// Errno.
    pub errno: i32,
    /// In which direction.
    pub direction: Direction,
    /// How many.
    pub count: u64,
    /// The first offsets, bytes, at most eight.
    pub offsets: Vec<u64>,
}

/// CPU time that a measurement took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// User time of all submitting threads over the run time, 1 = one CPU.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub user: f64,
    /// System time of all submitting threads over the run time, 1 = one CPU.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub system: f64,
    /// The busiest submitting thread's share of a CPU, 0..1; where a report has no more than the
    /// mean of its threads, that, which it is at least.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub busiest_thread: f64,
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

impl JobStats {
    /// Adds what `other` counted; times, and what is not counted, stay.
    pub fn add_counts(&mut self, other: &Self) {
        // Counts that a report states may be anything.
        let add = |sum: &mut u64, one: u64| *sum = sum.saturating_add(one);
        add(&mut self.verified, other.verified);
        add(&mut self.mismatches, other.mismatches);
        add(&mut self.switches, other.switches);
        add(&mut self.major_faults, other.major_faults);
        add(&mut self.minor_faults, other.minor_faults);
        for (sum, one) in [
            (&mut self.depth_levels, &other.depth_levels),
            (&mut self.submit_levels, &other.submit_levels),
            (&mut self.complete_levels, &other.complete_levels),
        ] {
            sum.iter_mut().zip(one).for_each(|(sum, one)| add(sum, *one));
        }
        self.cpu.user += other.cpu.user;
        self.cpu.system += other.cpu.system;
        self.cpu.busiest_thread = self.cpu.busiest_thread.max(other.cpu.busiest_thread);
        self.sync.merge(&other.sync);
        other.block_lives.iter().for_each(|life| life.add(&mut self.block_lives));
    }
}

impl Measurement {
    /// A measurement of this name of which nothing else is known; it ended at its time.
    pub fn unknown(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
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
