//! What a rule gathers while it looks.

use std::collections::HashMap;

use iodyno_model::{
    Evidence, Fact, Finding, Measurement, RuleOutcome, RuleReport, Severity, Verdict,
};

use super::Rule;
use crate::each_once::each_once;
use crate::rule_context::RuleContext;

/// So many measurements that lack the same are counted and not named: a report of ten thousand
/// jobs lacks a host in each of them, for each of twenty rules.
const MOST_NAMED: usize = 256;

/// A rule's findings so far, what it looked at, and what it could not see.
pub(crate) struct Tally {
    rule: &'static Rule,
    findings: Vec<Finding>,
    unknown: Vec<(String, String)>,
    looked: bool,
}

impl Tally {
    pub(super) fn new(rule: &'static Rule) -> Self {
        Self { rule, findings: Vec::new(), unknown: Vec::new(), looked: false }
    }

    /// It looked at something and could see it.
    pub(crate) fn looked(&mut self) {
        self.looked = true;
    }

    /// It found something, which bears the rule's name.
    pub(crate) fn found(&mut self, finding: Finding) {
        self.looked = true;
        self.findings.push(Finding { rule: self.rule.id.to_owned(), ..finding });
    }

    /// It could not tell of `subject`, since `missing`.
    pub(crate) fn unknown(&mut self, subject: impl Into<String>, missing: impl Into<String>) {
        self.unknown.push((subject.into(), missing.into()));
    }

    /// The value of a fact; where it is unknown, notes that and why.
    pub(crate) fn know<'f, T>(
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
        self.unknown = each_once(self.unknown);
        let outcome = if !self.findings.is_empty() {
            RuleOutcome::Findings(self.findings)
        } else if self.looked {
            RuleOutcome::Clear
        } else if self.unknown.is_empty() {
            RuleOutcome::NotApplicable
        } else {
            let missing = each_once(self.unknown.iter().map(|(_, what)| what.as_str()));
            RuleOutcome::CannotTell(missing.join("; "))
        };
        RuleReport { rule: self.rule.id.to_owned(), outcome, cannot_tell: self.unknown }
    }
}

/// Applies a rule that qualifies measurements to each that was finished. `look`
/// gives the figure that one is affected by, `None` where it is not, or what is
/// missing to tell. All that are affected make one finding: `what`, `why`, `next`.
pub(crate) fn qualify(
    tally: &mut Tally,
    facts: &RuleContext<'_>,
    look: impl Fn(&Measurement) -> Result<Option<String>, String>,
    [what, why, next]: [&str; 3],
) {
    let mut affected = Affected::default();
    let (mut unknown, mut times) = (Vec::new(), HashMap::<String, usize>::new());
    for (_, of) in facts.finished() {
        match look(of) {
            Err(missing) => {
                *times.entry(missing.clone()).or_default() += 1;
                unknown.push((of.title(), missing));
            }
            Ok(figure) => {
                tally.looked();
                if let Some(figure) = figure {
                    affected.add(of.title(), figure, facts.subjects(of));
                }
            }
        }
    }
    for (title, missing) in unknown {
        match times[&missing] {
            several @ MOST_NAMED.. => tally.unknown(format!("{several} measurements"), missing),
            _ => tally.unknown(title, missing),
        }
    }
    affected.tell(tally, what, why, next);
}

/// Measurements that a rule has the same reservation about: one finding for
/// all, since a machine with many drives would otherwise print pages of it.
#[derive(Default)]
pub(crate) struct Affected {
    /// Title and figure.
    evidence: Vec<Evidence>,
    subjects: Vec<String>,
}

impl Affected {
    /// A measurement, by its title and the figure that it is affected by.
    pub(crate) fn add(&mut self, title: String, figure: impl Into<String>, subjects: Vec<String>) {
        self.evidence.push(Evidence::new(title, figure));
        self.subjects.extend(subjects);
    }

    /// Makes an INFO of them, if there are any: `seq-read nvme0n1: {what}.`
    pub(crate) fn tell(self, tally: &mut Tally, what: &str, why: &str, next: &str) {
        let whose = match self.evidence.as_slice() {
            [] => return,
            [only] => only.what.clone(),
            several => format!("{} measurements", several.len()),
        };
        let what = format!("{whose}: {what}.");
        let (subjects, evidence) = (each_once(self.subjects), self.evidence);
        tally.found(finding(Severity::Info, subjects, what, evidence, why, next));
    }
}

/// How grave a verdict is as a finding; `None` where there is nothing to find.
pub(crate) const fn severity_of(verdict: Verdict) -> Option<Severity> {
    match verdict {
        Verdict::Fail => Some(Severity::Fail),
        Verdict::Warn => Some(Severity::Warn),
        Verdict::Pass | Verdict::Unjudged => None,
    }
}

/// A finding, as [`Tally::found`] takes it.
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
