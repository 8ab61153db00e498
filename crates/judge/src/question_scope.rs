//! Scope of a run's question: everything, or the drives that were named.

use std::collections::BTreeSet;

use iodyno_model::{Drive, Finding, Scope, Severity};

use crate::place::names;
use crate::rule_context::RuleContext;

/// A rule about the machine as a whole.
const RULE_OF_MACHINE: &str = "drive-missing";
/// A rule about every drive of the machine if an expectation was given.
const RULE_OF_EXPECTED_DRIVES: &str = "drive-dead";

/// Names that were asked about; `None`: everything.
pub(crate) struct QuestionScope {
    names: Option<BTreeSet<String>>,
    /// An expectation was given.
    is_expected: bool,
}

impl QuestionScope {
    pub(crate) fn of(context: &RuleContext<'_>) -> Self {
        let is_expected = context.question.expect.is_some();
        Self { names: named(context), is_expected }
    }

    /// Returns true if this subject was asked about.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(name))
    }

    /// Lowers findings about other subjects to INFO: they do not count in the verdict.
    pub(crate) fn lower_severity(&self, mut finding: Finding) -> Finding {
        let concerned = finding.subjects.is_empty()
            || finding.rule == RULE_OF_MACHINE
            || (self.is_expected && finding.rule == RULE_OF_EXPECTED_DRIVES)
            || finding.subjects.iter().any(|subject| self.has(subject));
        if !concerned && finding.severity > Severity::Info {
            finding.severity = Severity::Info;
            finding.what = format!("Not a named target: {}", finding.what);
        }
        finding
    }
}

/// The named targets and everything below them; `None` if nothing was named, or if a path has no
/// known device and so may be on any drive.
fn named(context: &RuleContext<'_>) -> Option<BTreeSet<String>> {
    let record = context.record();
    let run = &record.run;
    let host = context.host()?;
    let devices = record.measurements.iter().filter_map(|of| of.conditions.device.as_ref());
    let skipped = run.skipped.iter().map(|skipped| &skipped.target);
    let mut scope: BTreeSet<String> =
        run.targets.iter().chain(skipped).chain(devices).cloned().collect();
    let is_known = |path: &String| context.index.located(path).is_some();
    let has_unknown = run.targets.iter().any(|name| name.starts_with('/') && !is_known(name));
    if run.scope == Scope::Machine || scope.is_empty() || has_unknown {
        return None;
    }
    let below: Vec<String> = scope
        .iter()
        .flat_map(|name| host.levels_under(name.strip_prefix("/dev/").unwrap_or(name)))
        .flatten()
        .map(|block| block.name.clone())
        .collect();
    scope.extend(below);
    let is_asked = |drive: &&Drive| names(drive).iter().any(|name| scope.contains(*name));
    let drives: Vec<&Drive> = host.drives.iter().filter(is_asked).collect();
    for drive in drives {
        scope.extend(names(drive).into_iter().map(str::to_owned));
        scope.extend(drive.links.iter().cloned());
    }
    for card in &host.cards {
        if card.blocks.iter().any(|block| scope.contains(block)) {
            scope.insert(card.address.clone());
            scope.extend(card.links.iter().cloned());
        }
    }
    Some(scope)
}
