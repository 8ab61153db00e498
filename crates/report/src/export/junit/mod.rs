//! Exports JUnit XML, for continuous integration.
//!
//! Each drive or target has a suite: its measurements, and the rules that found something about it
//! or could not be judged. The suite `machine` has all other rules, and measurements on several
//! targets at once. A FAIL is a failure, an unjudged result is skipped, and a WARN passes with its
//! text in `system-out`, because JUnit has nothing in between.

mod compared;
mod fit;
mod xml;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use iodyno_model::{
    EndReason, Finding, JudgedMeasurement, Measurement, Metric, MetricJudgement, Reason,
    RuleOutcome, RuleReport, RunKind, RunState, Severity, Verdict, Workload, rfc3339,
};

use super::{ExportError, Exporter, Result, Results};
use crate::judged::{Judged, Subject};
use crate::text::{measured, severity_label};
use xml::{Case, Status, Suite};

/// Name of the suite for results that concern no single drive or target.
const MACHINE: &str = "machine";

/// JUnit XML, as read by Jenkins, GitLab and others. Characters not allowed in XML are removed.
pub(super) struct Junit;

impl Exporter for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn help(&self) -> &'static str {
        "JUnit XML, for continuous integration"
    }

    fn export(&self, results: Results<'_>) -> Result {
        match results {
            Results::Runs([one]) => Ok(junit(*one)?),
            Results::Runs(_) => Err(ExportError::NoForm),
            Results::Comparison(of) => Ok(compared::junit(of)?),
        }
    }
}

fn junit(of: Judged<'_>) -> io::Result<Vec<u8>> {
    let run = &of.record.run;
    let subjects = of.subjects();
    let mut suites: Vec<Suite> = subjects.iter().map(suite).collect();
    // Subjects by each of their names.
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, subject) in subjects.iter().enumerate() {
        for &name in &subject.names {
            by_name.entry(name).or_default().push(at);
        }
    }
    let of_names = |names: &[String]| -> BTreeSet<usize> {
        names.iter().filter_map(|name| by_name.get(name.as_str())).flatten().copied().collect()
    };
    let mut machine = Suite { name: MACHINE.into(), ..Suite::default() };
    machine.properties = vec![
        ("run", run.id.clone()),
        ("started", rfc3339(run.started_ns)),
        ("ruleset", of.assessment.ruleset.clone()),
        ("verdict", of.assessment.verdict.label().into()),
    ];
    machine.properties.extend(of.hostname().map(|host| ("host", host.to_owned())));
    let mut names = CaseNames::new(of.counting().map(|(_, (measurement, _))| measurement));
    for (_, (measurement, judged)) in of.counting() {
        let mut own = of_names(&measurement.targets).first().copied();
        // Those of the files of a fit are its directory's.
        own = own.filter(|_| measurement.targets.len() == 1 || run.kind == RunKind::Fit);
        let class = own.map_or(MACHINE, |own| subjects[own].name);
        let name = names.next(measurement, own.is_some());
        let case = measured_case(class, &name, measurement, judged);
        own.map_or(&mut machine, |own| &mut suites[own]).cases.push(case);
    }
    if run.state == RunState::Interrupted {
        let why = "interrupted: what was to follow was not measured";
        machine.cases.push(case(MACHINE, "run", Status::Error(why.into())));
    }
    for skipped in &run.skipped {
        let own = of_names(std::slice::from_ref(&skipped.target)).first().copied();
        let step = skipped.step.as_deref().unwrap_or("measurements");
        let next = Some(format!("; {}", skipped.next)).filter(|_| !skipped.next.is_empty());
        let message = format!("{}{}", skipped.why, next.unwrap_or_default());
        let name = own.map_or_else(|| format!("{step} {}", skipped.target), |_| step.to_owned());
        let class = own.map_or(MACHINE, |own| subjects[own].name);
        let case = case(class, &name, Status::Skipped(message));
        own.map_or(&mut machine, |own| &mut suites[own]).cases.push(case);
    }
    for rule in &of.assessment.rules {
        let (mut found, mut rest) = (BTreeMap::<usize, Vec<&Finding>>::new(), Vec::new());
        for finding in of.assessment.findings.iter().filter(|finding| finding.rule == rule.rule) {
            let own = of_names(&finding.subjects);
            if own.is_empty() {
                rest.push(finding);
            }
            own.into_iter().for_each(|at| found.entry(at).or_default().push(finding));
        }
        let mut cases: BTreeMap<usize, Case> = BTreeMap::new();
        for (at, found) in found {
            cases.insert(at, found_case(subjects[at].name, &rule.rule, &found));
        }
        for (name, missing) in &rule.cannot_tell {
            for &at in by_name.get(name.as_str()).into_iter().flatten() {
                let skipped =
                    || case(subjects[at].name, &rule.rule, Status::Skipped(missing.clone()));
                cases.entry(at).or_insert_with(skipped);
            }
        }
        machine.cases.extend(machine_case(rule, &rest, !cases.is_empty()));
        cases.into_iter().for_each(|(at, case)| suites[at].cases.push(case));
    }
    suites.push(machine);
    suites.extend(run.profile().map(|profile| fit::suite(of, &profile)));
    let name = run.selector();
    xml::document(&format!("iodyno {name}"), &suites)
}

fn suite(subject: &Subject<'_>) -> Suite {
    let facts = subject.drive.map(|drive| {
        [("model", &drive.model), ("serial", &drive.serial), ("firmware", &drive.firmware)]
    });
    let known = facts.into_iter().flatten().filter_map(|(name, fact)| Some((name, fact.value()?)));
    let mut properties: Vec<(&'static str, String)> = known.collect();
    properties.push(("verdict", subject.verdict.label().into()));
    Suite { name: subject.name.into(), properties, cases: Vec::new() }
}

fn case(class: &str, name: &str, status: Status) -> Case {
    Case { class: class.into(), name: name.into(), time_s: None, status, out: String::new() }
}

/// Returns the workload without other options, which distinguishes the points of a sweep:
/// `rw=randread bs=4k iodepth=64 numjobs=1`.
fn workload_label(of: &Measurement) -> String {
    Workload { options: BTreeMap::new(), ..of.workload.clone() }.label()
}

/// Name and targets of a measurement.
type Place<'a> = (&'a str, &'a [String]);

/// Unique case names, because tools merge cases of the same name: points of a sweep have their
/// workload appended, repetitions a number.
struct CaseNames<'a> {
    /// Number of measurements at each place.
    places: HashMap<Place<'a>, usize>,
    /// Number of those named so far, by workload.
    named: HashMap<(Place<'a>, String), usize>,
}

impl<'a> CaseNames<'a> {
    fn new(measurements: impl Iterator<Item = &'a Measurement>) -> Self {
        let mut places = HashMap::new();
        for of in measurements {
            *places.entry(Self::place(of)).or_default() += 1;
        }
        Self { places, named: HashMap::new() }
    }

    fn place(of: &Measurement) -> Place<'_> {
        (&of.name, &of.targets)
    }

    /// Names the next measurement of the run.
    fn next(&mut self, of: &'a Measurement, has_own_suite: bool) -> String {
        let is_alone = has_own_suite || of.targets.len() == 1;
        let name = if is_alone { of.name.clone() } else { of.title() };
        let name = name.trim().to_owned();
        let place = Self::place(of);
        if self.places.get(&place) == Some(&1) {
            return name;
        }
        let workload = workload_label(of);
        let named = format!("{name} {workload}");
        let number = self.named.entry((place, workload)).or_insert(0);
        *number += 1;
        if *number > 1 { format!("{named} #{number}") } else { named.trim_end().to_owned() }
    }
}

/// Builds the case of a measurement from the verdicts on its metrics.
fn measured_case(
    class: &str,
    name: &str,
    of: &Measurement,
    judged: Option<&JudgedMeasurement>,
) -> Case {
    let metrics = judged.map_or(&[][..], |judged| &judged.metrics);
    let words: Vec<String> = metrics.iter().map(words).collect();
    let words = words.join("; ");
    let mut out = vec![workload_label(of)];
    let is_stopped = of.end == EndReason::Interrupted;
    let status = match (of.failure(), metrics.iter().map(|metric| metric.verdict).max()) {
        (Some(how), _) => Status::Error(how.into()),
        (_, None | Some(Verdict::Unjudged)) if is_stopped => Status::Error("interrupted".into()),
        (_, None) => Status::Skipped("nothing to compare with".into()),
        (_, Some(Verdict::Unjudged)) => Status::Skipped(words),
        (_, Some(Verdict::Fail)) => Status::Failure("measured".into(), words, String::new()),
        (_, Some(Verdict::Pass | Verdict::Warn)) => {
            out.insert(0, words);
            Status::Passed
        }
    };
    if let Some(judged) = judged {
        let said =
            |Reason { rule, validity, why }: &Reason| format!("{} {rule}: {why}", validity.label());
        out.extend(judged.reasons.iter().map(said));
    }
    let took_ns = of.duration_ns.map(|ns| ns.saturating_add(of.warmup_ns));
    Case {
        time_s: took_ns.map(|ns| ns as f64 / 1e9),
        out: out.join("\n"),
        ..case(class, name, status)
    }
}

/// Returns `PASS 6853 ± 13 MB/s (6536 MiB/s), 99 % of the claim`.
fn words(metric: &MetricJudgement) -> String {
    let what = if metric.metric == Metric::LatencyMean { "mean " } else { "" };
    let figure = measured(metric.metric, &metric.estimate);
    format!("{} {what}{figure}, {}", metric.verdict.label(), metric.reason)
}

/// Returns the case of a rule for the machine; `None` if it is reported elsewhere, or does not
/// apply.
fn machine_case(rule: &RuleReport, rest: &[&Finding], is_reported: bool) -> Option<Case> {
    if !rest.is_empty() {
        return Some(found_case(MACHINE, &rule.rule, rest));
    }
    let status = match &rule.outcome {
        RuleOutcome::NotApplicable => return None,
        RuleOutcome::CannotTell(missing) => Status::Skipped(missing.clone()),
        _ if is_reported => return None,
        RuleOutcome::Clear | RuleOutcome::Findings(_) => Status::Passed,
    };
    Some(case(MACHINE, &rule.rule, status))
}

fn found_case(class: &str, rule: &str, found: &[&Finding]) -> Case {
    let text: Vec<String> = found.iter().map(|finding| finding_words(finding)).collect();
    let text = text.join("\n");
    if !found.iter().any(|finding| finding.severity == Severity::Fail) {
        return Case { out: text, ..case(class, rule, Status::Passed) };
    }
    let what: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
    case(class, rule, Status::Failure(rule.into(), what.join(" "), text))
}

fn finding_words(finding: &Finding) -> String {
    let mut lines = vec![format!("{} {}", severity_label(finding.severity), finding.what)];
    let evidence = finding.evidence.iter();
    lines.extend(evidence.map(|evidence| format!("  {}: {}", evidence.what, evidence.value)));
    lines.push(format!("why: {}", finding.why));
    lines.push(format!("next: {}", finding.next));
    lines.join("\n")
}
