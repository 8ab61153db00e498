//! Exports OCP Test & Validation output: JSON lines, schema version 2.0
//! (opencomputeproject/ocp-diag-core, json_spec).
//!
//! There is a test step for each measurement, with its figures and a diagnosis for each verdict; a
//! step for each skipped item; and a last step with a diagnosis for each rule. A diagnosis is PASS,
//! FAIL or UNKNOWN: a WARN is a PASS accompanied by a log of severity WARNING, and unjudged results
//! are UNKNOWN.

mod artifact;
mod compared;

use iodyno_judge::{ExitStatus, drive_under};
use iodyno_model::{
    DirectionResult, Drive, Estimate, Finding, JudgedMeasurement, Measurement, Metric, Reason,
    RuleOutcome, Severity, Skipped, Spread, Verdict,
};
use serde_json::{Value, json};

use super::{ExportError, Exporter, NS_PER_S, Result, Results};
use crate::judged::{Judged, Subject};
use crate::percentiles;
use artifact::{
    Artifact, Diagnosis, DiagnosisType, DutInfo, HardwareInfo, Log, Output, PlatformInfo,
    RunArtifact, RunEnd, RunError, RunResult, RunStart, SoftwareInfo, Status, StepArtifact,
    StepEnd, StepStart,
};

/// JSON lines, one artifact each.
pub(super) struct Ocp;

impl Exporter for Ocp {
    fn name(&self) -> &'static str {
        "ocp"
    }

    fn help(&self) -> &'static str {
        "OCP Test & Validation JSON lines"
    }

    fn export(&self, results: Results<'_>) -> Result {
        let text = match results {
            Results::Runs([one]) => ocp(*one)?,
            Results::Runs(_) => return Err(ExportError::NoForm),
            Results::Comparison(of) => compared::ocp(of)?,
        };
        Ok(text.into_bytes())
    }
}

fn ocp(of: Judged<'_>) -> serde_json::Result<String> {
    let mut lines = Lines::default();
    let run = &of.record.run;
    let start_ns = run.started_ns;
    let end_ns = run.ended_ns.unwrap_or(start_ns);
    lines.add(start_ns, Artifact::SchemaVersion { major: 2, minor: 0 })?;
    lines.add(start_ns, Artifact::Run(RunArtifact::TestRunStart(Box::new(run_start(of)))))?;
    for (_, (measurement, judged)) in of.counting() {
        add_measurement(&mut lines, of, measurement, judged)?;
    }
    for skip in &run.skipped {
        add_skipped(&mut lines, end_ns, skip)?;
    }
    add_rules(&mut lines, of, end_ns)?;
    let (status, result) = run_result(of.exit_status(true));
    let end = RunEnd { status, result };
    lines.add(end_ns, Artifact::Run(RunArtifact::TestRunEnd(end)))?;
    Ok(lines.text)
}

fn run_result(status: ExitStatus) -> (Status, RunResult) {
    match status {
        ExitStatus::Fine => (Status::Complete, RunResult::Pass),
        ExitStatus::Failed => (Status::Complete, RunResult::Fail),
        ExitStatus::Unjudged => (Status::Complete, RunResult::NotApplicable),
        ExitStatus::Usage | ExitStatus::Interrupted => (Status::Error, RunResult::NotApplicable),
    }
}

/// Lines written so far.
#[derive(Default)]
struct Lines {
    text: String,
    sequence: u64,
    /// Number of the open step.
    step: u64,
    /// Time of the last line. Timestamps never go back: concurrent measurements are written one
    /// after another.
    latest_ns: i64,
}

impl Lines {
    fn add(&mut self, at_ns: i64, artifact: Artifact) -> serde_json::Result<()> {
        self.latest_ns = self.latest_ns.max(at_ns);
        let output = Output::new(self.sequence, self.latest_ns, artifact);
        self.sequence += 1;
        self.text.push_str(&serde_json::to_string(&output)?);
        self.text.push('\n');
        Ok(())
    }

    fn in_step(&mut self, at_ns: i64, artifact: StepArtifact) -> serde_json::Result<()> {
        let test_step_id = self.step.to_string();
        self.add(at_ns, Artifact::Step { test_step_id, artifact })
    }

    fn begin(&mut self, at_ns: i64, name: String) -> serde_json::Result<()> {
        self.in_step(at_ns, StepArtifact::TestStepStart(StepStart { name }))
    }

    fn end(&mut self, at_ns: i64, status: Status) -> serde_json::Result<()> {
        self.in_step(at_ns, StepArtifact::TestStepEnd(StepEnd { status }))?;
        self.step += 1;
        Ok(())
    }

    fn warn(&mut self, at_ns: i64, message: String) -> serde_json::Result<()> {
        self.in_step(at_ns, StepArtifact::Log(Log { severity: "WARNING", message }))
    }
}

fn run_start(of: Judged<'_>) -> RunStart {
    let run = &of.record.run;
    let host = of.record.host();
    let mut software = Vec::new();
    let mut platforms = Vec::new();
    if let Some(host) = host {
        let release = host.kernel.release.value();
        software.extend(release.map(|version| SoftwareInfo::new("kernel", version, "SYSTEM")));
        let system = host.kernel.distribution.value();
        software.extend(system.map(|version| SoftwareInfo::new("distribution", version, "SYSTEM")));
        let bios = host.system.bios_version.value();
        software.extend(bios.map(|version| SoftwareInfo::new("BIOS", version, "FIRMWARE")));
        let words = [host.system.vendor.value(), host.system.product.value()];
        let words: Vec<String> = words.into_iter().flatten().collect();
        if !words.is_empty() {
            platforms.push(PlatformInfo { info: words.join(" ") });
        }
    }
    software.push(SoftwareInfo::new("iodyno", run.writer.clone(), "APPLICATION"));
    RunStart {
        name: format!("iodyno {}", run.plan_name).trim_end().to_owned(),
        version: run.writer.clone(),
        command_line: run.command.clone(),
        parameters: json!({ "run_id": run.id, "run_name": run.name, "targets": run.targets,
            "ruleset": of.assessment.ruleset }),
        dut_info: DutInfo {
            dut_info_id: of.hostname().unwrap_or("unknown").to_owned(),
            name: of.hostname().map(str::to_owned),
            platform_infos: platforms,
            software_infos: software,
            hardware_infos: host
                .map_or(&[][..], |host| &host.drives)
                .iter()
                .map(hardware)
                .collect(),
        },
    }
}

fn hardware(drive: &Drive) -> HardwareInfo {
    HardwareInfo {
        name: drive.name.clone(),
        hardware_info_id: drive.name.clone(),
        version: drive.firmware.value(),
        location: drive.address.value(),
        serial_number: drive.serial.value(),
        part_type: "NVMe drive",
        manufacturer_part_number: drive.model.value(),
    }
}

fn add_measurement(
    lines: &mut Lines,
    of: Judged<'_>,
    measurement: &Measurement,
    judged: Option<&JudgedMeasurement>,
) -> serde_json::Result<()> {
    let start_ns = measurement.started_ns.unwrap_or(of.record.run.started_ns);
    let took_ns = measurement.duration_ns.unwrap_or(0).saturating_add(measurement.warmup_ns);
    let end_ns = start_ns.saturating_add_unsigned(took_ns);
    let drive = drive_under(of.record, measurement).map(|drive| drive.name.clone());
    lines.begin(start_ns, measurement.title().trim().to_owned())?;
    if let Some(how) = measurement.failure() {
        let error = RunError { symptom: "measurement-failed", message: how.to_owned() };
        lines.in_step(end_ns, StepArtifact::Error(error))?;
        return lines.end(end_ns, Status::Error);
    }
    let metadata = json!({
        "workload": measurement.workload.label(),
        "source": measurement.source,
        "validity": judged.map(|judged| judged.validity.label()),
    });
    for result in &measurement.total {
        for figure in figures(result, &metadata, drive.as_deref()) {
            lines.in_step(end_ns, StepArtifact::Measurement(figure))?;
        }
    }
    for Reason { rule, why, .. } in judged.map_or(&[][..], |judged| &judged.reasons) {
        lines.warn(end_ns, format!("{rule}: {why}"))?;
    }
    let metrics = judged.map_or(&[][..], |judged| &judged.metrics);
    for metric in metrics {
        let what = match metric.metric {
            Metric::Bandwidth => "bandwidth",
            Metric::Iops => "iops",
            Metric::LatencyMean => "latency",
        };
        if metric.verdict == Verdict::Warn {
            lines.warn(end_ns, format!("{what}: {}", metric.reason))?;
        }
        let diagnosis = Diagnosis {
            verdict: format!("{what}-{}", metric.verdict.label().to_lowercase()),
            kind: diagnosis_type(metric.verdict),
            message: Some(metric.reason.to_string()),
            hardware_info_id: drive.clone(),
        };
        lines.in_step(end_ns, StepArtifact::Diagnosis(diagnosis))?;
    }
    lines.end(end_ns, Status::Complete)
}

const fn diagnosis_type(verdict: Verdict) -> DiagnosisType {
    match verdict {
        Verdict::Pass | Verdict::Warn => DiagnosisType::Pass,
        Verdict::Unjudged => DiagnosisType::Unknown,
        Verdict::Fail => DiagnosisType::Fail,
    }
}

/// Returns the figures of one direction.
fn figures(
    result: &DirectionResult,
    metadata: &Value,
    drive: Option<&str>,
) -> Vec<artifact::Measurement> {
    let mut all: Vec<(String, &'static str, Estimate)> = Vec::new();
    let direction = result.direction.name();
    let mut push = |what: &str, unit, estimate: Option<Estimate>| {
        let finite = estimate.and_then(Estimate::finite);
        all.extend(finite.map(|estimate| (format!("{direction} {what}"), unit, estimate)));
    };
    let seconds = |of: Estimate| of.scaled(1.0 / NS_PER_S);
    push("IOPS", "1/s", result.iops);
    push("bandwidth", "B/s", result.bandwidth);
    push("errors", "1", result.errors.map(|errors| Estimate::bare(errors as f64)));
    if let Some((kind, mean)) = result.mean_latency() {
        push(&format!("{} latency mean", kind.name()), "s", Some(seconds(mean)));
        push(&format!("{} latency max", kind.name()), "s", result.max_of(kind).map(seconds));
    }
    for percent in [50.0, 90.0, 99.0, 99.9] {
        if let Some((kind, ns)) = percentiles::known(result, percent) {
            let name = format!("{} latency {percent} %", kind.name());
            push(&name, "s", Some(seconds(Estimate::bare(ns))));
        }
    }
    let measurement = |(name, unit, estimate): (String, &'static str, Estimate)| {
        let mut metadata = metadata.clone();
        if let Some((low, high)) = estimate.known_bounds() {
            let kind = match estimate.spread {
                Spread::Confidence { level, .. } => format!("confidence {level}"),
                Spread::Rounding { .. } | Spread::Unknown => "rounding".into(),
            };
            metadata["interval"] = json!({ "low": low, "high": high, "kind": kind });
        }
        artifact::Measurement {
            name,
            value: estimate.value,
            unit,
            hardware_info_id: drive.map(str::to_owned),
            metadata,
        }
    };
    all.into_iter().map(measurement).collect()
}

fn add_skipped(lines: &mut Lines, at_ns: i64, skip: &Skipped) -> serde_json::Result<()> {
    let step = skip.step.as_deref().unwrap_or("measurements");
    lines.begin(at_ns, format!("{step} {}", skip.target))?;
    let message = format!("{}; {}", skip.why, skip.next);
    lines.in_step(at_ns, StepArtifact::Log(Log { severity: "INFO", message }))?;
    lines.end(at_ns, Status::Skip)
}

fn add_rules(lines: &mut Lines, of: Judged<'_>, at_ns: i64) -> serde_json::Result<()> {
    lines.begin(at_ns, "rules".into())?;
    let mut drives = of.subjects();
    drives.retain(|subject| subject.drive.is_some());
    for rule in &of.assessment.rules {
        let found = of.assessment.findings.iter().filter(|finding| finding.rule == rule.rule);
        for finding in found {
            add_finding(lines, &drives, at_ns, finding)?;
        }
        let mut diagnose = |word: &str, kind, message: Option<String>| {
            let diagnosis = Diagnosis {
                verdict: format!("{}-{word}", rule.rule),
                kind,
                message,
                hardware_info_id: None,
            };
            lines.in_step(at_ns, StepArtifact::Diagnosis(diagnosis))
        };
        match &rule.outcome {
            RuleOutcome::Clear => diagnose("clear", DiagnosisType::Pass, None)?,
            RuleOutcome::CannotTell(missing) => {
                diagnose("cannot-tell", DiagnosisType::Unknown, Some(missing.clone()))?;
            }
            RuleOutcome::Findings(_) | RuleOutcome::NotApplicable => {}
        }
        for (subject, missing) in &rule.cannot_tell {
            let message = format!("{subject}: {missing}");
            diagnose("cannot-tell", DiagnosisType::Unknown, Some(message))?;
        }
    }
    lines.end(at_ns, Status::Complete)
}

fn add_finding(
    lines: &mut Lines,
    drives: &[Subject<'_>],
    at_ns: i64,
    finding: &Finding,
) -> serde_json::Result<()> {
    let evidence: Vec<String> =
        finding.evidence.iter().map(|one| format!("{}: {}", one.what, one.value)).collect();
    let words =
        [finding.what.clone(), evidence.join(", "), finding.why.clone(), finding.next.clone()];
    let message = words.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" — ");
    let (word, kind) = match finding.severity {
        Severity::Info => ("info", DiagnosisType::Pass),
        Severity::Warn => ("warn", DiagnosisType::Pass),
        Severity::Fail => ("fail", DiagnosisType::Fail),
    };
    if finding.severity == Severity::Warn {
        lines.warn(at_ns, format!("{}: {}", finding.rule, finding.what))?;
    }
    let drive = drives.iter().find(|drive| drive.is_among(&finding.subjects));
    let diagnosis = Diagnosis {
        verdict: format!("{}-{word}", finding.rule),
        kind,
        message: Some(message),
        hardware_info_id: drive.map(|subject| subject.name.to_owned()),
    };
    lines.in_step(at_ns, StepArtifact::Diagnosis(diagnosis))
}
