//! Comparison in the form used by exports: a line for each compared figure, and one for each limit.

use iodyno_judge::ExitStatus;
use iodyno_judge::comparison::{Comparison, Difference, Figure, Outcome, Reality, Row, Ruling};
use iodyno_model::Estimate;

use crate::text::comparison::subject_title;
use crate::text::row_title;

/// Comparison of runs, and the outcome of limits.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// Outcomes of the limits.
    pub rulings: &'a [Ruling],
    /// Exit status of the command.
    pub status: ExitStatus,
    /// Time of the comparison, ns since 1970 UTC.
    pub at_ns: i64,
}

/// Figure of one side.
pub(crate) struct Entry<'a> {
    pub(crate) row: &'a Row,
    pub(crate) figure: &'a Figure,
    /// Index of the side.
    pub(crate) side: usize,
    /// In the quantity's unit.
    pub(crate) value: Estimate,
    /// Difference to the first side that has this figure; `None` for that side itself, or if not
    /// comparable.
    pub(crate) difference: Option<&'a Difference>,
}

impl<'a> Compared<'a> {
    /// Iterates over all figures of all sides, row by row.
    pub(crate) fn entries(self) -> impl Iterator<Item = Entry<'a>> {
        self.comparison.rows.iter().flat_map(|row| {
            row.figures.iter().flat_map(move |figure| {
                let sides = figure.values.iter().zip(&figure.differences).enumerate();
                sides.filter_map(move |(side, (value, difference))| {
                    let difference = difference.as_ref();
                    Some(Entry { row, figure, side, value: (*value)?, difference })
                })
            })
        })
    }

    /// Returns the label of a side.
    pub(crate) fn label(self, side: usize) -> &'a str {
        self.comparison.sides.get(side).map_or("", |side| &side.label)
    }

    /// Returns the workload that a ruling applies to.
    pub(crate) fn workload(self, ruling: &Ruling) -> String {
        subject_title(self.comparison, ruling.subject)
    }
}

impl Entry<'_> {
    /// Returns `randread 4 KiB, depth 64: iops`.
    pub(crate) fn name(&self) -> String {
        format!("{}: {}", row_title(self.row), self.figure.quantity.name())
    }
}

/// Returns `-4.7 %, real`, `+0.3 %, run-to-run spread unknown`.
pub(crate) fn words(difference: &Difference) -> String {
    let reality = match difference.reality {
        Reality::Real => "real",
        Reality::NotInTurns => "probably real, not interleaved",
        Reality::NotShown => "within run-to-run spread",
        Reality::WithinRounding => "within rounding",
        Reality::SpreadUnknown => "run-to-run spread unknown",
        Reality::Unlike => "unlike workloads",
    };
    format!("{:+.1} %, {reality}", difference.percent)
}

/// Returns the outcome of a limit as a word and as a sentence.
pub(crate) fn outcome_words(ruling: &Ruling) -> (&'static str, String) {
    match &ruling.outcome {
        Outcome::Broken => ("broken", format!("{} holds", ruling.limit)),
        Outcome::Kept => ("kept", format!("{} does not hold", ruling.limit)),
        Outcome::NotShown => ("open", format!("{} may hold, but not beyond doubt", ruling.limit)),
        Outcome::CannotTell(why) => ("cannot-tell", format!("{}: {why}", ruling.limit)),
    }
}
