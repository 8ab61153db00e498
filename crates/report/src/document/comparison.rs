//! Runs held against each other.

use iodyno_judge::comparison::{self as judged, Outcome};
use iodyno_model::{Direction, Estimate, LatencyKind, Reason, Validity, Workload, rfc3339};
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

/// A run, or several that repeat the same.
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

/// A workload, as far as it is known.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// The jobs' name; null where it is not the same everywhere.
    pub name: Option<String>,
    /// Direction.
    pub direction: Direction,
    /// What is known of the workload, by fio's option names.
    pub workload: Workload,
    /// The depth was searched for, and is a result.
    pub depth_searched: bool,
    /// Where it was made, where a side has several places: serial numbers, names and paths.
    pub place: Option<Vec<String>>,
}

/// A workload, and what each side has of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The workload, of the first side.
    pub point: Point,
    /// The second side's, where that is another one, so that no difference is a regression; null:
    /// it is the same.
    pub unlike: Option<Point>,
    /// What each side has of it; null: nothing.
    pub sides: Vec<Option<Cell>>,
    /// What is compared.
    pub figures: Vec<Figure>,
}

/// What a side has of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Repetitions that count.
    pub repetitions: usize,
    /// Repetitions that failed or are invalid, and are left out.
    pub left_out: usize,
    /// Copies of repetitions that count once.
    pub copies: usize,
    /// The worst of all repetitions.
    pub validity: Validity,
    /// Reservations.
    pub reasons: Vec<Reason>,
    /// How one of them failed; null: none did.
    pub failure: Option<String>,
    /// How its repetitions lie in time, against those of the first side; null: nothing to say.
    pub order: Option<Order>,
}

/// How the repetitions of two sides lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// In turns.
    Interleaved,
    /// One side behind the other.
    OneAfterTheOther,
    /// Not known.
    Unknown,
}

/// One metric of a row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// `bw` (bytes per second), `iops`, `lat` (mean, ns), `p50`, `p99`, `p99.9`, `p99.99` (ns).
    pub metric: String,
    /// Which latencies: `total` or `completion`; null: it is no latency.
    pub latency: Option<String>,
    /// The value of each side; of several repetitions their geometric mean.
    pub values: Vec<Option<Estimate>>,
    /// Each side against the first one with a value; null there, and where nothing is compared.
    pub differences: Vec<Option<Difference>>,
    /// Why what was measured is not compared; null: it is.
    pub why_not: Option<String>,
}

/// One side against the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Its value over the first one's.
    pub ratio: Option<Estimate>,
    /// The difference in percent.
    pub percent: Option<f64>,
    /// Whether it is real.
    pub real: Reality,
    /// Of Welch's test on the logarithms of the repetitions; null: too few.
    pub p_value: Option<f64>,
    /// The same, corrected for the number of comparisons of this metric (Holm).
    pub p_adjusted: Option<f64>,
}

/// Whether a difference is real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reality {
    /// Repetitions differ less by chance, and were made in turns.
    Yes,
    /// Repetitions differ less by chance, but were not made in turns, as far as is known: what
    /// changed meanwhile may be all of it.
    NotInTurns,
    /// Repetitions may differ as much by chance.
    No,
    /// It is no more than the figures were rounded by.
    WithinRounding,
    /// Fewer than three repetitions of a side: the run-to-run spread is not known.
    SpreadUnknown,
    /// The workloads are not the same.
    Unlike,
}

/// A workload of one side alone.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alone {
    /// The side, an index.
    pub side: usize,
    /// The workload.
    pub point: Point,
}

/// A condition that is not the same everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Differing {
    /// What it is: `kernel`, `firmware`, an option by fio's name.
    pub what: String,
    /// What it is on each side; none where it is not known or not set.
    pub values: Vec<Vec<String>>,
    /// Where it differs: indices of rows.
    pub rows: Vec<usize>,
}

/// What is not known of a side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotKnown {
    /// The side, an index.
    pub side: usize,
    /// What is not known.
    pub what: Vec<String>,
}

/// What came of a limit.
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
        rows: comparison.rows.iter().map(Row::from).collect(),
        alone: comparison
            .alone
            .iter()
            .map(|alone| Alone { side: alone.side, point: Point::from(&alone.point) })
            .collect(),
        differing: comparison
            .differing
            .iter()
            .map(|one| Differing {
                what: one.what.clone(),
                values: one.values.clone(),
                rows: one.rows.clone(),
            })
            .collect(),
        not_known: comparison
            .not_known
            .iter()
            .map(|one| NotKnown { side: one.side, what: one.what.clone() })
            .collect(),
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

impl From<&judged::Point> for Point {
    fn from(point: &judged::Point) -> Self {
        Self {
            name: point.name.clone(),
            direction: point.direction,
            workload: point.workload.clone(),
            depth_searched: point.searched,
            place: point.place.clone(),
        }
    }
}

impl From<&judged::Row> for Row {
    fn from(row: &judged::Row) -> Self {
        Self {
            point: Point::from(&row.point),
            unlike: row.unlike.as_ref().map(Point::from),
            sides: row.cells.iter().map(|cell| cell.as_ref().map(Cell::from)).collect(),
            figures: row.figures.iter().map(Figure::from).collect(),
        }
    }
}

impl From<&judged::Cell> for Cell {
    fn from(cell: &judged::Cell) -> Self {
        Self {
            repetitions: cell.repetitions,
            left_out: cell.left_out,
            copies: cell.copies,
            validity: cell.validity,
            reasons: cell.reasons.clone(),
            failure: cell.failure.clone(),
            order: match cell.order {
                judged::Order::NotAsked => None,
                judged::Order::Interleaved => Some(Order::Interleaved),
                judged::Order::OneAfterTheOther => Some(Order::OneAfterTheOther),
                judged::Order::Unknown => Some(Order::Unknown),
            },
        }
    }
}

impl From<&judged::Figure> for Figure {
    fn from(figure: &judged::Figure) -> Self {
        Self {
            metric: figure.quantity.name(),
            latency: figure.kind.map(LatencyKind::name).map(Into::into),
            values: figure.values.iter().map(|value| value.and_then(Estimate::finite)).collect(),
            differences: figure
                .differences
                .iter()
                .map(|one| one.as_ref().map(Difference::from))
                .collect(),
            why_not: figure.why_not.clone(),
        }
    }
}

impl From<&judged::Difference> for Difference {
    fn from(of: &judged::Difference) -> Self {
        Self {
            ratio: of.ratio.finite(),
            percent: Some(of.percent()),
            real: match of.reality {
                judged::Reality::Real => Reality::Yes,
                judged::Reality::NotInTurns => Reality::NotInTurns,
                judged::Reality::NotShown => Reality::No,
                judged::Reality::WithinRounding => Reality::WithinRounding,
                judged::Reality::SpreadUnknown => Reality::SpreadUnknown,
                judged::Reality::Unlike => Reality::Unlike,
            },
            p_value: of.p_value,
            p_adjusted: of.adjusted,
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
