//! What was judged: validity, verdicts, claims, ceilings, findings and rules.

use iodyno_model as model;
use iodyno_model::{MetricJudgement, RuleOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, finite};

/// Whether a measurement says what it seems to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Validity {
    /// It does.
    Valid,
    /// It does, with the reservations that are stated.
    Qualified,
    /// It does not.
    Invalid,
}

/// Whether something is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// As it should be.
    Pass,
    /// There was nothing to judge it by, or it could not be measured.
    Unjudged,
    /// Doubtful.
    Warn,
    /// Not as it should be.
    Fail,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Something is not as it should be; the machine works.
    Warn,
    /// Something is wrong.
    Fail,
}

/// What is judged of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Bytes per second; more is better.
    Bandwidth,
    /// I/Os per second; more is better.
    Iops,
    /// Mean latency, ns; less is better.
    LatencyMean,
}

/// A reservation about a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Id of the rule that says so.
    pub rule: String,
    /// What it makes of the measurement by itself; null: not recorded.
    pub validity: Option<Validity>,
    /// What it says, in a sentence.
    pub what: String,
}

/// What a data sheet states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// What it is a figure of.
    pub metric: Metric,
    /// The figure in the metric's unit (bytes per second, per second, ns).
    pub value: f64,
    /// Its conditions, as printed.
    pub conditions: String,
    /// The data sheet's name of the drive.
    pub model: String,
    /// Whether it is a figure of this capacity (`exact`), of its reads alone
    /// (`exact_read`), or the best of the series (`series_max`).
    pub scope: Scope,
    /// Where it was read.
    pub source: String,
}

/// What a claim's figure is a figure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This very capacity.
    Exact,
    /// This capacity for reads, the best of the series otherwise.
    ExactRead,
    /// The best of the series: an upper bound.
    SeriesMax,
}

/// An upper bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// What it bounds.
    pub metric: Metric,
    /// The bound in the metric's unit.
    pub value: f64,
    /// What sets it.
    pub by: String,
}

/// The verdict on one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricVerdict {
    /// What is judged.
    pub metric: Metric,
    /// The verdict.
    pub verdict: Verdict,
    /// What it stands on, in words.
    pub reason: String,
    /// The yardstick that the verdict stands on; null: there is none.
    #[serde(default)]
    pub yardstick: Option<model::Yardstick>,
    /// What was measured over the yardstick's figure.
    #[serde(default)]
    pub ratio: Option<f64>,
    /// What was measured, in the metric's unit.
    pub measured: Option<Estimate>,
    /// Median of the peers, in the metric's unit.
    pub peers_median: Option<f64>,
    /// How many peers; null: none.
    pub peers: Option<u32>,
    /// The same metric in the baseline run.
    pub baseline: Option<Estimate>,
    /// Why it is not held against its claim; null: it is, or has none.
    pub below_saturation: Option<model::BelowSaturation>,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// How grave.
    pub severity: Severity,
    /// Names of what it is about.
    pub subjects: Vec<String>,
    /// What was found.
    pub what: String,
    /// The figures that it stands on.
    pub evidence: Vec<Evidence>,
    /// Why it matters.
    pub why: String,
    /// What to do next.
    pub next: String,
}

/// A figure that a finding stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What it is.
    pub what: String,
    /// The figure with its unit.
    pub value: String,
}

/// What came of applying a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleReport {
    /// Id of the rule.
    pub id: String,
    /// What came of it.
    pub outcome: Outcome,
    /// What it could not tell.
    pub cannot_tell: Vec<CannotTell>,
}

/// What came of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It looked and found nothing.
    Clear,
    /// It found something; see the document's `findings`.
    Findings,
    /// It could not tell.
    CannotTell,
    /// There is nothing that it could be about.
    NotApplicable,
}

/// What a rule could not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CannotTell {
    /// Of what; null: of everything.
    pub subject: Option<String>,
    /// What is missing.
    pub missing: String,
}

/// The verdict on a drive or target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
}

impl Claim {
    pub(super) fn of(judgement: &MetricJudgement) -> Option<Self> {
        let claim = judgement.claim.as_ref()?;
        Some(Self {
            metric: judgement.metric.into(),
            value: finite(claim.value)?,
            conditions: claim.conditions.clone(),
            model: claim.model.clone(),
            scope: match claim.scope {
                model::ClaimScope::Exact => Scope::Exact,
                model::ClaimScope::ExactRead => Scope::ExactRead,
                model::ClaimScope::SeriesMax => Scope::SeriesMax,
            },
            source: claim.source.clone(),
        })
    }
}

impl Ceiling {
    pub(super) fn of(judgement: &MetricJudgement) -> Option<Self> {
        let (value, by) = judgement.ceiling.as_ref()?;
        Some(Self { metric: judgement.metric.into(), value: finite(*value)?, by: by.clone() })
    }
}

impl From<&MetricJudgement> for MetricVerdict {
    fn from(judgement: &MetricJudgement) -> Self {
        Self {
            metric: judgement.metric.into(),
            verdict: judgement.verdict.into(),
            reason: judgement.reason.to_string(),
            yardstick: judgement.reason.share.map(|(of, _)| of),
            ratio: judgement.reason.share.and_then(|(_, ratio)| finite(ratio)),
            measured: Estimate::new(&judgement.estimate),
            peers_median: judgement.peers.and_then(|(median, _)| finite(median)),
            peers: judgement.peers.map(|(_, count)| count),
            baseline: judgement.baseline.as_ref().and_then(Estimate::new),
            below_saturation: judgement.below_saturation,
        }
    }
}

impl From<&model::Reason> for Reason {
    fn from(reason: &model::Reason) -> Self {
        Self {
            rule: reason.rule.clone(),
            validity: Some(reason.validity.into()),
            what: reason.why.clone(),
        }
    }
}

impl From<&(String, model::Verdict)> for Subject {
    fn from((name, verdict): &(String, model::Verdict)) -> Self {
        Self { name: name.clone(), verdict: (*verdict).into() }
    }
}

impl From<&model::Finding> for Finding {
    fn from(finding: &model::Finding) -> Self {
        Self {
            rule: finding.rule.clone(),
            severity: finding.severity.into(),
            subjects: finding.subjects.clone(),
            what: finding.what.clone(),
            evidence: finding
                .evidence
                .iter()
                .map(|e| Evidence { what: e.what.clone(), value: e.value.clone() })
                .collect(),
            why: finding.why.clone(),
            next: finding.next.clone(),
        }
    }
}

impl From<&model::RuleReport> for RuleReport {
    fn from(report: &model::RuleReport) -> Self {
        let mut cannot_tell = Vec::new();
        let outcome = match &report.outcome {
            RuleOutcome::Clear => Outcome::Clear,
            RuleOutcome::Findings(_) => Outcome::Findings,
            RuleOutcome::NotApplicable => Outcome::NotApplicable,
            RuleOutcome::CannotTell(missing) => {
                cannot_tell.push(CannotTell { subject: None, missing: missing.clone() });
                Outcome::CannotTell
            }
        };
        cannot_tell.extend(report.cannot_tell.iter().map(|(subject, missing)| CannotTell {
            subject: Some(subject.clone()),
            missing: missing.clone(),
        }));
        Self { id: report.rule.clone(), outcome, cannot_tell }
    }
}

impl From<model::Validity> for Validity {
    fn from(validity: model::Validity) -> Self {
        match validity {
            model::Validity::Valid => Self::Valid,
            model::Validity::Qualified => Self::Qualified,
            model::Validity::Invalid => Self::Invalid,
        }
    }
}

impl From<model::Verdict> for Verdict {
    fn from(verdict: model::Verdict) -> Self {
        match verdict {
            model::Verdict::Pass => Self::Pass,
            model::Verdict::Unjudged => Self::Unjudged,
            model::Verdict::Warn => Self::Warn,
            model::Verdict::Fail => Self::Fail,
        }
    }
}

impl From<model::Severity> for Severity {
    fn from(severity: model::Severity) -> Self {
        match severity {
            model::Severity::Info => Self::Info,
            model::Severity::Warn => Self::Warn,
            model::Severity::Fail => Self::Fail,
        }
    }
}

impl From<model::Metric> for Metric {
    fn from(metric: model::Metric) -> Self {
        match metric {
            model::Metric::Bandwidth => Self::Bandwidth,
            model::Metric::Iops => Self::Iops,
            model::Metric::LatencyMean => Self::LatencyMean,
        }
    }
}
