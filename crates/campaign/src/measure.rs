//! From what a generator reported to a measurement.

use iodyno_load::{ClearedJob, Counted, JobRecord, JobReport, PhaseReport, Recorder};
use iodyno_model::{
    Conditions, Direction, DirectionResult, EndReason, Estimate, Measurement, Part, RateSeries,
    Window,
};
use iodyno_stats::{MeanInterval, mean_interval, window_interval};

/// Everything that a measurement is made of besides the generator's report.
pub(crate) struct Taken<'a> {
    pub(crate) name: &'a str,
    pub(crate) phase: u32,
    pub(crate) jobs: &'a [ClearedJob<'a>],
    pub(crate) source: String,
    pub(crate) started_ns: i64,
    pub(crate) recorder: &'a Recorder,
    pub(crate) report: &'a PhaseReport,
    pub(crate) end: EndReason,
    /// Its start that is never counted, ns.
    pub(crate) ramp_ns: u64,
    /// Level of its intervals.
    pub(crate) level: f64,
    /// What is already known of its conditions.
    pub(crate) conditions: Conditions,
}

impl Taken<'_> {
    /// The measurement: warm-up cut off, estimates with their intervals.
    pub(crate) fn measurement(self) -> Measurement {
        let direction = self.jobs.first().map_or(Direction::Read, |job| job.job.rw.direction());
        let series = summed(&self.recorder.jobs);
        // One warm-up for all, since totals are what is stopped on.
        let cut = warmup_ns(&series, self.ramp_ns, self.level);
        let counted: Vec<Counted> =
            self.recorder.jobs.iter().map(|job| job.counted_from(cut)).collect();
        let total = total_of(&counted);
        let from_ns = total.start_ns;
        let results: Vec<DirectionResult> = self
            .recorder
            .jobs
            .iter()
            .zip(&counted)
            .zip(&self.report.jobs)
            .map(|((record, counted), report)| {
                result(direction, counted, &record.series, report, self.level)
            })
            .collect();
        let whole = whole_of(&self.report.jobs);
        let total = result(direction, &total, &series, &whole, self.level);
        let parts = if results.len() > 1 {
            self.jobs
                .iter()
                .zip(results)
                .map(|(job, result)| Part {
                    target: job.target.name().to_owned(),
                    results: vec![result],
                })
                .collect()
        } else {
            Vec::new()
        };
        let failures: Vec<String> = self
            .report
            .jobs
            .iter()
            .zip(self.jobs)
            .filter_map(|(report, job)| {
                report.failure.as_ref().map(|why| format!("{}: {why}", job.target.name()))
            })
            .collect();
        let end =
            if failures.is_empty() { self.end } else { EndReason::Failed(failures.join("; ")) };
        let first = self.jobs.first();
        Measurement {
            name: self.name.to_owned(),
            phase: self.phase,
            targets: self.jobs.iter().map(|job| job.target.name().to_owned()).collect(),
            workload: first
                .map(|job| job.job.workload(whole.engine.as_str().into()))
                .unwrap_or_default(),
            source: self.source,
            started_ns: self.started_ns,
            duration_ns: counted.iter().map(|counted| counted.duration_ns).max().unwrap_or(0),
            warmup_ns: from_ns,
            conditions: conditions(self.conditions, self.jobs, &whole, &total),
            total: vec![total],
            parts,
            cpu: Some(self.report.cpu),
            end,
            before: None,
            under_load: None,
            after: None,
        }
    }
}

/// The windows of all jobs added up; jobs report the same windows.
fn summed(jobs: &[JobRecord]) -> RateSeries {
    let mut sum: Vec<Window> = Vec::new();
    for job in jobs {
        for (n, window) in job.series.windows().iter().enumerate() {
            match sum.get_mut(n) {
                Some(total) => {
                    total.ios += window.ios;
                    total.bytes += window.bytes;
                    total.latency_sum_ns += window.latency_sum_ns;
                }
                None => sum.push(*window),
            }
        }
    }
    let mut series = RateSeries::default();
    sum.into_iter().for_each(|window| series.push(window));
    series
}

fn rates(windows: &[Window]) -> Vec<f64> {
    windows.iter().map(Window::iops).collect()
}

/// How much of the series is warm-up, ns: its ramp, and what is unlike the
/// rest behind that.
fn warmup_ns(series: &RateSeries, ramp_ns: u64, level: f64) -> u64 {
    let windows = series.windows();
    let windows = &windows[windows.partition_point(|window| window.start_ns < ramp_ns)..];
    mean_interval(&rates(windows), level)
        .and_then(|interval| windows.get(interval.warmup_len))
        .map_or(ramp_ns, |window| window.start_ns)
}

fn total_of(counted: &[Counted]) -> Counted {
    let mut total = Counted::default();
    for (n, part) in counted.iter().enumerate() {
        if n == 0 {
            total.start_ns = part.start_ns;
        }
        total.duration_ns = total.duration_ns.max(part.duration_ns);
        total.bytes += part.bytes;
        total.latency.merge(&part.latency);
    }
    total
}

/// What the jobs did in all, and what was in effect for the first of them.
fn whole_of(reports: &[JobReport]) -> JobReport {
    let mut whole = reports.first().cloned().unwrap_or_default();
    for report in reports.iter().skip(1) {
        whole.whole_ios += report.whole_ios;
        whole.whole_bytes += report.whole_bytes;
        whole.errors += report.errors;
        whole.threads += report.threads;
        whole.cpus.extend(&report.cpus);
        whole.iodepth = whole.iodepth.min(report.iodepth);
        whole.punted = match (whole.punted, report.punted) {
            (Some(a), Some(b)) => Some(a || b),
            (a, b) => a.or(b),
        };
        whole.first_error = whole.first_error.take().or_else(|| report.first_error.clone());
        for shortfall in &report.shortfalls {
            if !whole.shortfalls.contains(shortfall) {
                whole.shortfalls.push(shortfall.clone());
            }
        }
    }
    whole.cpus.sort_unstable();
    whole.cpus.dedup();
    whole
}

fn result(
    direction: Direction,
    counted: &Counted,
    series: &RateSeries,
    report: &JobReport,
    level: f64,
) -> DirectionResult {
    let measured: Vec<Window> = series
        .windows()
        .iter()
        .filter(|window| window.start_ns >= counted.start_ns)
        .copied()
        .collect();
    let ios = counted.latency.count();
    let seconds = counted.duration_ns as f64 / 1e9;
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    let rate_interval = window_interval(&rates(&measured), level);
    let iops = around(per_second(ios as f64), rate_interval.as_ref());
    let bytes_per_io = if ios > 0 { counted.bytes as f64 / ios as f64 } else { 0.0 };
    let latencies: Vec<f64> = measured.iter().filter_map(Window::latency_mean_ns).collect();
    let latency_interval = window_interval(&latencies, level);
    DirectionResult {
        direction,
        ios,
        bytes: counted.bytes,
        whole_ios: report.whole_ios,
        whole_bytes: report.whole_bytes,
        errors: report.errors,
        iops,
        bandwidth: iops.scaled(bytes_per_io),
        latency_mean: counted.latency.mean_ns().map(|mean| around(mean, latency_interval.as_ref())),
        latency: counted.latency.clone(),
        series: series.clone(),
        steady: rate_interval.map(|interval| interval.steady),
    }
}

/// The exact mean of the counted I/Os, with the interval that the windows' means gave.
fn around(mean: f64, interval: Option<&MeanInterval>) -> Estimate {
    match interval {
        Some(found) if found.mean > 0.0 && found.low.is_finite() && found.high.is_finite() => {
            let low = mean - (found.mean - found.low);
            let high = mean + (found.high - found.mean);
            Estimate::confident(mean, low.max(0.0), high, found.level)
        }
        _ => Estimate::bare(mean),
    }
}

fn conditions(
    known: Conditions,
    jobs: &[ClearedJob<'_>],
    whole: &JobReport,
    total: &DirectionResult,
) -> Conditions {
    let depth_reached = total.latency_mean.map(|latency| total.iops.value * latency.value / 1e9);
    let mut shortfalls = known.shortfalls;
    shortfalls.extend(whole.shortfalls.iter().cloned());
    shortfalls.extend(whole.first_error.as_ref().map(|error| {
        format!(
            "{} of {} I/Os failed, the first: {error}",
            whole.errors,
            whole.whole_ios + whole.errors
        )
    }));
    Conditions {
        engine_reason: whole.engine_reason.clone(),
        punted: whole.punted,
        registered_buffers: whole.registered_buffers,
        threads: Some(whole.threads),
        cpus: whole.cpus.clone(),
        depth_asked: Some(jobs.iter().map(|job| job.job.outstanding()).sum()),
        depth_reached,
        shortfalls,
        ..known
    }
}
