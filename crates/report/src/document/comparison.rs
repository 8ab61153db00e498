//! Runs held against each other.

use iodyno_judge::comparison::{self as judged, Alone, Differing, NotKnown, Outcome, Row};
use iodyno_model::rfc3339;
use schemars::JsonSchema;
use serde::Serialize;

use super::run::Origin;

/// Runs side by side: `iodyno.compare/1`. SI base units (bytes per second, per
/// second, ns); what is unknown is null, never 0. Lists of sides are all in the
/// order of `sides`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CompareDocument {
    /// `iodyno.compare/1`.
    pub schema: String,
    /// What is compared.
    pub sides: Vec<Side>,
    /// Workloads that two sides or more have.
    pub rows: Vec<Row>,
    /// Workloads that one side alone has.
    pub alone: Vec<Alone>,
    /// What differs in the conditions.
    pub differing: Vec<Differing>,
    /// What is known of other sides, and not of this one.
    pub not_known: Vec<NotKnown>,
    /// What came of the limits (`--fail-if`), for each row and side.
    pub limits: Vec<Limit>,
    /// 0 nothing is beyond a limit, 1 something is, 3 a run was not ended or a measurement failed,
    /// 4 a limit cannot be judged.
    pub exit_status: u8,
}

/// A run, or several that repeat the same. Runs are named here, and not repeated whole.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// As it was named.
    pub label: String,
    /// Its runs.
    pub runs: Vec<Run>,
    /// Measurements that failed or were interrupted, compared or not.
    pub failed: usize,
    /// An earlier side with the same run, an index; null: none.
    pub same_as: Option<usize>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Run {
    /// UUIDv7; of what was read from a file, made for this document.
    pub id: String,
    /// Name.
    pub name: String,
    /// Start, RFC 3339.
    pub started: String,
    /// Where it came from.
    pub origin: Origin,
}

/// What came of a limit, which is written as it is typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Limit {
    /// The limit: `iops < -5%`.
    pub limit: String,
    /// Row, an index.
    pub row: usize,
    /// Side, an index.
    pub side: usize,
    /// What came of it.
    pub outcome: Ruling,
    /// Why it cannot be judged; null: it can.
    pub why: Option<String>,
}

/// What came of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The difference is beyond it.
    Broken,
    /// It is not.
    Kept,
    /// It may be, but not beyond doubt.
    NotShown,
    /// It cannot be judged.
    CannotTell,
}

/// The public document of a comparison. `exit_status` is the status that the
/// command ends with.
pub fn compare_document(
    comparison: &judged::Comparison,
    rulings: &[judged::Ruling],
    exit_status: u8,
) -> CompareDocument {
    CompareDocument {
        schema: "iodyno.compare/1".into(),
        sides: comparison.sides.iter().map(Side::from).collect(),
        rows: comparison.rows.clone(),
        alone: comparison.alone.clone(),
        differing: comparison.differing.clone(),
        not_known: comparison.not_known.clone(),
        limits: rulings.iter().map(Limit::from).collect(),
        exit_status,
    }
}

impl From<&judged::SideFacts> for Side {
    fn from(side: &judged::SideFacts) -> Self {
        let run = |run: &iodyno_model::Run| Run {
            id: run.id.clone(),
            name: run.name.clone(),
            started: rfc3339(run.started_ns),
            origin: Origin::from(&run.origin),
        };
        Self {
            label: side.label.clone(),
            runs: side.runs.iter().map(run).collect(),
            failed: side.failed,
            same_as: side.same_as,
        }
    }
}

impl From<&judged::Ruling> for Limit {
    fn from(ruling: &judged::Ruling) -> Self {
        let (outcome, why) = match &ruling.outcome {
            Outcome::Broken => (Ruling::Broken, None),
            Outcome::Kept => (Ruling::Kept, None),
            Outcome::NotShown => (Ruling::NotShown, None),
            Outcome::CannotTell(why) => (Ruling::CannotTell, Some(why.clone())),
        };
        Self { limit: ruling.limit.to_string(), row: ruling.row, side: ruling.side, outcome, why }
    }
}
