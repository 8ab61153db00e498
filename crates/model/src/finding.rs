//! What rules say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How grave a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Something is not as it should be; the machine works.
    Warn,
    /// Something is wrong.
    Fail,
}

/// A figure that a finding stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What it is: `link in use`.
    pub what: String,
    /// The figure with its unit: `Gen3 x2`.
    pub value: String,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// How grave.
    pub severity: Severity,
    /// Names of the drives, namespaces, links or files that it is about.
    pub subjects: Vec<String>,
    /// What was found, in a sentence.
    pub what: String,
    /// The figures.
    pub evidence: Vec<Evidence>,
    /// Why it matters, in a sentence.
    pub why: String,
    /// What to do next, in a sentence.
    pub next: String,
    /// Id of the rule whose finding explains this one: it goes away with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// What came of applying a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// It looked and found nothing.
    Clear,
    /// It found these.
    Findings(Vec<Finding>),
    /// It could not tell; says what is missing.
    CannotTell(String),
    /// There is nothing that it could be about (no PCIe drive, no peers).
    NotApplicable,
}

/// A rule with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleReport {
    /// Id of the rule.
    pub rule: String,
    /// What came of it.
    pub outcome: RuleOutcome,
    /// Of what it could not tell although it found something elsewhere:
    /// (subject, what is missing).
    pub cannot_tell: Vec<(String, String)>,
}

impl Evidence {
    /// A figure with its name.
    pub fn new(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { what: what.into(), value: value.into() }
    }
}
