//! What was judged, where the document is not as the model: of a measurement's metrics it has
//! claims, ceilings and verdicts one beside the other, and each finding once.

use iodyno_model as model;
use iodyno_model::{
    BelowSaturation, ClaimFigure, Estimate, Metric, MetricJudgement, RuleOutcome, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a data sheet states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// What it is a figure of.
    pub metric: Metric,
    /// What is stated.
    #[serde(flatten)]
    pub figure: ClaimFigure,
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
    pub below_saturation: Option<BelowSaturation>,
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
