//! Builds the sections of a report from measurements: fio's jobs, one for each clone, or one for
//! each group with `group_reporting`.

use iodyno_job::Unified;
use iodyno_model::{
    DIRECTIONS, Direction, DirectionResult, Histogram, JobStats, Measurement, PerDirection,
    PriorityLatencies,
};

use crate::out::rates::{Samples, samples};
use crate::out::report::{Report, ReportJob, Reporting};
use crate::out::shares::LatencyShares;
use crate::out::steady::SteadySamples;

/// A section of a report, which fio prints as one job.
#[derive(Debug, Clone)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) group: u32,
    pub(super) options: &'a [(String, String)],
    pub(super) reporting: &'a Reporting,
    /// Requested depth, or the one found by `latency_target`.
    pub(super) iodepth: u32,
    /// Number of clones, and of jobs of the group, in it.
    pub(super) members: u32,
    pub(super) started_ns: i64,
    pub(super) by_direction: PerDirection<DirectionStats>,
    /// The lane of reads contains all directions (`unified_rw_reporting=mixed`).
    pub(super) mixed: bool,
    pub(super) steadystate_attained: bool,
    /// Samples of the steady state; empty if not requested.
    pub(super) steady: SteadySamples,
    /// Sums over its members.
    pub(super) account: JobStats,
    /// First errno, whether it ended the job or not.
    pub(super) first_error: i32,
    /// Failed I/Os.
    pub(super) errors: u64,
    /// CPU time, percent of a CPU's time while its members ran.
    pub(super) cpu_percent: (f64, f64),
}

/// Results of one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct DirectionStats {
    /// Failed ones included: fio counts I/Os when it issues them.
    pub(super) ios: u64,
    pub(super) bytes: u64,
    pub(super) short_ios: u64,
    pub(super) runtime_ms: u64,
    pub(super) slat: Histogram,
    pub(super) clat: Histogram,
    pub(super) lat: Histogram,
    /// Latencies by priority: of `lat` with `lat_percentiles`, else of `clat`.
    pub(super) by_priority: PriorityLatencies,
    pub(super) bandwidth: Samples,
    pub(super) iops: Samples,
}

/// Sum over the sections of a group, for each direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GroupStats {
    pub(super) bytes: u64,
    /// Shortest and longest run time, ms.
    pub(super) runtime_ms: (u64, u64),
    /// Slowest and fastest section, bytes per second.
    pub(super) bytes_per_s: (u64, u64),
}

/// One clone, or all if clones were not recorded separately.
struct Member<'a> {
    results: &'a [DirectionResult],
    account: Option<&'a JobStats>,
}

/// Builds the sections of a report, in fio's order.
pub(super) fn sections<'a>(report: &'a Report<'_>) -> Vec<Section<'a>> {
    let mut sections: Vec<Section<'a>> = Vec::new();
    // Group being merged: fio compares only with the previous job's group.
    let mut gathering = None;
    for job in &report.jobs {
        for member in members(job.measurement) {
            let group = job.reporting.group.then_some(job.measurement.group);
            let one = Section::of(job, &member);
            match sections.last_mut() {
                Some(last) if group.is_some() && gathering == group => last.add(&one),
                _ => sections.push(one),
            }
            gathering = group;
        }
    }
    sections.iter_mut().for_each(Section::finish);
    sections
}

/// Groups of `sections` by number, with their lanes.
pub(super) fn groups(sections: &[Section<'_>]) -> Vec<(u32, PerDirection<GroupStats>)> {
    let mut groups: Vec<(u32, PerDirection<GroupStats>)> = Vec::new();
    for section in sections {
        let known = groups.iter().position(|(number, _)| *number == section.group);
        let at = known.unwrap_or_else(|| {
            groups.push((section.group, PerDirection::default()));
            groups.len() - 1
        });
        for (direction, stats) in section.by_direction.iter() {
            groups[at].1.of_mut(direction).add(stats);
        }
    }
    groups.sort_by_key(|(number, _)| *number);
    groups
}

/// Entry of `groups` for the group of `section`.
pub(super) fn group_of(
    groups: &[(u32, PerDirection<GroupStats>)],
    section: &Section<'_>,
) -> PerDirection<GroupStats> {
    let found = groups.iter().find(|(number, _)| *number == section.group);
    found.map_or_else(PerDirection::default, |(_, by_direction)| *by_direction)
}

fn members(measurement: &Measurement) -> Vec<Member<'_>> {
    let clones = measurement.parts.iter().filter(|part| part.clone.is_some());
    let clones: Vec<_> = clones
        .map(|part| Member { results: &part.results, account: part.account.as_ref() })
        .collect();
    if clones.is_empty() {
        let account = measurement.account.as_ref();
        return vec![Member { results: &measurement.total, account }];
    }
    clones
}

impl<'a> Section<'a> {
    fn of(job: &'a ReportJob<'_>, member: &Member<'_>) -> Self {
        let measurement = job.measurement;
        let mut account = member.account.cloned().unwrap_or_else(|| JobStats {
            started_ns: measurement.started_ns,
            elapsed_ns: measurement.warmup_ns + measurement.duration_ns.unwrap_or(0),
            counted_ns: measurement.duration_ns.unwrap_or(0),
            failure: measurement.failure().map(str::to_owned),
            error: measurement.errno(),
            cpu: measurement.cpu.unwrap_or_default(),
            ..JobStats::default()
        });
        let mut by_direction = PerDirection::<DirectionStats>::default();
        let is_of_fio = measurement.source.starts_with("fio ");
        for result in member.results {
            let mut stats = DirectionStats::of(
                result,
                account.counted_ns,
                measurement.warmup_ns,
                &job.reporting,
            );
            if !is_of_fio {
                // Failed syncs are among the errors of writing, and in fio they are syncs.
                let is_write = result.direction == Direction::Write;
                let syncs = if is_write { account.sync_errors } else { 0 };
                let failed = result.errors.unwrap_or(0).saturating_sub(syncs);
                stats.ios = stats.ios.saturating_add(failed);
            }
            by_direction.of_mut(result.direction).add(&stats);
        }
        let mut steady = SteadySamples::default();
        if let Some(asked) = &job.reporting.steadystate {
            steady = SteadySamples::judged(&account.steadystate_samples);
            let of_each = member.results.iter().map(|one| SteadySamples::of(&one.series, asked));
            of_each.for_each(|one| steady.add(&one));
        }
        let mixed = member.results.iter().any(|one| one.direction == Direction::Mixed);
        let elapsed_ms = account.elapsed_ns as f64 / 1e6;
        // fio adds up the times of all threads, even of those not recorded separately.
        let members = account.threads.max(1);
        account.counted_ns = account.elapsed_ns.saturating_sub(measurement.warmup_ns);
        account.counted_ns = account.counted_ns.saturating_mul(members.into());
        account.elapsed_ns = account.elapsed_ns.saturating_mul(members.into());
        Self {
            name: &measurement.name,
            group: measurement.group,
            options: &job.options,
            reporting: &job.reporting,
            iodepth: account.latency_target_depth.or(measurement.workload.iodepth).unwrap_or(0),
            members,
            started_ns: account.started_ns.or(measurement.started_ns).unwrap_or(0),
            by_direction,
            mixed: mixed || job.reporting.unified == Unified::Mixed,
            steadystate_attained: account.steadystate_attained == Some(true),
            steady,
            first_error: account.errors.first().map_or(account.error, |first| first.errno),
            // Verification mismatches are not among the errors of their I/Os.
            errors: (member.results.iter().map(|result| result.errors.unwrap_or(0)))
                .fold(account.mismatches, u64::saturating_add),
            // CPU time in ms until `finish`.
            cpu_percent: (account.cpu.user * elapsed_ms, account.cpu.system * elapsed_ms),
            account,
        }
    }

    /// Adds another member of its group; the first one's name stays.
    fn add(&mut self, other: &Self) {
        self.members += other.members;
        for direction in DIRECTIONS {
            self.by_direction.of_mut(direction).add(other.by_direction.of(direction));
        }
        // fio reports that of the last one.
        self.iodepth = other.iodepth;
        self.steadystate_attained |= other.steadystate_attained;
        self.steady.add(&other.steady);
        self.cpu_percent.0 += other.cpu_percent.0;
        self.cpu_percent.1 += other.cpu_percent.1;
        self.errors = self.errors.saturating_add(other.errors);
        if self.first_error == 0 {
            self.first_error = other.first_error;
        }
        let (mine, theirs) = (&mut self.account, &other.account);
        if mine.error == 0 && mine.failure.is_none() {
            mine.error = theirs.error;
            mine.failure.clone_from(&theirs.failure);
        }
        mine.elapsed_ns = mine.elapsed_ns.saturating_add(theirs.elapsed_ns);
        mine.counted_ns = mine.counted_ns.saturating_add(theirs.counted_ns);
        mine.add_counts(theirs);
    }

    fn finish(&mut self) {
        let elapsed_ms = self.account.elapsed_ns as f64 / 1e6;
        let percent = |ms: f64| if elapsed_ms > 0.0 { ms * 100.0 / elapsed_ms } else { 0.0 };
        self.cpu_percent = (percent(self.cpu_percent.0), percent(self.cpu_percent.1));
        if self.mixed {
            self.by_direction =
                PerDirection { read: self.all_directions(), ..PerDirection::default() };
        }
    }

    /// Sum of all directions.
    pub(super) fn all_directions(&self) -> DirectionStats {
        let mut all = DirectionStats::default();
        self.by_direction.iter().for_each(|(_, stats)| all.add(stats));
        all
    }

    /// Syncs, failed ones included.
    pub(super) fn syncs(&self) -> u64 {
        self.account.sync.count().saturating_add(self.account.sync_errors)
    }

    /// I/Os in all directions.
    pub(super) fn ios(&self) -> u64 {
        self.by_direction.iter().map(|(_, stats)| stats.ios).fold(0, u64::saturating_add)
    }

    /// True if it ran, or failed before.
    pub(super) fn did_something(&self) -> bool {
        self.ios() > 0 || self.error() != 0 || self.account.elapsed_ns > 0
    }

    /// Sum of its members' run times without their ramps, ms.
    pub(super) const fn counted_ms(&self) -> u64 {
        self.account.counted_ns / 1_000_000
    }

    /// Shares of its I/Os by class of completion latency, as in fio.
    pub(super) fn latency_shares(&self) -> LatencyShares {
        LatencyShares::of(self.by_direction.iter().map(|(_, stats)| &stats.clat), self.ios())
    }

    /// errno that ended it, or the first one it continued after.
    pub(super) fn error(&self) -> i32 {
        match self.account.errno() {
            0 if self.reporting.continue_on_error => self.first_error,
            errno => errno,
        }
    }
}

impl DirectionStats {
    fn of(
        result: &DirectionResult,
        counted_ns: u64,
        warmup_ns: u64,
        reporting: &Reporting,
    ) -> Self {
        let shown = |histogram: &Histogram, show: bool| {
            if show { histogram.clone() } else { Histogram::default() }
        };
        let (slat, clat) = match &result.split {
            Some(split) => (shown(&split.submission, reporting.slat), &split.completion),
            None => (Histogram::default(), &result.latency),
        };
        // `disable_bw_measurement` affects only the log.
        let (bandwidth, iops) = samples(&result.series, warmup_ns);
        let (clat, lat) = (shown(clat, reporting.clat), shown(&result.latency, reporting.lat));
        let by_priority = if result.by_priority.is_empty() {
            let ranked = if reporting.percentiles.lat { &lat } else { &clat };
            PriorityLatencies::of_one(reporting.priority, ranked.clone())
        } else {
            result.by_priority.clone()
        };
        Self {
            ios: result.ios.unwrap_or(0),
            bytes: result.bytes.unwrap_or(0),
            short_ios: result.short_ios.unwrap_or(0),
            runtime_ms: runtime_ms(result, counted_ns),
            slat,
            clat,
            lat,
            by_priority,
            bandwidth,
            iops,
        }
    }

    /// Adds another clone or direction that ran at the same time.
    fn add(&mut self, other: &Self) {
        self.ios = self.ios.saturating_add(other.ios);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.short_ios = self.short_ios.saturating_add(other.short_ios);
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.slat.merge(&other.slat);
        self.clat.merge(&other.clat);
        self.lat.merge(&other.lat);
        self.by_priority.merge(&other.by_priority);
        self.bandwidth.sum(&other.bandwidth);
        self.iops.sum(&other.iops);
    }

    /// Latencies by priority class, level and hint, if I/Os had several.
    pub(super) fn priorities(&self) -> Vec<([u16; 3], &Histogram)> {
        let parts = |priority: u16| [priority >> 13, priority & 7, priority >> 3 & 0x3ff];
        let all: Vec<_> = self.by_priority.iter().map(|(one, of)| (parts(one), of)).collect();
        if all.len() > 1 { all } else { Vec::new() }
    }

    /// Bytes per second, a whole number as in fio.
    pub(super) fn bytes_per_s(&self) -> u64 {
        per_s(self.bytes, self.runtime_ms)
    }

    /// I/Os per second, a whole number.
    pub(super) fn whole_iops(&self) -> u64 {
        per_s(self.ios, self.runtime_ms)
    }
}

impl GroupStats {
    fn add(&mut self, stats: &DirectionStats) {
        if stats.runtime_ms == 0 {
            return;
        }
        self.bytes = self.bytes.saturating_add(stats.bytes);
        self.runtime_ms = wider(self.runtime_ms, (stats.runtime_ms, stats.runtime_ms));
        let bytes_per_s = stats.bytes_per_s();
        self.bytes_per_s = wider(self.bytes_per_s, (bytes_per_s, bytes_per_s));
    }

    /// Adds another direction of the group, for `unified_rw_reporting=both`.
    pub(super) fn widen(&mut self, other: &Self) {
        if other.runtime_ms.1 > 0 {
            self.bytes = self.bytes.saturating_add(other.bytes);
            self.runtime_ms = wider(self.runtime_ms, other.runtime_ms);
            self.bytes_per_s = wider(self.bytes_per_s, other.bytes_per_s);
        }
    }

    /// Bandwidth of the whole group, bytes per second.
    pub(super) fn aggregate_bytes_per_s(&self) -> u64 {
        per_s(self.bytes, self.runtime_ms.1)
    }

    /// Share of a sample mean in the group's bandwidth, percent.
    pub(super) fn share_percent(&self, samples: &Samples) -> f64 {
        match self.aggregate_bytes_per_s() {
            _ if samples.count == 0 => 0.0,
            0..=1024 => 100.0,
            // fio truncates the mean here.
            all => (samples.mean.trunc() * 100.0 / (all as f64 / 1024.0)).min(100.0),
        }
    }
}

/// Smallest range that contains both; (0, 0) is empty.
fn wider(range: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    match range {
        (0, 0) => other,
        (low, high) => (low.min(other.0), high.max(other.1)),
    }
}

/// Rate per second of `amount` in `ms`, a whole number; 0 if `ms` is 0.
fn per_s(amount: u64, ms: u64) -> u64 {
    (u128::from(amount) * 1000).checked_div(ms.into()).map_or(0, |rate| rate as u64)
}

/// Run time, ms, such that I/Os over run time give the estimated rate; without a rate the counted
/// time.
fn runtime_ms(result: &DirectionResult, counted_ns: u64) -> u64 {
    let (ios, bytes) = (result.ios.unwrap_or(0), result.bytes.unwrap_or(0));
    if ios == 0 && bytes == 0 {
        return 0;
    }
    let ms = match result.iops {
        Some(iops) if iops.value > 0.0 && ios > 0 => (ios as f64 * 1e3 / iops.value).round() as u64,
        _ => counted_ns / 1_000_000,
    };
    ms.max(1)
}
