//! What `run` prints: our summary, or fio's shapes.

use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use iodyno_files::NamedBy;
use iodyno_fio::out::{Report, ReportJob, Reporting, head, json, json_plus, normal, terse};
use iodyno_job::Job;
use iodyno_job::script::{Script, Written};
use iodyno_job::syntax::{Invocation, OutputFormat};
use iodyno_judge::ClaimBook;
use iodyno_model::{DiskUse, Host, Measurement, RunRecord};
use iodyno_store::Store;

use crate::arguments::Table;
use crate::commands::show::{Judging, Shape, judge, judge_and_print};
use crate::context::Context;
use crate::terminal;

/// What a run is judged by, and how tables look.
pub(super) struct Judged<'a> {
    pub(super) claims: &'a ClaimBook,
    pub(super) table: &'a Table,
}

/// Prints what came of the run; the exit status.
pub(super) fn print(
    context: &Context,
    store: &mut Store,
    record: &RunRecord,
    script: &Script,
    invocation: &Invocation,
    judged: &Judged<'_>,
) -> Result<u8> {
    let judging = Judging {
        claims: judged.claims,
        baseline: None,
        expect: None,
        // Jobs ask for I/O, not for a judgement.
        accept_unjudged: true,
        table: judged.table,
        shape: Shape::Jobs,
    };
    if invocation.output_formats.is_empty() && !invocation.append_terse {
        if let Some(path) = &invocation.output {
            let (text, status) = judge(context, store, record, &judging)?;
            write(path, &text)?;
            return Ok(status);
        }
        return judge_and_print(context, store, record, &judging);
    }
    let (_, status) = judge(context, store, record, &judging)?;
    let report = report(&record.measurements, &record.snapshots, script)?;
    let mut text = text(&report, script, &invocation.output_formats, invocation);
    if invocation.append_terse {
        text.push_str(&terse(&report, invocation.terse_version.into()));
    }
    match &invocation.output {
        // Behind what was printed on the way.
        Some(path) if invocation.status_interval_ns.is_some() => append(path, &text)?,
        Some(path) => write(path, &text)?,
        None => terminal::print(&text)?,
    }
    Ok(status)
}

/// `report` in each of `formats`.
pub(super) fn text(
    report: &Report<'_>,
    script: &Script,
    formats: &[OutputFormat],
    invocation: &Invocation,
) -> String {
    let jobs = script.phases.iter().flat_map(|phase| &phase.jobs);
    let jobs: Vec<&Job> = jobs.map(|job| &job.job).collect();
    let one = |format: &OutputFormat| match format {
        OutputFormat::Normal => head(report, &jobs) + &normal(report),
        OutputFormat::Json => json(report),
        OutputFormat::JsonPlus => json_plus(report),
        OutputFormat::Terse => terse(report, invocation.terse_version.into()),
    };
    formats.iter().map(one).collect()
}

/// Writes `text` behind what is in a file.
pub(super) fn append(path: &str, text: &str) -> Result<()> {
    let mut file = iodyno_files::append(Path::new(path), NamedBy::User)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {path}"))
}

pub(super) fn write(path: &str, text: &str) -> Result<()> {
    crate::context::write(Path::new(path), text.as_bytes())
}

/// The report of `measurements` and of what the disks did between the first
/// and the last of `snapshots`.
pub(super) fn report<'r>(
    measurements: &'r [Measurement],
    snapshots: &[Host],
    script: &Script,
) -> Result<Report<'r>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    let disks = disks(measurements, snapshots);
    let mut measurements = measurements.iter();
    let mut jobs = Vec::new();
    for phase in &script.phases {
        let mut sections: Vec<usize> = phase.jobs.iter().map(|job| job.section).collect();
        sections.sort_unstable();
        sections.dedup();
        for section in sections {
            let job = phase.jobs.iter().find(|job| job.section == section);
            // A run that was interrupted has fewer.
            let (Some(job), Some(measurement)) = (job, measurements.next()) else { break };
            jobs.push(ReportJob {
                measurement,
                options: script.sections.get(section).map_or(Vec::new(), |s| pairs(&s.options)),
                reporting: Reporting::of(&job.job),
            });
        }
    }
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        written_ns: now.as_nanos() as i64,
        pid: std::process::id(),
        global_options: pairs(&script.global),
        jobs,
        disks,
    })
}

/// By fio's names. Of an option without a value fio's documents say nothing.
fn pairs(written: &[Written]) -> Vec<(String, String)> {
    let name = |name: &String| match iodyno_job::find(name) {
        Some(option) => option.name.to_owned(),
        None => name.clone(),
    };
    written.iter().filter_map(|(key, text)| Some((name(key), text.clone()?))).collect()
}

/// What the devices under the targets did from the first snapshot to the last.
fn disks(measurements: &[Measurement], snapshots: &[Host]) -> Vec<DiskUse> {
    let (Some(first), Some(last)) = (snapshots.first(), snapshots.last()) else {
        return Vec::new();
    };
    let mut names: Vec<&str> = measurements.iter().flat_map(devices).collect();
    names.sort_unstable();
    names.dedup();
    let elapsed_ns = last.taken_ns.saturating_sub(first.taken_ns).max(0) as u64;
    let stats = |host: &'_ iodyno_model::Host, name: &str| {
        host.disk_stats.iter().find(|stats| stats.name == name).cloned()
    };
    names
        .into_iter()
        .filter_map(|name| {
            let (before, after) = (stats(first, name)?, stats(last, name)?);
            Some(DiskUse::between(&before, &after, elapsed_ns))
        })
        .collect()
}

fn devices(measurement: &Measurement) -> impl Iterator<Item = &str> {
    let device = measurement.conditions.device.as_deref();
    device.into_iter().chain(measurement.targets.iter().map(String::as_str))
}
