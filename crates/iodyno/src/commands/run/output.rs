//! Prints results of `run`: iodyno's summary, or fio's formats.

use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use iodyno_files::NameOrigin;
use iodyno_fio::out::{
    CpuIdleness, Report, ReportJob, Reporting, head, json, json_plus, normal, terse,
};
use iodyno_job::Job;
use iodyno_job::script::{Script, ScriptSection, WrittenOption};
use iodyno_job::syntax::{Invocation, OutputFormat, Place};
use iodyno_model::{DiskUse, Measurement, RunRecord};
use iodyno_store::Store;

use crate::commands::present::{JudgeOptions, judge, judge_and_print};
use crate::context::Context;
use crate::terminal;

use super::face::Face;

/// Destination and formats of reports.
pub(super) struct Output<'a> {
    face: Face,
    script: &'a Script,
    invocation: &'a Invocation,
    /// Empty: iodyno's summary.
    pub(super) formats: Vec<OutputFormat>,
    /// The output file has been started: further text is appended.
    begun: bool,
}

impl<'a> Output<'a> {
    pub(super) fn new(face: Face, script: &'a Script, invocation: &'a Invocation) -> Self {
        let formats = face.formats(invocation);
        Self { face, script, invocation, formats, begun: false }
    }

    /// Prints fio's header, once, before jobs run.
    pub(super) fn begin(&mut self) -> Result<()> {
        if self.face == Face::Fio && self.formats.contains(&OutputFormat::Normal) {
            let text = head(&report(&[], Vec::new(), self.script)?, &self.jobs());
            return self.put(&text);
        }
        Ok(())
    }

    /// Prints a report while jobs run.
    pub(super) fn interim(&mut self, measurements: &[Measurement]) -> Result<()> {
        let normal = [OutputFormat::Normal];
        let formats = if self.formats.is_empty() { &normal[..] } else { &self.formats };
        let text = self.text(&report(measurements, Vec::new(), self.script)?, formats);
        self.put(&text)
    }

    /// Prints the results; returns iodyno's own exit status.
    pub(super) fn finish(
        &mut self,
        context: &Context,
        store: &mut Store,
        record: &RunRecord,
        judging: &JudgeOptions<'_>,
        (disks, idleness): (Vec<DiskUse>, Option<CpuIdleness>),
    ) -> Result<u8> {
        if self.formats.is_empty() && !self.invocation.append_terse {
            if let Some(path) = &self.invocation.output {
                let (text, status) = judge(context, store, record, judging)?;
                write(path, &text)?;
                return Ok(status);
            }
            return judge_and_print(context, store, record, judging);
        }
        let (_, status) = judge(context, store, record, judging)?;
        let report = Report { idleness, ..report(&record.measurements, disks, self.script)? };
        let mut text = self.text(&report, &self.formats);
        if self.invocation.append_terse && !self.formats.contains(&OutputFormat::Terse) {
            text.push_str(&terse(&report, self.invocation.terse_version.into()));
        }
        terminal::unless_outweighed(self.put(&text), status)?;
        Ok(status)
    }

    /// Formats `report` in each of `formats`.
    fn text(&self, report: &Report<'_>, formats: &[OutputFormat]) -> String {
        let one = |format: &OutputFormat| match (format, self.face) {
            (OutputFormat::Normal, Face::Fio) => normal(report),
            (OutputFormat::Normal, Face::Iodyno) => head(report, &self.jobs()) + &normal(report),
            (OutputFormat::Json, _) => json(report),
            (OutputFormat::JsonPlus, _) => json_plus(report),
            (OutputFormat::Terse, _) => terse(report, self.invocation.terse_version.into()),
        };
        formats.iter().map(one).collect()
    }

    fn jobs(&self) -> Vec<&'a Job> {
        let jobs = self.script.phases.iter().flat_map(|phase| &phase.jobs);
        jobs.map(|job| &job.job).collect()
    }

    /// Prints or appends `text`.
    pub(super) fn put(&mut self, text: &str) -> Result<()> {
        match &self.invocation.output {
            Some(path) if std::mem::replace(&mut self.begun, true) => append(path, text),
            Some(path) => write(path, text),
            None => terminal::print(text),
        }
    }
}

/// Appends `text` to a file.
fn append(path: &str, text: &str) -> Result<()> {
    let mut file = iodyno_files::append(Path::new(path), NameOrigin::User)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {path}"))
}

fn write(path: &str, text: &str) -> Result<()> {
    crate::context::write(Path::new(path), text.as_bytes())
}

/// Report of `measurements`, during which `disks` did this.
fn report<'r>(
    measurements: &'r [Measurement],
    disks: Vec<DiskUse>,
    script: &Script,
) -> Result<Report<'r>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    let mut measurements = measurements.iter();
    let mut jobs = Vec::new();
    for phase in &script.phases {
        // Jobs without I/O have no measurement: `create_only`, clones without a file.
        let measured = phase
            .jobs
            .iter()
            .filter(|one| !one.job.files.create_only && !one.job.files.paths.is_empty());
        let mut sections: Vec<usize> = measured.map(|job| job.section).collect();
        sections.sort_unstable();
        sections.dedup();
        for section in sections {
            let job = phase.jobs.iter().find(|job| job.section == section);
            // An interrupted run has fewer measurements.
            let (Some(job), Some(measurement)) = (job, measurements.next()) else { break };
            jobs.push(ReportJob {
                measurement,
                options: script.sections.get(section).map_or(Vec::new(), written),
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
        idleness: None,
    })
}

/// fio's "job options": on the command line they include the name.
fn written(section: &ScriptSection) -> Vec<(String, String)> {
    let name =
        (section.place == Place::command_line()).then(|| ("name".to_owned(), section.name.clone()));
    name.into_iter().chain(pairs(&section.options)).collect()
}

/// Options by fio's names; a flag without a value has an empty one.
fn pairs(written: &[WrittenOption]) -> Vec<(String, String)> {
    let name = |name: &String| match iodyno_job::find(name) {
        Some(option) => option.name.to_owned(),
        None => name.clone(),
    };
    written.iter().map(|(key, text)| (name(key), text.clone().unwrap_or_default())).collect()
}
