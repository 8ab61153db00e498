//! Exports OpenMetrics, for the textfile collector of node_exporter.
//!
//! All metrics are gauges in base units (seconds, bytes), without timestamps. The same text is
//! therefore valid OpenMetrics 1.0 and valid Prometheus text format 0.0.4, which is what the
//! textfile collector reads (it treats `# EOF` as a comment). Figures of an INVALID measurement are
//! left out, because a graph has no footnotes; `iodyno_measurement_validity` gives the reason for
//! the gap.

mod compared;
mod fleet;
mod live;

use std::collections::HashSet;
use std::fmt::Write as _;

use iodyno_judge::drive_under;
use iodyno_model::{DirectionResult, Drive, Estimate, LatencyKind, Measurement, Validity, Verdict};

use super::columns::joined;
use super::{ExportError, Exporter, NS_PER_S, Result, Results};
use crate::judged::Judged;
use crate::percentiles;
use crate::text::severity_label;

pub use fleet::fleet_openmetrics;
pub use live::{LiveCounts, LiveMetrics};

const VERDICTS: [Verdict; 4] = [Verdict::Pass, Verdict::Unjudged, Verdict::Warn, Verdict::Fail];
const VALIDITIES: [Validity; 3] = [Validity::Valid, Validity::Qualified, Validity::Invalid];
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Label names and values, in order.
type Labels = Vec<(&'static str, String)>;

/// Metric family with its samples.
struct Family {
    name: &'static str,
    /// Unit suffix of the name; empty: none.
    unit: &'static str,
    help: &'static str,
    /// `gauge`, except for live counters and histograms.
    kind: &'static str,
    /// Suffix of the name, labels, value.
    samples: Vec<(&'static str, Labels, f64)>,
}

/// OpenMetrics gauges.
pub(super) struct OpenMetrics;

impl Exporter for OpenMetrics {
    fn name(&self) -> &'static str {
        "openmetrics"
    }

    fn help(&self) -> &'static str {
        "Gauges for node_exporter's textfile collector"
    }

    fn export(&self, results: Results<'_>) -> Result {
        let text = match results {
            Results::Runs([one]) => openmetrics(*one),
            Results::Runs(_) => return Err(ExportError::NoForm),
            Results::Comparison(of) => compared::openmetrics(of),
        };
        Ok(text.into_bytes())
    }
}

/// Returns the run as gauges.
fn openmetrics(of: Judged<'_>) -> String {
    let mut families = run_families(of);
    families.extend(subject_families(of));
    families.extend(measurement_families(of));
    rendered(&families)
}

fn rendered(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        family.write(&mut out);
    }
    out.push_str("# EOF\n");
    out
}

impl Family {
    fn new(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Self { name, unit, help, kind: "gauge", samples: Vec::new() }
    }

    fn push(&mut self, labels: Labels, value: f64) {
        self.push_as("", labels, value);
    }

    fn push_as(&mut self, suffix: &'static str, labels: Labels, value: f64) {
        if value.is_finite() {
            self.samples.push((suffix, labels, value));
        }
    }

    fn write(&self, out: &mut String) {
        let name = self.name;
        // Writing to a String cannot fail.
        let _ = writeln!(out, "# HELP {name} {}", self.help);
        let _ = writeln!(out, "# TYPE {name} {}", self.kind);
        if !self.unit.is_empty() {
            let _ = writeln!(out, "# UNIT {name} {}", self.unit);
        }
        for (suffix, labels, value) in &self.samples {
            let labels: Vec<String> = labels
                .iter()
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            let braces =
                if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(out, "{name}{suffix}{braces} {value}");
        }
    }
}

/// Escapes backslash, quote and line break in a label value; removes other control characters.
fn escaped(value: &str) -> String {
    let mut out = String::new();
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Adds one sample for each possible state, 1 for the current one and 0 for the others.
fn push_states(family: &mut Family, labels: &Labels, name: &'static str, all: &[(&str, bool)]) {
    for (state, holds) in all {
        let mut labels = labels.clone();
        labels.push((name, (*state).to_owned()));
        family.push(labels, f64::from(u8::from(*holds)));
    }
}

fn verdict_states(verdict: Verdict) -> [(&'static str, bool); 4] {
    VERDICTS.map(|one| (one.label(), one == verdict))
}

fn run_families(of: Judged<'_>) -> Vec<Family> {
    let run = &of.record.run;
    let mut info = Family::new("iodyno_run_info", "", "Run of the other metrics.");
    let labels = vec![
        ("run_id", run.id.clone()),
        ("run", run.name.clone()),
        ("plan", run.plan_name.clone()),
        ("version", run.writer.clone()),
        ("ruleset", of.assessment.ruleset.clone()),
    ];
    info.push(labels, 1.0);
    let mut started = Family::new(
        "iodyno_run_start_time_seconds",
        "seconds",
        "Start of the run, since 1970 UTC.",
    );
    started.push(Vec::new(), run.started_ns as f64 / NS_PER_S);
    let mut ended =
        Family::new("iodyno_run_end_time_seconds", "seconds", "End of the run, since 1970 UTC.");
    if let Some(ns) = run.ended_ns {
        ended.push(Vec::new(), ns as f64 / NS_PER_S);
    }
    let mut status = Family::new(
        "iodyno_run_exit_status",
        "",
        "0 passed, 1 a FAIL, 3 interrupted or a measurement failed, 4 something not judged.",
    );
    let code = of.exit_status(false) as u8;
    status.push(Vec::new(), code.into());
    let mut verdict = Family::new("iodyno_run_verdict", "", "Overall verdict: 1 if it holds.");
    push_states(&mut verdict, &Vec::new(), "verdict", &verdict_states(of.assessment.verdict));
    let mut findings = Family::new("iodyno_finding", "", "Finding of a rule: 1 for each subject.");
    let mut known = HashSet::new();
    for finding in &of.assessment.findings {
        let labels = |subject: &str| {
            vec![
                ("rule", finding.rule.clone()),
                ("severity", severity_label(finding.severity).to_owned()),
                ("subject", subject.to_owned()),
            ]
        };
        let mut subjects: Vec<&str> = finding.subjects.iter().map(String::as_str).collect();
        if subjects.is_empty() {
            subjects.push("");
        }
        for subject in subjects {
            let labels = labels(subject);
            // Several findings of one rule about one subject become one sample.
            if known.insert(labels.clone()) {
                findings.push(labels, 1.0);
            }
        }
    }
    vec![info, started, ended, status, verdict, findings]
}

fn drive_labels(drive: &Drive) -> Labels {
    let facts = [("model", &drive.model), ("serial", &drive.serial), ("firmware", &drive.firmware)];
    let known = facts.into_iter().filter_map(|(name, fact)| Some((name, fact.value()?)));
    std::iter::once(("drive", drive.name.clone())).chain(known).collect()
}

fn subject_families(of: Judged<'_>) -> Vec<Family> {
    let mut drives = Family::new("iodyno_drive_verdict", "", "Verdict on a drive: 1 if it holds.");
    let mut targets = Family::new(
        "iodyno_target_verdict",
        "",
        "Verdict on a target other than a drive: 1 if it holds.",
    );
    for subject in of.subjects() {
        let verdict = verdict_states(subject.verdict);
        match subject.drive {
            Some(drive) => push_states(&mut drives, &drive_labels(drive), "verdict", &verdict),
            None => {
                let labels = vec![("target", subject.name.to_owned())];
                push_states(&mut targets, &labels, "verdict", &verdict);
            }
        }
    }
    vec![drives, targets]
}

fn measurement_families(of: Judged<'_>) -> Vec<Family> {
    let mut validity =
        Family::new("iodyno_measurement_validity", "", "Validity of a measurement: 1 if it holds.");
    let mut failed =
        Family::new("iodyno_measurement_failed", "", "1 if a measurement failed, else 0.");
    let mut figures = Figures::new();
    for (index, (measurement, judged)) in of.counting() {
        let labels = measurement_labels(of, index, measurement);
        failed.push(labels.clone(), f64::from(u8::from(measurement.failure().is_some())));
        if let Some(judged) = judged {
            let all = VALIDITIES.map(|one| (one.label(), one == judged.validity));
            push_states(&mut validity, &labels, "validity", &all);
        }
        let is_invalid = judged.is_some_and(|judged| judged.validity == Validity::Invalid);
        if measurement.failure().is_some() || is_invalid {
            continue;
        }
        for result in &measurement.total {
            let mut labels = labels.clone();
            labels.push(("direction", result.direction.name().to_owned()));
            figures.push(&labels, result);
        }
    }
    let mut families = vec![validity, failed];
    families.extend(figures.0);
    families
}

/// Returns labels that identify a measurement, the same in every run of a plan.
fn measurement_labels(of: Judged<'_>, index: usize, measurement: &Measurement) -> Labels {
    let mut labels = vec![
        ("index", index.to_string()),
        ("measurement", measurement.name.clone()),
        ("target", joined(&measurement.targets)),
    ];
    let workload = &measurement.workload;
    // A depth found by a search may differ next time.
    let is_fixed = measurement.conditions.depths_tried.is_empty();
    let depth = workload.iodepth.filter(|_| is_fixed);
    let jobs = workload.numjobs.filter(|_| is_fixed);
    let known = [
        ("rw", workload.rw.clone()),
        ("bs_bytes", workload.bs.map(|bs| bs.to_string())),
        ("iodepth", depth.map(|depth| depth.to_string())),
        ("numjobs", jobs.map(|jobs| jobs.to_string())),
    ];
    labels.extend(known.into_iter().filter_map(|(name, value)| Some((name, value?))));
    if let Some(drive) = drive_under(of.record, measurement) {
        labels.extend(drive_labels(drive));
    }
    labels
}

/// Families of the figures: value, and ends of the interval.
struct Figures([Family; 12]);

impl Figures {
    fn new() -> Self {
        const RATE: &str = "bytes_per_second";
        let family = Family::new;
        Self([
            family("iodyno_measurement_iops", "", "I/Os per second."),
            family("iodyno_measurement_iops_low", "", "Lower end of the IOPS interval."),
            family("iodyno_measurement_iops_high", "", "Upper end of the IOPS interval."),
            family("iodyno_measurement_bandwidth_bytes_per_second", RATE, "Bytes per second."),
            family(
                "iodyno_measurement_bandwidth_low_bytes_per_second",
                RATE,
                "Lower end of the bandwidth interval.",
            ),
            family(
                "iodyno_measurement_bandwidth_high_bytes_per_second",
                RATE,
                "Upper end of the bandwidth interval.",
            ),
            family("iodyno_measurement_latency_mean_seconds", "seconds", "Mean latency."),
            family(
                "iodyno_measurement_latency_mean_low_seconds",
                "seconds",
                "Lower end of the mean latency interval.",
            ),
            family(
                "iodyno_measurement_latency_mean_high_seconds",
                "seconds",
                "Upper end of the mean latency interval.",
            ),
            family("iodyno_measurement_latency_seconds", "seconds", "Latency percentiles."),
            family("iodyno_measurement_latency_max_seconds", "seconds", "Largest latency."),
            family("iodyno_measurement_errors", "", "I/Os that failed."),
        ])
    }

    fn push(&mut self, labels: &Labels, result: &DirectionResult) {
        let [
            iops,
            iops_low,
            iops_high,
            rate,
            rate_low,
            rate_high,
            mean,
            mean_low,
            mean_high,
            percentiles_family,
            max,
            errors,
        ] = &mut self.0;
        let estimate =
            |families: [&mut Family; 3], labels: &Labels, of: Option<Estimate>, scale: f64| {
                let Some(of) = of else { return };
                let [value, low, high] = families;
                value.push(labels.clone(), of.value / scale);
                if let Some((lower, upper)) = of.known_bounds() {
                    low.push(labels.clone(), lower / scale);
                    high.push(labels.clone(), upper / scale);
                }
            };
        estimate([iops, iops_low, iops_high], labels, result.iops, 1.0);
        estimate([rate, rate_low, rate_high], labels, result.bandwidth, 1.0);
        if let Some(count) = result.errors {
            errors.push(labels.clone(), count as f64);
        }
        let of_kind = |kind: LatencyKind| -> Labels {
            let label = ("latency", kind.name().to_owned());
            labels.iter().cloned().chain([label]).collect()
        };
        if let Some((kind, of)) = result.mean_latency() {
            estimate([mean, mean_low, mean_high], &of_kind(kind), Some(of), NS_PER_S);
            if let Some(ns) = result.max_of(kind) {
                max.push(of_kind(kind), ns.value / NS_PER_S);
            }
        }
        for percent in PERCENTILES {
            if let Some((kind, ns)) = percentiles::known(result, percent) {
                let mut labels = of_kind(kind);
                labels.push(("percentile", percent.to_string()));
                percentiles_family.push(labels, ns / NS_PER_S);
            }
        }
    }
}
