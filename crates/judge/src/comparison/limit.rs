//! Limits of a difference, `--fail-if 'iops < -5%'`, and their evaluation.

use std::fmt;
use std::str::FromStr;

use iodyno_model::Estimate;
use thiserror::Error;

use super::difference::{Difference, REPETITIONS, Reality};
use super::{Cell, Comparison, Quantity, Row};

/// Limit of a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Quantity that is limited.
    pub quantity: Quantity,
    /// Difference in percent of the first side: -5 is 5 % less.
    pub percent: f64,
    /// Broken by differences below it; else by those above.
    pub below: bool,
}

/// Error in the text of a limit.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LimitError {
    /// Not in the form of a limit.
    #[error(
        "`{0}` is not a limit; expected METRIC < -PERCENT or METRIC > PERCENT, as in `iops < -5%`"
    )]
    Form(String),
    /// Unknown metric.
    #[error("there is no metric `{name}`{}; there are {}", .nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")), names().join(", "))]
    Metric {
        /// Name that was given.
        name: String,
        /// Metric with the nearest name.
        nearest: Option<String>,
    },
    /// Would be broken without a change.
    #[error("`{0}` holds where nothing changed: a decrease is `{1} < -5%`, an increase `{1} > 5%`")]
    NoChange(String, String),
    /// Cannot be broken.
    #[error("`{0}` cannot be broken: nothing decreases by more than 100 %")]
    Never(String),
}

/// Evaluation of a limit for one workload and side.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling {
    /// The limit.
    pub limit: Limit,
    /// The workload.
    pub subject: Subject,
    /// Index of the side.
    pub side: usize,
    /// Outcome.
    pub outcome: Outcome,
}

/// Workload that a limit applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Index of a row.
    Row(usize),
    /// Index of a workload that only the first side has.
    Alone(usize),
}

/// Outcome of a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The limit is broken.
    Broken,
    /// The limit is kept.
    Kept,
    /// It may be broken, but not with certainty.
    NotShown,
    /// It cannot be evaluated, for this reason.
    CannotTell(String),
}

fn names() -> Vec<String> {
    Quantity::ALL.map(Quantity::name).to_vec()
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let form = || LimitError::Form(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(form)?;
        let (name, rest) = (text[..at].trim().to_lowercase(), &text[at + 1..]);
        let number = rest.trim().strip_suffix('%').unwrap_or(rest.trim()).trim();
        let percent: f64 = number.parse().map_err(|_| form())?;
        if name.is_empty() || !percent.is_finite() {
            return Err(form());
        }
        let known = Quantity::ALL.into_iter().find(|quantity| quantity.name() == name);
        let quantity = known.ok_or_else(|| {
            let near = names().into_iter().map(|known| (strsim::levenshtein(&name, &known), known));
            let nearest = near.min().filter(|(distance, _)| *distance <= 2).map(|(_, known)| known);
            LimitError::Metric { name: name.clone(), nearest }
        })?;
        let below = text[at..].starts_with('<');
        if (below && percent > 0.0) || (!below && percent < 0.0) {
            return Err(LimitError::NoChange(text.to_owned(), name));
        }
        if percent <= -100.0 {
            return Err(LimitError::Never(text.to_owned()));
        }
        Ok(Self { quantity, percent, below })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, plus) = if self.below { ("<", "") } else { (">", "+") };
        write!(f, "{} {sign} {plus}{}%", self.quantity.name(), self.percent)
    }
}

impl Limit {
    /// Evaluates the limit. For interleaved repetitions, the difference must be real and its
    /// interval beyond the limit. Without repetitions, the figures must be beyond it by `noise`
    /// (percent), rounding included; so must the interval of repetitions that were not interleaved,
    /// whose drift is not known.
    fn judge(&self, difference: &Difference, noise: Option<f64>) -> Outcome {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let beyond = |ratio: &Estimate, more: f64| match self.below {
            true => percent(ratio.high()) < self.percent - more,
            false => percent(ratio.low()) > self.percent + more,
        };
        // Within the interval.
        let possible = match self.below {
            true => percent(difference.ratio.low()) < self.percent,
            false => percent(difference.ratio.high()) > self.percent,
        };
        let broken = match (difference.reality, noise) {
            // Nothing at all is a decrease beyond every limit, and beyond any drift.
            (reality, _) if reality != Reality::Unlike && difference.ratio.value == 0.0 => {
                self.below
            }
            (Reality::Real, _) => beyond(&difference.ratio, 0.0),
            (Reality::NotInTurns, Some(noise)) => beyond(&difference.ratio, noise),
            (Reality::NotInTurns, None) if beyond(&difference.ratio, 0.0) => {
                return Outcome::CannotTell(
                    "probably, but the sides were not measured in turns: what changed meanwhile \
                     may be all of it; measure A B A B A B, or say how far runs drift (--noise)"
                        .to_owned(),
                );
            }
            (Reality::NotInTurns, None) => false,
            (Reality::NotShown | Reality::WithinRounding, _) => false,
            (Reality::SpreadUnknown, Some(noise)) => beyond(&difference.ratio, noise),
            (Reality::Unlike, _) => {
                return Outcome::CannotTell("unlike workloads: no regression".to_owned());
            }
            (Reality::SpreadUnknown, None) => {
                return Outcome::CannotTell(format!("fewer than {REPETITIONS} repetitions a side"));
            }
        };
        match (broken, possible) {
            (true, _) => Outcome::Broken,
            (false, true) => Outcome::NotShown,
            (false, false) => Outcome::Kept,
        }
    }
}

/// Evaluates every limit for every workload of the first side and every other side, and for rows
/// that the first side lacks.
pub fn rulings(comparison: &Comparison, limits: &[Limit], noise: Option<f64>) -> Vec<Ruling> {
    let others = 1..comparison.sides.len();
    let missing = |who: &str| Outcome::CannotTell(format!("the {who} lacks this workload"));
    let mut all = Vec::new();
    for limit in limits {
        let mut add =
            |subject, side, outcome| all.push(Ruling { limit: *limit, subject, side, outcome });
        for (index, row) in comparison.rows.iter().enumerate() {
            for side in others.clone() {
                let outcome = match (&row.cells[0], &row.cells[side]) {
                    (Some(first), Some(cell)) => match comparable(row, limit.quantity, side) {
                        Some(difference) if cell.shared == 0 => limit.judge(difference, noise),
                        _ => Outcome::CannotTell(why_not(row, [first, cell], limit.quantity)),
                    },
                    (Some(_), None) => missing("side"),
                    (None, Some(_)) => missing("first side"),
                    (None, None) => continue,
                };
                add(Subject::Row(index), side, outcome);
            }
        }
        for (index, _) in comparison.alone.iter().enumerate().filter(|(_, alone)| alone.side == 0) {
            others.clone().for_each(|side| add(Subject::Alone(index), side, missing("side")));
        }
    }
    all
}

/// Difference from the first side, if that has a value.
fn comparable(row: &Row, quantity: Quantity, side: usize) -> Option<&Difference> {
    let figure = row.figures.iter().find(|figure| figure.quantity == quantity)?;
    figure.values[0].and(figure.differences.get(side)?.as_ref())
}

fn why_not(row: &Row, cells: [&Cell; 2], quantity: Quantity) -> String {
    let figure = row.figures.iter().find(|figure| figure.quantity == quantity);
    if cells.iter().any(|cell| cell.repetitions == 0) {
        return "a side has no valid results".to_owned();
    }
    let [_, Cell { shared, repetitions, .. }] = cells;
    if *shared > 0 {
        return format!("{shared} of {repetitions} repetitions are the first side's as well");
    }
    match figure.and_then(|figure| figure.why_not.clone()) {
        Some(why) => why,
        None => format!("{} not known for both sides", quantity.name()),
    }
}
