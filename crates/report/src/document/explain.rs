//! The public document of what limits measurements.

use iodyno_judge::Ceiling;
use iodyno_judge::limiter::{Answer, Explanation, Limiter, Next, Suspect};
use iodyno_model::{EarlierHeadroom, Estimate, Experiment, Metric};
use schemars::JsonSchema;
use serde::Serialize;

/// What limits measurements.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExplainDocument {
    /// `iodyno.explain/1`.
    pub schema: String,
    /// The measurements that were explained.
    pub explained: Vec<Explained>,
    /// What its drives took of a load in earlier runs that the store has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier_headroom: Vec<EarlierHeadroom>,
    /// Exit status of the command: 0 all limiters are named, 3 something failed, 4 undecided or invalid.
    pub exit_status: u8,
}

/// A measurement explained.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// Id of its run.
    pub run: String,
    /// Its name there.
    pub measurement: String,
    /// Its targets.
    pub targets: Vec<String>,
    /// The workload in fio's options, as far as it is known.
    pub workload: String,
    /// What rates are counted in here: bytes or I/Os, per second.
    pub unit: Unit,
    /// Its rate over all directions; the mean where it was repeated.
    pub rate: Option<Estimate>,
    /// How often it was measured.
    #[schemars(default = "once")]
    pub repetitions: usize,
    /// `VALID`, `QUALIFIED` or `INVALID`.
    pub validity: String,
    /// Why it is not valid without reservation.
    pub reasons: Vec<Reason>,
    /// Whether the limiter is named, or what would decide.
    pub outcome: Outcome,
    /// The limiter; null where it is not named.
    pub limiter: Option<Limiter>,
    /// The limiter is only probable: everything was measured once, which noise may have made.
    #[schemars(default)]
    pub is_probable: bool,
    /// Those between which the evidence does not decide.
    pub between: Vec<Limiter>,
    /// The experiments that would decide.
    pub experiments: Vec<Experiment>,
    /// What limits once the limiter is out of the way.
    pub behind: Option<Next>,
    /// The answer in sentences.
    pub sentence: String,
    /// What to do.
    pub advice: String,
    /// What else is to be known.
    pub notes: Vec<String>,
    /// Upper bounds, the lowest first.
    pub ceilings: Vec<Ceiling>,
    /// What was measured with one thing changed.
    pub contrasts: Vec<Contrast>,
    /// Everything that may have limited, and how it stands.
    pub suspects: Vec<Suspect>,
}

/// What rates are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes per second.
    BytesPerS,
    /// I/Os per second.
    IosPerS,
}

/// How it came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The limiter is named.
    Named,
    /// The evidence does not decide.
    Undecided,
}

/// A reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// Id of the rule.
    pub rule: String,
    /// What it says.
    pub why: String,
}

/// A measurement that differs in a single respect.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Contrast {
    /// The respect, in words.
    pub change: String,
    /// Id of its run.
    pub run: String,
    /// Name of the measurement.
    pub measurement: String,
    /// Its rate; the mean where it was repeated.
    pub rate: Option<Estimate>,
    /// How often it was measured.
    #[schemars(default = "once")]
    pub repetitions: usize,
    /// Its rate over that of the measurement that is explained.
    pub ratio: Option<Estimate>,
}

/// What earlier documents do not say.
const fn once() -> usize {
    1
}

/// The document of what was explained.
pub fn explain_document(
    explained: &[Explanation<'_>],
    earlier_headroom: Vec<EarlierHeadroom>,
    exit_status: u8,
) -> ExplainDocument {
    ExplainDocument {
        schema: "iodyno.explain/1".into(),
        explained: explained.iter().map(one).collect(),
        earlier_headroom,
        exit_status,
    }
}

fn one(of: &Explanation<'_>) -> Explained {
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
