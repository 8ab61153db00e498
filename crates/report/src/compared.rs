//! A comparison as other tools are told of it: a line for each figure that is
//! held against another side's, and one for each limit.

use iodyno_judge::ExitStatus;
use iodyno_judge::comparison::{Comparison, Difference, Figure, Outcome, Reality, Row, Ruling};
use iodyno_model::Estimate;

use crate::text::row_title;

/// Runs held against each other, and what limits say of it.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// What the limits say.
    pub rulings: &'a [Ruling],
    /// What the command ends with.
    pub status: ExitStatus,
    /// When they were compared, ns since 1970 UTC.
    pub at_ns: i64,
}

/// A figure of one side.
pub(crate) struct Entry<'a> {
    pub(crate) row: &'a Row,
    pub(crate) figure: &'a Figure,
    /// The side, an index.
    pub(crate) side: usize,
    /// In the quantity's unit.
    pub(crate) value: Estimate,
    /// Against the first side that has it; `None`: it is that, or nothing is comparable.
    pub(crate) difference: Option<&'a Difference>,
}

impl<'a> Compared<'a> {
    /// Every figure of every side, row by row.
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

    /// What a side is called.
    pub(crate) fn label(self, side: usize) -> &'a str {
        self.comparison.sides.get(side).map_or("", |side| &side.label)
    }

    /// The workload that a ruling is about.
    pub(crate) fn workload(self, ruling: &Ruling) -> String {
        self.comparison.rows.get(ruling.row).map_or_else(String::new, row_title)
    }
}

impl Entry<'_> {
    /// `randread 4 KiB, depth 64: iops`.
    pub(crate) fn name(&self) -> String {
        format!("{}: {}", row_title(self.row), self.figure.quantity.name())
    }
}

/// `-4.7 %, real`, `+0.3 %, run-to-run spread unknown`.
pub(crate) fn words(difference: &Difference) -> String {
    let reality = match difference.reality {
        Reality::Real => "real",
        Reality::NotInTurns => "probably real, not measured in turns",
        Reality::NotShown => "no more than repetitions differ",
        Reality::WithinRounding => "within rounding",
        Reality::SpreadUnknown => "run-to-run spread unknown",
        Reality::Unlike => "unlike workloads",
    };
    format!("{:+.1} %, {reality}", difference.percent)
}

/// What a limit says, in a word and in a sentence.
pub(crate) fn ruled(ruling: &Ruling) -> (&'static str, String) {
    match &ruling.outcome {
        Outcome::Broken => ("broken", format!("{} holds", ruling.limit)),
        Outcome::Kept => ("kept", format!("{} does not hold", ruling.limit)),
        Outcome::NotShown => ("open", format!("{} may hold, but not beyond doubt", ruling.limit)),
        Outcome::CannotTell(why) => ("cannot-tell", format!("{}: {why}", ruling.limit)),
    }
}
