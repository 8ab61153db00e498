//! Writes fio's `write_*_log` files while jobs run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use iodyno_files::{FileError, NameOrigin};
use iodyno_fio::out::{LogColumns, LogKind, LogRow, LogWriter};
use iodyno_job::script::Script;
use iodyno_job::{BlockSize, Logs, Report};
use iodyno_load::{ClearedJob, Interval, IoRow};
use iodyno_model::{Histogram, PerDirection, SplitLatency};
use rustix::time::{ClockId, clock_gettime};

use super::agg_log::AggregateLog;

/// All kinds of logs.
const KINDS: [LogKind; 6] = [
    LogKind::Bandwidth,
    LogKind::Iops,
    LogKind::Latency,
    LogKind::Submission,
    LogKind::Completion,
    LogKind::Histogram,
];

/// The log files of a run, by the job's number among all jobs.
pub(super) struct LogFiles {
    jobs: BTreeMap<u32, JobLogs>,
    files: Files,
    /// `--bandwidth-log`.
    aggregate: Option<AggregateLog>,
}

/// The open files, each once: jobs with `per_job_logs=0` share those with the same prefix.
#[derive(Default)]
struct Files {
    writers: Vec<(PathBuf, LogWriter)>,
}

impl Files {
    /// Index of the writer for `path`, created on first use.
    fn open(&mut self, path: PathBuf, columns: LogColumns) -> Result<usize, FileError> {
        if let Some(known) = self.writers.iter().position(|(known, _)| *known == path) {
            return Ok(known);
        }
        let writer = LogWriter::create(path.clone(), columns)?;
        self.writers.push((path, writer));
        Ok(self.writers.len() - 1)
    }
}

/// Logs of one job.
struct JobLogs {
    logs: Logs,
    /// Indexes into [`Files`].
    writers: Vec<(LogKind, usize)>,
    /// Number of the job, from 1, and its name; both are part of file names.
    number: u32,
    name: String,
    /// Start of the job, ns since the phase's start.
    began_ns: Option<u64>,
    /// Origin of the logged times, ms: 0, or the start of the job with `log_unix_epoch`.
    epoch_ms: u64,
    /// Time excluded from the log (`ramp_time`), ns since the job's start.
    ramp_ns: u64,
    /// Block sizes, bytes.
    bs: PerDirection<u64>,
    /// No bandwidth rows for single I/Os, as in fio.
    disable_bw: bool,
    /// Latencies that are not measured, and so not logged.
    unmeasured: Vec<LogKind>,
    /// End of the last interval, ns since the start of the log.
    now_ns: u64,
    window: Window,
    histogram: Window,
}

/// Data collected since the last row.
#[derive(Default)]
struct Window {
    /// Start, ns since the job's start.
    start_ns: u64,
    active_ns: u64,
    /// Part of `active_ns` with submissions, ns.
    ran_ns: u64,
    directions: PerDirection<Gathered>,
}

#[derive(Default)]
struct Gathered {
    ios: u64,
    bytes: u64,
    latency: Histogram,
    split: Option<SplitLatency>,
}

impl LogFiles {
    /// Creates the logs requested by the jobs of `script`, and the one of all jobs with the prefix
    /// `aggregate`.
    pub(super) fn new(script: &Script, aggregate: Option<&str>) -> Self {
        let jobs = script.phases.iter().flat_map(|phase| &phase.jobs);
        let logs = jobs
            .filter(|job| {
                let logs = &job.job.report.logs;
                [&logs.bandwidth, &logs.iops, &logs.latency, &logs.histogram]
                    .iter()
                    .any(|log| log.is_some())
            })
            .map(|job| {
                let number = job.job.threads.number;
                let logs = JobLogs {
                    logs: job.job.report.logs.clone(),
                    writers: Vec::new(),
                    number: number + 1,
                    name: job.job.name.clone(),
                    began_ns: None,
                    epoch_ms: 0,
                    ramp_ns: job.job.time.ramp_ns,
                    bs: job.job.pattern.bs.map(BlockSize::largest),
                    disable_bw: job.job.report.disable_bw,
                    unmeasured: unmeasured(&job.job.report),
                    now_ns: 0,
                    window: Window::default(),
                    histogram: Window::default(),
                };
                (number, logs)
            });
        let aggregate = aggregate.map(AggregateLog::new);
        Self { jobs: logs.collect(), files: Files::default(), aggregate }
    }

    /// Refuses early if a log could not be created.
    pub(super) fn refuse_unwritable(&self) -> Result<(), FileError> {
        self.paths().try_for_each(|path| iodyno_files::look(&path, NameOrigin::Iodyno).map(drop))
    }

    /// Paths of all logs.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let of_jobs = self.jobs.values();
        let of_jobs = of_jobs.flat_map(|logs| KINDS.into_iter().filter_map(|kind| logs.path(kind)));
        of_jobs.chain(self.aggregate.iter().flat_map(AggregateLog::paths))
    }

    /// Records an interval.
    pub(super) fn record(
        &mut self,
        jobs: &[ClearedJob<'_>],
        interval: &Interval,
    ) -> Result<(), FileError> {
        if let Some(aggregate) = &mut self.aggregate {
            aggregate.record(interval)?;
        }
        for (cleared, did) in jobs.iter().zip(&interval.jobs) {
            let Some(logs) = self.jobs.get_mut(&cleared.job.threads.number) else { continue };
            if did.ramping || did.active_ns == 0 && did.rows.is_empty() {
                continue;
            }
            if interval.cut {
                for row in &did.rows {
                    logs.row(&mut self.files, row)?;
                }
                continue;
            }
            let end_ns = interval.start_ns + interval.duration_ns;
            if logs.began_ns.is_none() {
                logs.epoch_ms = epoch_ms(&logs.logs).saturating_sub(did.active_ns / 1_000_000);
            }
            let began_ns = *logs.began_ns.get_or_insert(end_ns - did.active_ns.min(end_ns));
            for row in &did.rows {
                logs.row(&mut self.files, row)?;
            }
            for window in [&mut logs.window, &mut logs.histogram] {
                window.active_ns += did.active_ns;
                window.ran_ns += if interval.draining { 0 } else { did.active_ns };
                for (direction, one) in did.directions.iter() {
                    let gathered = window.directions.of_mut(direction);
                    gathered.ios += one.ios;
                    gathered.bytes += one.bytes;
                    gathered.latency.merge(&one.latency);
                    if let Some(split) = &one.split {
                        let gathered = gathered.split.get_or_insert_default();
                        gathered.submission.merge(&split.submission);
                        gathered.completion.merge(&split.completion);
                    }
                }
            }
            logs.now_ns = end_ns - began_ns;
            logs.flush_windows(&mut self.files, false)?;
        }
        Ok(())
    }

    /// Finishes all files.
    pub(super) fn finish(&mut self) -> Result<(), FileError> {
        for (_, mut logs) in std::mem::take(&mut self.jobs) {
            logs.flush_windows(&mut self.files, true)?;
            // Creates files without rows as well.
            for kind in KINDS {
                logs.writer(&mut self.files, kind)?;
            }
        }
        if let Some(aggregate) = self.aggregate.take() {
            aggregate.finish()?;
        }
        for (_, writer) in std::mem::take(&mut self.files.writers) {
            writer.finish()?;
        }
        Ok(())
    }
}

impl JobLogs {
    fn kinds(&self, kind: LogKind) -> Option<&str> {
        let log = match kind {
            _ if self.unmeasured.contains(&kind) => return None,
            LogKind::Bandwidth => &self.logs.bandwidth,
            LogKind::Iops => &self.logs.iops,
            LogKind::Histogram => &self.logs.histogram,
            _ => &self.logs.latency,
        };
        log.as_ref().map(|log| log.prefix.as_deref().unwrap_or(&self.name))
    }

    /// Path of the log of this kind, if requested.
    fn path(&self, kind: LogKind) -> Option<PathBuf> {
        let number = self.logs.per_job.then_some(self.number);
        let name = kind.file_name(self.kinds(kind)?, number);
        Some(if self.is_compressed(kind) { name + ".fz" } else { name }.into())
    }

    fn is_compressed(&self, kind: LogKind) -> bool {
        self.logs.compressed && kind != LogKind::Histogram
    }

    fn write(&mut self, files: &mut Files, kind: LogKind, row: &LogRow) -> Result<(), FileError> {
        match self.writer(files, kind)? {
            Some(writer) => writer.row(row),
            None => Ok(()),
        }
    }

    /// Writer of a log, created with its first row.
    fn writer<'f>(
        &mut self,
        files: &'f mut Files,
        kind: LogKind,
    ) -> Result<Option<&'f mut LogWriter>, FileError> {
        let Some(path) = self.path(kind) else { return Ok(None) };
        let index = match self.writers.iter().find(|(known, _)| *known == kind) {
            Some((_, index)) => *index,
            None => {
                let compressed = self.is_compressed(kind);
                let columns = LogColumns { compressed, ..LogColumns::of(&self.logs) };
                let index = files.open(path, columns)?;
                self.writers.push((kind, index));
                index
            }
        };
        Ok(files.writers.get_mut(index).map(|(_, writer)| writer))
    }

    /// Writes the rows of a single I/O.
    fn row(&mut self, files: &mut Files, row: &IoRow) -> Result<(), FileError> {
        let &IoRow { ended_ns, latency_ns, split_ns, direction, offset, length, priority } = row;
        let Some(ended_ns) = ended_ns.checked_sub(self.ramp_ns) else { return Ok(()) };
        let base = LogRow {
            time_ms: self.epoch_ms + ended_ns / 1_000_000,
            value: latency_ns,
            max: latency_ns,
            direction,
            bs: length.into(),
            offset,
            priority,
            issue_time_ns: 0,
        };
        let with = |value| LogRow { value, max: value, ..base };
        // As in fio, only submission and completion latency rows have the issue time.
        let issue_time_ns = ended_ns.saturating_sub(latency_ns);
        let part = |value| LogRow { issue_time_ns, ..with(value) };
        self.write(files, LogKind::Latency, &base)?;
        let completion_ns = split_ns.map_or(latency_ns, |(_, completion_ns)| completion_ns);
        self.write(files, LogKind::Completion, &part(completion_ns))?;
        if let Some((submission_ns, _)) = split_ns {
            self.write(files, LogKind::Submission, &part(submission_ns))?;
        }
        if !self.disable_bw {
            let kib_per_s = u64::from(length) * 1_000_000_000 / latency_ns.max(1) / 1024;
            self.write(files, LogKind::Bandwidth, &with(kib_per_s))?;
        }
        self.write(files, LogKind::Iops, &with(1))
    }

    /// Writes rows for finished windows. Completions after the last submission form no window of
    /// their own, unless there is nothing else.
    fn flush_windows(&mut self, files: &mut Files, last: bool) -> Result<(), FileError> {
        let now_ns = self.now_ns;
        let is_over = |window: &Window, every_ns: u64| {
            let is_one = window.ran_ns > 0 || window.start_ns == 0;
            every_ns > 0 && (now_ns >= window.start_ns + every_ns || last && is_one)
        };
        let average_ns = self.logs.average_ms * 1_000_000;
        if is_over(&self.window, average_ns) {
            let window = std::mem::take(&mut self.window);
            // Windows start at multiples of their length: delays do not accumulate.
            self.window.start_ns = now_ns - now_ns % average_ns;
            self.averages(files, &window, now_ns)?;
        }
        let histogram_ns = self.logs.histogram_ms * 1_000_000;
        if is_over(&self.histogram, histogram_ns) {
            let window = std::mem::take(&mut self.histogram);
            self.histogram.start_ns = now_ns - now_ns % histogram_ns;
            let coarseness = self.logs.histogram_coarseness;
            let time_ms = self.epoch_ms + now_ns / 1_000_000;
            let bs = self.bs;
            if let Some(writer) = self.writer(files, LogKind::Histogram)? {
                for (direction, one) in window.directions.iter().filter(|(_, one)| one.ios > 0) {
                    let bs = *bs.of(direction);
                    writer.histogram_row(time_ms, direction, bs, &one.latency, coarseness)?;
                }
            }
        }
        Ok(())
    }

    fn averages(
        &mut self,
        files: &mut Files,
        window: &Window,
        now_ns: u64,
    ) -> Result<(), FileError> {
        let seconds = window.active_ns as f64 / 1e9;
        for (direction, one) in window.directions.iter() {
            let Gathered { ios, bytes, latency, split } = one;
            if *ios == 0 || seconds <= 0.0 {
                continue;
            }
            let time_ms = self.epoch_ms + now_ns / 1_000_000;
            let row = |value: f64, max: u64| LogRow {
                time_ms,
                value: value as u64,
                max,
                direction,
                bs: 0,
                offset: 0,
                priority: 0,
                issue_time_ns: 0,
            };
            let only_max = self.logs.max && !self.logs.mean;
            let (bandwidth, iops) = (*bytes as f64 / seconds / 1024.0, *ios as f64 / seconds);
            self.write(files, LogKind::Bandwidth, &row(bandwidth, bandwidth as u64))?;
            self.write(files, LogKind::Iops, &row(iops, iops as u64))?;
            let completion = split.as_ref().map_or(latency, |split| &split.completion);
            let submission = split.as_ref().map(|split| (LogKind::Submission, &split.submission));
            let of_all = [(LogKind::Latency, latency), (LogKind::Completion, completion)];
            for (kind, latency) in of_all.into_iter().chain(submission) {
                if let (Some(mean), Some(max)) = (latency.mean_ns(), latency.max_ns()) {
                    let value = if only_max { max as f64 } else { mean };
                    self.write(files, kind, &row(value, max))?;
                }
            }
        }
        Ok(())
    }
}

/// Latencies that `report` switches off.
fn unmeasured(report: &Report) -> Vec<LogKind> {
    let kinds = [
        (report.disable_lat, LogKind::Latency),
        (report.disable_slat, LogKind::Submission),
        (report.disable_clat, LogKind::Completion),
    ];
    let off = kinds.into_iter().filter(|(off, _)| *off || report.gtod_reduce);
    off.map(|(_, kind)| kind).collect()
}

/// Current time by the clock chosen for the log's times, ms; 0: relative to its start.
fn epoch_ms(logs: &Logs) -> u64 {
    let clock = match (logs.unix_epoch, logs.alternate_epoch) {
        (false, None) => return 0,
        (_, Some(1)) => ClockId::Monotonic,
        _ => ClockId::Realtime,
    };
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

#[cfg(test)]
#[path = "logs_tests.rs"]
mod tests;
