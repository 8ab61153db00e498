//! JUnit XML, for continuous integration.
//!
//! A suite for each drive or target: what was measured on it, and the rules
//! that found something about it or could not tell. A suite `machine`: every
//! other rule, and what was measured on several at once. A FAIL is a failure,
//! what could not be judged is skipped, and a WARN passes with its words in
//! `system-out`: JUnit has nothing between.

use std::time::Duration;

use iodyno_model::{
    Finding, JudgedMeasurement, Measurement, Metric, MetricJudgement, RuleOutcome, RuleReport,
    Severity, Verdict,
};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::document::estimate::rfc3339;
use crate::judged::{Judged, Subject};
use crate::text::{measured, severity_label};

/// Name of the suite of what is about no drive or target alone.
const MACHINE: &str = "machine";

/// The report, as Jenkins, GitLab and others read it. Characters that XML does
/// not allow are left out.
///
/// # Errors
/// None that is known: it is written to memory.
pub fn junit(of: Judged<'_>) -> Result<String, SerializeError> {
    let run = &of.record.run;
    let name = if run.name.is_empty() { &run.id } else { &run.name };
    let mut report = Report::new(format!("iodyno {name}"));
    let subjects = of.subjects();
    let mut suites: Vec<TestSuite> = subjects.iter().map(suite).collect();
    let mut machine = TestSuite::new(MACHINE);
    machine.add_property(("run", run.id.as_str()));
    machine.add_property(("started", rfc3339(run.started_ns).as_str()));
    machine.add_property(("ruleset", of.assessment.ruleset.as_str()));
    machine.add_property(("verdict", of.assessment.verdict.label()));
    if let Some(host) = of.hostname() {
        machine.add_property(("host", host));
    }
    for (measurement, judged) in of.measurements() {
        let mut own = subjects.iter().position(|subject| subject.is_among(&measurement.targets));
        own = own.filter(|_| measurement.targets.len() == 1);
        let class = own.map_or(MACHINE, |own| subjects[own].name);
        let case = measured_case(class, measurement, judged);
        own.map_or(&mut machine, |own| &mut suites[own]).add_test_case(case);
    }
    for skipped in &run.skipped {
        let own = subjects.iter().position(|one| one.names.contains(&skipped.target.as_str()));
        let step = skipped.step.as_deref().unwrap_or("measurements");
        let message = format!("{}; {}", skipped.why, skipped.next);
        let name = own.map_or_else(|| format!("{step} {}", skipped.target), |_| step.to_owned());
        let class = own.map_or(MACHINE, |own| subjects[own].name);
        let case = case(class, &name, status(Verdict::Unjudged, &message));
        own.map_or(&mut machine, |own| &mut suites[own]).add_test_case(case);
    }
    for rule in &of.assessment.rules {
        let found = of.assessment.findings.iter().filter(|finding| finding.rule == rule.rule);
        let found: Vec<&Finding> = found.collect();
        let mut placed = false;
        for (subject, suite) in subjects.iter().zip(&mut suites) {
            if let Some(case) = rule_case(subject, rule, &found) {
                suite.add_test_case(case);
                placed = true;
            }
        }
        let elsewhere = |finding: &&&Finding| {
            !subjects.iter().any(|subject| subject.is_among(&finding.subjects))
        };
        let rest: Vec<&Finding> = found.iter().filter(elsewhere).copied().collect();
        machine.add_test_cases(whole_case(rule, &rest, placed));
    }
    report.add_test_suites(suites);
    report.add_test_suite(machine);
    report.to_string()
}

fn suite(subject: &Subject<'_>) -> TestSuite {
    let mut suite = TestSuite::new(subject.name);
    let facts = subject.drive.map(|drive| {
        [("model", &drive.model), ("serial", &drive.serial), ("firmware", &drive.firmware)]
    });
    for (name, fact) in facts.into_iter().flatten() {
        if let Some(value) = fact.get() {
            suite.add_property((name, value.as_str()));
        }
    }
    suite.add_property(("verdict", subject.verdict.label()));
    suite
}

fn case(class: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(class);
    case
}

/// FAIL is a failure, UNJUDGED skipped.
fn status(verdict: Verdict, message: &str) -> TestCaseStatus {
    let mut status = match verdict {
        Verdict::Pass | Verdict::Warn => return TestCaseStatus::success(),
        Verdict::Unjudged => TestCaseStatus::skipped(),
        Verdict::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    status.set_message(message);
    status
}

/// A measurement by the verdicts on its metrics.
fn measured_case(class: &str, of: &Measurement, judged: Option<&JudgedMeasurement>) -> TestCase {
    let metrics = judged.map_or(&[][..], |judged| &judged.metrics);
    let name = match of.targets.len() {
        1 => of.name.clone(),
        _ => of.title(),
    };
    let mut case = if let Some(how) = of.failure() {
        let mut failed = TestCaseStatus::non_success(NonSuccessKind::Error);
        failed.set_message(how);
        case(class, &name, failed)
    } else {
        let verdict = metrics.iter().map(|metric| metric.verdict).max();
        let words: Vec<String> = metrics.iter().map(words).collect();
        let words =
            if words.is_empty() { "nothing to judge it by".into() } else { words.join("; ") };
        let mut status = status(verdict.unwrap_or(Verdict::Unjudged), &words);
        if verdict == Some(Verdict::Fail) {
            status.set_type("measured");
        }
        let mut case = case(class, &name, status);
        let mut out = format!("{words}\n{}\n", of.workload.label());
        for (rule, what) in judged.map_or(&[][..], |judged| &judged.reasons) {
            let validity = judged.map_or("", |judged| judged.validity.label());
            out.push_str(&format!("{validity} {rule}: {what}\n"));
        }
        case.set_system_out(out);
        case
    };
    if let Some(ns) = of.duration_ns {
        case.set_time(Duration::from_nanos(ns.saturating_add(of.warmup_ns)));
    }
    case
}

/// `PASS 6853 ± 13 MB/s (6536 MiB/s), 99 % of the claim`.
fn words(metric: &MetricJudgement) -> String {
    let what = if metric.metric == Metric::LatencyMean { "mean " } else { "" };
    let figure = measured(metric.metric, &metric.estimate);
    format!("{} {what}{figure}, {}", metric.verdict.label(), metric.reason)
}

/// What a rule says of `subject`; `None`: nothing of it alone.
fn rule_case(subject: &Subject<'_>, rule: &RuleReport, found: &[&Finding]) -> Option<TestCase> {
    let own: Vec<&Finding> =
        found.iter().filter(|finding| subject.is_among(&finding.subjects)).copied().collect();
    if !own.is_empty() {
        return Some(found_case(subject.name, &rule.rule, &own));
    }
    let missing = rule.cannot_tell.iter().find(|(of, _)| subject.names.contains(&of.as_str()));
    let (_, missing) = missing?;
    Some(case(subject.name, &rule.rule, status(Verdict::Unjudged, missing)))
}

/// What a rule says of the machine; `None`: nothing, as it has said it elsewhere.
fn whole_case(rule: &RuleReport, rest: &[&Finding], placed: bool) -> Option<TestCase> {
    if !rest.is_empty() {
        return Some(found_case(MACHINE, &rule.rule, rest));
    }
    let status = match &rule.outcome {
        RuleOutcome::NotApplicable => return None,
        RuleOutcome::CannotTell(missing) => status(Verdict::Unjudged, missing),
        _ if placed => return None,
        RuleOutcome::Clear | RuleOutcome::Findings(_) => TestCaseStatus::success(),
    };
    Some(case(MACHINE, &rule.rule, status))
}

fn found_case(class: &str, rule: &str, found: &[&Finding]) -> TestCase {
    let fails = found.iter().any(|finding| finding.severity == Severity::Fail);
    let what: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
    let mut status = status(if fails { Verdict::Fail } else { Verdict::Warn }, &what.join(" "));
    let text: Vec<String> = found.iter().map(|finding| finding_words(finding)).collect();
    if fails {
        status.set_type(rule);
        status.set_description(text.join("\n"));
        return case(class, rule, status);
    }
    let mut case = case(class, rule, status);
    case.set_system_out(text.join("\n"));
    case
}

fn finding_words(finding: &Finding) -> String {
    let mut lines = vec![format!("{} {}", severity_label(finding.severity), finding.what)];
    let evidence = finding.evidence.iter();
    lines.extend(evidence.map(|evidence| format!("  {}: {}", evidence.what, evidence.value)));
    lines.push(format!("why: {}", finding.why));
    lines.push(format!("next: {}", finding.next));
    lines.join("\n")
}
