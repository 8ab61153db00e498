//! Lists the findings, worst first, and the rules that could not decide.

use iodyno_model::{Assessment, Evidence, Finding, RuleOutcome, Severity};

use super::Style;
use super::host::counted;
use super::ink::Ink;
use super::words::{Hanging, clean, listed};

/// Evidence items shown per finding; a sweep may have one per point.
const MOST_EVIDENCE: usize = 12;

/// Column at which a finding's text starts, after its severity.
const INDENT: usize = 6;

/// Findings in the assessment's order (worst first): headline, figures, why it matters, what to do
/// next; then how many rules could not decide, and why. Lines are at most `style.width` long.
pub(crate) fn findings_text(assessment: &Assessment, style: &Style) -> String {
    let mut out = String::new();
    for finding in &assessment.findings {
        out.push_str(&finding_text(finding, style));
        out.push('\n');
    }
    out.push_str(&rules_text(assessment, style));
    out
}

/// Severity as printed, four columns wide.
pub(crate) fn severity_label(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "INFO",
        Severity::Warn => "WARN",
        Severity::Fail => "FAIL",
    }
}

/// One finding: headline, figures, why it matters, what to do next.
pub(super) fn finding_text(finding: &Finding, style: &Style) -> String {
    let label = severity_label(finding.severity);
    let after = Hanging::after(label, Ink::of_severity(finding.severity), INDENT, style);
    let first = Hanging { separator: " ", ink: Ink::Bold, ..after };
    let mut out = first.lines(&[headline(finding)]);
    let all = evidence(finding).into_iter();
    let mut evidence: Vec<String> = all.map(|(what, value)| format!("{what} {value}")).collect();
    if evidence.len() > MOST_EVIDENCE {
        let more = evidence.len() - MOST_EVIDENCE;
        evidence.truncate(MOST_EVIDENCE);
        evidence.push(format!("and {more} more (--json has them)"));
    }
    let figures =
        Hanging { lead: String::new(), lead_width: 0, separator: " · ", ink: Ink::Plain, ..first };
    out.push_str(&figures.lines(&evidence));
    out.push_str(&labelled(style, INDENT, "why", &finding.why));
    out.push_str(&labelled(style, INDENT, "next", &finding.next));
    let cause = finding.cause.as_ref().map(|cause| format!(", follows from {cause}"));
    let rule = format!("{}{}", finding.rule, cause.unwrap_or_default());
    out.push_str(&labelled(style, INDENT, "rule", &rule));
    out
}

/// What and value of the evidence; equal values once, with the first of what they are of.
pub(crate) fn evidence(finding: &Finding) -> Vec<(String, String)> {
    let mut all: Vec<(&Evidence, usize)> = Vec::new();
    for one in &finding.evidence {
        match all.iter_mut().find(|(known, _)| known.value == one.value) {
            Some((_, more)) => *more += 1,
            None => all.push((one, 0)),
        }
    }
    let named = all.into_iter().map(|(one, more)| match more {
        0 => (clean(&one.what), clean(&one.value)),
        more => (format!("{} and {more} more:", clean(&one.what)), clean(&one.value)),
    });
    named.collect()
}

/// Sentence of the finding, prefixed with its subjects if it names none.
pub(crate) fn headline(finding: &Finding) -> String {
    let what = clean(&finding.what);
    let named = finding.subjects.iter().any(|subject| what.contains(subject.as_str()));
    match finding.subjects.is_empty() || named {
        true => what,
        false => format!("{}: {what}", clean(&listed(&finding.subjects))),
    }
}

/// `next  text`, wrapped, at column `indent`; nothing for an empty text.
pub(super) fn labelled(style: &Style, indent: usize, label: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let lead = format!("{}{}", " ".repeat(indent), Ink::Dim.paint(label, style.color));
    let hanging = Hanging {
        lead,
        lead_width: indent + label.len(),
        indent: indent + 6,
        separator: " ",
        ink: if label == "rule" { Ink::Dim } else { Ink::Plain },
        ..Hanging::of(style)
    };
    hanging.lines(&[clean(text)])
}

/// Summary of the rules, and the missing inputs of the undecided ones.
fn rules_text(assessment: &Assessment, style: &Style) -> String {
    if assessment.rules.is_empty() {
        return String::new();
    }
    let mut items = outcomes(assessment);
    items.push(format!("ruleset {}", clean(&assessment.ruleset)));
    let lead = counted(assessment.rules.len(), "rule");
    let summary = Hanging::after(&lead, Ink::Bold, lead.len() + 2, style);
    let mut out = summary.lines(&items);
    for (missing, rules) in missing(assessment) {
        let line = Hanging {
            lead: String::new(),
            lead_width: 0,
            indent: 2,
            separator: " ",
            ink: Ink::Dim,
            ..summary
        };
        out.push_str(&line.lines(&[format!("{}: {missing}", rules.join(", "))]));
    }
    out
}

/// Number of rules by outcome.
pub(crate) fn outcomes(assessment: &Assessment) -> Vec<String> {
    let count = |is: fn(&RuleOutcome) -> bool| {
        assessment.rules.iter().filter(|report| is(&report.outcome)).count()
    };
    let found = count(|outcome| matches!(outcome, RuleOutcome::Findings(_)));
    let idle = count(|outcome| matches!(outcome, RuleOutcome::NotApplicable));
    let silent = count(|outcome| matches!(outcome, RuleOutcome::CannotTell(_)));
    let (clear, partly): (Vec<_>, Vec<_>) = assessment
        .rules
        .iter()
        .filter(|report| matches!(report.outcome, RuleOutcome::Clear))
        .partition(|report| report.cannot_tell.is_empty());
    let mut items = vec![format!("{} clear", clear.len())];
    if found > 0 {
        items.push(format!("{found} with findings"));
    }
    items.push(format!("{silent} undecided"));
    if !partly.is_empty() {
        items.push(format!("{} partly undecided", partly.len()));
    }
    if idle > 0 {
        items.push(format!("{idle} not applicable"));
    }
    items
}

/// Missing inputs, each with the rules that need it and their subjects, in rule order.
pub(crate) fn missing(assessment: &Assessment) -> Vec<(String, Vec<String>)> {
    let mut missing: Vec<(String, Vec<String>)> = Vec::new();
    let mut note = |what: &str, rule: String| {
        let what = clean(what.trim_end_matches('.'));
        match missing.iter_mut().find(|(known, _)| *known == what) {
            Some((_, rules)) => rules.push(rule),
            None => missing.push((what, vec![rule])),
        }
    };
    for report in &assessment.rules {
        match &report.outcome {
            // Listed below, with its subjects.
            RuleOutcome::CannotTell(what)
                if report.cannot_tell.iter().any(|(_, of_one)| of_one == what) => {}
            RuleOutcome::CannotTell(what) => note(what, clean(&report.rule)),
            _ => {}
        }
        let mut known: Vec<&str> = Vec::new();
        for (_, what) in &report.cannot_tell {
            if known.contains(&what.as_str()) {
                continue;
            }
            known.push(what);
            let of = report.cannot_tell.iter().filter(|(_, other)| other == what);
            let subjects: Vec<String> = of.map(|(subject, _)| subject.clone()).collect();
            note(what, clean(&format!("{} ({})", report.rule, listed(&subjects))));
        }
    }
    missing
}
