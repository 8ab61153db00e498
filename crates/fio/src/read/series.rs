//! Turns logs into the series of measurements.

use std::path::Path;

use iodyno_model::{Direction, DirectionResult, EndReason, LatencyKind, Measurement};

use super::findings::{Imported, Problem};
use super::folder::{Log, name_from_path, open};
use super::json::source;
use super::log::{Jobs, Kind, ReportInfo, Series};
use super::match_logs::known_from;
use super::plain::plain;

impl Imported {
    /// Adds the series of its logs to `measurement`.
    pub(super) fn attach(&mut self, measurement: &mut Measurement, logs: Vec<Log>) {
        let known = known_from(measurement);
        let mixed = measurement.result(Direction::Mixed).is_some();
        let series = self.read(logs, known, mixed, measurement.workload.numjobs);
        for mut result in series.results {
            let own = measurement.total.iter_mut().find(|own| own.direction == result.direction);
            let Some(own) = own else {
                measurement.total.push(result);
                continue;
            };
            own.series = std::mem::take(&mut result.series);
            own.latency_series = std::mem::take(&mut result.latency_series);
            take_latencies(own, result);
        }
    }

    /// Adds a measurement for logs without a report.
    pub(super) fn add_logs_only(
        &mut self,
        folder: &Path,
        stem: &str,
        logs: Vec<Log>,
        known: ReportInfo,
    ) {
        let series = self.read(logs, known, false, None);
        if series.results.is_empty() {
            return;
        }
        let mut measurement = Measurement {
            source: source(""),
            duration_ns: Some(series.duration_ns),
            total: series.results,
            end: EndReason::Done,
            ..Measurement::unknown(stem)
        };
        name_from_path(&mut measurement, folder, stem);
        self.measurements.push(measurement);
    }

    fn read(
        &mut self,
        mut logs: Vec<Log>,
        known: ReportInfo,
        unified: bool,
        numjobs: Option<u32>,
    ) -> Series {
        logs.sort_by_key(|(name, _)| (name.host.clone(), name.job, name.kind.rank()));
        let mut jobs = Jobs::new(known, unified);
        let mut remarks = Remarks::default();
        let job_of = |log: &Log| (log.0.host.clone(), log.0.job);
        let mut job = logs.first().map(job_of);
        for log in &logs {
            if job != Some(job_of(log)) {
                jobs.end_job();
                job = Some(job_of(log));
            }
            let (name, path) = log;
            let title = path.display().to_string();
            let read = |input| jobs.read(name.kind, name.job.is_none(), plain(input)?);
            match open(path).and_then(read) {
                Ok(remark) => remarks.add(title, name.kind, &remark, &mut self.problems),
                Err(error) => self.problems.push(Problem::new(&title, None, error.to_string())),
            }
        }
        remarks.tell(&mut self.problems);
        let mut numbers: Vec<u32> = logs.iter().filter_map(|(name, _)| name.job).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if let (Some(numjobs), Some((_, path))) = (numjobs, logs.first())
            && !numbers.is_empty()
            && numbers.len() < numjobs as usize
        {
            let what =
                format!("only {} of {numjobs} jobs have logs: series cover these", numbers.len());
            self.problems.push(Problem::new(&path.display().to_string(), None, what));
        }
        jobs.series()
    }
}

/// Adopts the latencies of the logs where these cover all I/Os, or where the result has none. A
/// report's percentiles are more exact than a histogram log's wide bins.
fn take_latencies(own: &mut DirectionResult, logs: DirectionResult) {
    let each_io = own.ios.is_some() && own.ios == logs.ios;
    let lacks = |kind| {
        let stated = own.stated.as_ref().is_some_and(|all| !all.of(kind).percentiles.is_empty());
        own.bins(kind).is_none() && (each_io || !stated)
    };
    let [submission, completion, total] = LatencyKind::ALL.map(lacks);
    let split = logs.split.unwrap_or_default();
    if total {
        own.latency = logs.latency;
    }
    for (lacks, kind, bins) in [
        (submission, LatencyKind::Submission, split.submission),
        (completion, LatencyKind::Completion, split.completion),
    ] {
        if lacks && bins.count() > 0 {
            let own = own.split.get_or_insert_default();
            match kind {
                LatencyKind::Submission => own.submission = bins,
                _ => own.completion = bins,
            }
        }
    }
    let Some(means) = logs.stated else { return };
    for kind in LatencyKind::ALL {
        if own.mean_of(kind).is_none() && means.of(kind).mean_ns.is_some() {
            own.stated.get_or_insert_default().of_mut(kind).mean_ns = means.of(kind).mean_ns;
        }
    }
}

/// Remarks reported once for all logs of a run.
#[derive(Default)]
struct Remarks {
    empty: Vec<(Kind, String)>,
    /// True if a log has rows.
    any: bool,
    unit_assumed: Vec<String>,
}

impl Remarks {
    fn add(
        &mut self,
        title: String,
        kind: Kind,
        log: &super::log::Remarks,
        problems: &mut Vec<Problem>,
    ) {
        if let Some((line, rows)) = log.damage {
            let what = match rows {
                1 => "not a log row: skipped".to_owned(),
                2 => "not a log row: skipped, and 1 more line".to_owned(),
                _ => format!("not a log row: skipped, and {} more lines", rows - 1),
            };
            problems.push(Problem::new(&title, Some(line), what));
        }
        self.any |= !log.empty;
        if log.empty {
            self.empty.push((kind, title));
        } else if log.unit_assumed {
            self.unit_assumed.push(title);
        }
    }

    fn tell(self, problems: &mut Vec<Problem>) {
        let more = |titles: &[String]| match titles.len() {
            1 => String::new(),
            several => format!(" (and {} more logs of this run)", several - 1),
        };
        // Synchronous engines have no submission latency.
        let usual = |kind| self.any && kind == Kind::Latency(LatencyKind::Submission);
        let empty = self.empty.into_iter().filter(|(kind, _)| !usual(*kind));
        let empty: Vec<String> = empty.map(|(_, title)| title).collect();
        if let Some(first) = empty.first() {
            let what = format!("the log has no rows{}", more(&empty));
            problems.push(Problem::new(first, None, what));
        }
        if let Some(first) = self.unit_assumed.first() {
            let what = format!(
                "latencies taken for ns: fio 2 logged us, and neither a report of this run \
                 nor the log has its version{}",
                more(&self.unit_assumed)
            );
            problems.push(Problem::new(first, None, what));
        }
    }
}
