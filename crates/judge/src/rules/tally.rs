//! Collects the results of a rule.

use std::collections::{HashMap, HashSet};

use iodyno_model::{
    Evidence, Fact, Finding, Measurement, RuleOutcome, RuleReport, Severity, Verdict, distinct,
};

use super::Rule;
use crate::rule_context::RuleContext;

/// From this many equal entries on, only their number is shown: a report of ten thousand jobs lacks
/// a host in each of them, for each of twenty rules.
const MOST_NAMED: usize = 256;

/// Pairs of subject and statement; many with the same statement become one: `job0 and 9999 more`.
fn named(pairs: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut times = HashMap::<String, usize>::new();
    for (_, what) in &pairs {
        match times.get_mut(what) {
            Some(times) => *times += 1,
            None => _ = times.insert(what.clone(), 1),
        }
    }
    let mut reported = HashSet::new();
    let short = |(whose, what): (String, String)| match times[&what] {
        several @ MOST_NAMED.. => {
            let is_first = reported.insert(what.clone());
            is_first.then(|| (format!("{whose} and {} more", several - 1), what))
        }
        _ => Some((whose, what)),
    };
    pairs.into_iter().filter_map(short).collect()
}

/// A rule's findings so far, and what it could and could not check.
pub(crate) struct Tally {
    rule: &'static Rule,
    findings: Vec<Finding>,
    unknown: Vec<(String, String)>,
    checked: bool,
}

impl Tally {
    pub(super) fn new(rule: &'static Rule) -> Self {
        Self { rule, findings: Vec::new(), unknown: Vec::new(), checked: false }
    }

    /// Notes that something was checked.
    pub(crate) fn checked(&mut self) {
        self.checked = true;
    }

    /// Adds a finding, and sets its rule.
    pub(crate) fn found(&mut self, finding: Finding) {
        self.checked = true;
        self.findings.push(Finding { rule: self.rule.id.to_owned(), ..finding });
    }

    /// Notes that `subject` could not be checked because of `missing`.
    pub(crate) fn unknown(&mut self, subject: impl Into<String>, missing: impl Into<String>) {
        self.unknown.push((subject.into(), missing.into()));
    }

    /// Returns the value of a fact; if it is unknown, notes that and why.
    pub(crate) fn known_or_note<'f, T>(
        &mut self,
        subject: &str,
        what: &str,
        fact: &'f Fact<T>,
    ) -> Option<&'f T> {
        if let Some(why) = fact.why_unknown() {
            self.unknown(subject, format!("{what}: {why}"));
        }
        fact.get()
    }

    pub(crate) fn report(mut self) -> RuleReport {
        self.unknown = named(distinct(self.unknown));
        let outcome = if !self.findings.is_empty() {
            RuleOutcome::Findings(self.findings)
        } else if self.checked {
            RuleOutcome::Clear
        } else if self.unknown.is_empty() {
            RuleOutcome::NotApplicable
        } else {
            let missing = distinct(self.unknown.iter().map(|(_, what)| what.as_str()));
            RuleOutcome::CannotTell(missing.join("; "))
        };
        RuleReport { rule: self.rule.id.to_owned(), outcome, cannot_tell: self.unknown }
    }
}

/// Applies a qualifying rule to each finished measurement. `affected_by` returns the figure of an
/// affected one, `None` if it is not affected, or what is missing to tell. All affected ones make
/// one finding: `what`, `why`, `next`.
pub(crate) fn qualify(
    tally: &mut Tally,
    context: &RuleContext<'_>,
    affected_by: impl Fn(&Measurement) -> Result<Option<String>, String>,
    [what, why, next]: [&str; 3],
) {
    let mut affected = Affected::default();
    for (_, of) in context.finished() {
        match affected_by(of) {
            Err(missing) => tally.unknown(of.title(), missing),
            Ok(figure) => {
                tally.checked();
                if let Some(figure) = figure {
                    affected.add(of.title(), figure, context.subjects(of));
                }
            }
        }
    }
    affected.report(tally, what, why, next);
}

/// Measurements with the same reservation of a rule: one finding for all, since a machine with many
/// drives would otherwise print pages.
#[derive(Default)]
pub(crate) struct Affected {
    /// Title and figure.
    figures: Vec<(String, String)>,
    subjects: Vec<String>,
}

impl Affected {
    /// Adds a measurement, with its title and the figure that is affected.
    pub(crate) fn add(&mut self, title: String, figure: impl Into<String>, subjects: Vec<String>) {
        self.figures.push((title, figure.into()));
        self.subjects.extend(subjects);
    }

    /// Makes one INFO finding of them, if any: `seq-read nvme0n1: {what}.`
    pub(crate) fn report(self, tally: &mut Tally, what: &str, why: &str, next: &str) {
        let whose = match self.figures.as_slice() {
            [] => return,
            [(only, _)] => only.clone(),
            several => format!("{} measurements", several.len()),
        };
        let what = format!("{whose}: {what}.");
        let figures = named(self.figures).into_iter();
        let evidence = figures.map(|(whose, figure)| Evidence::new(whose, figure)).collect();
        let subjects = distinct(self.subjects);
        tally.found(finding(Severity::Info, subjects, what, evidence, why, next));
    }
}

/// Returns the severity of a verdict; `None` if it is no finding.
pub(crate) const fn severity_of(verdict: Verdict) -> Option<Severity> {
    match verdict {
        Verdict::Fail => Some(Severity::Fail),
        Verdict::Warn => Some(Severity::Warn),
        Verdict::Pass | Verdict::Unjudged => None,
    }
}

/// Builds a finding for [`Tally::found`].
pub(crate) fn finding(
    severity: Severity,
    subjects: Vec<String>,
    what: impl Into<String>,
    evidence: Vec<Evidence>,
    why: &str,
    next: impl Into<String>,
) -> Finding {
    Finding {
        rule: String::new(),
        severity,
        subjects,
        what: what.into(),
        evidence,
        why: why.to_owned(),
        next: next.into(),
        cause: None,
    }
}
