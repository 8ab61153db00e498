//! Findings of rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Severity of a finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Not as it should be; the machine works.
    Warn,
    /// Something is wrong.
    Fail,
}

/// Figure that supports a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub struct Evidence {
    /// Name of the figure: `link in use`.
    pub what: String,
    /// Value with its unit: `Gen3 x2`.
    pub value: String,
}

/// Finding of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// Severity.
    pub severity: Severity,
    /// Names of the drives, namespaces, links or files concerned.
    pub subjects: Vec<String>,
    /// Finding, one sentence.
    pub what: String,
    /// Supporting figures.
    pub evidence: Vec<Evidence>,
    /// Why it matters, one sentence.
    pub why: String,
    /// Next step, one sentence.
    pub next: String,
    /// Id of the rule whose finding causes this one; fixing that one fixes both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// Outcome of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// Checked, nothing found.
    Clear,
    /// Findings.
    Findings(Vec<Finding>),
    /// Undecided; holds the missing information.
    CannotTell(String),
    /// Nothing to check (no PCIe drive, no peers).
    NotApplicable,
}

/// A rule with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleReport {
    /// Id of the rule.
    pub rule: String,
    /// Outcome of the rule.
    pub outcome: RuleOutcome,
    /// Undecided subjects of a rule that found something elsewhere: (subject, missing information).
    pub cannot_tell: Vec<(String, String)>,
}

impl Evidence {
    /// Makes a figure with its name.
    pub fn new(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { what: what.into(), value: value.into() }
    }
}
