//! Parses fio's JSON and JSON+: a report's jobs as measurements.

use std::collections::BTreeMap;

use iodyno_model::{
    CpuUse, Direction, DirectionResult, DiskUse, EndReason, ErrorCount, Estimate, Failure,
    JobStats, LatencyKind, Measurement, RateSamples, SampledRates, SplitLatency, Spread,
    StatedLatencies, errno_text,
};
use serde::de::{DeserializeSeed, Deserializer};
use serde_json::Value;

use crate::read::document::Document;
use crate::read::latency::{binned, stated};
use crate::read::limited::{Elements, JOBS, LimitedObject};
use crate::read::members::{MOST, counts, float, integer, latency_ranges, options, text};
use crate::read::rate::per_runtime;
use crate::read::workload::{is_group_reporting, split_names, with_defaults, workload};

const MS_NS: u64 = 1_000_000;
/// Largest number of jobs in fio (fio.h, REAL_MAX_JOBS).
const MOST_THREADS: f64 = 4096.0;

/// Document with the members `head`; its jobs are read from `json`, one after the other.
///
/// # Errors
/// Name of a missing member that every document has.
pub(super) fn document<'de>(
    head: &LimitedObject,
    json: impl Deserializer<'de>,
    most: usize,
) -> Result<Document, &'static str> {
    let run = DocumentHead::of(&head.kept).ok_or("fio version")?;
    let list = JOBS.into_iter().find(|jobs| head.lists.contains(jobs)).ok_or("jobs")?;
    let (mut jobs, mut left_out) = (Vec::new(), 0);
    let take = |job: Value| match jobs.len() < most {
        true => jobs.push(ParsedJob {
            measurement: run.measurement(&job, true),
            elapsed_s: integer(&job, "elapsed"),
            // Since 3.4 the run times show how many clones a job holds.
            as_clone: match job.get("job_runtime") {
                None => run.measurement(&job, false).account.map(Box::new),
                Some(_) => None,
            },
        }),
        false => left_out += 1,
    };
    Elements(list, take).deserialize(json).map_err(|_| "jobs")?;
    drop_sum(&mut jobs, |job| &job.measurement.name);
    use_clone_stats(&mut jobs);

    let elapsed_s = jobs.iter().filter_map(|job| job.elapsed_s).max();
    let disks = head.kept.get("disk_util").and_then(Value::as_array).into_iter().flatten();
    let disks: Vec<DiskUse> = disks.map(|one| disk(one, elapsed_s)).collect();
    let measurement = |job: ParsedJob| Measurement { disks: disks.clone(), ..job.measurement };
    Ok(Document {
        written_ns: run.written_ns,
        measurements: jobs.into_iter().map(measurement).collect(),
        disks,
        elapsed_s,
        left_out,
        version: run.version,
        global_options: run.global_options,
    })
}

struct ParsedJob {
    /// Read as the sum of all clones of the job.
    measurement: Measurement,
    elapsed_s: Option<u64>,
    /// Statistics if it is a single clone.
    as_clone: Option<Box<JobStats>>,
}

/// Clones reported separately have one thread each.
fn use_clone_stats(jobs: &mut [ParsedJob]) {
    let mut times = BTreeMap::<(String, u32), usize>::new();
    let key = |of: &Measurement| (of.name.clone(), of.group);
    jobs.iter().for_each(|job| *times.entry(key(&job.measurement)).or_default() += 1);
    for ParsedJob { measurement, as_clone, .. } in jobs {
        if times.get(&key(measurement)).is_some_and(|times| *times > 1)
            && let Some(account) = as_clone.take()
        {
            measurement.cpu = measurement.cpu.and(Some(account.cpu));
            measurement.account = Some(*account);
        }
    }
}

/// Removes the sum of all servers at the end of a client's report, unless it is the only entry.
pub(super) fn drop_sum<T>(jobs: &mut Vec<T>, name: impl Fn(&T) -> &str) {
    let is_sum = |job: &T| name(job) == "All clients";
    if !jobs.iter().all(is_sum) {
        jobs.retain(|job| !is_sum(job));
    }
}

/// Properties common to all jobs of a document.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentHead {
    /// fio's version as written: `fio-3.33`; empty if unknown.
    version: String,
    /// Written by iodyno in fio's format.
    ours: bool,
    global_options: Vec<(String, String)>,
    written_ns: Option<i64>,
}

impl DocumentHead {
    /// Reads the properties common to all jobs from the document `value`.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let written_ms = integer(value, "timestamp_ms")
            .or_else(|| integer(value, "timestamp")?.checked_mul(1000));
        Some(Self {
            version: text(value, "fio version")?,
            ours: value.get("iodyno").is_some(),
            global_options: options(value, "global options"),
            written_ns: written_ms.and_then(|ms| i64::try_from(ms).ok()?.checked_mul(1_000_000)),
        })
    }

    /// Converts a job; `is_alone`: its name is unique in the report, so it holds all of its clones.
    pub(super) fn measurement(&self, job: &Value, is_alone: bool) -> Measurement {
        let mut asked: BTreeMap<String, String> = self.global_options.iter().cloned().collect();
        asked.extend(options(job, "job options"));
        let names = ["read", "write", "trim", "mixed"];
        let sides = || names.into_iter().filter_map(|name| Some((name, job.get(name)?)));
        let mut total: Vec<DirectionResult> =
            sides().filter_map(|(name, side)| self.direction(name, side)).collect();
        // With unified_rw_reporting=both the directions are listed in addition to their sum.
        if total.iter().any(|one| one.direction != Direction::Mixed) {
            total.retain(|one| one.direction != Direction::Mixed);
        }
        total.shrink_to_fit();
        // fio counts errors only with continue_on_error, and not per direction.
        let none = integer(job, "error") == Some(0);
        let failed = integer(job, "total_err").or(none.then_some(0));
        if total.len() == 1 || failed == Some(0) {
            total.iter_mut().for_each(|one| one.errors = failed);
        }
        let runtimes = sides().filter_map(|(_, side)| integer(side, "runtime"));
        let counted_ns = runtimes.max().filter(|ms| *ms > 0).map(|ms| ms.saturating_mul(MS_NS));
        let started_ns = self.started_ns(job, counted_ns.unwrap_or(0));
        let (elapsed_ns, threads) = wall_time(job, counted_ns.unwrap_or(0), &asked, is_alone);
        let cpu = cpu(job, threads);
        let account = JobStats {
            started_ns,
            elapsed_ns,
            counted_ns: counted_ns.unwrap_or(0),
            threads: if threads > 1.0 { threads as u32 } else { 0 },
            cpu: cpu.unwrap_or_default(),
            ..account(job, &total, asked.get("ioengine").map(String::as_str))
        };
        let end = match &account.failure {
            Some(failure) => EndReason::Failed(Failure::of(account.error, failure)),
            None if asked.contains_key("runtime") => EndReason::Time,
            None => EndReason::Done,
        };
        let targets = targets(job, &asked);
        let mut workload = workload(asked);
        // Without latency_target this is the effective depth, set by the user or not.
        let searched = integer(job, "latency_target").is_some_and(|target| target > 0);
        let depth = integer(job, "latency_depth").and_then(|depth| u32::try_from(depth).ok());
        workload.iodepth = workload.iodepth.or(depth.filter(|_| !searched));
        if job.get("job options").is_some() && !self.ours {
            with_defaults(&mut workload);
        }
        let group = integer(job, "groupid").and_then(|group| u32::try_from(group).ok());
        Measurement {
            // fio starts a new group at each stonewall, and at new_group, which is rare.
            phase: group.unwrap_or(0),
            group: group.unwrap_or(0),
            targets,
            workload,
            source: source(&self.version),
            started_ns,
            duration_ns: counted_ns,
            total,
            cpu,
            account: Some(account),
            end,
            ..Measurement::unknown(text(job, "jobname").unwrap_or_default())
        }
    }

    fn direction(&self, name: &str, value: &Value) -> Option<DirectionResult> {
        let direction = match name {
            "read" => Direction::Read,
            "write" => Direction::Write,
            "trim" => Direction::Trim,
            _ => Direction::Mixed,
        };
        let ios = integer(value, "total_ios");
        let bytes = integer(value, "io_bytes");
        let bytes =
            bytes.map(|bytes| if self.in_kib(value) { bytes.saturating_mul(1024) } else { bytes });
        if ios.unwrap_or(0) == 0 && bytes.unwrap_or(0) == 0 {
            return None;
        }
        let runtime_ms = integer(value, "runtime").unwrap_or(0);
        // Count over run time, unless the report states another value.
        let rate = |amount: Option<u64>, printed: Option<f64>, unit: f64| {
            let exact = amount.and_then(|amount| per_runtime(amount, runtime_ms));
            let printed = printed.filter(|printed| *printed > 0.0).map(|printed| printed * unit);
            match (exact, printed) {
                (Some(exact), Some(printed)) if (printed - exact.value).abs() >= unit => {
                    Some(Estimate::bare(printed))
                }
                (Some(exact), _) => Some(exact),
                // Only whole units are printed where there is no count.
                (None, printed) => printed.map(|low| Estimate {
                    value: low,
                    spread: Spread::Rounding { low, high: low + unit },
                }),
            }
        };
        let bandwidth = match float(value, "bw_bytes") {
            Some(printed) => rate(bytes, Some(printed), 1.0),
            // fio up to 3.1 prints only whole KiB/s.
            None => rate(bytes, float(value, "bw"), 1024.0),
        };
        let mut latencies = StatedLatencies::default();
        for kind in LatencyKind::ALL {
            if kind != LatencyKind::Completion || !self.repeats_total(value) {
                *latencies.of_mut(kind) = stated(value, kind.fio_name());
            }
        }
        Some(DirectionResult {
            ios,
            bytes,
            // As far as known: the report does not include I/O during ramp_time.
            whole_ios: ios,
            whole_bytes: bytes,
            short_ios: integer(value, "short_ios"),
            iops: rate(ios, float(value, "iops"), 1.0),
            bandwidth,
            latency_mean: latencies.total.mean_ns,
            latency: binned(value, "lat").unwrap_or_default(),
            split: self.split(value),
            stated: (latencies != StatedLatencies::default()).then(|| Box::new(latencies)),
            sampled: sampled(value),
            ..DirectionResult::unknown(direction)
        })
    }

    /// `io_bytes` is in KiB up to fio 2.20; `io_kbytes` came with the change.
    fn in_kib(&self, direction: &Value) -> bool {
        let old = match version_of(&self.version) {
            Some(version) => version < (2, 21),
            None => direction.get("clat").is_some(),
        };
        old && direction.get("io_kbytes").is_none()
    }

    /// Histograms of slat and clat.
    fn split(&self, value: &Value) -> Option<SplitLatency> {
        let (submission, completion) = match self.repeats_total(value) {
            true => (None, None),
            false => (binned(value, "slat"), binned(value, "clat")),
        };
        let any = submission.is_some() || completion.is_some();
        any.then(|| SplitLatency {
            submission: submission.unwrap_or_default(),
            completion: completion.unwrap_or_default(),
        })
    }

    /// In iodyno's own documents clat repeats lat unless each I/O was timed.
    fn repeats_total(&self, direction: &Value) -> bool {
        self.ours && stated(direction, "slat").is_empty()
    }

    fn started_ns(&self, job: &Value, counted_ns: u64) -> Option<i64> {
        match integer(job, "job_start").and_then(|ms| i64::try_from(ms).ok()) {
            Some(ms) => Some(ms.saturating_mul(1_000_000)),
            // Not the exact start, but close enough to order runs.
            None => Some(self.written_ns?.saturating_sub_unsigned(counted_ns)),
        }
    }
}

/// fio's rate samples of a direction, if any; bandwidths are in KiB/s.
fn sampled(value: &Value) -> Option<Box<SampledRates>> {
    let samples = |names: [&str; 5], unit: f64| {
        let number = |name: &str| Some(Estimate::bare(float(value, name)? * unit));
        let [min, max, mean, stdev, count] = names;
        let of = RateSamples {
            min: number(min),
            max: number(max),
            mean: number(mean),
            stdev: number(stdev),
            count: integer(value, count),
        };
        let any = of.count.map_or(of.max.is_some_and(|max| max.value > 0.0), |count| count > 0);
        if any { of } else { RateSamples::default() }
    };
    let names = ["bw_min", "bw_max", "bw_mean", "bw_dev", "bw_samples"];
    let bandwidth = samples(names, 1024.0);
    let names = ["iops_min", "iops_max", "iops_mean", "iops_stddev", "iops_samples"];
    let sampled = SampledRates { bandwidth, iops: samples(names, 1.0) };
    (sampled != SampledRates::default()).then(|| Box::new(sampled))
}

/// fio's version as a source: `fio 3.33`, `fio` if unknown.
pub(super) fn source(version: &str) -> String {
    format!("fio {}", version.trim_start_matches("fio-")).trim_end().to_owned()
}

/// Major and minor version of `fio-3.33`, `2.0.8`, `fio-3.36-19-ge7e53`.
pub(super) fn version_of(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches("fio-").split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Targets from `filename`, with the host's name in client mode: `host:/dev/nvme0n1`.
fn targets(job: &Value, asked: &BTreeMap<String, String>) -> Vec<String> {
    let names = asked.get("filename").map_or_else(Vec::new, |names| split_names(names));
    match text(job, "hostname") {
        Some(host) if names.is_empty() => vec![host],
        Some(host) => names.iter().map(|name| format!("{host}:{name}")).collect(),
        None => names,
    }
}

/// Run time of a job, ns, and its number of threads: since 3.4 fio adds up the run times of all
/// threads that it reports as one, and not all versions list `group_reporting`.
fn wall_time(
    job: &Value,
    counted_ns: u64,
    asked: &BTreeMap<String, String>,
    is_alone: bool,
) -> (u64, f64) {
    let numjobs = asked.get("numjobs").and_then(|jobs| jobs.parse::<u32>().ok());
    let clones = f64::from(numjobs.unwrap_or(1).max(1));
    let Some(all_ms) = integer(job, "job_runtime") else {
        return (counted_ns, if is_alone || is_group_reporting(asked) { clones } else { 1.0 });
    };
    let all_ns = all_ms.saturating_mul(MS_NS);
    // Whole seconds of the run, rounded up.
    let is_longer = integer(job, "elapsed").is_some_and(|run_s| all_ms / 1000 > run_s);
    let threads = match clones > 1.0 || is_longer || is_group_reporting(asked) {
        true => (all_ns as f64 / counted_ns.max(1) as f64).round().clamp(1.0, MOST_THREADS),
        false => 1.0,
    };
    ((all_ns as f64 / threads).ceil() as u64, threads)
}

/// CPU time of all threads, of which fio prints the mean; `None` if absent.
fn cpu(job: &Value, threads: f64) -> Option<CpuUse> {
    let share = |name: &str| Some(float(job, name)? / 100.0);
    let (user, system) = (share("usr_cpu")?, share("sys_cpu")?);
    Some(CpuUse {
        user: user * threads,
        system: system * threads,
        busiest_thread: user + system,
        waited: None,
    })
}

fn account(job: &Value, total: &[DirectionResult], engine: Option<&str>) -> JobStats {
    let errno = integer(job, "error").and_then(|errno| i32::try_from(errno).ok()).unwrap_or(0);
    let count = |name: &str| integer(job, name).unwrap_or(0).min(MOST);
    let failed = integer(job, "total_err").unwrap_or(0);
    let direction = match total {
        [only] => only.direction,
        _ => Direction::Mixed,
    };
    let first = integer(job, "first_error").and_then(|errno| i32::try_from(errno).ok());
    let errors = (failed > 0).then(|| ErrorCount {
        errno: first.unwrap_or(0),
        direction,
        count: failed,
        offsets: Vec::new(),
    });
    let ios = total.iter().filter_map(|one| one.ios).fold(0, u64::saturating_add);
    JobStats {
        error: errno,
        failure: (errno != 0).then(|| errno_text(errno, engine)),
        errors: errors.into_iter().collect(),
        switches: count("ctx"),
        major_faults: count("majf"),
        minor_faults: count("minf"),
        depth_levels: counts(job, "iodepth_level", ios),
        sync: job.get("sync").and_then(|sync| binned(sync, "lat")).unwrap_or_default(),
        latency_ranges: latency_ranges(job),
        ..JobStats::default()
    }
}

fn disk(value: &Value, elapsed_s: Option<u64>) -> DiskUse {
    let number = |name: &str| integer(value, name).unwrap_or(0);
    // fio states neither elapsed nor busy time, but their ratio.
    let elapsed_ns = elapsed_s.unwrap_or(0).saturating_mul(1000 * MS_NS);
    let util = float(value, "util").unwrap_or(0.0);
    DiskUse {
        name: text(value, "name").unwrap_or_default(),
        read_ios: number("read_ios"),
        write_ios: number("write_ios"),
        read_sectors: number("read_sectors"),
        write_sectors: number("write_sectors"),
        read_merges: number("read_merges"),
        write_merges: number("write_merges"),
        read_ticks_ms: number("read_ticks"),
        write_ticks_ms: number("write_ticks"),
        in_queue_ms: number("in_queue"),
        busy_ns: (util / 100.0 * elapsed_ns as f64).round() as u64,
        elapsed_ns,
        members: Vec::new(),
    }
}
