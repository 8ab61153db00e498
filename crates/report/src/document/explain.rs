//! Public document of `explain`: the limits of measurements.

use iodyno_judge::Ceiling;
use iodyno_judge::limiter::{Answer, Explanation, Limiter, Next, Suspect};
use iodyno_model::{EarlierHeadroom, Estimate, Experiment, Metric};
use schemars::JsonSchema;
use serde::Serialize;

/// Limits of measurements.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExplainDocument {
    /// `iodyno.explain/1`.
    pub schema: String,
    /// Explained measurements.
    pub explained: Vec<Explained>,
    /// Headroom of the drives in earlier runs in the store.
    pub earlier_headroom: Vec<EarlierHeadroom>,
    /// Exit status of the command: 0 all limiters named, 3 a failure, 4 undecided or invalid.
    pub exit_status: u8,
}

/// Explanation of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// Id of the run.
    pub run: String,
    /// Name of the measurement in the run.
    pub measurement: String,
    /// Targets.
    pub targets: Vec<String>,
    /// Workload in fio's options, as far as known.
    pub workload: String,
    /// Unit of the rates.
    pub unit: Unit,
    /// Rate over all directions; the mean if it was repeated.
    pub rate: Option<Estimate>,
    /// Number of repetitions.
    #[schemars(default = "one_repetition")]
    pub repetitions: usize,
    /// `VALID`, `QUALIFIED` or `INVALID`.
    pub validity: String,
    /// Reasons why it is not `VALID`.
    pub reasons: Vec<Reason>,
    /// Outcome.
    pub outcome: Outcome,
    /// Limiter; null if not named.
    pub limiter: Option<Limiter>,
    /// True if the limiter is only probable: nothing was repeated, so it may be noise.
    #[schemars(default)]
    pub is_probable: bool,
    /// Candidates between which the evidence does not decide.
    pub between: Vec<Limiter>,
    /// Experiments that would decide.
    pub experiments: Vec<Experiment>,
    /// Next limiter, once this one is removed.
    pub behind: Option<Next>,
    /// Answer in sentences.
    pub sentence: String,
    /// Advice.
    pub advice: String,
    /// Further remarks.
    pub notes: Vec<String>,
    /// Upper bounds, the lowest first.
    pub ceilings: Vec<Ceiling>,
    /// Measurements that differ in a single condition.
    pub contrasts: Vec<Contrast>,
    /// All possible limiters and their status.
    pub suspects: Vec<Suspect>,
}

/// Unit of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes per second.
    BytesPerS,
    /// I/Os per second.
    IosPerS,
}

/// Outcome of an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The limiter is named.
    Named,
    /// The evidence does not decide.
    Undecided,
}

/// Caveat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// Id of the rule.
    pub rule: String,
    /// Explanation.
    pub why: String,
}

/// Measurement that differs in a single condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Contrast {
    /// The condition, in words.
    pub change: String,
    /// Id of the run.
    pub run: String,
    /// Name of the measurement.
    pub measurement: String,
    /// Rate; the mean if it was repeated.
    pub rate: Option<Estimate>,
    /// Number of repetitions.
    #[schemars(default = "one_repetition")]
    pub repetitions: usize,
    /// Rate divided by that of the explained measurement.
    pub ratio: Option<Estimate>,
}

/// Default for documents of earlier versions, which lack `repetitions`.
const fn one_repetition() -> usize {
    1
}

/// Builds the document of explanations.
pub fn explain_document(
    explained: &[Explanation<'_>],
    earlier_headroom: Vec<EarlierHeadroom>,
    exit_status: u8,
) -> ExplainDocument {
    ExplainDocument {
        schema: "iodyno.explain/1".into(),
        explained: explained.iter().map(explained_one).collect(),
        earlier_headroom,
        exit_status,
    }
}

fn explained_one(of: &Explanation<'_>) -> Explained {
    let case = &of.case;
    let measurement = case.of_run();
    let (limiter, between, experiments, behind) = match &of.answer {
        Answer::Named { limiter, next, .. } => {
            (Some(*limiter), Vec::new(), Vec::new(), next.clone())
        }
        Answer::Unlike { .. } => (None, Vec::new(), Vec::new(), None),
        Answer::Experiment(experiment) => (None, Vec::new(), vec![*experiment], None),
        Answer::Repetition(experiments) => (None, Vec::new(), experiments.clone(), None),
        Answer::Undecided { between, experiments } => {
            (None, between.clone(), experiments.clone(), None)
        }
    };
    Explained {
        run: case.record.run.id.clone(),
        measurement: measurement.name.clone(),
        targets: measurement.targets.clone(),
        workload: case.workload(),
        unit: match case.metric {
            Metric::Bandwidth => Unit::BytesPerS,
            _ => Unit::IosPerS,
        },
        rate: case.rate.finite(),
        repetitions: case.repetitions.len(),
        validity: of.validity.label().into(),
        reasons: of
            .reasons
            .iter()
            .map(|reason| Reason { rule: reason.rule.clone(), why: reason.why.clone() })
            .collect(),
        outcome: if limiter.is_some() { Outcome::Named } else { Outcome::Undecided },
        limiter,
        is_probable: matches!(of.answer, Answer::Named { is_probable: true, .. }),
        between,
        experiments,
        behind,
        sentence: of.sentence.clone(),
        advice: of.advice.clone(),
        notes: of.notes.clone(),
        ceilings: of.ceilings.clone(),
        contrasts: of
            .contrasts
            .iter()
            .map(|contrast| Contrast {
                change: contrast.title(),
                run: contrast.other.record.run.id.clone(),
                measurement: contrast.other.of_run().name.clone(),
                rate: contrast.other.rate.finite(),
                repetitions: contrast.other.repetitions.len(),
                ratio: contrast.ratio.finite(),
            })
            .collect(),
        suspects: of.suspects.clone(),
    }
}
