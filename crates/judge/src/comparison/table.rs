//! What runs held against each other come to: sides, rows and figures.

use iodyno_model::{Direction, Estimate, LatencyKind, Reason, Run, RunState, Validity, Workload};
use schemars::JsonSchema;
use serde::Serialize;

use super::difference::{Difference, REPETITIONS};
use super::differing::{Differing, NotKnown};
use super::limit::{Outcome, Ruling};
use super::quantity::Quantity;
use crate::exit_status::ExitStatus;

/// Runs held against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The columns.
    pub sides: Vec<SideFacts>,
    /// Workloads that two sides or more have.
    pub rows: Vec<Row>,
    /// Workloads that one side alone has.
    pub alone: Vec<Alone>,
    /// What differs in the conditions.
    pub differing: Vec<Differing>,
    /// What is known of one side and not of another.
    pub not_known: Vec<NotKnown>,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq)]
pub struct SideFacts {
    /// What to call it.
    pub label: String,
    /// Its runs.
    pub runs: Vec<Run>,
    /// Measurements that failed or were interrupted, compared or not.
    pub failed: usize,
    /// An earlier side that holds the same run, an index.
    pub same_as: Option<usize>,
    /// Of runs in rounds, which are compared by their measurement windows: how
    /// many have none; `None`: no run is in rounds.
    pub without_window: Option<usize>,
}

/// A workload of one side alone.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alone {
    /// The side, an index.
    pub side: usize,
    /// The workload.
    pub point: Point,
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// The jobs' name, where all have the same.
    pub name: Option<String>,
    /// Direction.
    pub direction: Direction,
    /// What is known of the workload, and of what else tells it from other rows.
    pub workload: Workload,
    /// How many I/Os were outstanding was searched for.
    #[serde(rename = "depth_searched")]
    pub searched: bool,
    /// Where it was made, where a side has several places: by the first side that has it.
    pub place: Option<Vec<String>>,
}

/// A workload, and what each side has of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The workload, of the first side.
    pub point: Point,
    /// The second side's, where that is another one: two things that were named to be held
    /// against each other. What they differ by is no regression.
    pub unlike: Option<Point>,
    /// What each side has of it, in the order of the sides; `None`: nothing.
    #[serde(rename = "sides")]
    pub cells: Vec<Option<Cell>>,
    /// What was compared.
    pub figures: Vec<Figure>,
}

/// What a side has of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Repetitions that count.
    pub repetitions: usize,
    /// Repetitions that do not: they failed, or say nothing.
    pub left_out: usize,
    /// Copies of a repetition that are there already.
    pub copies: usize,
    /// One of its repetitions failed: how.
    pub failure: Option<String>,
    /// The worst of all repetitions.
    pub validity: Validity,
    /// The reservations of all repetitions, the gravest first.
    pub reasons: Vec<Reason>,
    /// Against the first side that has it; `None`: it is that one, or a side was not repeated.
    pub order: Option<Order>,
}

/// How the repetitions of two sides lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Among each other: what changed meanwhile met both.
    Interleaved,
    /// One side behind the other: a difference may be what changed meanwhile.
    OneAfterTheOther,
    /// When they were made is not known.
    Unknown,
}

/// One quantity of a row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// The quantity.
    #[serde(rename = "metric")]
    pub quantity: Quantity,
    /// Which latencies; `None`: it is no latency.
    #[serde(rename = "latency")]
    pub kind: Option<LatencyKind>,
    /// The value of each side, in the quantity's unit: of one repetition with
    /// its own interval, of several their geometric mean, which from three on
    /// has the interval that they say.
    pub values: Vec<Option<Estimate>>,
    /// Each side against the first one with a value; `None` there, and where
    /// there is nothing to compare.
    pub differences: Vec<Option<Difference>>,
    /// Why a side that was measured is not compared.
    pub why_not: Option<String>,
}

impl Comparison {
    /// Whether of any workload two sides were repeated often enough to be tested.
    pub fn has_repetitions(&self) -> bool {
        let repeated = |cell: &&Option<Cell>| {
            cell.as_ref().is_some_and(|cell| cell.repetitions >= REPETITIONS)
        };
        self.rows.iter().any(|row| row.cells.iter().filter(repeated).count() > 1)
    }

    /// 3 where a run was not ended or something of it failed, 1 where a limit
    /// is broken, 4 where one cannot be judged, else 0.
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
