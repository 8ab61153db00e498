//! Public document of a comparison of runs.

use iodyno_judge::comparison::{self as judged, Alone, Differing, NotKnown, Outcome, Row, Subject};
use iodyno_model::rfc3339;
use schemars::JsonSchema;
use serde::Serialize;

use super::run::Origin;

/// Comparison of runs: `iodyno.compare/1`. SI base units (bytes per second, per second, ns);
/// unknown values are null, never 0. All lists of sides are in the order of `sides`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CompareDocument {
    /// `iodyno.compare/1`.
    pub schema: String,
    /// Compared sides.
    pub sides: Vec<Side>,
    /// Workloads measured on at least two sides.
    pub rows: Vec<Row>,
    /// Workloads measured on one side only.
    pub alone: Vec<Alone>,
    /// Conditions that differ.
    pub differing: Vec<Differing>,
    /// Conditions unknown for one side but known for others.
    pub not_known: Vec<NotKnown>,
    /// Result of each limit (`--fail-if`), for each row and side.
    pub limits: Vec<Limit>,
    /// Limits that cannot be judged since a side lacks a workload that only the first side has.
    pub limits_alone: Vec<LimitAlone>,
    /// 0 no limit exceeded, 1 a limit exceeded, 3 a run did not finish or a measurement failed, 4 a
    /// limit cannot be judged.
    pub exit_status: u8,
}

/// A run, or several repetitions of one. Runs are only referenced, not included.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// Label, as given by the user.
    pub label: String,
    /// Its runs.
    pub runs: Vec<Run>,
    /// Measurements that failed or were interrupted, compared or not.
    pub failed: usize,
    /// I/Os that failed, as far as known.
    pub failed_ios: u64,
    /// Index of an earlier side with the same run; null: none.
    pub same_as: Option<usize>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Run {
    /// UUIDv7; generated for this document if the run was read from a file.
    pub id: String,
    /// Name.
    pub name: String,
    /// Start, RFC 3339.
    pub started: String,
    /// Origin of the results.
    pub origin: Origin,
}

/// Result of a limit; the limit is in the syntax of `--fail-if`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Limit {
    /// Limit: `iops < -5%`.
    pub limit: String,
    /// Index of the row.
    pub row: usize,
    /// Index of the side.
    pub side: usize,
    /// Outcome.
    pub outcome: Ruling,
    /// Reason why it cannot be judged; null if it can.
    pub why: Option<String>,
}

/// Limit for a workload that only the first side has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LimitAlone {
    /// Limit: `iops < -5%`.
    pub limit: String,
    /// Index in `alone`.
    pub alone: usize,
    /// Index of the side that lacks the workload.
    pub side: usize,
    /// Outcome: `cannot_tell`.
    pub outcome: Ruling,
    /// Reason.
    pub why: Option<String>,
}

/// Outcome of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The difference exceeds the limit.
    Broken,
    /// The difference is within the limit.
    Kept,
    /// The difference may exceed the limit, but this is not certain.
    NotShown,
    /// Cannot be judged.
    CannotTell,
}

/// Builds the document of a comparison. `exit_status` is the exit status of the command.
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
        limits: rulings.iter().filter_map(limit).collect(),
        limits_alone: rulings.iter().filter_map(limit_alone).collect(),
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
            failed_ios: side.failed_ios,
            same_as: side.same_as,
        }
    }
}

fn limit(of: &judged::Ruling) -> Option<Limit> {
    let Subject::Row(row) = of.subject else { return None };
    let (outcome, why) = outcome(&of.outcome);
    Some(Limit { limit: of.limit.to_string(), row, side: of.side, outcome, why })
}

fn limit_alone(of: &judged::Ruling) -> Option<LimitAlone> {
    let Subject::Alone(alone) = of.subject else { return None };
    let (outcome, why) = outcome(&of.outcome);
    Some(LimitAlone { limit: of.limit.to_string(), alone, side: of.side, outcome, why })
}

fn outcome(of: &Outcome) -> (Ruling, Option<String>) {
    match of {
        Outcome::Broken => (Ruling::Broken, None),
        Outcome::Kept => (Ruling::Kept, None),
        Outcome::NotShown => (Ruling::NotShown, None),
        Outcome::CannotTell(why) => (Ruling::CannotTell, Some(why.clone())),
    }
}
