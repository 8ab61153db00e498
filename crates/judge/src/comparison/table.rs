//! Result of a comparison: sides, rows and figures.

use iodyno_model::{Direction, Estimate, LatencyKind, Reason, Run, RunState, Validity, Workload};
use schemars::JsonSchema;
use serde::Serialize;

use super::difference::{Difference, REPETITIONS};
use super::differing::{Differing, NotKnown};
use super::limit::{Outcome, Ruling};
use super::quantity::Quantity;
use crate::exit_status::ExitStatus;

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Columns.
    pub sides: Vec<SideFacts>,
    /// Workloads of at least two sides.
    pub rows: Vec<Row>,
    /// Workloads of only one side.
    pub alone: Vec<Alone>,
    /// Conditions that differ.
    pub differing: Vec<Differing>,
    /// Conditions known of only some sides.
    pub not_known: Vec<NotKnown>,
}

/// Description of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct SideFacts {
    /// Label.
    pub label: String,
    /// Runs.
    pub runs: Vec<Run>,
    /// Measurements that failed or were interrupted, compared or not.
    pub failed: usize,
    /// I/Os that failed, as far as known.
    pub failed_ios: u64,
    /// Index of an earlier side with the same run.
    pub same_as: Option<usize>,
    /// Number of its runs that this earlier side has, too.
    pub same_runs: usize,
    /// Number of its runs in rounds that have no measurement window to be compared by; `None`: no
    /// run is in rounds.
    pub without_window: Option<usize>,
}

/// A workload of only one side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alone {
    /// Index of the side.
    pub side: usize,
    /// The workload.
    pub point: Point,
}

/// Subject of a row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Name of the jobs, if all have the same.
    pub name: Option<String>,
    /// Direction.
    pub direction: Direction,
    /// Known parts of the workload, and options that distinguish it from other rows.
    pub workload: Workload,
    /// The depth was found by a search.
    #[serde(rename = "depth_searched")]
    pub searched: bool,
    /// Targets, if a side has several: those of the first side that has it.
    pub place: Option<Vec<String>>,
}

/// A workload with its results on each side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Workload of the first side.
    pub point: Point,
    /// Workload of the second side if it is another one, when two unlike workloads were to be
    /// compared. Their difference is not a regression.
    pub unlike: Option<Point>,
    /// Results by side; `None`: the side lacks the workload.
    #[serde(rename = "sides")]
    pub cells: Vec<Option<Cell>>,
    /// Figures that were compared.
    pub figures: Vec<Figure>,
}

/// Results of a side for a workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Repetitions that count.
    pub repetitions: usize,
    /// Repetitions left out: failed or invalid.
    pub left_out: usize,
    /// Copies of repetitions that are already counted.
    pub copies: usize,
    /// Repetitions that count and that the first side with valid results has, too.
    pub shared: usize,
    /// Error of a repetition that failed.
    pub failure: Option<String>,
    /// Worst validity of all repetitions.
    pub validity: Validity,
    /// Reservations of all repetitions, the most severe first.
    pub reasons: Vec<Reason>,
    /// Order in time relative to the first side that has it; `None`: it is that side, or one of the
    /// two was not repeated.
    pub order: Option<Order>,
}

/// Order in time of two sides' repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Interleaved: drift affects both.
    Interleaved,
    /// One side after the other: a difference may be drift.
    OneAfterTheOther,
    /// Times not known.
    Unknown,
}

/// One quantity of a row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// Quantity.
    #[serde(rename = "metric")]
    pub quantity: Quantity,
    /// Kind of latency; `None`: not a latency.
    #[serde(rename = "latency")]
    pub kind: Option<LatencyKind>,
    /// Value of each side, in the quantity's unit: one repetition with its own interval, or the
    /// geometric mean of several, with an interval from three on.
    pub values: Vec<Option<Estimate>>,
    /// Each side compared with the first that has a value; `None` for that one, and if there is
    /// nothing to compare.
    pub differences: Vec<Option<Difference>>,
    /// Why a side that was measured is not compared.
    pub why_not: Option<String>,
}

impl Comparison {
    /// Returns true if some workload has enough repetitions on two sides for a test.
    pub fn has_repetitions(&self) -> bool {
        let repeated = |cell: &&Option<Cell>| {
            cell.as_ref().is_some_and(|cell| cell.repetitions >= REPETITIONS)
        };
        self.rows.iter().any(|row| row.cells.iter().filter(repeated).count() > 1)
    }

    /// Returns 3 if a run did not finish or part of it failed, 1 if a limit is broken, 4 if one
    /// cannot be evaluated, else 0.
    pub fn exit_status(&self, rulings: &[Ruling]) -> ExitStatus {
        let mut runs = self.sides.iter().flat_map(|side| &side.runs);
        let unfinished = runs.any(|run| run.state != RunState::Done);
        let cannot_tell = |one: &Ruling| matches!(one.outcome, Outcome::CannotTell(_));
        if unfinished || self.sides.iter().any(|side| side.failed > 0) {
            ExitStatus::Interrupted
        } else if rulings.iter().any(|one| one.outcome == Outcome::Broken) {
            ExitStatus::Failed
        } else if rulings.iter().any(cannot_tell) {
            ExitStatus::Unjudged
        } else {
            ExitStatus::Fine
        }
    }
}
