//! Runs every rule and combines the results to verdicts.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use iodyno_model::{
    Assessment, Evidence, Finding, JudgedMeasurement, MetricJudgement, Profile, ProfileTarget,
    Reason, RuleOutcome, RuleReport, RunKind, RunRecord, RunState, Severity, Validity, Verdict,
    distinct,
};

use crate::causes::attribute;
use crate::earlier::Earlier;
use crate::open_metrics::JudgedTargets;
use crate::place::names;
use crate::question::Question;
use crate::question_scope::QuestionScope;
use crate::rule_context::RuleContext;
use crate::rules::{Reservation, Rule, is_decided, rules};
use crate::yardsticks::Compared;

/// Version of the rules: raised when a stored run may be judged or described differently. A test in
/// `rules` detects when that is due.
pub const RULESET: &str = "8";

/// Rules without which a drive cannot be called healthy: where one of them cannot tell, the drive
/// is unjudged at best.
const ESSENTIAL: [&str; 4] = ["drive-missing", "drive-dead", "health-critical", "link-degraded"];

/// Judges a run. Pure and deterministic.
pub fn assess(question: &Question<'_>) -> Assessment {
    let context = RuleContext::gather(question);
    let scope = QuestionScope::of(&context);
    let reports: Vec<RuleReport> = rules().map(|rule| rule.check(&context)).collect();
    let earlier = Earlier::of(&question.record.run, &reports);
    let reports: Vec<RuleReport> = reports.iter().map(|report| earlier.report(report)).collect();
    let mut findings: Vec<Finding> = reports
        .iter()
        .filter_map(|report| match &report.outcome {
            RuleOutcome::Findings(findings) => Some(findings),
            _ => None,
        })
        .flatten()
        .cloned()
        .map(|finding| match earlier.has(&finding) {
            // It was weighed then, by the names of then.
            true => finding,
            false => scope.lower_severity(finding),
        })
        .collect();
    // The sort is stable: findings of one severity stay in the rules' order.
    findings.sort_by_key(|finding| Reverse(finding.severity));
    attribute(&mut findings, &context);
    let measurements: Vec<JudgedMeasurement> = (0..question.record.measurements.len())
        .map(|measurement| judge_measurement(&context, &earlier, measurement))
        .collect();
    let judged = JudgedTargets::of(question.record, &measurements);
    let mut subjects = subjects(&context, &judged, &measurements, &findings, &reports);
    subjects.retain(|(name, _)| scope.has(name));
    let verdict = whole(&context, &judged, &measurements, &findings, &subjects);
    let mut assessment = Assessment {
        ruleset: RULESET.to_owned(),
        measurements,
        findings,
        rules: reports,
        subjects,
        verdict,
    };
    let profile = question.record.run.profile();
    if let Some(profile) = profile.filter(|of| of.on == ProfileTarget::Directory) {
        name_directory(&mut assessment, question.record, &profile);
    }
    assessment
}

/// Names the directory of a fit in place of the files that it made there: nobody knows them, and
/// they are gone. Measurements are named without them.
fn name_directory(assessment: &mut Assessment, record: &RunRecord, profile: &Profile) {
    let place = profile.place(&record.run.targets);
    let files =
        record.run.targets.iter().chain(record.measurements.iter().flat_map(|of| &of.targets));
    let mut names: HashMap<String, &str> =
        record.measurements.iter().map(|of| (of.title(), of.name.as_str())).collect();
    names.extend(files.map(|file| (file.clone(), place.as_str())));
    let mut names: Vec<(String, &str)> = names.into_iter().collect();
    // A file's name may begin with another's, and a measurement's ends with its file's.
    names.sort_by_key(|(name, _)| Reverse(name.len()));
    let renamed = |text: &String| {
        names.iter().fold(text.clone(), |text, (from, to)| match text.contains(from) {
            true => text.replace(from, to),
            false => text,
        })
    };
    let found = assessment.rules.iter_mut().filter_map(|rule| match &mut rule.outcome {
        RuleOutcome::Findings(found) => Some(found),
        _ => None,
    });
    for finding in assessment.findings.iter_mut().chain(found.flatten()) {
        finding.subjects = distinct(finding.subjects.iter().map(renamed));
        for text in [&mut finding.what, &mut finding.why, &mut finding.next] {
            *text = renamed(text);
        }
        let evidence = finding.evidence.iter();
        finding.evidence =
            distinct(evidence.map(|of| Evidence::new(renamed(&of.what), renamed(&of.value))));
    }
    for rule in &mut assessment.rules {
        let cannot_tell = rule.cannot_tell.iter();
        rule.cannot_tell =
            distinct(cannot_tell.map(|(subject, missing)| (renamed(subject), missing.clone())));
    }
    let verdicts = std::mem::take(&mut assessment.subjects);
    for name in distinct(verdicts.iter().map(|(name, _)| renamed(name))) {
        let own = verdicts.iter().filter(|(of, _)| renamed(of) == name);
        assessment
            .subjects
            .extend(own.map(|(_, verdict)| *verdict).max().map(|worst| (name, worst)));
    }
}

fn judge_measurement(
    context: &RuleContext<'_>,
    earlier: &Earlier<'_>,
    measurement: usize,
) -> JudgedMeasurement {
    let reason = |rule: &Rule| {
        let now = rule.reservation(context, measurement);
        let now = now.map(|Reservation { validity, why }| Reason {
            rule: rule.id.to_owned(),
            validity,
            why,
        });
        earlier.reason(rule.id, measurement).or(now)
    };
    let mut reasons: Vec<Reason> = rules().filter_map(reason).collect();
    let worst = reasons.iter().map(|reason| reason.validity).max();
    let validity = worst.unwrap_or(Validity::Valid);
    reasons.sort_by_key(|reason| Reverse(reason.validity));
    let compared = context.compared_of(measurement).iter();
    let metrics = compared.map(|compared| judge_metric(compared, validity)).collect();
    JudgedMeasurement { measurement, validity, reasons, metrics }
}

/// Takes the worst judgement of all yardsticks; a pass by one yardstick outweighs another that
/// cannot judge.
fn judge_metric(compared: &Compared, validity: Validity) -> MetricJudgement {
    let worst = compared
        .judgements()
        .filter(|judgement| judgement.verdict != Verdict::Unjudged)
        // Of equal verdicts the first counts: claim, then peers, then baseline.
        .reduce(|a, b| if b.verdict > a.verdict { b } else { a })
        .or_else(|| compared.judgements().next());
    let (verdict, reason) = match (validity, worst) {
        // The reservations give the reason.
        (Validity::Invalid, _) => (Verdict::Unjudged, "the measurement is invalid".into()),
        (_, Some(judgement)) => (judgement.verdict, judgement.reason.clone()),
        (_, None) => (Verdict::Unjudged, compared.unjudged.as_str().into()),
    };
    MetricJudgement {
        metric: compared.metric,
        estimate: compared.estimate,
        claim: compared.claim.as_ref().map(|(figure, _)| figure.clone()),
        below_saturation: compared
            .claim
            .as_ref()
            .and_then(|(_, judgement)| judgement.below_saturation),
        ceiling: compared.ceiling.clone(),
        peers: compared.peers.as_ref().map(|(median, count, _)| (*median, *count)),
        baseline: compared.baseline.as_ref().map(|(estimate, _)| *estimate),
        verdict,
        reason,
    }
}

fn of_severity(severity: Severity) -> Verdict {
    match severity {
        Severity::Info => Verdict::Pass,
        Severity::Warn => Verdict::Warn,
        Severity::Fail => Verdict::Fail,
    }
}

/// The contribution of a metric to the verdict on its target: pass if unjudged where no verdict is
/// expected.
fn of_metric(
    targets: &JudgedTargets<'_>,
    of: &JudgedMeasurement,
    metric: &MetricJudgement,
) -> Verdict {
    match metric.verdict {
        Verdict::Unjudged if !targets.is_open(of, metric) => Verdict::Pass,
        verdict => verdict,
    }
}

/// Verdicts on every drive, then on every other target.
fn subjects(
    context: &RuleContext<'_>,
    judged_targets: &JudgedTargets<'_>,
    measurements: &[JudgedMeasurement],
    findings: &[Finding],
    reports: &[RuleReport],
) -> Vec<(String, Verdict)> {
    let record = context.record();
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    if let Some(host) = context.host() {
        for drive in &host.drives {
            let names = names(drive).into_iter().map(str::to_owned).collect();
            all.push((drive.name.clone(), names));
        }
        let without = host.nvme_functions.iter().filter(|function| function.controller.is_none());
        all.extend(
            without.map(|function| (function.address.clone(), vec![function.address.clone()])),
        );
    }
    let mut known: HashSet<String> = all.iter().flat_map(|(_, names)| names.clone()).collect();
    let measured = record.measurements.iter().flat_map(|of| &of.targets);
    let skipped = record.run.skipped.iter().map(|skipped| &skipped.target);
    for target in record.run.targets.iter().chain(measured).chain(skipped.clone()) {
        if known.insert(target.clone()) {
            all.push((target.clone(), vec![target.clone()]));
        }
    }
    let blind = reports
        .iter()
        .filter(|report| ESSENTIAL.contains(&report.rule.as_str()))
        .flat_map(|report| report.cannot_tell.iter().map(|(subject, _)| subject));
    // A check that was ended early has compared nothing of the targets it did not come to. Without
    // load the rules look at drives, and on a machine without drives at nothing.
    let begun: HashSet<&String> = record.measurements.iter().flat_map(|of| &of.targets).collect();
    let is_without_load = begun.is_empty() && record.run.state == RunState::Done;
    let looked_at = is_without_load && context.host().is_none_or(|host| !host.drives.is_empty());
    let unseen = (record.run.targets.iter())
        .filter(|target| record.run.kind.is_of_drives() && !looked_at && !begun.contains(target));
    let open = skipped.chain(blind).chain(unseen).map(|name| (name, Verdict::Unjudged));
    let found = findings.iter().flat_map(|finding| {
        finding.subjects.iter().map(|name| (name, of_severity(finding.severity)))
    });
    let rates = measurements.iter().flat_map(|judged| {
        // A measurement of several targets gives no verdict on one of them.
        let alone = match record.measurements[judged.measurement].targets.as_slice() {
            [target] => Some(target),
            _ => None,
        };
        let of = move |metric| Some((alone?, of_metric(judged_targets, judged, metric)));
        judged.metrics.iter().filter_map(of)
    });
    let mut worst: HashMap<&str, Verdict> = HashMap::new();
    for (name, verdict) in open.chain(found).chain(rates) {
        let worst = worst.entry(name).or_insert(verdict);
        *worst = verdict.max(*worst);
    }
    let open = open_verdict(!is_judged(context, measurements));
    let verdict = |names: &[String]| {
        let of_names = names.iter().filter_map(|name| worst.get(name.as_str()).copied());
        of_names.fold(open, Verdict::max)
    };
    all.into_iter()
        .map(|(name, names)| {
            let verdict = verdict(&names);
            (name, verdict)
        })
        .collect()
}

/// Returns true if something was compared with something: a metric with a yardstick, a need of an
/// application with its bound, the state of drives with the rules of a check. Another tool's results
/// are of an unknown machine.
fn is_judged(context: &RuleContext<'_>, measurements: &[JudgedMeasurement]) -> bool {
    let of_metrics = || measurements.iter().flat_map(|judged| &judged.metrics);
    match context.record().run.kind {
        RunKind::Import => false,
        RunKind::Fit => is_decided(context),
        kind => {
            kind.is_of_drives() || of_metrics().any(|metric| metric.verdict != Verdict::Unjudged)
        }
    }
}

/// The verdict without findings: unjudged if there was nothing to judge.
const fn open_verdict(nothing: bool) -> Verdict {
    if nothing { Verdict::Unjudged } else { Verdict::Pass }
}

/// The overall verdict: the worst of all; unjudged if there was nothing to judge.
fn whole(
    context: &RuleContext<'_>,
    targets: &JudgedTargets<'_>,
    measurements: &[JudgedMeasurement],
    findings: &[Finding],
    subjects: &[(String, Verdict)],
) -> Verdict {
    let run = &context.record().run;
    let nothing =
        subjects.is_empty() || !run.skipped.is_empty() || !is_judged(context, measurements);
    let metrics = measurements
        .iter()
        .flat_map(|of| of.metrics.iter().map(move |metric| of_metric(targets, of, metric)));
    findings
        .iter()
        .map(|finding| of_severity(finding.severity))
        .chain(subjects.iter().map(|(_, verdict)| *verdict))
        .chain(metrics)
        .fold(open_verdict(nothing), Verdict::max)
}

#[cfg(test)]
#[path = "assess_tests.rs"]
mod tests;
