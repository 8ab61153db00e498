//! Public form of judgements, where it differs from the model: claims, ceilings and verdicts of a
//! measurement are separate lists, and each finding occurs once.

use iodyno_model as model;
use iodyno_model::{
    BelowSaturation, ClaimFigure, Estimate, Metric, MetricJudgement, RuleOutcome, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Claim of a data sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Metric.
    pub metric: Metric,
    /// Claimed figure.
    #[serde(flatten)]
    pub figure: ClaimFigure,
}

/// An upper bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Metric.
    pub metric: Metric,
    /// Bound, in the metric's unit.
    pub value: f64,
    /// What sets the bound.
    pub by: String,
}

/// Verdict on one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricVerdict {
    /// Metric.
    pub metric: Metric,
    /// Verdict.
    pub verdict: Verdict,
    /// Reason, in words.
    pub reason: String,
    /// Yardstick of the verdict; null: none.
    #[serde(default)]
    pub yardstick: Option<model::Yardstick>,
    /// Measured value divided by the yardstick's.
    #[serde(default)]
    pub ratio: Option<f64>,
    /// Measured value, in the metric's unit.
    pub measured: Option<Estimate>,
    /// Median of the peers, in the metric's unit.
    pub peers_median: Option<f64>,
    /// Number of peers; null: none.
    pub peers: Option<u32>,
    /// Same metric in the baseline run.
    pub baseline: Option<Estimate>,
    /// Reason why it is not compared with its claim; null if it is, or has none.
    pub below_saturation: Option<BelowSaturation>,
}

/// Result of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleReport {
    /// Id of the rule.
    pub id: String,
    /// Outcome.
    pub outcome: Outcome,
    /// Parts that could not be judged.
    pub cannot_tell: Vec<CannotTell>,
}

/// Outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing found.
    Clear,
    /// Something found; see the document's `findings`.
    Findings,
    /// Cannot be judged.
    CannotTell,
    /// Does not apply here.
    NotApplicable,
}

/// Part that a rule could not judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CannotTell {
    /// Subject; null: all.
    pub subject: Option<String>,
    /// Missing information.
    pub missing: String,
}

/// Verdict on a drive or target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// Name.
    pub name: String,
    /// Verdict.
    pub verdict: Verdict,
}

impl Claim {
    pub(super) fn of(judgement: &MetricJudgement) -> Option<Self> {
        let figure = judgement.claim.clone().filter(|figure| figure.value.is_finite())?;
        Some(Self { metric: judgement.metric, figure })
    }
}

impl Ceiling {
    pub(super) fn of(judgement: &MetricJudgement) -> Option<Self> {
        let (value, by) = judgement.ceiling.as_ref().filter(|(value, _)| value.is_finite())?;
        Some(Self { metric: judgement.metric, value: *value, by: by.clone() })
    }
}

impl From<&MetricJudgement> for MetricVerdict {
    fn from(judgement: &MetricJudgement) -> Self {
        Self {
            metric: judgement.metric,
            verdict: judgement.verdict,
            reason: judgement.reason.to_string(),
            yardstick: judgement.reason.share.map(|(of, _)| of),
            ratio: judgement.reason.share.map(|(_, ratio)| ratio),
            measured: judgement.estimate.finite(),
            peers_median: judgement.peers.map(|(median, _)| median),
            peers: judgement.peers.map(|(_, count)| count),
            baseline: judgement.baseline.and_then(Estimate::finite),
            below_saturation: judgement.below_saturation,
        }
    }
}

impl From<&(String, Verdict)> for Subject {
    fn from((name, verdict): &(String, Verdict)) -> Self {
        Self { name: name.clone(), verdict: *verdict }
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
